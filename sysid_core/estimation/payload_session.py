"""A payload identification from start to end, live or replayed: tare, motion, estimate.

Joint states, wrenches and marks may come in any interleaving; each wrench is used once the
motion around its stamp is known, and when something comes too late the run is done over. What comes
out depends on the stamps and values alone, not on when they arrived, so a bag gives what the live
run gave.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.online import OnlinePayload
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_result import summarise_payload
from sysid_core.robot import Array, FrameMotion, RobotModel
from sysid_core.signals import (
    JointStream,
    Recording,
    SensorCalibration,
    WrenchStream,
    compensate,
    filter_joints,
    tare_static,
)
from sysid_core.signals.recording import Stamps

RUN_START = "motion:start"  # a new run: what came before is forgotten
MOTION_SEGMENTS = ("still", "oscillation", "settle")
TARE_PREFIX = "tare_"


@dataclass(frozen=True, eq=False)
class PayloadMoment:
    """The estimate at one time of the run, for the picture of its convergence.

    Attributes:
        time: Since the first wrench used [s].
        mass, mass_sd: [kg].
        com, com_sd: Shape (3,) [m].
        state: Of the running estimator.
    """

    time: float
    mass: float
    mass_sd: float
    com: Array
    com_sd: Array
    state: str


def _mark_order(mark: tuple[int, str]) -> tuple[int, int]:
    """By stamp; at the same instant a run begins first, and a segment ends before the next begins."""
    stamp, label = mark
    return stamp, 0 if label == RUN_START else 1 if label.endswith(":end") else 2


class PayloadSession:
    """Takes streams and marks; gives the sensor's calibration and the running payload.

    Marks `<segment>:start` and `<segment>:end` (those of the trajectory's segments) say which
    samples are what: segments `tare_…` are still postures, and the motion segments are identified.

    Args:
        model: The robot without the payload.
        sensor_frame: Frame of the force-torque sensor.
        online: The running estimator.
        calibration: Of the sensor, from an earlier tare; None: tare with the marked postures.
        settle_s: Left out at the beginning of each tare posture [s].
        max_gap_s: Joint states further apart than this are not interpolated [s].

    Attributes:
        calibration: Of the sensor, once it is tared.
        problem: Why it can't be, or None.
        history: Remembered estimates.
        n_without_motion: Wrenches left out because no joint states surround them.
    """

    def __init__(
        self,
        model: RobotModel,
        sensor_frame: str,
        online: OnlinePayload,
        *,
        calibration: SensorCalibration | None = None,
        settle_s: float = 0.2,
        max_gap_s: float = 0.1,
    ) -> None:
        model.frame_id(sensor_frame)
        self.model = model
        self.sensor_frame = sensor_frame
        self.online = online
        self._given_calibration = calibration
        # A late sensor shows the motion of a moment ago; an early one is left as it is.
        self._lag_ns = 0 if calibration is None else max(0, round(calibration.delay[0] * 1e9))
        self._settle_ns = round(settle_s * 1e9)
        self._max_gap_ns = round(max_gap_s * 1e9)
        # What has come since the run began, in the order of the stamps.
        self._joints: list[tuple[int, Array, Array, Array]] = []
        self._wrenches: list[tuple[int, tuple[float, ...]]] = []
        self._marks: list[tuple[int, str]] = []
        self._late = False
        self._restart()

    def _restart(self) -> None:
        """Begin the run again, with the streams as they are."""
        self.online.reset()
        self._next = {"joints": 0, "wrench": 0, "mark": 0}
        self._last_wrench = -1
        self.calibration = self._given_calibration
        self.history: list[PayloadMoment] = []
        self.n_without_motion = 0
        self.problem: SysIdError | None = None
        self._segment = ""
        self._segment_start = 0
        self._tare: list[tuple[Array, Array]] = []
        self._postures: list[tuple[Array, Array, Array]] = []
        self._used: list[tuple[int, Array, FrameMotion]] = []

    @property
    def segment(self) -> str:
        """The segment that is being worked on, "" between segments."""
        return self._segment

    def add_joints(self, stamp_ns: int, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """A filtered joint state, in the order of the model's joints, each (n,)."""
        if self._joints and stamp_ns <= self._joints[-1][0]:
            return
        q, v, a = (np.array(x, dtype=float) for x in (q, v, a))
        self._joints.append((stamp_ns, q, v, a))

    def add_wrench(self, stamp_ns: int, wrench: ArrayLike) -> None:
        """A raw reading of the sensor, shape (6,)."""
        values = np.asarray(wrench, dtype=float)
        if np.all(np.isfinite(values)):
            self._late |= stamp_ns < self._last_wrench
            bisect.insort(self._wrenches, (stamp_ns, tuple(values.tolist())))

    def add_mark(self, stamp_ns: int, label: str) -> None:
        """A labelled instant, such as `tare_1:start`."""
        self._late |= stamp_ns <= self._last_wrench
        bisect.insort(self._marks, (stamp_ns, label), key=_mark_order)

    def advance(self, until_ns: int | None = None) -> None:
        """Use what is complete up to a stamp (default: everything that has joints around it).

        Live, `until_ns` stays some tenths of a second behind the clock, so that hardly anything
        comes too late.
        """
        if self._late:
            self._late = False
            self._restart()
        while self._next["wrench"] < len(self._wrenches):
            stamp, wrench = self._wrenches[self._next["wrench"]]
            if until_ns is not None and stamp > until_ns:
                return
            if not self._joints or stamp > self._joints[-1][0]:
                return  # the motion at this instant isn't known yet
            self._enter_marks(stamp)
            self._next["wrench"] += 1
            if stamp <= self._last_wrench:
                continue  # a duplicate
            self._last_wrench = stamp
            if self._segment:
                self._use(stamp, np.array(wrench))

    def finish(self) -> None:
        """Use all that is left; marks after the last wrench count too.

        Raises:
            SysIdError: The sensor could not be tared.
        """
        self.advance()
        self._enter_marks(None)
        if self.problem is not None:
            raise self.problem

    # ---- marks

    def _enter_marks(self, until_ns: int | None) -> None:
        while self._next["mark"] < len(self._marks):
            stamp, label = self._marks[self._next["mark"]]
            if until_ns is not None and stamp > until_ns:
                return
            self._next["mark"] += 1
            self._enter(stamp, label)

    def _enter(self, stamp_ns: int, label: str) -> None:
        if label == RUN_START:
            self._forget_before(stamp_ns)
            return
        segment, _, edge = label.rpartition(":")
        if edge == "start":
            self._segment, self._segment_start = segment, stamp_ns
            if segment in MOTION_SEGMENTS and self.calibration is None:
                try:
                    self.calibration, self.problem = self._calibrate(), None
                except SysIdError as err:  # a late mark may still mend it
                    self.problem, self._segment = err, ""
        elif edge == "end" and segment == self._segment:
            if segment.startswith(TARE_PREFIX) and len(self._tare) >= 2:
                wrenches = np.array([w for w, _ in self._tare])
                q = np.mean([q for _, q in self._tare], axis=0)
                self._postures.append((wrenches.mean(axis=0), q, wrenches.std(axis=0, ddof=1)))
            self._tare = []
            self._segment = ""

    def _forget_before(self, stamp_ns: int) -> None:
        """A new run: drop what came before it."""
        keep = stamp_ns - self._max_gap_ns - self._lag_ns
        self._joints = [sample for sample in self._joints if sample[0] >= keep]
        self._wrenches = self._wrenches[self._next["wrench"] :]
        self._marks = self._marks[self._next["mark"] :]
        self._restart()

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
        return tare_static(
            np.array([posture[0] for posture in self._postures]),
            motion.gravity,
            R_WS=motion.R_WF,
            frame=self.sensor_frame,
            noise=np.sqrt(np.mean([posture[2] ** 2 for posture in self._postures], axis=0)),
        )

    # ---- samples

    def _use(self, stamp: int, wrench: Array) -> None:
        is_tare = self._segment.startswith(TARE_PREFIX)
        if not is_tare and self._segment not in MOTION_SEGMENTS:
            return
        state = self._state_at(stamp - self._lag_ns)
        if state is None:
            self.n_without_motion += 1
            return
        q, v, a = state
        if is_tare:
            if stamp >= self._segment_start + self._settle_ns:
                self._tare.append((wrench, q))
            return
        assert self.calibration is not None
        motion = self.model.frame_motion(self.sensor_frame, q[None], v[None], a[None])
        net = compensate(wrench[None], motion, self.calibration)[0]
        self._used.append((stamp, net, motion))
        first = self._used[0][0]
        self.online.update(
            (stamp - first) * 1e-9,
            net,
            motion.omega[0],
            motion.alpha[0],
            motion.a[0],
            motion.gravity[0],
        )

    def _state_at(self, stamp: int) -> tuple[Array, Array, Array] | None:
        """Linear interpolation between the joint states around a stamp."""
        joints, k = self._joints, self._next["joints"]
        while k + 1 < len(joints) and joints[k + 1][0] <= stamp:
            k += 1
        self._next["joints"] = k
        t0, *x0 = joints[k]
        if t0 == stamp:
            return x0[0], x0[1], x0[2]
        if t0 > stamp or k + 1 == len(joints):
            return None
        t1, *x1 = joints[k + 1]
        if t1 - t0 > self._max_gap_ns:
            return None
        s = (stamp - t0) / (t1 - t0)
        q, v, a = ((1 - s) * p + s * n for p, n in zip(x0, x1, strict=True))
        return q, v, a

    def recent_wrenches(self, seconds: float) -> WrenchStream:
        """The newest readings, for a look at the sensor's health."""
        newest = self._wrenches[-1][0] if self._wrenches else 0
        first = bisect.bisect_left(self._wrenches, (newest - round(seconds * 1e9),))
        rows = self._wrenches[first:]
        return WrenchStream(
            self.sensor_frame,
            np.array([stamp for stamp, _ in rows], dtype=np.int64),
            np.array([wrench for _, wrench in rows]).reshape(-1, 6),
        )

    # ---- results

    def remember(self) -> None:
        """Add the present estimate to the history."""
        if not self._used or self.online.n_samples < 3:
            return
        estimate = self.online.estimate()
        if estimate.values[0] <= 0:
            return
        payload = summarise_payload(estimate)
        self.history.append(
            PayloadMoment(
                time=(self._used[-1][0] - self._used[0][0]) * 1e-9,
                mass=payload.mass,
                mass_sd=payload.mass_sd,
                com=payload.com,
                com_sd=payload.com_sd,
                state=self.online.state.value,
            )
        )

    def motion_stamps_ns(self) -> Stamps:
        """When the motions of `data` were, shape (K,): a late sensor's stamps, put back."""
        return np.array([stamp - self._lag_ns for stamp, _, _ in self._used], dtype=np.int64)

    def data(self) -> PayloadData:
        """All samples used, bias and tool removed, for other estimators and pictures.

        Raises:
            EstimationError: No sample has been used.
        """
        if not self._used:
            raise EstimationError(
                "No wrench sample was used.",
                remedy="The recording must hold the marks of a payload motion"
                f" ({', '.join(MOTION_SEGMENTS)}), and wrench and joint states on one clock.",
            )
        stamps = np.array([stamp for stamp, _, _ in self._used])
        motions = [motion for _, _, motion in self._used]
        return PayloadData(
            time=(stamps - stamps[0]) * 1e-9,
            wrench=np.array([net for _, net, _ in self._used]),
            a=np.vstack([m.a for m in motions]),
            omega=np.vstack([m.omega for m in motions]),
            alpha=np.vstack([m.alpha for m in motions]),
            gravity=np.vstack([m.gravity for m in motions]),
        )


def replay_payload(
    recording: Recording, session: PayloadSession, *, history_period_s: float = 0.1
) -> JointStream:
    """Run a recording through a session, as the live nodes do.

    Args:
        recording: Raw joint states, wrenches and marks.
        session: Fresh.
        history_period_s: Between remembered estimates [s].

    Returns:
        The filtered joint states.

    Raises:
        EstimationError: There is no wrench.
    """
    if recording.wrench is None:
        raise EstimationError(
            f"'{recording.source}' has no wrench.",
            remedy="Record the force-torque sensor, or use `sysid payload-torques`.",
        )
    joints = recording.joints.ordered(session.model.joint_names)
    filtered, _ = filter_joints(joints)
    assert filtered.v is not None and filtered.a is not None
    for mark in recording.marks:
        session.add_mark(mark.stamp_ns, mark.label)
    for k, stamp in enumerate(filtered.stamps_ns.tolist()):
        session.add_joints(stamp, filtered.q[k], filtered.v[k], filtered.a[k])
    for k, stamp in enumerate(recording.wrench.stamps_ns.tolist()):
        session.add_wrench(stamp, recording.wrench.wrench[k])
    start, end = int(recording.wrench.stamps_ns.min()), int(recording.wrench.stamps_ns.max())
    for until in range(start, end, round(history_period_s * 1e9)):
        session.advance(until)
        if session.segment in MOTION_SEGMENTS:
            session.remember()
    session.finish()
    session.remember()
    return filtered
