# SPDX-License-Identifier: Apache-2.0
"""How long planning, checking and playing motions take.

python benchmarks/excitation/excitation.py [--full]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from sysid_core.batch import Engine
from sysid_core.execution import Executor, ExecutorState, Measured
from sysid_core.planning import MotionChecker, MotionLimits, plan_arm_motion
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import RobotModel

ROBOTS = {"xarm7": "link_eef", "ur5": "tool0", "panda": "panda_hand_tcp"}


def seconds(function, repeats: int = 1) -> tuple[float, object]:
    start = time.perf_counter()
    for _ in range(repeats):
        result = function()
    return (time.perf_counter() - start) / repeats, result


def main() -> None:
    full = "--full" in sys.argv
    print(f"{'robot':8} {'what':44} {'value':>12}")
    for robot, frame in ROBOTS.items():
        model = RobotModel.from_urdf(robot)
        if robot == "panda":
            model = model.with_locked(["panda_finger_joint1", "panda_finger_joint2"])
        limits = MotionLimits.from_model(model, tcp_frame=frame, ground_height=-0.02)

        def row(what: str, value: str, robot: str = robot) -> None:
            print(f"{robot:8} {what:44} {value:>12}", flush=True)

        t, plan = seconds(lambda m=model, lim=limits: plan_payload_motion(m, lim))
        row("plan a payload motion", f"{t:.2f} s")
        checker = MotionChecker(model, limits)
        t, _ = seconds(lambda c=checker, p=plan: c.check(p.trajectory), 3)
        row(f"check {plan.trajectory.duration:.0f} s of it", f"{t:.2f} s")
        q = plan.posture
        t, _ = seconds(lambda c=checker, q=q: c.contacts(q), 1000)
        row("contacts of one posture", f"{1e3 * t:.2f} ms")

        executor = Executor(model, plan.trajectory, limits)
        executor.start()
        now, q, v, steps = 0.0, plan.trajectory.q[0], np.zeros(model.nv), []
        while not executor.state.is_final:
            measured = Measured(now, model.joint_names, q, v)
            playing = executor.state is ExecutorState.EXECUTING
            start = time.perf_counter()
            command = executor.step(now, measured)
            if playing:
                steps.append(1e6 * (time.perf_counter() - start))
            if command.q is not None:
                q, v = command.q, command.v
            now += 0.002
        row(f"executor, {len(steps)} steps of 2 ms: p50", f"{np.percentile(steps, 50):.0f} µs")
        row("p99", f"{np.percentile(steps, 99):.0f} µs")

        if full:
            fast = limits.replace(tcp_speed=1.0)
            t, arm = seconds(lambda m=model, lim=fast: plan_arm_motion(m, lim, engine=Engine(2)))
            row("plan an arm motion (4 starts, 300 iterations, 2 processes)", f"{t:.1f} s")
            row("  condition number, columns of unit length", f"{arm.conditioning.unit:.2f}")
            row(
                "  eigenvalues of WᵀW, largest over smallest",
                f"{arm.conditioning.eigenvalue_ratio:.0f}",
            )
            row("  mean expected deviation", f"{100 * arm.expectation.mean_deviation:.2f} %")
            row(
                "  best random one's over it",
                f"{arm.random.mean_deviation / arm.expectation.mean_deviation:.1f}",
            )


if __name__ == "__main__":
    main()
