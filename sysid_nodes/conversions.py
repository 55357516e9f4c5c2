"""The crossing between ROS messages and the core's types; `serialised` is that of single samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, Vector3, Wrench
from numpy.typing import ArrayLike, NDArray
from robot_sysid.msg import (
    FilteredJointState,
    Identifiability,
    InertialEstimate,
    PayloadEstimate,
)
from robot_sysid.msg import StreamStatistics as StreamStatisticsMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate, Verdict
from sysid_core.estimation.payload import summarise_payload
from sysid_core.excitation import Trajectory
from sysid_core.identifiability.rpna import Identifiability as StructuralAnswer
from sysid_core.identifiability.rpna import StructuralVerdict, combination_text
from sysid_core.robot import RobotModel
from sysid_core.signals import StreamStatistics

Array = NDArray[np.float64]

VERDICT_CODE = {
    Verdict.IDENTIFIABLE: InertialEstimate.IDENTIFIABLE,
    Verdict.COMBINATION: InertialEstimate.COMBINATION,
    Verdict.UNIDENTIFIABLE: InertialEstimate.UNIDENTIFIABLE,
    Verdict.PRIOR_DOMINATED: InertialEstimate.PRIOR_DOMINATED,
}
STRUCTURAL_CODE = {
    StructuralVerdict.ALONE: InertialEstimate.IDENTIFIABLE,
    StructuralVerdict.BASE: InertialEstimate.COMBINATION,
    StructuralVerdict.ABSORBED: InertialEstimate.COMBINATION,
    StructuralVerdict.UNIDENTIFIABLE: InertialEstimate.UNIDENTIFIABLE,
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


def filtered_arrays(
    message: FilteredJointState, names: Sequence[str]
) -> tuple[Array, Array, Array, Array]:
    """Filtered q, v and a in the order of `names`, each (n,), and their sds, (3, n).

    Raises:
        SignalError: A joint is missing.
    """
    missing = [name for name in names if name not in message.name]
    if missing:
        raise SignalError(
            f"The filtered joint states lack {missing}; they have {list(message.name)}.",
            remedy="Logger and estimator must use the same robot_description.",
        )
    k = [message.name.index(name) for name in names]
    return (
        np.asarray(message.position)[k],
        np.asarray(message.velocity)[k],
        np.asarray(message.acceleration)[k],
        np.array([message.position_sd, message.velocity_sd, message.acceleration_sd])[:, k],
    )


def message_from_identifiability(
    answer: StructuralAnswer, model: RobotModel, *, stamp_ns: int
) -> Identifiability:
    """The structural answer of a robot."""
    base = answer.base
    out = Identifiability(
        robot=model.name,
        urdf_hash=model.urdf_hash,
        exact=base.exact,
        n_parameters=len(base.names),
        n_base=base.rank,
        names=list(base.names),
        verdicts=[STRUCTURAL_CODE[p.verdict] for p in answer.parameters],
        base_names=list(base.base_names),
        regroupings=[f"{r.base} = {combination_text(r.terms)}" for r in answer.regroupings],
        regrouping_matrix=base.regrouping.ravel().tolist(),
        warnings=list(answer.warnings),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = model.root_link
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
    payload = summarise_payload(estimate)
    out = InertiaStamped()
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    out.inertia.m = payload.mass
    out.inertia.com = vector3(payload.com)
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        setattr(out.inertia, f"i{'xyz'[i]}{'xyz'[j]}", float(payload.inertia[i, j]))
    return out


def payload_message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str, state: str, advice: str
) -> PayloadEstimate:
    """The running payload, with standard deviations of mass, centre of mass and inertia."""
    payload = summarise_payload(estimate)
    rows, columns = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
    out = PayloadEstimate(
        state=state,
        advice=advice,
        method=estimate.method,
        mass=payload.mass,
        mass_sd=payload.mass_sd,
        com=vector3(payload.com),
        com_sd=vector3(payload.com_sd),
        inertia=payload.inertia[rows, columns],
        inertia_sd=payload.inertia_sd[rows, columns],
        physically_consistent=bool(estimate.physically_consistent),
        verdicts=np.array([VERDICT_CODE[v] for v in estimate.verdicts], dtype=np.uint8),
        samples_used=int(estimate.n_samples),
        force_residual_rms=float(estimate.residual_rms["force"]),
        torque_residual_rms=float(estimate.residual_rms["torque"]),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    return out


def estimate_from_message(message: InertialEstimate) -> Estimate:
    """The core's `Estimate` of a rich message (residuals per channel don't travel)."""
    p = len(message.names)
    consistent = {message.model: bool(message.physically_consistent)}
    return Estimate(
        method=message.method,
        names=tuple(message.names),
        values=np.array(message.values),
        units=tuple(message.units),
        covariance=np.array(message.covariance).reshape(p, p),
        verdicts=tuple(VERDICT_FROM_CODE[code] for code in message.verdicts),
        consistent=consistent if message.consistency_known else {},
        condition_number=message.condition_number,
        rank=message.rank,
        structural_rank=message.structural_rank,
        n_samples=message.samples_used,
        robot=message.robot,
        urdf_hash=message.urdf_hash,
        source="topic",
        notes=tuple(message.notes),
    )


def message_from_statistics(
    statistics: StreamStatistics, topic: str, now_ns: int
) -> StreamStatisticsMessage:
    """How a stream is doing; fields of the same names."""
    out = StreamStatisticsMessage(stamp=stamp_from_ns(now_ns), topic=topic)
    for field in dataclasses.fields(statistics):
        setattr(out, field.name, getattr(statistics, field.name))
    return out
