# SPDX-License-Identifier: Apache-2.0
"""Payloads as messages: `geometry_msgs/Inertia` has the mass, its centre, and the inertia about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Inertia, InertiaStamped
from numpy.typing import ArrayLike
from robot_sysid.msg import PayloadEstimate

from sysid_core.estimation import Estimate
from sysid_nodes.conversions.estimates import VERDICT_CODE
from sysid_nodes.conversions.stamps import stamp_from_ns
from sysid_nodes.conversions.wrenches import vector3

if TYPE_CHECKING:
    from sysid_core.estimation.payload_live import PayloadSession


def inertia_message(mass: float, com: ArrayLike, inertia: ArrayLike) -> Inertia:
    """Mass [kg], centre of mass (3,) [m], inertia about it (3, 3) [kg m^2] as a message."""
    I = np.asarray(inertia, dtype=float)  # noqa: E741
    ixx, ixy, ixz, iyy, iyz, izz = (float(x) for x in I[np.triu_indices(3)])
    return Inertia(
        m=float(mass), com=vector3(com), ixx=ixx, ixy=ixy, ixz=ixz, iyy=iyy, iyz=iyz, izz=izz
    )


def inertia_message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str
) -> InertiaStamped:
    """`geometry_msgs/InertiaStamped`: mass, centre of mass, inertia about the centre of mass."""
    from sysid_core.estimation.payload import summarise_payload  # heavy: only where a payload is

    payload = summarise_payload(estimate)
    out = InertiaStamped(inertia=inertia_message(payload.mass, payload.com, payload.inertia))
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = frame
    return out


def payload_message_from_estimate(
    estimate: Estimate, session: PayloadSession, *, stamp_ns: int
) -> PayloadEstimate:
    """The running payload of a session, with the standard deviations of its parts."""
    from sysid_core.estimation.payload import summarise_payload

    payload, change = summarise_payload(estimate), session.last_change
    changed = {}
    if change is not None:
        changed = {
            "change": getattr(PayloadEstimate, change.kind.name),
            "changed_at": stamp_from_ns(change.stamp_ns),
            "changed_mass": change.mass,
        }
    out = PayloadEstimate(
        valid_from=stamp_from_ns(session.first_stamp_ns),
        robot=session.model.name,
        urdf_hash=session.model.urdf_hash,
        state=getattr(PayloadEstimate, session.online.state.name),  # constants of the same names
        **changed,
        advice=session.online.advice,
        method=estimate.method,
        inertia=inertia_message(payload.mass, payload.com, payload.inertia),
        inertia_sd=inertia_message(payload.mass_sd, payload.com_sd, payload.inertia_sd),
        physically_consistent=bool(estimate.physically_consistent),
        verdicts=np.array([VERDICT_CODE[v] for v in estimate.verdicts], dtype=np.uint8),
        samples_used=int(estimate.n_samples),
        force_residual_rms=float(estimate.residual_rms["force"]),
        torque_residual_rms=float(estimate.residual_rms["torque"]),
    )
    out.header.stamp = stamp_from_ns(stamp_ns)
    out.header.frame_id = session.sensor_frame
    return out
