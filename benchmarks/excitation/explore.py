# SPDX-License-Identifier: Apache-2.0
"""How much motion is needed: pieces planned one after the other against one planned motion.

The Panda's inertials and friction: the time of motion in which `Explorer` reaches the expected
deviations of a motion of fixed length. The xArm's payloads: the time of an oscillation after which
mass and centre of mass of random loads are known to 5 % and 5 mm (of 0.5 to 3 kg, noise 0.1 N).
Usage: python benchmarks/excitation/explore.py [panda seconds] [payloads]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console

from sysid_core.estimation.payload_live import OnlinePayload
from sysid_core.excitation import MotionChecker, MotionLimits, Unknowns
from sysid_core.excitation.design import Ending, Expectation, Explorer, Goal, plan_arm_motion
from sysid_core.excitation.payload import plan_payload_motion
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor

RATE_HZ = 50.0
out = Console()


def panda(seconds: float) -> None:
    """One motion of `seconds`, then pieces until they know as much."""
    model = RobotModel.from_urdf("panda").with_locked(
        {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    )
    limits = MotionLimits.from_model(model, tcp_speed=1.0, ground_height=0.0)
    unknowns = Unknowns.of_arm(model)
    plan = plan_arm_motion(model, limits, period=seconds, seed=1, n_starts=2, n_iterations=100)
    t = np.arange(0.0, plan.trajectory.duration, 1.0 / RATE_HZ)
    states = np.array([plan.trajectory.at(x) for x in t])
    information = unknowns.information(states[:, 0], states[:, 1], states[:, 2], t[-1])
    fixed = Expectation.of(unknowns, information, t[-1])
    out.print(f"Panda, one motion of {t[-1]:.1f} s: mean deviation {fixed.mean_deviation:.4f}")
    explorer = Explorer(MotionChecker(model, limits), unknowns, Goal(1e-3, longest=3 * seconds))
    q, begin = plan.trajectory.q[0], time.monotonic()
    while explorer.ending is Ending.OPEN:
        piece = explorer.next_piece(q)
        t = np.arange(0.0, piece.duration, 1.0 / RATE_HZ)
        states = np.array([piece.at(x) for x in t])
        explorer.add(states[:, 0], states[:, 1], states[:, 2], float(t[-1]))
        q, known = piece.q[-1], explorer.expectation
        out.print(
            f"  {explorer.n_pieces} pieces, {explorer.duration:.1f} s of motion: mean deviation"
            f" {known.mean_deviation:.4f}; {time.monotonic() - begin:.0f} s of planning"
        )
        if known.mean_deviation <= fixed.mean_deviation:
            break
    share = explorer.duration / fixed.duration
    out.print(f"  pieces need {100 * share:.0f} % of the fixed motion's time (goal 50 %)")


def payloads(count: int) -> None:
    """Random loads on an xArm 7, weighed along a planned oscillation."""
    robot = RobotModel.from_urdf("xarm7")
    limits = MotionLimits.from_model(robot, tcp_frame="link_eef", tcp_speed=1.0)
    plan = plan_payload_motion(robot, limits, duration=10.0, n_candidates=60)
    segment = next(s for s in plan.trajectory.segments if s.label == "oscillation")
    t = np.arange(segment.start, segment.end, 0.01)
    q, v, a = np.moveaxis(np.array([plan.trajectory.at(x) for x in t]), 1, 0)
    motion = robot.frame_motion("link_eef", q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    rng, times = np.random.default_rng(7), []
    for _ in range(count):
        mass, com = rng.uniform(0.5, 3.0), rng.uniform(-0.08, 0.08, 3) + [0.0, 0.0, 0.08]
        pi = pi_from_mass_com_inertia(mass, com, mass * 0.06**2 * np.diag(rng.uniform(0.7, 1.3, 3)))
        wrench = A @ pi + np.repeat([0.1, 0.005], 3) * rng.normal(size=(len(t), 6))
        online = OnlinePayload(None)
        online.reset(None)
        verdict = np.inf
        for k in range(len(t)):
            online.update(
                t[k] - t[0], wrench[k], motion.omega[k], motion.alpha[k], motion.a[k],
                motion.gravity[k], None, motion.R_WF[k],
            )  # fmt: skip
            if k % 10 or k < 20:
                continue
            estimate = online.estimate()
            sd, m = estimate.standard_deviations, max(estimate.values[0], 1e-3)
            if sd[0] < 0.05 * m and sd[1:4].max() < 0.005 * m:
                verdict = t[k] - t[0]
                error = abs(estimate.values[0] - mass) / mass
                break
        times.append((verdict, error))
    seconds, errors = np.array(times).T
    out.print(
        f"xArm 7, {count} payloads: verdict after {np.median(seconds):.1f} s (median),"
        f" {seconds.max():.1f} s at most (goal 5 s); mass wrong by {100 * errors.max():.1f} % at most"
    )


def main() -> None:
    panda(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
    payloads(int(sys.argv[2]) if len(sys.argv) > 2 else 20)


if __name__ == "__main__":
    main()
