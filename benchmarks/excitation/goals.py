# SPDX-License-Identifier: Apache-2.0
"""Plans compared with published ones: condition numbers, KUKA iiwa, motions of a UR10e, time of
re-planning.

    python benchmarks/excitation/goals.py condition|iiwa|ur10e|replan ...

`ur10e` needs the recordings that aren't shipped (SYSID_TEST_DATA).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_core.planning import ArmPlan, MotionChecker, MotionLimits, plan_arm_motion
from sysid_core.planning.design import Expectation, Explorer, Goal, Unknowns
from sysid_core.planning.design.criteria import Criterion
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import RobotModel, load_robot
from sysid_core.signals import ColumnMap, in_order, read_table
from sysid_core.signals.filters import ZeroPhaseFilter, smooth_motion

DATA = Path(os.environ.get("SYSID_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
ARMS = {"xarm7": "link_eef", "ur5": "tool0", "panda": "panda_hand_tcp"}
# LBR iiwa 14 R820, KUKA's data sheet: distances between the joints' centres, limits.
IIWA_OFFSETS = (0.1575, 0.2025, 0.2045, 0.2155, 0.1845, 0.2155, 0.081)  # [m]
IIWA_RANGE = (170, 120, 170, 120, 170, 120, 175)  # [deg]
IIWA_SPEED = (85, 85, 100, 75, 130, 135, 135)  # [deg/s]
IIWA_EFFORT = (320, 320, 176, 176, 110, 40, 40)  # [N m]
IIWA_MASS = (5.8, 6.4, 3.5, 3.5, 3.5, 1.8, 1.2)  # [kg], about
IIWA_TURNS = (
    *("0 0 0", "1.5708 0 3.1416", "1.5708 0 3.1416", "1.5708 0 0"),
    *("-1.5708 3.1416 0", "1.5708 0 0", "-1.5708 3.1416 0"),
)


def arm(name: str) -> RobotModel:
    model = load_robot(name)
    return model.with_locked([n for n in model.joint_names if "finger" in n])


def iiwa() -> RobotModel:
    """Model of the arm from its data sheet; its joints have alternating axes."""
    parts = ['<robot name="iiwa14"><link name="l0"/>']
    for k in range(7):
        low = -np.radians(IIWA_RANGE[k])
        parts.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0 0.02 0.08"/><mass'
            f' value="{IIWA_MASS[k]}"/><inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0"'
            f' iyz="0"/></inertial></link><joint name="j{k + 1}" type="revolute"><parent'
            f' link="l{k}"/><child link="l{k + 1}"/><origin xyz="'
            + (f"0 {IIWA_OFFSETS[k]} 0" if k in (2, 4, 6) else f"0 0 {IIWA_OFFSETS[k]}")
            + f'" rpy="{IIWA_TURNS[k]}"/><axis xyz="0 0 1"/><limit lower="{low}" upper="{-low}"'
            f' velocity="{np.radians(IIWA_SPEED[k])}" effort="{IIWA_EFFORT[k]}"/></joint>'
        )
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write("".join(parts) + "</robot>")
        file.flush()
        return RobotModel.from_urdf(file.name)


def at_one_metre(model: RobotModel, frame: str) -> MotionLimits:
    return MotionLimits.from_model(
        model, tcp_frame=frame, tcp_speed=1.0, velocity_share=0.9, effort_share=0.8
    )


def condition() -> None:
    """Print condition numbers of the regressor with unit columns; the goal is 4 (earlier plans: 6.6
    to 10.7).
    """
    for name, frame in ARMS.items():
        model = arm(name)
        plan, spent = _timed(model, at_one_metre(model, frame), Criterion.CONDITION, 20.0, None)
        print(f"{name}: condition number {plan.conditioning.unit:.2f}, {spent:.0f} s of processor")


def payload_id() -> None:
    """Print the ratio of the eigenvalues of W'W; the goal is 116.7, published by robot_payload_id.

    Its Fourier series of 5 harmonics has 11 coefficients per joint. Ours starts and ends at rest,
    and has as many with 7 harmonics.
    """
    model = iiwa()
    limits = MotionLimits.from_model(
        model, tcp_speed=10.0, acceleration=30.0, velocity_share=0.95, self_collision=False
    )
    for count in (7, 5):
        plan, spent = _timed(model, limits, Criterion.CONDITION_SI, 10.0, count, 9)
        ratio = plan.conditioning.eigenvalue_ratio
        print(
            f"iiwa: ratio {ratio:.1f} with {count} harmonics, {spent:.0f} s of processor",
            flush=True,
        )


@dataclass(frozen=True)
class PublishedRun:
    """A recorded motion, and the limits that it kept."""

    name: str
    period: float
    limits: MotionLimits
    unknowns: Unknowns
    expectation: Expectation


def published_runs() -> Iterator[PublishedRun]:
    """Yield motions of a UR10e (dynamic_calibration); the limits are each motion's largest values."""
    folder = DATA / "ur10e"
    columns = ColumnMap.load(Path(__file__).parents[2] / "config" / "columns" / "ur10e_csv.yaml")
    model = RobotModel.from_urdf(folder / "ur10e.urdf")
    free = MotionLimits.from_model(model, tcp_frame="tool0")
    unknowns = Unknowns.of_arm(model)
    for file in sorted((folder / "identification").glob("*sec_*harm.csv")):
        stream, _ = in_order(read_table(file, columns).joints)
        run = smooth_motion(stream, 100.0, ZeroPhaseFilter(8.0)).ordered(model.joint_names)
        period = float(round(float(run.time[-1] - run.time[0])))
        inside = free.replace(
            velocity=np.abs(run.v).max(axis=0),
            acceleration=np.abs(run.a).max(axis=0),
            tcp_speed=float(MotionChecker(model, free).tcp_speed(run.q, run.v).max()),
            lower=np.maximum(free.lower, run.q.min(axis=0) - 1e-6),
            upper=np.minimum(free.upper, run.q.max(axis=0) + 1e-6),
        )
        moving = np.abs(run.v).max(axis=1) > 0.02
        told = unknowns.information(run.q[moving], run.v[moving], run.a[moving], period)
        theirs = Expectation.of(unknowns, told, period)
        yield PublishedRun(file.stem, period, inside, unknowns, theirs)


def ur10e() -> None:
    """Compare plans within the speeds, accelerations and positions of published motions; goals: 0.5
    and 0.9 of their deviations.
    """
    for run in published_runs():
        plan, spent = _timed(run.unknowns.model, run.limits, Criterion.MEAN, run.period, None)
        ours, theirs = plan.expectation, run.expectation
        print(
            f"{run.name} ({run.period:g} s): inertials"
            f" {ours.mean_deviation / theirs.mean_deviation:.2f}, friction"
            f" {ours.mean_friction_deviation / theirs.mean_friction_deviation:.2f} of the run's;"
            f" {spent:.0f} s of processor",
            flush=True,
        )


def replan() -> None:
    """Print planning times; goals: 1 s for a payload motion, 5 s for a piece of an arm's motion."""
    model = arm("xarm7")
    limits = MotionLimits.from_model(model, tcp_frame="link_eef")
    for which in ("first", "next"):  # the first one imports and compiles
        begun = time.process_time()
        plan_payload_motion(model, limits, duration=5.0)
        spent = time.process_time() - begun
        print(f"{which} payload motion of the xArm 7: {spent:.2f} s of processor")
    for name, frame in ARMS.items():
        model = arm(name)
        checker = MotionChecker(model, at_one_metre(model, frame))
        explorer = Explorer(checker, Unknowns.of_arm(model), Goal(0.05))
        q = _free_posture(checker)
        explorer.next_piece(q)  # compiles
        begun = time.process_time()
        explorer.next_piece(q)
        print(f"next piece of {name}: {time.process_time() - begun:.2f} s of processor")


def _free_posture(checker: MotionChecker) -> np.ndarray:
    rng, limits = np.random.default_rng(1), checker.limits
    lower, upper = np.maximum(limits.lower, -2.0), np.minimum(limits.upper, 2.0)
    while checker.contacts(q := rng.uniform(lower, upper)):
        pass
    return q


def _timed(
    model: RobotModel,
    limits: MotionLimits,
    criterion: Criterion,
    period: float,
    count: int | None,
    starts: int = 3,
) -> tuple[ArmPlan, float]:
    begun = time.process_time()
    plan = plan_arm_motion(
        model,
        limits,
        criterion=criterion,
        period=period,
        n_harmonics=count,
        n_starts=starts,
        n_candidates=max(60, 3 * starts),
    )
    return plan, time.process_time() - begun


def main() -> None:
    known = {"condition": condition, "iiwa": payload_id, "ur10e": ur10e, "replan": replan}
    for name in sys.argv[1:] or known:
        known[name]()


if __name__ == "__main__":
    main()
