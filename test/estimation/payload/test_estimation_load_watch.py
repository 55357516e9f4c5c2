# SPDX-License-Identifier: Apache-2.0
"""Without a force-torque sensor too, a load that comes, goes or slips is noticed."""

import numpy as np
import pytest

from sysid_core.estimation.loaded_arm.known_load import payload_torque_regressor
from sysid_core.estimation.loaded_arm.load_watch import load_changes
from sysid_core.estimation.payload.ball_prior import ball_prior
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia

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
    """Friction is off for a second: residuals jump, the load before and after is the same."""
    robot = RobotModel.from_urdf("ur10")
    t = np.arange(0.0, 30.0, 0.02)
    rates = np.array([0.7, 0.9, 1.1, 1.3, 1.5, 1.7])
    angle = np.outer(t, rates) + rng.uniform(0, 2 * np.pi, 6)
    q, v, a = 0.8 * np.sin(angle), 0.8 * rates * np.cos(angle), -0.8 * rates**2 * np.sin(angle)
    Y = payload_torque_regressor(robot, "tool0", q, v, a)
    burst = ((t > 12.0) & (t < 13.0))[:, None]
    extra = Y @ LOAD + 8.0 * NOISE * np.sign(v) * burst
    assert load_changes(t, extra + NOISE * rng.normal(size=extra.shape), Y, NOISE, PRIOR) == ()
