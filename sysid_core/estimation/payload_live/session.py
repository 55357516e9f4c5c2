# SPDX-License-Identifier: Apache-2.0
"""Complete payload identification, live or replayed: tare, motion, estimate.

Joint states, wrenches and marks may arrive in any order: the result depends on their stamps and
values alone. If an item arrives too late, the run is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live.online import ChangeKind, OnlinePayload
from sysid_core.estimation.payload_live.streams import RUN_END, RUN_START, PayloadStreams
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.estimation.payload_map.motion_error import motion_covariance
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import Recording, WrenchStream
from sysid_core.signals.filters import FilteredJointStream, JointFilter
from sysid_core.signals.wrench import SensorCalibration, StaticPostures, WrenchCheck

MOTION_SEGMENTS = ("still", "oscillation", "settle")
TARE_PREFIX = "tare_"
# Without a mark for so long a run is over: whoever marks it was killed, or its mark was lost. At 1 kHz
# the streams of so long take 0.3 GB; segments of planned motions last up to a minute.
LONGEST_SEGMENT_S = 300.0
_SETTLE_NS = 200_000_000  # left out at the beginning of each tare posture
_FEWEST = 3  # new readings of a moment: a frozen sensor has one
_STEP_NS = 100_000_000  # between the steps of a replay
_MAX_GAP_S = 0.1  # joint states further apart than this are not interpolated [s]


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


@dataclass(frozen=True)
class LoadChange:
    """Change of the load during the motion; the samples before it are no longer used.

    Attributes:
        stamp_ns: Time of the detection [ns].
        kind: Kind of change: attached, detached or slipped.
        mass: Increase of the mass [kg]; negative for a decrease.
    """

    stamp_ns: int
    kind: ChangeKind
    mass: float


class PayloadSession:
    """Live payload identification from streams and marks: calibrates the sensor and gives the
    running payload estimate.

    Marks `<segment>:start` and `<segment>:end` (of the trajectory's segments) define the use of the
    samples: segments `tare_…` are static postures, and the payload is identified from the motion
    segments.

    Args:
        model: The robot without the payload.
        sensor_frame: Frame of the force-torque sensor.
        online: Running estimator of the payload.
        calibration: Calibration from an earlier tare; None: tare in the marked postures.

    Attributes:
        calibration: Present calibration of the sensor; None before the tare.
        problem: Reason why the sensor could not be tared; None: none.
        tare_age_s: Time from the tare to the motion [s]; 0: unknown.
        n_without_motion: Number of wrenches left out because no joint states surround them in time.
        n_repeated: Number of wrenches left out because they repeat the previous one, as from a
            sensor slower than its topic.
        changes: Changes of the load so far, oldest first.
    """

    RUN_START: ClassVar[str] = RUN_START
    TARE_PREFIX: ClassVar[str] = TARE_PREFIX

    def __init__(
        self,
        model: RobotModel,
        sensor_frame: str,
        online: OnlinePayload,
        *,
        calibration: SensorCalibration | None = None,
    ) -> None:
        model.frame_id(sensor_frame)
        if calibration is not None:
            WrenchCheck.require_frame(calibration.frame, sensor_frame, "The sensor calibration")
        self.model = model
        self.sensor_frame = sensor_frame
        self.online = online
        self._given_calibration = calibration
        # A late sensor shows the motion of a moment ago; an early one is left as it is.
        self._lag_ns = 0 if calibration is None else max(0, round(calibration.delay[0] * 1e9))
        self._streams = PayloadStreams(_MAX_GAP_S)
        self._last_mark = 0  # stamp [ns]
        self._restart()
        self._idle = True  # no run is under way
        self._awaits_end = False  # of a run whose beginning was marked

    def _restart(self) -> None:
        """Restart the run with the existing streams."""
        self._streams.rewind()
        self._trimmed = False  # whether what was read is gone
        self.online.reset(self._given_calibration)
        self.calibration = self._given_calibration
        self.n_without_motion = 0
        self.n_repeated = 0
        self._newest_wrench: Array | None = None  # of the motion
        self.problem: SysIdError | None = None
        self.tare_age_s = 0.0
        self._segment = ""
        self._segment_start = 0
        self._tare: list[tuple[Array, Array]] = []
        self._slow: list[Array] = []
        self._last_tare = 0
        self._postures: list[tuple[Array, Array, Array]] = []
        self._used: list[tuple[NDArray[np.int64], PayloadData]] = []
        self._waiting: list[tuple[int, Array, Array]] = []  # stamp, wrench, joint state
        self._origin_ns: int | None = None
        self.changes: list[LoadChange] = []

    def tare_anew(self) -> None:
        """Estimate the bias from the marked postures instead of using the given calibration."""
        self._given_calibration, self._lag_ns = None, 0
        self._restart()

    @property
    def segment(self) -> str:
        """Label of the current segment; "" between segments."""
        return self._segment

    def add_joints(
        self,
        stamp_ns: int,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        sd: ArrayLike | None = None,
    ) -> None:
        """Add a filtered joint state in the order of the model, each (n,); `sd` are the filter's
        standard deviations, (3, n), if known.
        """
        state = np.array([q, v, a], dtype=float)
        sds = np.full(state.shape, np.nan) if sd is None else np.asarray(sd, dtype=float)
        self._streams.add_joints(stamp_ns, np.concatenate([state, sds]))

    def add_wrench(self, stamp_ns: int, wrench: ArrayLike) -> None:
        """Add a raw reading of the sensor, shape (6,)."""
        self._streams.add_wrench(stamp_ns, wrench)

    def add_mark(self, stamp_ns: int, label: str) -> None:
        """Add a mark: a label such as `tare_1:start` with its stamp."""
        self._streams.add_mark(stamp_ns, label)

    def advance(self, until_ns: int | None = None) -> None:
        """Process all data up to a stamp; None: all data. In live operation, the stamp lies a few
        tenths of a second in the past.
        """
        if self._streams.late:
            if self._trimmed and self._idle:
                self._streams.read_again()
            else:
                self._restart()
        while (stamp := self._streams.coming_wrench(until_ns)) is not None:
            self._enter_marks(stamp)
            wrench = self._streams.next_wrench()
            if self._segment:
                self._use(stamp, wrench)
        self._use_waiting()

    def keep_newest(self, seconds: float) -> None:
        """Delete old samples between runs, and keep those of the last seconds.

        Without this deletion, live streams would fill the memory. Older samples that arrive after
        the deletion are ignored.
        """
        if self._streams.newest_ns - self._last_mark > LONGEST_SEGMENT_S * 1e9:
            self._idle, self._segment, self._tare = True, "", []
            self._awaits_end = False
        if self._idle and not self._segment:
            self._streams.keep_newest(seconds)
            self._trimmed = True

    def finish(self) -> None:
        """Process the remaining samples, including marks after the last wrench.

        Raises:
            SysIdError: The sensor could not be tared.
        """
        self._streams.end()
        self.advance()
        self._enter_marks(None)
        if self.problem is not None:
            raise self.problem

    # ---- marks

    def _enter_marks(self, until_ns: int | None) -> None:
        while (mark := self._streams.next_mark(until_ns)) is not None:
            self._use_waiting()
            self._enter(*mark)

    def _enter(self, stamp_ns: int, label: str) -> None:
        if label == RUN_START:
            self._streams.forget_before(stamp_ns - self._streams.max_gap_ns - self._lag_ns)
            self._restart()
        self._last_mark = stamp_ns
        if label == RUN_START:
            self._idle, self._awaits_end = False, True
            return
        if label == RUN_END:
            self._idle, self._awaits_end = True, False
        segment, _, edge = label.rpartition(":")
        if segment.startswith(TARE_PREFIX) or segment in MOTION_SEGMENTS:
            self._idle = False
        if edge == "start":
            self._segment, self._segment_start = segment, stamp_ns
            if segment in MOTION_SEGMENTS and not self._used:
                try:
                    self._use_calibration(stamp_ns)
                except SysIdError as err:  # a late mark may still mend it
                    self.problem, self._segment = err, ""
        elif edge == "end" and segment == self._segment:
            if segment.startswith(TARE_PREFIX) and len(self._tare) >= 2:
                wrenches = np.array([w for w, _ in self._tare])
                wrenches = wrenches[~WrenchCheck.single_spikes(wrenches)]
                q = np.mean([q for _, q in self._tare], axis=0)
                self._slow.append(wrenches)
                self._last_tare = stamp_ns
                self._postures.append((wrenches.mean(axis=0), q, wrenches.std(axis=0, ddof=1)))
            self._tare = []
            self._segment = ""

    def _use_calibration(self, stamp_ns: int) -> None:
        """Calibrate the sensor by a tare, unless a calibration exists, and set the remaining errors
        of the sensor.
        """
        if self.calibration is None:
            self.calibration, self.problem = self._calibrate(), None
        age_s = self.calibration.age_s(stamp_ns)
        self.tare_age_s = age_s if np.isfinite(age_s) else 0.0
        self.online.reset(self.calibration, self.tare_age_s)

    def _calibrate(self) -> SensorCalibration:
        if not self._postures:
            raise EstimationError(
                "The force-torque sensor is not tared: the recording has no tare postures.",
                remedy="Plan with `sysid plan payload` (it holds still in tilted postures first),"
                " or give the calibration of an earlier tare.",
            )
        q = np.array([posture[1] for posture in self._postures])
        still = np.zeros_like(q)
        motion = self.model.frame_motion(self.sensor_frame, q, still, still)
        calibration = StaticPostures.tare(
            np.array([posture[0] for posture in self._postures]),
            motion.gravity,
            R_WS=motion.R_WF,
            frame=self.sensor_frame,
            noise=np.sqrt(np.mean([posture[2] ** 2 for posture in self._postures], axis=0)),
        )
        return replace(
            calibration, stamp_ns=self._last_tare, notes=WrenchCheck.slow_note(self._slow)
        )

    # ---- samples

    def _use(self, stamp: int, wrench: Array) -> None:
        is_tare = self._segment.startswith(TARE_PREFIX)
        if not is_tare and self._segment not in MOTION_SEGMENTS:
            return
        if not is_tare:
            if self._newest_wrench is not None and np.array_equal(wrench, self._newest_wrench):
                self.n_repeated += 1
                return
            self._newest_wrench = wrench
        state = self._streams.joints_at(stamp - self._lag_ns)
        if state is None or not np.isfinite(state[:3]).all():
            self.n_without_motion += 1
            return
        if is_tare:
            if stamp >= self._segment_start + _SETTLE_NS:
                self._tare.append((wrench, state[0]))
            return
        self._waiting.append((stamp, wrench, state))

    def _use_waiting(self) -> None:
        """Process the waiting samples of a motion segment; their kinematics are computed
        together.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        stamps = np.array([stamp for stamp, _, _ in waiting], dtype=np.int64)
        if self._origin_ns is None:
            self._origin_ns = int(stamps[0])
        time = (stamps - self._origin_ns) * 1e-9
        data = self._samples(time, waiting)
        first = 0
        for change in self.online.update(data):
            first = int(np.searchsorted(time, change.stamp_s))
            self.changes.append(LoadChange(int(stamps[first]), change.kind, change.mass))
            self._used = []
        kept = replace(data, covariance=None).select(slice(first, None))
        self._used.append((stamps[first:], kept))

    def _samples(self, time: Array, waiting: Sequence[tuple[int, Array, Array]]) -> PayloadData:
        """Net wrench and motion of the sensor, from joint states (6, n): positions, velocities,
        accelerations, and their standard deviations.
        """
        assert self.calibration is not None
        states = np.array([state for _, _, state in waiting])
        q, v, a, sd = states[:, 0], states[:, 1], states[:, 2], states[:, 3:]
        motion = self.model.frame_motion(self.sensor_frame, q, v, a)
        known = ~np.isnan(sd).any(axis=(1, 2))
        covariance = np.full((len(q), 9, 9), np.nan)
        if known.any():
            rows = (q[known], v[known], a[known], np.moveaxis(sd[known], 0, 1))
            covariance[known] = motion_covariance(self.model, self.sensor_frame, *rows)
        wrench = self.calibration.compensate(np.array([w for _, w, _ in waiting]), motion)
        return PayloadData.of(time, wrench, motion, covariance=covariance)

    @property
    def newest_ns(self) -> int:
        """Newest stamp of the joint states [ns]."""
        return self._streams.newest_ns

    @property
    def complete_ns(self) -> int:
        """Stamp up to which the estimate uses all samples and marks [ns]; during a run whose end is
        not marked yet, that of the last sample or mark used.
        """
        read = self._streams.read_ns
        return min(read, max(self._last_mark, self.last_stamp_ns)) if self._awaits_end else read

    def held_data(self, seconds: float) -> tuple[PayloadData, SensorModel]:
        """Return the newest samples, in a marked motion or not, after subtraction of sensor bias
        and tool, and the remaining uncertainty of the sensor.

        Args:
            seconds: Duration of the requested samples, up to the newest [s].

        Raises:
            EstimationError: The sensor is not tared, or there are too few samples.
        """
        if self.calibration is None:
            raise EstimationError(
                "The recognition of parts needs a tare.",
                remedy="Give the calibration of a tare with an empty gripper, or execute marked tare postures.",
            )
        newest = self._streams.recent(seconds, self._lag_ns)
        if len(newest) < _FEWEST:
            raise EstimationError(
                f"Only {len(newest)} wrench sample(s) of the last {seconds:.1f} s lie between two joint states.",
                remedy="Check that data_logger is active, that the sensor isn't frozen, and that wrench and joint states have the same clock.",
            )
        stamps = np.array([stamp for stamp, _, _ in newest], dtype=np.int64)
        data = self._samples((stamps - stamps[0]) * 1e-9, newest)
        return data, self.online.sensor.in_a_moment(
            self.calibration, self.calibration.age_s(int(stamps[-1]))
        )

    def recent_wrenches(self, seconds: float) -> WrenchStream:
        """Return the readings of the last seconds, for checks of the sensor."""
        return self._streams.recent_wrenches(self.sensor_frame, seconds)

    # ---- results

    @property
    def motion_s(self) -> float:
        """Time from the first wrench of the motion to the last one used [s]."""
        return (self.last_stamp_ns - (self._origin_ns or 0)) * 1e-9 if self._used else 0.0

    @property
    def last_change(self) -> LoadChange | None:
        """Last change of the payload; the estimate uses only later samples."""
        return self.changes[-1] if self.changes else None

    @property
    def first_stamp_ns(self) -> int:
        """Stamp of the first wrench used by the estimate [ns]; 0 if there is none."""
        return int(self._used[0][0][0]) if self._used else 0

    @property
    def last_stamp_ns(self) -> int:
        """Stamp of the last wrench used by the estimate [ns]; 0 if there is none."""
        return int(self._used[-1][0][-1]) if self._used else 0

    def data(self) -> PayloadData:
        """Return the motion samples in use, with bias and tool removed, for other estimators and
        for charts.

        Raises:
            EstimationError: No sample has been used yet.
        """
        if not self._used:
            raise EstimationError(
                "No wrench sample was used.",
                remedy="Record the marks of a payload motion"
                f" ({', '.join(MOTION_SEGMENTS)}), and stamp wrench and joint states with one clock.",
            )
        stamps = np.concatenate([stamps for stamps, _ in self._used])
        data = PayloadData.joined([part for _, part in self._used])
        return replace(data, time=(stamps - stamps[0]) * 1e-9)

    def replay(self, recording: Recording) -> FilteredJointStream:
        """Process a recording in a session, as the live nodes do.

        Args:
            recording: Raw joint states, wrenches and marks.

        Returns:
            The filtered joint states.

        Raises:
            EstimationError: There is no wrench, or the wrench has no samples.
        """
        wrench = require_wrench(recording)
        WrenchCheck.require_frame(
            wrench.frame, self.sensor_frame, f"The wrench of '{recording.source}'"
        )
        joints = recording.joints.ordered(self.model.joint_names)
        filtered, _ = JointFilter.filter_stream(joints)
        states = [
            np.array(x)
            for x in (
                filtered.q,
                filtered.v,
                filtered.a,
                filtered.q_sd,
                filtered.v_sd,
                filtered.a_sd,
            )
        ]
        for mark in recording.marks:
            self.add_mark(mark.stamp_ns, mark.label)
        for k, stamp in enumerate(wrench.stamps_ns.tolist()):
            self.add_wrench(stamp, wrench.wrench[k])
        for k, stamp in enumerate(filtered.stamps_ns.tolist()):
            q, v, a, *sd = (x[k] for x in states)
            self.add_joints(stamp, q, v, a, sd)
        start, end = int(wrench.stamps_ns.min()), int(wrench.stamps_ns.max())
        for until in range(start, end, _STEP_NS):
            self.advance(until)
        self.finish()
        return filtered
