"""The running payload as messages."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import InertiaStamped
from robot_sysid.msg import PayloadEstimate

from sysid_core.estimation import Estimate
from sysid_nodes.conversions.estimates import VERDICT_CODE
from sysid_nodes.conversions.stamps import stamp_from_ns
from sysid_nodes.conversions.wrenches import vector3


def inertia_message_from_estimate(
    estimate: Estimate, *, stamp_ns: int, frame: str
) -> InertiaStamped:
    """`geometry_msgs/InertiaStamped`: mass, centre of mass, inertia about the centre of mass."""
    from sysid_core.estimation.payload import summarise_payload  # heavy: only where a payload is

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
    from sysid_core.estimation.payload import summarise_payload  # heavy: only where a payload is

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
