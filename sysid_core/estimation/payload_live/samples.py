# SPDX-License-Identifier: Apache-2.0
"""Wrench readings of any recording with the motion of the sensor at their stamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.marks import on_one_clock
from sysid_core.estimation.payload_live.session import require_wrench
from sysid_core.estimation.payload_map import SplineMotion
from sysid_core.estimation.payload_map.smoothing import smoothed_payload_data
from sysid_core.robot import Array, FrameMotion, PoseRobot, RobotModel
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_core.signals.wrench import SensorCalibration, WrenchCheck

_MOTION_S = 0.02  # [s] over which readings may be averaged: motion has nothing beyond 10 Hz
_MOST = 4_000  # samples of a fit: more only cost time, what is left over hangs together anyway
_ENDS_NS = 300_000_000  # of joint states before and after, where splines end
_LONGEST_GAP_NS = 100_000_000  # between joint states
FEWEST_POSTURES = 4


@dataclass(frozen=True, eq=False)
class Samples:
    """Wrench readings of a recording, with the motion of the sensor at their stamps.

    Attributes:
        run: Joint states and wrench; every reading is a sample.
        model: Robot model.
        frame: Name of the sensor's frame.
        data: Wrenches and motions, K samples.
        belief: Motion with its uncertainty; None: at rest in every posture.
        still: True if every joint state is a static posture, with the wrench of the same stamp.
    """

    run: Recording
    model: RobotModel
    frame: str
    data: PayloadData
    belief: SplineMotion | None
    still: bool = False

    @classmethod
    def of(
        cls,
        recording: Recording,
        model: RobotModel,
        frame: str,
        known: SensorCalibration,
        *,
        still: bool = False,
        fewest: int = FEWEST_POSTURES,
    ) -> tuple[Samples, list[str]]:
        """Return the usable samples of a recording, without the sensor's bias, and notes on the
        others. Readings in motion are averaged over short intervals.

        Args:
            recording: Joint states and wrench.
            model: Robot model.
            frame: Name of the sensor's frame.
            known: Calibration of the sensor.
            still: True if every joint state is a static posture.
            fewest: Least number of static postures.

        Raises:
            EstimationError: There is no wrench, there are too few postures, or no joint states
                surround the wrench in time.
        """
        wrench = require_wrench(recording)
        run, notes = replace(recording, notes=()), [*recording.notes]
        if still:
            bad = WrenchCheck.saturated_postures(wrench.wrench)
            notes += [f"{int(bad.sum())} saturated postures were omitted."] if bad.any() else []
            held = wrench.select(
                np.flatnonzero(~bad & np.isin(wrench.stamps_ns, run.joints.stamps_ns))
            )
            count = len(np.unique(held.stamps_ns))
            if count < fewest:
                raise EstimationError(
                    f"{count} static postures are too few.",
                    remedy=f"Hold still in {fewest} postures or more, tilted about two axes.",
                )
            samples = cls._of_postures(replace(run, wrench=held), model, frame)
        else:
            readings, found = WrenchCheck(wrench).usable()
            late = max(0, round(known.delay[0] * 1e9))
            shifted = replace(readings, stamps_ns=readings.stamps_ns - late)
            held = _covered(shifted, run.joints.stamps_ns)
            if lost := len(shifted) - len(held):
                notes.append(
                    f"{lost} of {len(shifted)} wrench samples lie outside the time of the joint states and were omitted."
                )
            notes += found
            samples = cls._moving(replace(run, wrench=_thinned(held)), model, frame)
        return samples.without(known), notes

    @classmethod
    def _of_postures(cls, run: Recording, model: RobotModel, frame: str) -> Samples:
        """Joint states as postures at rest, each with the wrench of the same stamp."""
        joints, wrench = run.joints.ordered(model.joint_names), require_wrench(run)
        stamps, rows, readings = np.intersect1d(
            joints.stamps_ns, wrench.stamps_ns, return_indices=True
        )
        q, wrench = joints.q[rows], wrench.select(readings)
        motion = model.frame_motion(frame, q, np.zeros_like(q), np.zeros_like(q))
        data = PayloadData.of((stamps - stamps[0]) * 1e-9, wrench.wrench, motion, source=run.source)
        return cls(replace(run, wrench=wrench), model, frame, data, None, still=True)

    @classmethod
    def _moving(cls, run: Recording, model: RobotModel, frame: str) -> Samples:
        wrench = require_wrench(run)
        data, belief = smoothed_payload_data(
            model, frame, run.joints, wrench.stamps_ns, wrench.wrench, source=run.source
        )
        return cls(run, model, frame, data, belief)

    @property
    def motion(self) -> FrameMotion:
        """Motion of the sensor, in its axes."""
        return motion_of(self.data)

    @property
    def stamps_ns(self) -> NDArray[np.int64]:
        """Stamps of the samples, shape (K,) [ns]."""
        return require_wrench(self.run).stamps_ns

    @property
    def smoothed(self) -> JointStream | None:
        """Joint states after smoothing, at the stamps of the samples; None: at rest."""
        if self.belief is None:
            return None
        q, v, a = self.belief.joints()
        return JointStream(self.belief.joint_names, self.stamps_ns, q, v, a)

    def with_wrench(self, wrench: Array) -> Samples:
        """Return a copy with other wrenches, shape (K, 6)."""
        stream = replace(require_wrench(self.run), wrench=wrench)
        run, data = replace(self.run, wrench=stream), replace(self.data, wrench=wrench)
        return replace(self, run=run, data=data)

    def without(self, known: SensorCalibration) -> Samples:
        """Return a copy without the sensor's bias and dress pack, with corrected gains."""
        data = self.data
        assert data.R_WS is not None
        return self.with_wrench(known.net(data.wrench, data.R_WS, data.p_WS))

    def minus(self, pi: Array) -> Samples:
        """Return a copy without the wrench of a known load, `pi` of shape (10,)."""
        return self.with_wrench(self.data.wrench - self.data.regressor @ pi)

    def at_rest(self) -> Samples:
        """Return a copy as if the robot were at rest in each posture: only gravity acts."""
        rest = np.zeros_like(self.data.a)
        data = replace(self.data, a=-self.data.gravity, omega=rest, alpha=rest)
        return replace(self, data=data, belief=None)

    def again(self, run: Recording, model: RobotModel) -> Samples:
        """Return the samples of another recording or robot, of the same kind."""
        if self.still:
            return Samples._of_postures(run, model, self.frame)
        new = Samples._moving(run, model, self.frame)
        return new if self.belief is not None else new.at_rest()

    def select(self, rows: slice) -> Samples:
        """Return some of the samples, with times since the first of them."""
        if rows == slice(0, len(self.data)):
            return self
        run = replace(self.run, wrench=require_wrench(self.run).select(rows))
        return self.again(run, self.model)

    def inverted(self) -> Samples:
        """Return the samples of a robot of poses with all rotations inverted."""
        model = self.model
        q = self.run.joints.ordered(model.joint_names).q
        R = model.frame_motion(self.frame, q, np.zeros_like(q), np.zeros_like(q)).R_WF
        made = PoseRobot.of(q[:, :3], R.transpose(0, 2, 1))
        joints = JointStream(PoseRobot.JOINTS, self.run.joints.stamps_ns, made.q)
        turned = RobotModel.from_urdf(made.urdf).with_gravity(model.gravity)
        return self.again(replace(self.run, joints=joints, urdf_xml=made.urdf), turned)

    def on_one_clock(self, calibration: SensorCalibration | None) -> Samples:
        """Return the samples with the stamps of the wrench on the clock of the joint states."""
        moved, _ = on_one_clock(self.run, self.model, self.frame, calibration)
        if not moved.notes:
            return self
        wrench = _covered(require_wrench(moved), moved.joints.stamps_ns)
        return self.again(replace(moved, wrench=wrench), self.model)


def motion_of(data: PayloadData) -> FrameMotion:
    """Return the motion of the sensor, in its axes."""
    assert data.R_WS is not None
    return FrameMotion(data.R_WS, data.omega, data.alpha, data.a, data.gravity)


def nothing_known(frame: str) -> SensorCalibration:
    """Return a calibration without any correction."""
    return SensorCalibration(frame, np.zeros(6), np.zeros(4), np.zeros((10, 10)))


def within(recording: Recording, spans: Sequence[tuple[int, int]]) -> Recording:
    """Return a copy of the recording with the wrench readings of some time spans [ns] only."""
    wrench = require_wrench(recording)
    at = wrench.stamps_ns
    inside = np.any([(at >= first) & (at <= last) for first, last in spans], axis=0)
    return replace(recording, wrench=wrench.select(np.flatnonzero(inside)))


def _covered(readings: WrenchStream, joints_ns: NDArray[np.int64]) -> WrenchStream:
    """Wrench readings between two joint states whose stamps differ little."""
    stamps = np.unique(joints_ns)
    usual = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    after = np.searchsorted(stamps, readings.stamps_ns, side="right")
    ends = min(_ENDS_NS, int(stamps[-1] - stamps[0]) // 10)
    at = readings.stamps_ns
    inside = (at >= stamps[0] + ends) & (at <= stamps[-1] - ends)
    k = np.clip(after, 1, max(len(stamps) - 1, 1))
    wide = (stamps[k] - stamps[k - 1]) > max(_LONGEST_GAP_NS, 3.0 * usual)
    return readings.select(np.flatnonzero(inside & ~wide))


def _thinned(readings: WrenchStream) -> WrenchStream:
    """Readings averaged over short intervals, so that their number does not exceed what a fit
    needs.
    """
    if len(readings) < 2:
        return readings
    period = float(np.median(np.diff(readings.stamps_ns))) * 1e-9
    together = max(1, int(_MOTION_S / max(period, 1e-6)))
    count = len(readings) // together
    if together > 1 and count > FEWEST_POSTURES:
        groups = np.arange(count * together).reshape(count, together)
        stamps = readings.stamps_ns[groups]
        near = (stamps[:, -1] - stamps[:, 0]) < 2e9 * _MOTION_S  # not over a gap
        middle = stamps[:, 0] + np.mean(stamps - stamps[:, :1], axis=1).astype(np.int64)
        means = readings.wrench[groups].mean(axis=1)
        readings = WrenchStream(readings.frame, middle[near], means[near])
    return readings.select(slice(None, None, -(-len(readings) // _MOST)))
