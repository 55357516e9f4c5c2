# SPDX-License-Identifier: Apache-2.0
"""Estimates and payloads as messages; `geometry_msgs/Inertia` contains mass, centre of mass, and
inertia about the centre of mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Inertia, InertiaStamped
from numpy.typing import ArrayLike
from robot_sysid.msg import Identifiability, InertialEstimate, PayloadEstimate

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.robot import RobotModel
from sysid_nodes.conversions.samples import stamp_from_ns, vector3

if TYPE_CHECKING:
    from sysid_core.estimation.payload_live import PayloadSession
    from sysid_core.identifiability.rpna import Identifiability as StructuralAnswer

VERDICT_CODE = {
    ParameterVerdict.IDENTIFIABLE: InertialEstimate.IDENTIFIABLE,
    ParameterVerdict.COMBINATION: InertialEstimate.COMBINATION,
    ParameterVerdict.UNIDENTIFIABLE: InertialEstimate.UNIDENTIFIABLE,
    ParameterVerdict.PRIOR_DOMINATED: InertialEstimate.PRIOR_DOMINATED,
}
STRUCTURAL_CODE = {  # by the names of `StructuralVerdict`
    "ALONE": InertialEstimate.IDENTIFIABLE,
    "BASE": InertialEstimate.COMBINATION,
    "ABSORBED": InertialEstimate.COMBINATION,
    "UNIDENTIFIABLE": InertialEstimate.UNIDENTIFIABLE,
}
VERDICT_FROM_CODE = {code: verdict for verdict, code in VERDICT_CODE.items()}


def message_from_identifiability(
    answer: StructuralAnswer, model: RobotModel, *, stamp_ns: int
) -> Identifiability:
    """Create a message of a structural identifiability result."""
    from sysid_core.identifiability.rpna import combination_text  # heavy: only the estimator's

    base = answer.base
    out = Identifiability(
        robot=model.name,
        urdf_hash=model.urdf_hash,
        exact=base.exact,
        n_parameters=len(base.names),
        n_base=base.rank,
        names=list(base.names),
        verdicts=[STRUCTURAL_CODE[p.verdict.name] for p in answer.parameters],
        base_names=list(base.base_names),
        regroupings=[f"{r.base} = {combination_text(r.terms)}" for r in answer.regroupings],
        regrouping_matrix=base.regrouping.ravel().tolist(),
        warnings=list(answer.warnings),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = model.root_link
    return out


def message_from_estimate(
    estimate: Estimate,
    *,
    stamp_ns: int,
    valid_from_ns: int = 0,
    frame: str,
    reference_point: str,
    model: str,
    robot: RobotModel | None = None,
) -> InertialEstimate:
    """Create a message of an `Estimate`.

    Args:
        estimate: Identified parameters.
        stamp_ns: Time of the computation [ns].
        valid_from_ns: Stamp of the first sample used in the estimate [ns].
        frame: Frame of the values.
        reference_point: Point about which inertias are stated, in words.
        model: Kind of the modelled system: "robot" or "payload".
        robot: Identified robot, or robot that carries the payload; None: the robot of the estimate.
    """
    known = estimate.physically_consistent
    out = InertialEstimate(
        valid_from=stamp_from_ns(valid_from_ns),
        robot=estimate.robot if robot is None else robot.name,
        urdf_hash=estimate.urdf_hash if robot is None else robot.urdf_hash,
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


def estimate_from_message(message: InertialEstimate) -> Estimate:
    """Return the `Estimate` of a message (without the residuals of single channels).

    Raises:
        SysIdError: The arrays of the message have inconsistent sizes, or a verdict is invalid.
    """
    p = len(message.names)
    if len(message.covariance) != p * p or set(message.verdicts) - set(VERDICT_FROM_CODE):
        raise SysIdError(
            f"The estimate of {p} parameters has a covariance of {len(message.covariance)} numbers"
            f" and verdicts {sorted(set(message.verdicts))}.",
            remedy="The estimate may be from another version of robot_sysid: identify again.",
        )
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


def inertia_message(mass: float, com: ArrayLike, inertia: ArrayLike) -> Inertia:
    """Message from mass [kg], centre of mass (3,) [m], and inertia about the centre of mass (3, 3)
    [kg m^2].
    """
    I = np.asarray(inertia, dtype=float)  # noqa: E741
    ixx, ixy, ixz, iyy, iyz, izz = (float(x) for x in I[np.triu_indices(3)])
    return Inertia(
        m=float(mass), com=vector3(com), ixx=ixx, ixy=ixy, ixz=ixz, iyy=iyy, iyz=iyz, izz=izz
    )


def payload_messages(
    estimate: Estimate, session: PayloadSession, *, stamp_ns: int
) -> tuple[InertiaStamped, PayloadEstimate, InertialEstimate]:
    """Return the payload estimate of a session as three messages: the inertia about the centre of
    mass, the same with standard deviations and the state of the session, and all parameters.

    Args:
        estimate: Payload estimate.
        session: Session from which the estimate comes.
        stamp_ns: Time up to which the estimate is valid [ns].
    """
    from sysid_core.estimation.payload import PayloadSummary

    payload, change = PayloadSummary.of(estimate), session.last_change
    inertia = inertia_message(payload.mass, payload.com, payload.inertia)
    changed = {}
    if change is not None:
        changed = {
            "change": getattr(PayloadEstimate, change.kind.name),
            "changed_at": stamp_from_ns(change.stamp_ns),
            "changed_mass": change.mass,
        }
    state = PayloadEstimate(
        valid_from=stamp_from_ns(session.first_stamp_ns),
        robot=session.model.name,
        urdf_hash=session.model.urdf_hash,
        state=getattr(PayloadEstimate, session.online.state.name),  # constants of the same names
        **changed,
        advice=session.online.advice,
        method=estimate.method,
        inertia=inertia,
        inertia_sd=inertia_message(payload.mass_sd, payload.com_sd, payload.inertia_sd),
        physically_consistent=bool(estimate.physically_consistent),
        verdicts=np.array([VERDICT_CODE[v] for v in estimate.verdicts], dtype=np.uint8),
        samples_used=int(estimate.n_samples),
        force_residual_rms=float(estimate.residual_rms["force"]),
        torque_residual_rms=float(estimate.residual_rms["torque"]),
    )
    parameters = message_from_estimate(
        estimate,
        stamp_ns=stamp_ns,
        valid_from_ns=session.first_stamp_ns,
        frame=session.sensor_frame,
        reference_point="origin of frame_id",
        model="payload",
        robot=session.model,
    )
    state.header = parameters.header
    return InertiaStamped(header=parameters.header, inertia=inertia), state, parameters
