"""The only crossing between ROS messages and the core's types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, Vector3, Wrench
from numpy.typing import ArrayLike, NDArray
from robot_sysid.msg import InertialEstimate, PayloadEstimate
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate, Verdict
from sysid_core.excitation import Trajectory
from sysid_core.robot import mass_com_inertia_from_pi, mass_com_inertia_with_sd

Array = NDArray[np.float64]

VERDICT_CODE = {
    Verdict.IDENTIFIABLE: InertialEstimate.IDENTIFIABLE,
    Verdict.COMBINATION: InertialEstimate.COMBINATION,
    Verdict.UNIDENTIFIABLE: InertialEstimate.UNIDENTIFIABLE,
    Verdict.PRIOR_DOMINATED: InertialEstimate.PRIOR_DOMINATED,
}
VERDICT_FROM_CODE = {code: verdict for verdict, code in VERDICT_CODE.items()}


def ns_from_stamp(stamp: Time) -> int:
    """A ROS stamp in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_from_ns(ns: int) -> Time:
    """Nanoseconds as a ROS stamp."""
    return Time(sec=int(ns // 1_000_000_000), nanosec=int(ns % 1_000_000_000))


def joint_arrays_from_message(
    message: JointState, names: Sequence[str]
) -> tuple[Array, Array | None, Array | None]:
    """Positions, velocities and efforts in the order of `names`, mapped by name.

    Args:
        message: May hold other joints too, in any order.
        names: Joint names, n of them.

    Returns:
        q (n,), v (n,) or None, effort (n,) or None where the message has none.

    Raises:
        SignalError: A joint is missing, or the arrays' lengths don't fit the names.
    """
    index = {name: i for i, name in enumerate(message.name)}
    missing = [name for name in names if name not in index]
    if missing:
        raise SignalError(
            f"joint_states lacks {missing}; it has {list(message.name)}.",
            remedy="Remap joint_states to this robot's, or load the URDF that belongs to it.",
            missing=missing,
        )
    k = [index[name] for name in names]

    def pick(values: Sequence[float], what: str) -> Array | None:
        if len(values) == 0:
            return None
        if len(values) != len(message.name):
            raise SignalError(
                f"joint_states has {len(message.name)} names and {len(values)} {what}s.",
                remedy="The driver is broken: all arrays must have one entry per name.",
            )
        return np.asarray(values, dtype=float)[k]

    q = pick(message.position, "position")
    if q is None:
        raise SignalError(
            "joint_states has no positions.", remedy="Check the joint_state_broadcaster."
        )
    return q, pick(message.velocity, "velocity"), pick(message.effort, "effort")


def wrench_from_message(message: Wrench) -> Array:
    """Force then torque, shape (6,)."""
    f, t = message.force, message.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def message_from_wrench(wrench: ArrayLike) -> Wrench:
    """Inverse of `wrench_from_message`."""
    w = np.asarray(wrench, dtype=float)
    return Wrench(force=vector3(w[:3]), torque=vector3(w[3:]))


def vector3(values: ArrayLike) -> Vector3:
    """Three numbers as a message."""
    x, y, z = (float(v) for v in np.asarray(values, dtype=float))
    return Vector3(x=x, y=y, z=z)


def message_from_trajectory(
    trajectory: Trajectory, *, start_ns: int = 0, stride: int = 1
) -> JointTrajectory:
    """Position, velocity and acceleration of every `stride`-th sample; the last is always there.

    A joint_trajectory_controller then interpolates quintics; the end is at rest.
    """
    rows = sorted({*range(0, len(trajectory.time), stride), len(trajectory.time) - 1})
    out = JointTrajectory(joint_names=list(trajectory.joint_names))
    if start_ns:
        out.header.stamp = stamp_from_ns(start_ns)
    for k in rows:
        point = JointTrajectoryPoint(
            positions=trajectory.q[k].tolist(),
            velocities=trajectory.v[k].tolist(),
            accelerations=trajectory.a[k].tolist(),
        )
        ns = round((trajectory.time[k] - trajectory.time[0]) * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(ns, 1_000_000_000)
        out.points.append(point)
    return out


def trajectory_arrays(
    message: JointTrajectory, names: Sequence[str]
) -> tuple[Array, Array, Array, Array]:
    """Times and positions, velocities, accelerations of a trajectory in the order of `names`.

    Returns:
        time (K,) [s], q (K, n), v (K, n), a (K, n); missing velocities and accelerations are zero.

    Raises:
        SignalError: A joint is missing, or a point has the wrong number of values.
    """
    missing = [name for name in names if name not in message.joint_names]
    if missing or not message.points:
        raise SignalError(
            f"The trajectory has {len(message.points)} points and lacks the joints {missing}.",
            remedy="Send all joints of the robot and at least one point.",
        )
    k = [list(message.joint_names).index(name) for name in names]
    width = len(message.joint_names)

    def rows(key: str) -> Array:
        values = [getattr(p, key) for p in message.points]
        if key != "positions":
            values = [x if len(x) else [0.0] * width for x in values]
        if any(len(x) != width for x in values):
            raise SignalError(
                f"A point of the trajectory doesn't have {width} {key}.",
                remedy="Give one value per joint name.",
            )
        return np.array([np.asarray(x, dtype=float) for x in values])[:, k]

    time = np.array(
        [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points]
    )
    return time, rows("positions"), rows("velocities"), rows("accelerations")


def message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str, reference_point: str, model: str
) -> InertialEstimate:
    """The rich message of an `Estimate`."""
    known = estimate.physically_consistent
    out = InertialEstimate(
        valid_from=stamp_from_ns(stamp_ns),
        robot=estimate.robot,
        urdf_hash=estimate.urdf_hash,
        model=model,
        method=estimate.method,
        reference_point=reference_point,
        names=list(estimate.names),
        units=list(estimate.units),
        values=estimate.values.tolist(),
        covariance=estimate.covariance.ravel().tolist(),
        verdicts=[VERDICT_CODE[v] for v in estimate.verdicts],
        consistency_known=known is not None,
        physically_consistent=bool(known),
        condition_number=float(estimate.condition_number),
        rank=int(estimate.rank),
        structural_rank=int(estimate.structural_rank),
        residual_rms=float(np.sqrt(np.mean(np.square(list(estimate.residual_rms.values())))))
        if estimate.residual_rms
        else float("nan"),
        samples_used=int(estimate.n_samples),
        notes=list(estimate.notes),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    return out


def inertia_message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str
) -> InertiaStamped:
    """`geometry_msgs/InertiaStamped`: mass, centre of mass, inertia about the centre of mass."""
    mass, com, I_C = mass_com_inertia_from_pi(estimate.values[:10])
    out = InertiaStamped()
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    out.inertia.m = float(mass)
    out.inertia.com = vector3(com)
    for name, (i, j) in {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }.items():
        setattr(out.inertia, name, float(I_C[i, j]))
    return out


def payload_message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str, state: str, advice: str
) -> PayloadEstimate:
    """The running payload, with standard deviations of mass, centre of mass and inertia."""
    values, sd = mass_com_inertia_with_sd(estimate.values[:10], estimate.covariance[:10, :10])
    rms = estimate.residual_rms
    out = PayloadEstimate(
        state=state,
        advice=advice,
        method=estimate.method,
        mass=float(values[0]),
        mass_sd=float(sd[0]),
        com=vector3(values[1:4]),
        com_sd=vector3(sd[1:4]),
        inertia=values[4:],
        inertia_sd=sd[4:],
        physically_consistent=bool(estimate.physically_consistent),
        verdicts=np.array([VERDICT_CODE[v] for v in estimate.verdicts[:10]], dtype=np.uint8),
        samples_used=int(estimate.n_samples),
        force_residual_rms=float(
            np.sqrt(np.mean([rms.get(k, np.nan) ** 2 for k in ("fx", "fy", "fz")]))
        ),
        torque_residual_rms=float(
            np.sqrt(np.mean([rms.get(k, np.nan) ** 2 for k in ("tx", "ty", "tz")]))
        ),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    return out
