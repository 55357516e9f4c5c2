# SPDX-License-Identifier: Apache-2.0
"""Without a force-torque sensor too, a load that comes, goes or slips is noticed."""

import numpy as np
import pytest

from sysid_core.estimation.loaded_arm import CarriedBody
from sysid_core.estimation.loaded_arm.carried_body import payload_torque_regressor
from sysid_core.estimation.loaded_arm.load_watch import load_changes
from sysid_core.estimation.payload.ball_prior import ball_prior
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia
from sysid_core.signals import EffortKind, JointStream

NOISE = np.array([1.5, 1.5, 1.0, 0.4, 0.3, 0.3])  # [N m]
AT = 6.0  # [s]
LOAD = pi_from_mass_com_inertia(2.0, [0.0, 0.02, 0.08], 0.004 * np.eye(3))
SLIPPED = pi_from_mass_com_inertia(2.0, [0.12, 0.02, 0.08], 0.004 * np.eye(3))
PRIOR = ball_prior(LOAD, 0.3, 0.15)[1]


def changes(before, after, rng, seconds=12.0):
    """Torques of a load that becomes another at `AT`, with noise that lasts 0.1 s."""
    robot = RobotModel.from_urdf("ur10")
    t = np.arange(0.0, seconds, 0.02)
    rates, phase = np.array([0.7, 0.9, 1.1, 1.3, 1.5, 1.7]), rng.uniform(0, 2 * np.pi, 6)
    angle = np.outer(t, rates) + phase
    q, v, a = 0.8 * np.sin(angle), 0.8 * rates * np.cos(angle), -0.8 * rates**2 * np.sin(angle)
    Y = payload_torque_regressor(robot, "tool0", q, v, a)
    extra = np.where((t < AT)[:, None], Y @ before, Y @ after)
    noise = rng.normal(size=extra.shape)
    for k in range(1, len(noise)):
        noise[k] = 0.8 * noise[k - 1] + 0.6 * noise[k]
    return load_changes(t, extra + NOISE * noise, Y, NOISE, PRIOR)


@pytest.mark.parametrize(
    ("kind", "before", "after", "within"),
    [
        ("attached", 0.0 * LOAD, LOAD, 0.5),
        ("detached", LOAD, 0.0 * LOAD, 0.5),
        ("slipped", LOAD, SLIPPED, 1.5),
    ],
)
def test_a_change_is_noticed_and_named(kind, before, after, within, rng):
    first = changes(before, after, rng)[0]
    assert first.kind.value == kind and 0.0 < first.stamp_s - AT < within


def test_a_steady_load_never_changes(rng):
    assert changes(LOAD, LOAD, rng, seconds=120.0) == ()


def test_friction_that_errs_for_a_movement_is_no_change(rng):
    """The friction model is wrong for a second: residuals jump, but the load before and after is
    the same.
    """
    robot = RobotModel.from_urdf("ur10")
    t = np.arange(0.0, 30.0, 0.02)
    rates = np.array([0.7, 0.9, 1.1, 1.3, 1.5, 1.7])
    angle = np.outer(t, rates) + rng.uniform(0, 2 * np.pi, 6)
    q, v, a = 0.8 * np.sin(angle), 0.8 * rates * np.cos(angle), -0.8 * rates**2 * np.sin(angle)
    Y = payload_torque_regressor(robot, "tool0", q, v, a)
    burst = ((t > 12.0) & (t < 13.0))[:, None]
    extra = Y @ LOAD + 8.0 * NOISE * np.sign(v) * burst
    assert load_changes(t, extra + NOISE * rng.normal(size=extra.shape), Y, NOISE, PRIOR) == ()


@pytest.mark.parametrize(
    ("factor", "agrees"), [(1.0, True), (0.7, True), (9.81, False), (4.45, False), (0.0, False)]
)
def test_torques_of_the_load_in_another_unit_do_not_agree_with_it(factor, agrees):
    model = RobotModel.from_urdf("ur5")
    frame, rng = model.body_names[-1], np.random.default_rng(0)
    t = np.arange(0.0, 4.0, 0.01)[:, None]
    w, phase, size = rng.uniform(1.0, 3.0, 6), rng.uniform(0.0, 6.0, 6), 0.8
    q, v, a = (
        size * np.sin(w * t + phase),
        size * w * np.cos(w * t + phase),
        -size * w**2 * np.sin(w * t + phase),
    )
    pi = pi_from_mass_com_inertia(2.0, [0.02, 0.01, 0.08], 0.01 * np.eye(3))
    tau = (
        model.inverse_dynamics(q, v, a)
        + factor * payload_torque_regressor(model, frame, q, v, a) @ pi
    )
    tau = tau + 4.0 * np.sign(v) + 2.0 * v + 1.0 + rng.normal(0.0, 0.5, tau.shape)
    stamps = (t[:, 0] * 1e9).astype(np.int64)
    names = model.joint_names[::-1]
    measured = JointStream(
        names,
        stamps - 5_000_000,
        q[:, ::-1],
        effort=tau[:, ::-1],
        effort_kind=EffortKind.LINK_TORQUE,
    )
    motion = JointStream(model.joint_names, stamps, q, v, a)
    assert CarriedBody(model, frame, pi).torques_agree(motion, measured) is agrees
