# SPDX-License-Identifier: Apache-2.0
"""Marked parts of a recorded payload motion."""

from __future__ import annotations

from sysid_core.estimation.payload_live.session import MOTION_SEGMENTS, TARE_PREFIX
from sysid_core.estimation.payload_live.streams import RUN_START, mark_order
from sysid_core.signals import Recording

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
