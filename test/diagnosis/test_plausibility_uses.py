# SPDX-License-Identifier: Apache-2.0
"""Suitability of recordings: arm, payload, one joint at a time, closed chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_core.diagnosis import Use, UseJudge
from sysid_core.reasons import Outcome
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.robot.loops import load_closed_chain
from sysid_core.signals import EffortKind, JointStream, Mark, Recording, WrenchStream

LOAD = pi_from_mass_com_inertia(0.8, [0.02, -0.01, 0.09], np.diag([4e-3, 3e-3, 2e-3]))


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf("xarm7")


def recorded(robot: RobotModel, moving: np.ndarray, late_s: float = 0.0) -> Recording:
    """Joints that swing, with a load on the sensor; marks as of `sysid plan payload`."""
    rng = np.random.default_rng(4)
    t = np.arange(0.0, 20.0, 0.01)
    rate = np.linspace(1.3, 4.1, robot.nv)
    swing = 0.5 * moving
    q = np.array([0.0, -0.3, 0.0, 0.9, 0.2, 0.7, 0.1]) + swing * np.sin(t[:, None] * rate)
    v, a = swing * rate * np.cos(t[:, None] * rate), -swing * rate**2 * np.sin(t[:, None] * rate)
    motion = robot.frame_motion("link7", q, v, a)
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ LOAD
    wrench = wrench + np.repeat([0.05, 0.0025], 3) * rng.normal(size=wrench.shape)
    stamps = (t * 1e9).astype(np.int64)
    return Recording(
        joints=JointStream(
            robot.joint_names,
            stamps,
            q + 1e-5 * rng.normal(size=q.shape),
            effort=robot.inverse_dynamics(q, v, a),
            effort_kind=EffortKind.LINK_TORQUE,
        ),
        wrench=WrenchStream("link7", stamps + round(late_s * 1e9), wrench),
        marks=tuple(
            Mark(round(s * 1e9), label)
            for s, label in [
                (0.1, "tare_1:start"),
                (0.9, "tare_1:end"),
                (1.0, "oscillation:start"),
                (19.0, "oscillation:end"),
            ]
        ),
    )


def uses(recording: Recording, robot: RobotModel | None) -> dict[str, Use]:
    return {use.name: use for use in UseJudge(recording, robot).uses()}


def test_motion_of_all_joints_with_a_load_will_do_for_arm_and_payload(robot) -> None:
    found = uses(recorded(robot, np.ones(7)), robot)
    assert found["arm"].verdict.ok and "rank" in found["arm"].shown
    assert found["payload"].verdict.outcome is Outcome.PASS
    assert "10 of 10 directions" in found["payload"].shown
    assert not found["sequential"].verdict.ok
    assert not found["closed-chain"].judged


def test_a_late_wrench_is_said_with_its_delay(robot) -> None:
    judge = UseJudge(recorded(robot, np.ones(7), late_s=0.03), robot)
    assert judge.payload().verdict.codes == ("clocks-differ",)
    assert judge.clock is not None
    assert judge.clock.offset_s == pytest.approx(0.03, abs=4.0 * judge.clock.offset_sd)


@pytest.mark.parametrize("kind", [EffortKind.LINK_TORQUE, EffortKind.MOTOR_CURRENT])
def test_late_efforts_are_said_with_their_delay(robot, kind) -> None:
    whole = recorded(robot, np.ones(7))
    t, effort = whole.joints.time, whole.joints.effort
    rng = np.random.default_rng(5)
    late = np.column_stack([np.interp(t - 0.012, t, column) for column in effort.T])
    late += 0.01 * late.std(axis=0) * rng.normal(size=late.shape)
    if kind is EffortKind.MOTOR_CURRENT:
        late = late / [40.0, 55.0, 30.0, 25.0, 12.0, 9.0, 6.0]  # [N m/A]
    joints = replace(whole.joints, effort=late, effort_kind=kind)
    judge = UseJudge(replace(whole, joints=joints), robot)
    assert "efforts-late" in judge.arm().verdict.codes
    assert judge.lag is not None and judge.lag.seconds == pytest.approx(0.012, abs=5e-4)


@pytest.mark.parametrize(("swing", "enough"), [(1.0, True), (0.0, False)])
def test_a_closed_chain_is_judged_by_what_its_driven_joints_show(swing, enough) -> None:
    chain = load_closed_chain("own-leg")
    rng, t = np.random.default_rng(11), np.arange(0.0, 4.0, 0.004)
    s, v, a = np.zeros((3, len(t), 6))
    for w in 2 * np.pi * np.array([0.25, 0.5, 1.0, 1.5]):
        A, B = rng.normal(size=(2, 6))
        c, n = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
        s, v, a = s + A * n + B * c, v + w * (A * c - B * n), a - w * w * (A * n + B * c)
    box, peak = chain.box, 1.1 * np.abs(s).max(axis=0)
    s, v, a = (swing * x / peak for x in (s, v, a))
    v, a = ((x * box.half) @ box.directions.T for x in (v, a))
    motion = chain.motion(box.positions(s), v, a)
    columns = [chain.model.joint_names.index(name) for name in chain.actuated]
    joints = JointStream(
        chain.actuated,
        np.round(t * 1e9).astype(np.int64),
        motion.q[:, columns],
        motion.v[:, columns],
        effort=chain.torques(motion),
        effort_kind=EffortKind.ACTUATOR_TORQUE,
    )
    use = next(
        use for use in UseJudge(Recording(joints), None, chain=chain).uses() if "closed" in use.name
    )
    assert use.judged
    assert (use.verdict.outcome is Outcome.PASS) == enough
    assert use.shown.startswith("rank ") if enough else use.verdict.reasons


def test_one_moving_joint_shows_little_of_arm_and_payload(robot) -> None:
    found = uses(recorded(robot, np.eye(7)[3]), robot)
    assert not found["arm"].verdict.ok and "parameters-few" in found["arm"].verdict.codes
    assert "payload-rank" in found["payload"].verdict.codes
    assert found["sequential"].shown.startswith("1 of 7 joints")
    assert "joints-not-alone" in found["sequential"].verdict.codes


def test_what_is_missing_is_named_with_the_remedy(robot) -> None:
    whole = recorded(robot, np.ones(7))
    bare = replace(whole, marks=(), joints=replace(whole.joints, effort=None))
    found = uses(bare, None)
    assert "efforts-missing" in found["arm"].verdict.codes
    unmarked = uses(replace(whole, marks=()), robot)["payload"].verdict
    assert unmarked.ok and "tare-missing" in unmarked.codes  # any motion is weighed
    other = uses(replace(whole, wrench=replace(whole.wrench, frame="nowhere")), robot)
    (refused,) = other["payload"].verdict.failures
    assert refused.code == "refused" and "nowhere" in refused.data["message"]
    assert "robot-missing" in uses(whole, None)["arm"].verdict.codes
