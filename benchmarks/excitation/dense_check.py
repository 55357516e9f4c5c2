# SPDX-License-Identifier: Apache-2.0
"""Check of planned motions at 10 kHz against their limits, with code independent of the planner's
check.

python benchmarks/excitation/dense_check.py [LAST] [FIRST]

Checks the plans FIRST (0) to LAST (16) of different robots. Each accepted plan is evaluated as a
Fourier series, as the quintic splines that a joint trajectory controller plays between knots 50 ms
apart, and as linear interpolation between the set points that the executor streams every 10 ms.
Collisions of the robot with itself and the ground are checked every 40 ms with pinocchio's pairs
and coal alone.
"""

from __future__ import annotations

import sys

import coal
import numpy as np
import pinocchio as pin
from scipy.interpolate import BPoly, interp1d

from sysid_core.errors import ExcitationError
from sysid_core.planning import MotionLimits, Trajectory, plan_arm_motion
from sysid_core.robot import RobotModel, example_share, load_robot

ROBOTS = {
    "xarm7": ("link_eef", ""), "ur5": ("tool0", ""), "panda": ("panda_hand_tcp", "finger"),
    "ur3": ("tool0", ""), "ur10": ("tool0", ""), "kinova": ("", "finger"), "so101": ("", ""),
    "tx40": ("", ""),
}  # fmt: skip
RATE = 10_000.0  # [Hz]
KNOT = 0.05  # [s]
EVERY = 10  # sample of the 10 kHz at which torque and TCP speed are asked for
TOUCH = 400  # the same of contact
STREAM = 0.01  # [s], between set points of a stream
GROUND = -0.05  # [m]


def worst_use(
    model: RobotModel, limits: MotionLimits, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> dict[str, float]:
    """Largest ratio of each quantity to its limit; for positions, the largest violation plus 1."""
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


class Bodies:
    """Collision shapes of a robot's description, for collisions with each other and the ground."""

    def __init__(self, model: RobotModel) -> None:
        self._model, self._data = model, model.pin_model.createData()
        folders = [str(example_share())]
        shapes = pin.buildGeomFromUrdfString(
            model.pin_model, model.urdf_xml, pin.GeometryType.COLLISION, package_dirs=folders
        )
        parents = [int(p) for p in model.pin_model.parents]
        joints = [int(shape.parentJoint) for shape in shapes.geometryObjects]
        n = len(joints)
        half = coal.Halfspace(np.array([0.0, 0.0, 1.0]), GROUND)
        shapes.addGeometryObject(pin.GeometryObject("ground", 0, pin.SE3.Identity(), half))
        pairs = [
            (i, j)
            for i in range(n)
            for j in range(i + 1, n)
            if joints[i] != joints[j] and joints[j] != parents[joints[i]] != parents[joints[j]]
            and joints[i] != parents[joints[j]]
        ] + [(i, n) for i in range(n) if joints[i] > 0]  # fmt: skip
        for pair in pairs:
            shapes.addCollisionPair(pin.CollisionPair(*pair))
        hulls = shapes.copy()  # what hulls exclude, meshes needn't be asked about
        for shape in hulls.geometryObjects:
            if isinstance(shape.geometry, coal.BVHModelBase):
                shape.geometry.buildConvexHull(True, "Qt")
                shape.geometry = shape.geometry.convex
        self._shapes = [(g, pin.GeometryData(g)) for g in (hulls, shapes)]

    def touching(self, q: np.ndarray) -> int:
        """Number of postures (K, n) that are in collision."""
        tree = self._model.pin_model
        return sum(
            all(pin.computeCollisions(tree, self._data, *g, q_k, True) for g in self._shapes)
            for q_k in self._model.configuration(q)
        )


def streamed(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear interpolation of the set points (every 10 ms) of positions, velocities and
    accelerations at 10 kHz.
    """
    knots = np.arange(0.0, trajectory.time[-1], STREAM)
    states = np.array([trajectory.at(t) for t in knots])
    time = np.arange(0.0, knots[-1], 1.0 / RATE)
    curve = interp1d(knots, states, axis=0)(time)
    return curve[:, 0], curve[:, 1], curve[:, 2]


def played(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quintic splines through every knot's position, velocity and acceleration at 10 kHz."""
    step = max(1, round(KNOT / (trajectory.time[1] - trajectory.time[0])))
    k = np.unique(np.r_[np.arange(0, len(trajectory.time), step), len(trajectory.time) - 1])
    knots = np.stack([trajectory.q[k], trajectory.v[k], trajectory.a[k]], axis=1)
    curve = BPoly.from_derivatives(trajectory.time[k], knots)
    time = np.arange(0.0, trajectory.time[-1], 1.0 / RATE)
    return curve(time), curve.derivative(1)(time), curve.derivative(2)(time)


def main() -> None:
    last, first = (int(x) for x in (*sys.argv[1:3], *(16, 0)[len(sys.argv) - 1 :]))
    accepted, refused, broken, touching, worst = 0, 0, 0, 0, {}
    for i in range(first, last):
        name, (frame, held) = list(ROBOTS.items())[i % len(ROBOTS)]
        model = load_robot(name)
        if held:
            model = model.with_locked([n for n in model.joint_names if held in n])
        limits = MotionLimits.from_model(
            model, tcp_frame=frame or None, tcp_speed=(0.25, 1.0, 2.0)[i % 3],
            acceleration=(3.0, 5.0, 10.0)[(i // 3) % 3], velocity_share=0.9, effort_share=0.8,
            ground_height=GROUND,
        )  # fmt: skip
        try:
            plan = plan_arm_motion(
                model, limits, period=(8.0, 15.0)[(i // 8) % 2], seed=i, n_candidates=8, n_starts=1,
                n_iterations=40,
            )  # fmt: skip
        except ExcitationError as err:
            refused += 1
            print(f"{i:3} {name:8} refused: {err.message[:90]}", flush=True)
            continue
        accepted += 1
        time = np.arange(0.0, plan.basis.period, 1.0 / RATE)
        ways = {
            "series": plan.basis.motion(time, plan.centre, plan.coefficients),
            "quintics": played(plan.trajectory),
            "stream": streamed(plan.trajectory),
        }
        shares = []
        for how, motion in ways.items():
            use = worst_use(model, limits, *motion)
            shares.append(max(use.values()))
            broken += any(share > 1.0 + 1e-9 for share in use.values())
            for kind, share in use.items():
                if share > worst.get((how, kind), (0.0, ""))[0]:
                    worst[how, kind] = (share, name)
        touches = Bodies(model).touching(ways["quintics"][0][::TOUCH])
        touching += touches > 0
        print(f"{i:3} {name:8} {max(shares):.4f}, {touches} postures in contact", flush=True)
    for (how, kind), (share, name) in worst.items():
        print(f"{how:9} {kind:13} worst {share:.4f} ({name})")
    print(
        f"{accepted} accepted, {refused} refused; {broken} of {3 * accepted} break a limit,"
        f" {touching} of {accepted} touch"
    )


if __name__ == "__main__":
    main()
