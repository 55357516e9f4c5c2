# SPDX-License-Identifier: Apache-2.0
"""Duration of motion needed: pieces planned one after the other, compared with one planned motion.

For the Panda's inertial parameters and friction: the accuracy of `Explorer` after half the duration
of a motion of fixed length, and the time until it reaches the same accuracy. For payloads of an
xArm: the time of an oscillation after which the online estimate calls mass, centre of mass and
inertia of random boxes known (0.5 to 3 kg, 0.1 N noise). Usage: python
benchmarks/excitation/explore.py [panda seconds] [payloads]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import OnlinePayload, PayloadState
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.design import Ending, Expectation, Explorer, Goal, Unknowns
from sysid_core.planning.design.plan import plan_arm_motion
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import FrameMotion, RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration

RATE_HZ = 50.0
SENSOR_SD = np.repeat([0.1, 0.005], 3)  # of one sample [N, N m]
TARED_SD = SENSOR_SD / 10.0  # of the bias after four postures of a second
LONGEST = 8.0  # that an object is weighed [s]
KNOWN = (PayloadState.MASS_KNOWN, PayloadState.COM_KNOWN, PayloadState.INERTIA_KNOWN)
out = Console()


def panda(seconds: float) -> None:
    """Compare motions of fixed length, planned as in earlier versions and today, with explorations
    of the same accuracy.
    """
    model = RobotModel.from_urdf("panda").with_locked(
        {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    )
    limits = MotionLimits.from_model(model, tcp_speed=1.0, ground_height=0.0)
    unknowns, checker = Unknowns.of_arm(model), MotionChecker(model, limits)
    for label, settings in (
        ("5 harmonics, 80 iterations", {"period": 20.0, "n_harmonics": 5, "n_iterations": 80}),
        ("as planned today", {"period": seconds, "n_iterations": 100}),
    ):
        plan = plan_arm_motion(model, limits, seed=1, n_starts=2, **settings)
        fixed = Expectation.of(unknowns, *played(plan.trajectory, unknowns))
        out.print(f"Panda, one motion, {label}: {fixed.duration:.1f} s, {means(fixed)}")
        for longest in (fixed.duration / 2.0, 2.0 * fixed.duration):
            goal = Goal(1e-3, longest=longest)
            explorer = Explorer(checker, unknowns, goal, period=min(12.0, longest))
            explored(explorer, plan.trajectory.q[0], fixed)


def played(trajectory: Trajectory, unknowns: Unknowns) -> tuple[np.ndarray, float]:
    """Return the information of a motion that is followed exactly, and its duration."""
    t = np.arange(0.0, trajectory.duration, 1.0 / RATE_HZ)
    q, v, a = np.moveaxis(np.array([trajectory.at(x) for x in t]), 1, 0)
    return unknowns.information(q, v, a, trajectory.duration), trajectory.duration


def means(known: Expectation) -> str:
    """Text with the geometric means of the relative standard deviations."""
    every = np.exp(np.mean(np.log(known.relative)))
    return (
        f"inertial {known.mean_deviation:.4f}, friction {known.mean_friction_deviation:.4f},"
        f" all {every:.4f}, worst {known.relative.max():.3f}"
    )


def explored(explorer: Explorer, q: np.ndarray, fixed: Expectation) -> None:
    """Plan pieces until the accuracy of a fixed motion or the time limit is reached."""
    begin = time.process_time()
    while explorer.ending is Ending.OPEN:
        piece = explorer.next_piece(q)
        t = np.arange(0.0, piece.duration, 1.0 / RATE_HZ)
        states = np.array([piece.at(x) for x in t])
        explorer.add(states[:, 0], states[:, 1], states[:, 2], piece.duration)
        q, known = piece.q[-1], explorer.expectation
        share = explorer.duration / fixed.duration
        out.print(
            f"  {explorer.n_pieces} pieces, {explorer.duration:.1f} s of motion,"
            f" {100 * share:.0f} %: {means(known)}; {time.process_time() - begin:.0f} s of processor"
        )
        if max(
            known.mean_deviation / fixed.mean_deviation,
            known.mean_friction_deviation / fixed.mean_friction_deviation,
        ) <= 1.0:  # fmt: skip
            break


def payloads(count: int) -> None:
    """Identify random boxes on an xArm 7 during a planned oscillation until they are known."""
    robot = RobotModel.from_urdf("xarm7")
    for speed, limits in (
        (1.0, MotionLimits.from_model(robot, tcp_frame="link_eef", tcp_speed=1.0)),
        (2.0, MotionLimits.from_model(robot, tcp_frame="link_eef", tcp_speed=1.0, acceleration=10)),
    ):
        plan = plan_payload_motion(
            robot, limits, duration=10.0, n_candidates=60, mean_angular_speed=speed
        )
        segment = next(s for s in plan.trajectory.segments if s.label == "oscillation")
        t = np.arange(segment.start, segment.end, 0.01)
        q, v, a = np.moveaxis(np.array([plan.trajectory.at(x) for x in t]), 1, 0)
        motion = robot.frame_motion("link_eef", q, v, a)
        for shaped in (False, True):
            rng = np.random.default_rng(7)
            found = [_weighed(motion, t, rng, shaped) for _ in range(count)]
            for state in KNOWN:
                times = np.array([times[state] for times, _ in found])
                out.print(
                    f"xArm 7, {speed:g} rad/s, {'known' if shaped else 'unknown'} shape, {count}"
                    f" payloads: {state} after {np.median(times):.1f} s (median),"
                    f" {times.max():.1f} s at most, {np.sum(times <= 5.0)} within 5 s"
                )
            errors = np.array([error for _, error in found])
            out.print(
                f"  {100 * np.mean(errors <= 2.0):.0f} % of mass and COM inside 2 sd at the end"
            )


def _weighed(
    motion: FrameMotion, t: np.ndarray, rng: np.random.Generator, shaped: bool
) -> tuple[dict[PayloadState, float], np.ndarray]:
    """Return the time of each state [s], and the errors of mass and centre of mass in standard
    deviations.
    """
    mass, size = rng.uniform(0.5, 3.0), rng.uniform(0.05, 0.2, 3)
    com = rng.uniform(-0.03, 0.03, 3) + [0.0, 0.0, 0.05 + size[2] / 2.0]
    inertia = mass / 12.0 * np.diag(size @ size - size**2)
    pi = pi_from_mass_com_inertia(mass, com, inertia)
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ pi
    wrench += SENSOR_SD * rng.normal(size=wrench.shape) + TARED_SD * rng.normal(size=6)
    online = OnlinePayload(Shape.box(size, com) if shaped else None)
    load_sd = np.array([TARED_SD[0], *TARED_SD[3:]]) / 9.81
    tared = np.diag(np.r_[load_sd, TARED_SD] ** 2)
    online.reset(SensorCalibration("link_eef", np.zeros(6), np.zeros(4), tared))
    known = dict.fromkeys(KNOWN, np.inf)
    data = PayloadData.of(t - t[0], wrench, motion)
    for k in range(round(LONGEST / 0.01)):
        online.update(data.select([k]))
        if k % 20 or k < 20:
            continue
        state = online.state
        for goal in KNOWN[: KNOWN.index(state) + 1 if state in KNOWN else 0]:
            known[goal] = min(known[goal], t[k] - t[0])
        if state is KNOWN[-1]:
            break
    estimate = online.estimate()
    return known, np.abs(estimate.values[:4] - pi[:4]) / estimate.standard_deviations[:4]


def main() -> None:
    panda(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
    payloads(int(sys.argv[2]) if len(sys.argv) > 2 else 20)


if __name__ == "__main__":
    main()
