# SPDX-License-Identifier: Apache-2.0
"""Inputs accepted by a computed-torque controller: current stamps, and feasible set points."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_core.clock_gate import AHEAD, ClockGate, StampError, StampFault
from sysid_core.control import (
    ControllerState,
    ControllerTiming,
    SetPointError,
    SetPointFault,
    SetPointLimits,
    TorqueController,
)
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain

CHAIN = ClosedChain(RobotModel.from_urdf("ur5"))
Q, ZERO = np.array([0.3, -1.0, 1.2, -0.4, 0.8, 0.1]), np.zeros(6)
LIMITS = SetPointLimits(
    CHAIN.actuated,
    *CHAIN.model.position_limits,
    CHAIN.model.velocity_limits,
    step=0.05,
    bandwidth=10.0,
    acceleration=50.0,
)
WRISTS = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])  # whose torques suffice for all of it
HOUR_NS = 3600 * 10**9


def at_rest() -> TorqueController:
    controller = TorqueController(CHAIN, 10.0, ControllerTiming())
    controller.measured(0.0, Q, ZERO)
    return controller


@pytest.mark.parametrize(
    ("stamp", "fault"), [(HOUR_NS, StampFault.FUTURE), (-HOUR_NS, StampFault.OLD)]
)
def test_a_stamp_of_another_hour_is_refused(stamp: int, fault: StampFault):
    gate, now = ClockGate("setpoint", oldest=0.2), 10 * HOUR_NS
    with pytest.raises(StampError) as refused:
        gate.take(now + stamp, now)
    assert refused.value.code is fault


def test_the_skew_of_each_publishers_clock_is_what_its_earliest_arrivals_show():
    gate, rng = ClockGate("joint_states", ahead=np.inf), np.random.default_rng(1)
    for k in range(1, 500):
        now = k * 10_000_000
        gate.take(now - int(rng.uniform(1e5, 5e6)), now, "good")
        gate.take(now + 300_000_000 - int(rng.uniform(1e5, 5e6)), now, "ahead")
    assert gate.skew["good"] == 0.0 and gate.skew["ahead"] == pytest.approx(0.3, abs=3e-3)
    assert gate.publishers == 2 and gate.backwards == 0
    assert "(ahead) is ahead by 0.3" in gate.words and "good" not in gate.words


def test_stamps_that_are_always_old_are_told_and_invented_publishers_fill_no_memory():
    gate = ClockGate("joint_states", ahead=np.inf)
    for k in range(1, 500):
        now = HOUR_NS + k * 10_000_000
        gate.take(now - 2_000_000_000, now, "behind")
        gate.take(now, now, f"invented {k}")
    assert "(behind) arrives 2 s after its stamps or later" in gate.words
    assert gate.publishers < 100


def test_a_message_without_a_stamp_is_of_now():
    assert ClockGate("setpoint", oldest=0.1).take(0, 123) == 123


@pytest.mark.parametrize(
    ("q", "v", "a", "fault"),
    [
        (Q + 1e12, ZERO, ZERO, SetPointFault.POSITION),
        (Q, ZERO + 1e6, ZERO, SetPointFault.VELOCITY),
        (Q, ZERO, ZERO + 1e6, SetPointFault.ACCELERATION),
        (Q + 0.5, ZERO, ZERO, SetPointFault.STEP),
        (Q, ZERO + 1.0, ZERO, SetPointFault.SPEED_STEP),
    ],
)
def test_a_set_point_that_no_robot_at_rest_can_follow_is_refused(q, v, a, fault):
    controller = at_rest()
    with pytest.raises(SetPointError) as refused:
        LIMITS.require(q, v, a, *controller.goes_on_from(0.0))
    assert refused.value.code is fault


def test_before_the_first_state_no_set_point_is_followed():
    with pytest.raises(SetPointError) as refused:
        LIMITS.require(Q, ZERO, ZERO, [])
    assert refused.value.code is SetPointFault.NO_STATE


def test_a_stream_within_the_limits_passes_although_messages_are_lost():
    controller, rng = at_rest(), np.random.default_rng(2)
    for k in range(1, 400):
        t = 0.01 * k
        q, v = Q + 0.3 * (1 - np.cos(3 * t)), ZERO + 0.9 * np.sin(3 * t)  # 2.7 rad/s^2
        controller.measured(t, q, v)
        if rng.uniform() < 0.5:
            continue
        a = ZERO + 2.7 * np.cos(3 * t)
        LIMITS.require(q, v, a, *controller.goes_on_from(t))
        controller.set_point(t, q, v, a)


def test_a_driver_that_dies_with_its_clock_ahead_silences_the_controller():
    controller = at_rest()
    controller.measured(3600.0, Q, ZERO)
    controller.set_point(0.0, Q, ZERO, ZERO)
    assert controller.effort(0.05) is None and controller.state is ControllerState.BLIND


@settings(max_examples=50, deadline=None)
@given(ahead=st.floats(AHEAD * 1.01, 1e9))
def test_a_reference_of_the_future_is_not_tracked(ahead: float):
    controller = at_rest()
    controller.set_point(ahead, Q, ZERO + 1.0, ZERO)
    controller.measured(0.0, Q, ZERO)
    assert controller.effort(0.0) is not None
    assert controller.state is not ControllerState.TRACKING
    q, v, _ = controller.desired(0.0)  # type: ignore[misc]
    assert np.max(np.abs(q - Q)) < 0.2 and not v.any()


def creeping(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions that change at 10 rad/s although the stated velocity is zero."""
    return Q + 0.049 * k * WRISTS, ZERO, ZERO


def pushing(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An acceleration without a motion."""
    return Q, ZERO, LIMITS.acceleration * WRISTS


@pytest.mark.parametrize("stream", [creeping, pushing])
def test_no_stream_of_set_points_drives_the_robot_beyond_its_velocity_limits(stream):
    model, dt = CHAIN.model, 0.005
    controller = TorqueController(CHAIN, 10.0, ControllerTiming(), feedback_limit=50.0)
    q, v, data, fastest = Q, ZERO, model.pin_model.createData(), 0.0
    for k in range(400):
        controller.measured(dt * k, q, v)
        wanted = stream(k)
        try:
            LIMITS.require(*wanted, *controller.goes_on_from(dt * k))
            controller.set_point(dt * k, *wanted)
        except SetPointError:
            pass
        effort = controller.effort(dt * k)
        for _ in range(5):
            v = v + 0.2 * dt * pin.aba(model.pin_model, data, q, v, effort)
            q = q + 0.2 * dt * v
            fastest = max(fastest, float(np.max(np.abs(v) / model.velocity_limits)))
    assert fastest < 1.05
    assert np.max(np.abs(v)) < 0.05 and np.max(np.abs(q - Q)) < 1.0  # it stops, and soon
