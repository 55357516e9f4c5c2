# SPDX-License-Identifier: Apache-2.0
"""Marked parts of a recorded payload motion, and recordings from devices with separate clocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.payload_live.session import MOTION_SEGMENTS, TARE_PREFIX
from sysid_core.estimation.payload_live.streams import RUN_START, mark_order
from sysid_core.estimation.payload_map import JointSplines
from sysid_core.robot import Array, FrameMotion, RobotModel
from sysid_core.signals import Recording
from sysid_core.signals.wrench import ClockOffset, SensorCalibration

Span = tuple[int, int]


def marked_spans(recording: Recording) -> tuple[list[Span], list[Span]]:
    """Return the first and last stamp [ns] of every tare posture and motion segment of the newest
    execution.
    """
    tares: list[Span] = []
    motions: list[Span] = []
    begun: tuple[str, int] | None = None
    marks = sorted(((mark.stamp_ns, mark.label) for mark in recording.marks), key=mark_order)
    newest = 0 if recording.wrench is None else int(recording.wrench.stamps_ns.max(initial=0))
    for stamp, label in (*marks, (newest, "")):
        segment, _, edge = label.rpartition(":")
        if label == RUN_START:
            tares, motions, begun = [], [], None
        elif edge == "start":
            begun = (segment, stamp)
        elif begun is not None and segment in (begun[0], ""):  # ended, by a mark or the recording
            if begun[0].startswith(TARE_PREFIX):
                tares.append((begun[1], stamp))
            elif begun[0] in MOTION_SEGMENTS:
                motions.append((begun[1], stamp))
            begun = None
    return tares, motions


def motion_window(recording: Recording) -> Span | None:
    """Return the first start and last end of the marked motion segments [ns]; None without such
    marks.
    """
    _, motions = marked_spans(recording)
    return (motions[0][0], motions[-1][1]) if motions else None


TOLERATED = 5e-3  # [s], which the sensor model's own delay takes in
_GAP_S = 0.1  # between joint states, over which nothing is compared
_RATE_HZ = 200.0  # of the motion that is compared: more says nothing new


def on_one_clock(
    recording: Recording,
    model: RobotModel,
    frame: str,
    calibration: SensorCalibration | None = None,
) -> tuple[Recording, ClockOffset | None]:
    """Return the recording with the wrench stamps converted to the clock of the joint states, if
    the clocks differ by more than 5 ms.

    Smaller offsets are not corrected, because the estimator includes them; live and recorded runs
    therefore agree.

    Args:
        recording: Joint states, wrench and marks.
        model: Robot model.
        frame: Name of the sensor's frame.
        calibration: Calibration of the sensor, whose delay is not corrected again; None: no
            calibration.

    Returns:
        The recording, with a note if its stamps were shifted, and the clock offset; None if the
        motion does not determine one.
    """
    try:
        clock = ClockOffset.of_recording(
            recording, model, frame, window_ns=motion_window(recording), motion_of=_splined
        )
    except EstimationError:
        return recording, None
    except SignalError as err:
        if "beyond_s" not in err.data:
            return recording, None
        return replace(recording, notes=(*recording.notes, str(err))), None
    if not clock.is_known:
        return recording, None
    known = calibration.delay[0] if calibration is not None else 0.0
    left = replace(clock, offset_s=clock.offset_s - max(0.0, known))
    return (left.apply(recording) if left.largest_s > TOLERATED else recording), left


def _splined(recording: Recording, model: RobotModel, frame: str) -> tuple[Array, FrameMotion, int]:
    """Motion of the sensor, from joint positions smoothed in the same way as for weighing.

    Raises:
        EstimationError: The joint positions cannot be smoothed.
    """
    joints = recording.joints.ordered(model.joint_names)
    longest = max(joints.split_at_gaps(_GAP_S), key=len)
    end = float(longest.time[-1])
    time = np.arange(0.0, end, max(1.0 / _RATE_HZ, end / max(len(longest) - 1, 1)))
    splines = JointSplines.fit(longest.time, longest.q)
    return time, model.frame_motion(frame, *splines.at(time)), int(longest.stamps_ns[0])
