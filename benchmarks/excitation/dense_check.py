"""Planned motions at 10 kHz against their limits, by code that shares nothing with the planner's check.

python benchmarks/excitation/dense_check.py [PLANS]

Each accepted plan is judged as a series, and as the quintics that a joint trajectory controller
plays between knots 50 ms apart.
"""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin
from scipy.interpolate import BPoly

from sysid_core.errors import ExcitationError
from sysid_core.excitation import MotionLimits, Trajectory, plan_arm_motion
from sysid_core.robot import RobotModel, load_robot

ROBOTS = {
    "xarm7": ("link_eef", ""), "ur5": ("tool0", ""), "panda": ("panda_hand_tcp", "finger"),
    "ur3": ("tool0", ""), "ur10": ("tool0", ""), "kinova": ("", "finger"), "so101": ("", ""),
    "tx40": ("", ""),
}  # fmt: skip
RATE = 10_000.0  # [Hz]
KNOT = 0.05  # [s]
EVERY = 10  # sample of the 10 kHz at which torque and TCP speed are asked for


def worst_use(
    model: RobotModel, limits: MotionLimits, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> dict[str, float]:
    """Largest share of each limit; of positions, the largest excess plus 1."""
    tree, data = model.pin_model, model.pin_model.createData()
    frame = tree.getFrameId(limits.tcp_frame)
    torque, speed = 0.0, 0.0
    for q_k, v_k, a_k in zip(model.configuration(q[::EVERY]), v[::EVERY], a[::EVERY], strict=True):
        torque = max(
            torque, float(np.max(np.abs(pin.rnea(tree, data, q_k, v_k, a_k)) / limits.effort))
        )
        pin.forwardKinematics(tree, data, q_k, v_k)
        u = pin.getFrameVelocity(tree, data, frame, pin.LOCAL_WORLD_ALIGNED).linear
        speed = max(speed, float(np.linalg.norm(u)) / limits.tcp_speed)
    return {
        "position": 1.0 + float(np.max(np.maximum(limits.lower - q, q - limits.upper))),
        "velocity": float(np.max(np.abs(v) / limits.velocity)),
        "acceleration": float(np.max(np.abs(a) / limits.acceleration)),
        "effort": torque,
        "tcp speed": speed,
    }


def played(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quintics through every knot's position, velocity and acceleration, at 10 kHz."""
    step = max(1, round(KNOT / (trajectory.time[1] - trajectory.time[0])))
    k = np.unique(np.r_[np.arange(0, len(trajectory.time), step), len(trajectory.time) - 1])
    knots = np.stack([trajectory.q[k], trajectory.v[k], trajectory.a[k]], axis=1)
    curve = BPoly.from_derivatives(trajectory.time[k], knots)
    time = np.arange(0.0, trajectory.time[-1], 1.0 / RATE)
    return curve(time), curve.derivative(1)(time), curve.derivative(2)(time)


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    accepted, refused, broken, worst = 0, 0, 0, {}
    for i in range(wanted):
        name, (frame, held) = list(ROBOTS.items())[i % len(ROBOTS)]
        model = load_robot(name)
        if held:
            model = model.with_locked([n for n in model.joint_names if held in n])
        limits = MotionLimits.from_model(
            model, tcp_frame=frame or None, tcp_speed=(0.25, 1.0, 2.0)[i % 3],
            acceleration=(3.0, 5.0, 10.0)[(i // 3) % 3], velocity_share=0.9, effort_share=0.8,
        )  # fmt: skip
        try:
            plan = plan_arm_motion(
                model, limits, period=(8.0, 15.0)[i % 2], seed=i, n_candidates=8, n_starts=1,
                n_iterations=40,
            )  # fmt: skip
        except ExcitationError as err:
            refused += 1
            print(f"{i:3} {name:8} refused: {err.message[:90]}", flush=True)
            continue
        accepted += 1
        time = np.arange(0.0, plan.basis.period, 1.0 / RATE)
        series = plan.basis.motion(time, plan.centre, plan.coefficients)
        for how, motion in (("series", series), ("quintics", played(plan.trajectory))):
            use = worst_use(model, limits, *motion)
            broken += any(share > 1.0 + 1e-9 for share in use.values())
            for kind, share in use.items():
                if share > worst.get((how, kind), (0.0, ""))[0]:
                    worst[how, kind] = (share, name)
        print(f"{i:3} {name:8} {max(use.values()):.4f}", flush=True)
    for (how, kind), (share, name) in worst.items():
        print(f"{how:9} {kind:13} worst {share:.4f} ({name})")
    print(f"{accepted} accepted, {refused} refused, {broken} of {2 * accepted} break a limit")


if __name__ == "__main__":
    main()
