# SPDX-License-Identifier: Apache-2.0
"""Replay of a recorded payload identification, as the live nodes process it."""

from __future__ import annotations

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload_live.session import PayloadSession
from sysid_core.signals import Recording, WrenchStream
from sysid_core.signals.filters import FilteredJointStream, filter_joints
from sysid_core.signals.wrench import require_sensor_frame

_STEP_NS = 100_000_000  # between advances


def require_wrench(recording: Recording) -> WrenchStream:
    """Return the wrench of a recording.

    Raises:
        EstimationError: There is no wrench, or the wrench has no samples.
    """
    if recording.wrench is None or not len(recording.wrench):
        raise EstimationError(
            f"'{recording.source}' has no wrench.",
            remedy="Record the force-torque sensor, or use `sysid payload-torques`.",
        )
    return recording.wrench


def replay_payload(recording: Recording, session: PayloadSession) -> FilteredJointStream:
    """Process a recording in a session, as the live nodes do.

    Args:
        recording: Raw joint states, wrenches and marks.
        session: New session without samples.

    Returns:
        The filtered joint states.

    Raises:
        EstimationError: There is no wrench, or the wrench has no samples.
    """
    wrench = require_wrench(recording)
    require_sensor_frame(wrench.frame, session.sensor_frame, f"The wrench of '{recording.source}'")
    joints = recording.joints.ordered(session.model.joint_names)
    filtered, _ = filter_joints(joints)
    states = [
        np.array(x)
        for x in (filtered.q, filtered.v, filtered.a, filtered.q_sd, filtered.v_sd, filtered.a_sd)
    ]
    for mark in recording.marks:
        session.add_mark(mark.stamp_ns, mark.label)
    for k, stamp in enumerate(wrench.stamps_ns.tolist()):
        session.add_wrench(stamp, wrench.wrench[k])
    for k, stamp in enumerate(filtered.stamps_ns.tolist()):
        q, v, a, *sd = (x[k] for x in states)
        session.add_joints(stamp, q, v, a, sd)
    start, end = int(wrench.stamps_ns.min()), int(wrench.stamps_ns.max())
    for until in range(start, end, _STEP_NS):
        session.advance(until)
    session.finish()
    return filtered
