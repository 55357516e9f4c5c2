# SPDX-License-Identifier: Apache-2.0
"""Input of the default payload estimator from recorded joint states and wrenches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_map.joint_spline import JointSplines
from sysid_core.estimation.payload_map.motion_belief import SplineMotion
from sysid_core.robot import RobotModel
from sysid_core.signals import JointStream

_MARGIN = 0.3  # [s] of joints before and after the wrenches, for the smoothing's ends


def smoothed_payload_data(
    model: RobotModel,
    frame: str,
    joints: JointStream,
    stamps_ns: ArrayLike,
    wrench: ArrayLike,
    *,
    source: str = "",
) -> tuple[PayloadData, SplineMotion]:
    """Return the payload data from raw encoder readings, smoothed and evaluated at the stamps of
    the wrenches.

    Use as `PayloadMAP(shape).fit(*smoothed_payload_data(...))`.

    Args:
        model: Robot model.
        frame: Name of the sensor's frame.
        joints: Encoder readings without filter.
        stamps_ns: Stamps of the wrenches, increasing, shape (K,) [ns].
        wrench: Wrench of the sensor on the object, without bias and tool, shape (K, 6) [N, N m].
        source: Name of the data source.

    Returns:
        The payload data, and the motion with its error.

    Raises:
        EstimationError: The joint readings do not cover the time of the wrenches.
    """
    stamps = np.asarray(stamps_ns, dtype=np.int64)
    ordered = joints.ordered(model.joint_names)
    start, end = int(stamps[0]), int(stamps[-1])
    margin = round(_MARGIN * 1e9)
    near = (ordered.stamps_ns >= start - margin) & (ordered.stamps_ns <= end + margin)
    newest = np.maximum.accumulate(np.concatenate([[np.iinfo(np.int64).min], ordered.stamps_ns]))
    rows = near & np.isfinite(ordered.q).all(axis=1) & (ordered.stamps_ns > newest[:-1])
    used = ordered.stamps_ns[rows]
    if len(used) < 8 or used[0] > start + margin or used[-1] < end - margin:
        raise EstimationError(
            f"The {len(used)} joint states do not cover the whole time of the {len(stamps)} wrench"
            " samples.",
            remedy="Record joint states and wrench for the whole motion, on one clock.",
        )
    splines = JointSplines.fit((used - start) * 1e-9, ordered.q[rows])
    time = (stamps - start) * 1e-9
    belief = SplineMotion(model, frame, splines, time)
    motion = belief.frame_motion()
    return PayloadData.of(time, wrench, motion, source=source), belief
