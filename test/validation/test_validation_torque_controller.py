# SPDX-License-Identifier: Apache-2.0
"""The streaming computed-torque controller: its law, its stop, its change of parameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sysid_core.control import (
    ControllerState,
    ControllerTiming,
    TorqueController,
    judge_for_control,
)
from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.simulation import ClosedChainPlant, MujocoPlant

Q = np.array([0.3, -1.0, 1.2, -0.4, 0.8, 0.1])
ZERO = np.zeros(6)


@pytest.fixture(scope="module")
def arm() -> ClosedChain:
    return ClosedChain(RobotModel.from_urdf("ur5"))


def tracking(chain: ClosedChain, **options: float) -> TorqueController:
    controller = TorqueController(chain, 10.0, ControllerTiming(**options))
    controller.set_point(0.0, Q, ZERO, ZERO)
    controller.measured(0.0, Q, ZERO)
    return controller


def test_without_error_the_effort_is_inverse_dynamics(arm: ClosedChain) -> None:
    v, a = 0.1 * Q, -0.5 * Q
    controller = TorqueController(arm, 10.0)
    controller.set_point(0.0, Q, v, a)
    controller.measured(0.0, Q, v)
    expected = arm.model.inverse_dynamics(Q[None], v[None], a[None])[0]
    np.testing.assert_allclose(controller.effort(0.0), expected, atol=1e-12)


def test_a_closed_chain_gets_its_projected_torques() -> None:
    leg = load_closed_chain("own-leg")
    assert leg.box is not None
    q, v = leg.box.center + 0.05, np.full(6, 0.3)
    controller = TorqueController(leg, 10.0)
    controller.set_point(0.0, q, v, v)
    controller.measured(0.0, q, v)
    expected = leg.torques(leg.motion(q[None], v[None], v[None]))[0]
    np.testing.assert_allclose(controller.effort(0.0), expected, atol=1e-9)


def test_an_arm_comes_to_rest_at_its_set_point(arm: ClosedChain) -> None:
    plant = MujocoPlant(arm.model)
    plant.reset(Q + 0.1)
    controller = TorqueController(arm, 10.0)
    distance = []
    for _ in range(1000):
        controller.set_point(plant.time, Q, ZERO, ZERO)
        controller.measured(plant.time, plant.q, plant.v)
        effort = controller.effort(plant.time)
        assert effort is not None
        plant.step(effort)
        distance.append(np.abs(plant.q - Q))
    assert np.max(distance) < 0.11 and np.max(distance[-1]) < 2e-3


def test_the_leg_is_held_against_gravity_by_its_own_parameters() -> None:
    leg = load_closed_chain("own-leg")
    assert leg.box is not None
    plant = ClosedChainPlant(leg)
    plant.reset(leg.box.center)
    controller = TorqueController(leg, 10.0)
    controller.set_point(0.0, leg.box.center, ZERO, ZERO)
    for _ in range(300):
        now = plant.time
        columns = leg.actuated_columns
        controller.measured(now, plant.q[columns], plant.v[columns])
        effort = controller.effort(now)
        assert effort is not None
        plant.step(effort)
    assert controller.state is ControllerState.HOLDING
    assert np.max(np.abs(plant.q[leg.actuated_columns] - leg.box.center)) < 1e-3


def test_efforts_never_exceed_the_limits(arm: ClosedChain) -> None:
    controller = tracking(arm)
    controller.measured(0.0, Q - 3.0, ZERO)
    effort = controller.effort(0.0)
    assert effort is not None and np.all(np.abs(effort) <= arm.torque_limits)
    assert np.any(controller.saturated)


def test_a_large_error_is_caught_up_with_without_a_jerk(arm: ClosedChain) -> None:
    free = TorqueController(arm, 10.0)
    gentle = TorqueController(arm, 10.0, feedback_limit=5.0)
    for controller in (free, gentle):
        controller.set_point(0.0, Q, ZERO, ZERO)
        controller.measured(0.0, Q - 0.3, ZERO)
    gravity = arm.model.inverse_dynamics(Q[None], ZERO[None], ZERO[None])[0]
    M = arm.model.inverse_dynamics(np.tile(Q, (6, 1)), np.zeros((6, 6)), np.eye(6)).T
    M = M - gravity[:, None]
    for controller, acceleration in ((free, 30.0), (gentle, 5.0)):
        effort = controller.effort(0.0)
        assert effort is not None
        whole = gravity + M @ np.full(6, acceleration)
        np.testing.assert_allclose(
            effort, np.clip(whole, -arm.torque_limits, arm.torque_limits), atol=1e-6
        )


def test_late_set_points_end_in_a_damped_stop(arm: ClosedChain) -> None:
    controller = TorqueController(arm, 10.0)
    v = np.full(6, 0.5)
    controller.set_point(0.0, Q, v, ZERO)
    times = np.linspace(0.0, 2.0, 401)
    wishes = [controller.desired(t) for t in times]
    q_d, v_d, _ = (np.array(x) for x in zip(*wishes, strict=True))
    assert np.all(np.diff(np.abs(v_d), axis=0) <= 1e-12) and np.max(np.abs(v_d[-1])) < 1e-3
    np.testing.assert_allclose(np.gradient(q_d, times, axis=0)[1:-1], v_d[1:-1], atol=0.02)
    controller.measured(0.4, Q, v)
    controller.effort(0.4)
    assert controller.state is ControllerState.STOPPING


def test_between_set_points_the_wish_follows_its_acceleration(arm: ClosedChain) -> None:
    controller = TorqueController(arm, 10.0)
    v, a, h = 0.2 * Q, -2.0 * Q, 0.02
    controller.set_point(0.0, Q, v, a)
    controller.set_point(h, Q + v * h + a * h**2 / 2, v + a * h, a)
    for t in (1.2 * h, 2.0 * h):
        wish = controller.desired(t)
        assert wish is not None
        np.testing.assert_allclose(wish[0], Q + v * t + a * t**2 / 2, atol=1e-12)
        np.testing.assert_allclose(wish[1], v + a * t, atol=1e-12)
    late, later = controller.desired(3.0 * h), controller.desired(4.0 * h)
    assert late is not None and later is not None
    np.testing.assert_array_equal(late[1], later[1])  # the next one is late: no faster yet


def test_without_fresh_states_nothing_is_commanded(arm: ClosedChain) -> None:
    controller = tracking(arm)
    assert controller.effort(0.1) is not None
    assert controller.effort(0.5) is None
    assert controller.state is ControllerState.BLIND


@pytest.mark.parametrize("blind", [True, False])
def test_a_robot_that_its_watchdog_has_stopped_is_not_driven_to_the_old_reference(
    arm: ClosedChain, blind: bool
) -> None:
    """After lost states or a stopped process, the robot once jumped by 0.4 rad with 38 rad/s^2."""
    controller = tracking(arm)
    controller.set_point(0.1, Q, np.full(6, 1.4), ZERO)
    controller.measured(0.1, Q, np.full(6, 1.4))
    assert controller.effort(0.1) is not None
    if blind:
        assert controller.effort(0.5) is None
    controller.measured(0.9, Q + 0.19, ZERO)
    assert controller.effort(0.9) is None and controller.state is ControllerState.IDLE
    controller.set_point(0.91, Q + 0.19, ZERO, ZERO)
    assert controller.effort(0.91) is not None


def test_nothing_is_commanded_before_the_first_set_point(arm: ClosedChain) -> None:
    controller = TorqueController(arm, 10.0)
    controller.measured(0.0, Q, ZERO)
    assert controller.effort(0.0) is None and controller.state is ControllerState.IDLE


def test_parameters_are_exchanged_at_rest_only_and_without_a_jump(arm: ClosedChain) -> None:
    heavier = arm.with_model(arm.model.with_pi(1.3 * arm.model.pi))
    controller = tracking(arm)
    controller.set_point(1.0, Q, np.full(6, 0.3), ZERO)
    controller.measured(1.0, Q, np.full(6, 0.3))
    with pytest.raises(SignalError, match=r"(?s)is moving.*at rest"):
        controller.use(1.1, heavier)
    controller.set_point(1.2, Q, ZERO, ZERO)
    controller.measured(1.5, Q, ZERO)
    before = controller.effort(1.5)
    controller.use(1.5, heavier)
    at_once = controller.effort(1.5)
    np.testing.assert_allclose(at_once, before, atol=1e-9)
    controller.measured(3.0, Q, ZERO)
    after = controller.effort(3.0)
    expected = heavier.model.inverse_dynamics(Q[None], ZERO[None], ZERO[None])[0]
    np.testing.assert_allclose(after, expected, atol=1e-9)


def test_wrong_numbers_are_refused(arm: ClosedChain) -> None:
    with pytest.raises(SignalError, match="6 finite numbers"):
        tracking(arm).set_point(0.0, np.zeros(5), ZERO, ZERO)
    with pytest.raises(SignalError, match="6 finite numbers"):
        tracking(arm).measured(0.0, np.full(6, np.nan), ZERO)


def with_friction(chain: ClosedChain, F_c: float) -> ClosedChain:
    joint = chain.actuated[0]
    return chain.with_drives({joint: dataclasses.replace(chain.drive(joint), F_c=F_c)})


def scaled(chain: ClosedChain, share: float) -> ClosedChain:
    return chain.with_model(chain.model.with_pi(share * chain.model.pi))


@pytest.mark.parametrize(
    ("share", "code"),
    [
        (1.3, ""),
        (0.6, ""),
        (-1.0, "estimate-inconsistent"),
        (1000.0, "gravity-torque-differs"),
        (0.01, "gravity-torques-small"),
        (1e306, "gravity-torque-differs"),
    ],
)
def test_a_controller_gets_no_parameters_that_make_no_sense(
    arm: ClosedChain, share: float, code: str
) -> None:
    verdict = judge_for_control(arm, scaled(arm, share), 3.0)
    assert verdict.codes == ((code,) if code else ())


@pytest.mark.parametrize(
    ("F_c", "code"), [(200.0, "friction-exceeds-limit"), (np.nan, "estimate-not-finite")]
)
def test_friction_beyond_what_the_joint_has_is_refused(
    arm: ClosedChain, F_c: float, code: str
) -> None:
    verdict = judge_for_control(arm, with_friction(arm, F_c), 3.0)
    assert verdict.codes == (code,) and not verdict.ok


def test_a_set_that_gives_nan_is_given_up_for_the_last_good_one(arm: ClosedChain) -> None:
    controller = tracking(arm, state_timeout=9.0, setpoint_timeout=9.0, still_time=0.0)
    good = scaled(arm, 1.1)
    controller.use(1.0, good)
    controller.set_point(2.5, Q, ZERO, ZERO)
    controller.measured(2.5, Q, ZERO)
    before = controller.effort(2.5)
    controller.use(3.0, with_friction(arm, np.nan))
    np.testing.assert_allclose(controller.effort(3.1), before)
    assert controller.chain is good
