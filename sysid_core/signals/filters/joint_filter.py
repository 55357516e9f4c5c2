# SPDX-License-Identifier: Apache-2.0
"""Filtered joint positions, velocities and accelerations with standard deviations, sample by
sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.signals.filters.kalman import NoiseLevels, kernels
from sysid_core.signals.filters.tuned_bank import TunedBank
from sysid_core.signals.recording import Array, JointStream
from sysid_core.signals.stream import (
    FilterCounts,
    SampleOutcome,
    StreamClock,
    is_measured,
)


@dataclass(frozen=True, eq=False)
class FilteredSample:
    """Filtered joint state after one sample.

    Attributes:
        outcome: Acceptance or rejection of the sample.
        stamp_ns: Stamp of the last accepted sample [ns], to which the values refer; None (values:
            NaN) before the first.
        q, v, a: Positions, velocities and accelerations, shape (n,) each [rad, rad/s, rad/s²].
        q_sd, v_sd, a_sd: Standard deviations of q, v and a, shape (n,) each.
        effort, effort_sd: Efforts and their standard deviations, shape (n,) each [unit of the
            input]; None if not measured.
    """

    outcome: SampleOutcome
    stamp_ns: int | None
    q: Array
    v: Array
    a: Array
    q_sd: Array
    v_sd: Array
    a_sd: Array
    effort: Array | None = None
    effort_sd: Array | None = None


@dataclass(frozen=True, eq=False)
class FilteredJointStream(JointStream):
    """Filtered joint states with standard deviations.

    Attributes:
        names, stamps_ns, q, v, a, effort, effort_kind: As in `JointStream`; q, v, a and effort of
            shape (K, n) are filtered.
        q_sd: Standard deviations of the positions, shape (K, n) [rad or m].
        v_sd: Standard deviations of the velocities, shape (K, n) [rad/s or m/s].
        a_sd: Standard deviations of the accelerations, shape (K, n) [rad/s^2 or m/s^2].
        effort_sd: Standard deviations of the efforts, shape (K, n); None if not measured.
    """

    q_sd: Array | None = None
    v_sd: Array | None = None
    a_sd: Array | None = None
    effort_sd: Array | None = None

    COLUMNS: ClassVar[tuple[str, ...]] = (
        *JointStream.COLUMNS,
        *("q_sd", "v_sd", "a_sd", "effort_sd"),
    )


# Where nothing is known yet: an encoder of a cobot, brisk motion, torques of some N m.
_INITIAL_NOISE = NoiseLevels(np.array(1e-4), np.array(1e2), np.array(1e-2))  # [rad], [rad²/s⁵]
_INITIAL_EFFORT_NOISE = NoiseLevels(np.array(0.1), np.array(1e5))  # [N m], [(N m)²/s⁵]
_START_RATES = (1.0, 10.0)  # [rad/s], [rad/s²] sd of the unknown rates at a start
_START_EFFORT_RATES = (1e2, 1e3)  # [N m/s], [N m/s²]
_OUTLIERS_IN_A_ROW = 3  # more are a new position


class JointFilter:
    """Constant-acceleration Kalman filter of every joint, driven by white jerk noise.

    The time steps are those of the stamps. Efforts are filtered in the same way. Angles of joints
    without end stops are unwrapped. A position that is further from the prediction than any robot
    can move is ignored (at most three in succession); the positions of the other joints are used.
    Applied to a recording, the filter gives exactly the live results. After a gap of a second, or
    if stamps decrease by more than `max_gap_s`, the noise is estimated again as well. A recording
    therefore gives the same results, whether it is replayed alone or after others.

    Args:
        n_joints: Number of joints.
        noise: Position noise, jerk density and velocity noise; None: estimated from the data as
            they arrive.
        max_gap_s: Longest gap after which the filter continues; longer ones restart it [s].
    """

    def __init__(
        self,
        n_joints: int,
        *,
        noise: NoiseLevels | None = None,
        max_gap_s: float = 0.1,
    ) -> None:
        self.n_joints = n_joints
        self._clock = StreamClock(max_gap_s)
        self._given = noise
        self._measured = (False, False)  # velocity, effort
        self._period = 0.0  # last accepted step [s]
        self._last = np.zeros(n_joints)  # accepted positions, unwrapped
        self._in_a_row = np.zeros(n_joints, dtype=np.intp)  # outliers of each joint
        self._expected, self._far = np.zeros(n_joints), np.zeros(n_joints, dtype=np.bool_)
        self._filters = self._build(*self._measured)

    @property
    def counts(self) -> FilterCounts:
        """Numbers of accepted and rejected samples so far."""
        return self._clock.counts

    @property
    def noise(self) -> NoiseLevels:
        """Current position noise, jerk noise density and (if velocities are measured) velocity
        noise, (n,) each.
        """
        n, levels = self.n_joints, self._filters.noise
        rate_sd = self._filters.rate_sd if self._measured[0] else None
        return NoiseLevels(levels.measurement_sd[:n], levels.density[:n], rate_sd)

    def update(
        self,
        stamp_ns: int,
        q: ArrayLike,
        v: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> FilteredSample:
        """Process one sample.

        Args:
            stamp_ns: Time of the measurement [ns].
            q: Positions, shape (n,) [rad or m].
            v: Measured velocities, shape (n,) [rad/s or m/s]; None if not measured.
            effort: Measured efforts, shape (n,), in any unit; None if not measured. The filter
                restarts if velocities or efforts begin or cease to be measured. If all values are
                NaN from the start, as from some drivers, the signal counts as not measured.

        Returns:
            Filtered state; its `outcome` states whether the sample was used.

        Raises:
            SignalError: An array has the wrong length, or the stamp is not an integer.
        """
        z = self._checked("position", q)
        z_v = self._measured_or_none("velocity", v, self._measured[0])
        z_effort = self._measured_or_none("effort", effort, self._measured[1])
        z = z.copy() if z_effort is None else np.concatenate([z, z_effort])
        finite = is_measured(z) and (z_v is None or is_measured(z_v))
        outcome, dt = self._clock.judge(stamp_ns, finite)
        if outcome.refused:
            return self._sample(outcome)
        measured = (z_v is not None, z_effort is not None)
        if measured != self._measured or self._clock.begins_anew(dt):
            self._filters, self._measured = self._build(*measured), measured
            self._period, outcome = 0.0, SampleOutcome.STARTED
        z[: self.n_joints] = self._unwrapped(z[: self.n_joints], outcome)
        left_out: NDArray[np.bool_] | None = None
        if outcome is SampleOutcome.ACCEPTED:
            outcome, left_out = self._gated(z[: self.n_joints], z_v, dt)
        if outcome is SampleOutcome.STARTED:
            self._in_a_row[:] = 0
            self._filters.start(z, z_v, self._start_sd())
        elif outcome is SampleOutcome.ACCEPTED:
            self._period = dt
            self._filters.update(dt, z, z_v, left_out)
        if not outcome.refused:
            self._last = z[: self.n_joints].copy()
        return self._sample(outcome)

    def _unwrapped(self, q: Array, outcome: SampleOutcome) -> Array:
        """Continuous angles of joints without end stops beyond ±π; after a restart, angles are used
        as measured.
        """
        if outcome is SampleOutcome.STARTED:
            return q
        step = q - self._last
        if np.abs(step).max() <= np.pi:
            return q
        return q - 2.0 * np.pi * np.round(step / (2.0 * np.pi))

    def _gated(
        self, q: Array, v: Array | None, dt: float
    ) -> tuple[SampleOutcome, NDArray[np.bool_] | None]:
        """Reject positions that differ from the prediction by more than noise and motion explain.

        Rejected positions are replaced by the predicted ones in `q`. After three rejections in a
        row the measured position is accepted. If all positions of a sample are rejected, the whole
        sample is rejected.

        Returns:
            Outcome of the sample, and a mask of the joints whose values are ignored, shape (n,).
        """
        bank, n = self._filters.bank, self.n_joints
        if not self._filters.settled:
            return SampleOutcome.ACCEPTED, None
        expected, far = self._expected, self._far
        noise_sd, period = self._filters.noise.measurement_sd, self._period or dt
        count = kernels().find_outliers(bank.x, bank.P, noise_sd, q, dt, period, expected, far)
        if not count:
            self._in_a_row[:] = 0
            return SampleOutcome.ACCEPTED, None
        there = far & (self._in_a_row >= _OUTLIERS_IN_A_ROW)
        self._in_a_row = np.where(far & ~there, self._in_a_row + 1, 0)
        if there.any():
            self._clock.count("jumps")
        if there.all():
            return SampleOutcome.STARTED, None
        if count == n and not there.any():
            return self._clock.take_back(), None
        for j in np.flatnonzero(there).tolist():
            self._filters.restart(j, q[j], None if v is None else v[j], self._start_sd()[j])
        left_out = far & ~there
        if left_out.any():
            self._clock.count("outliers")
        q[left_out] = expected[left_out]
        return SampleOutcome.ACCEPTED, far.copy()

    def _checked(self, what: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=float)
        if array.shape != (self.n_joints,):
            raise SignalError(
                f"A {what} sample has shape {array.shape}, expected ({self.n_joints},).",
                remedy="Map the sample to the filter's joints by name first.",
            )
        return array

    def _measured_or_none(self, what: str, values: ArrayLike | None, before: bool) -> Array | None:
        if values is None:
            return None
        array = self._checked(what, values)
        return None if not before and np.isnan(array).all() else array

    def _build(self, with_velocity: bool, with_effort: bool) -> TunedBank:
        n = self.n_joints
        given = self._given
        first = _INITIAL_NOISE if given is None else given
        levels = [
            level.for_signals(n) for level in (first, _INITIAL_EFFORT_NOISE)[: 1 + with_effort]
        ]
        rate_sd = None if given is None else given.rate_sd
        initial_rate_sd = _INITIAL_NOISE.rate_sd if rate_sd is None else rate_sd
        noise = NoiseLevels(
            np.concatenate([level.measurement_sd for level in levels]),
            np.concatenate([level.density for level in levels]),
            np.resize(np.asarray(initial_rate_sd), n * len(levels)),
        )
        return TunedBank(
            noise,
            np.repeat([given is None, True][: 1 + with_effort], n),
            rates=n if with_velocity else 0,
            tunes_rates=rate_sd is None,
        )

    def _start_sd(self) -> Array:
        kinds = (_START_RATES, _START_EFFORT_RATES)[: 1 + self._measured[1]]
        return np.repeat(kinds, self.n_joints, axis=0)

    def _sample(self, outcome: SampleOutcome) -> FilteredSample:
        n, bank = self.n_joints, self._filters.bank
        x, sd = bank.state_and_sd()
        return FilteredSample(
            outcome=outcome,
            stamp_ns=self._clock.stamp_ns,
            q=x[0, :n],
            v=x[1, :n],
            a=x[2, :n],
            q_sd=sd[0, :n],
            v_sd=sd[1, :n],
            a_sd=sd[2, :n],
            effort=x[0, n:] if self._measured[1] else None,
            effort_sd=sd[0, n:] if self._measured[1] else None,
        )

    @staticmethod
    def filter_stream(
        stream: JointStream, *, noise: NoiseLevels | None = None
    ) -> tuple[FilteredJointStream, FilterCounts]:
        """Filter a recording sample by sample with `JointFilter`; the results equal those of the live
        filter.

        Args:
            stream: Joint states; rejected samples are omitted from the result.
            noise: Noise levels as in `JointFilter`; None: estimated.

        Returns:
            Filtered stream, and counts of rejected samples and restarts.

        Raises:
            SignalError: No sample was accepted.
        """
        joint_filter = JointFilter(len(stream.names), noise=noise)
        columns: dict[str, Array] = {}
        stamps = np.empty(len(stream), dtype=np.int64)
        count = 0
        for k, stamp_ns in enumerate(stream.stamps_ns.tolist()):
            v = None if stream.v is None else stream.v[k]
            effort = None if stream.effort is None else stream.effort[k]
            sample = joint_filter.update(stamp_ns, stream.q[k], v, effort)
            if sample.outcome.refused:
                continue
            if not count:
                keys = [
                    key for key in FilteredJointStream.COLUMNS if getattr(sample, key) is not None
                ]
                columns = {key: np.empty((len(stream), len(stream.names))) for key in keys}
            stamps[count] = stamp_ns
            for key, values in columns.items():
                values[count] = getattr(sample, key)
            count += 1
        counts = joint_filter.counts
        if not count:
            raise SignalError(
                f"None of {len(stream)} joint samples can be filtered: {counts}.",
                remedy="Check stamps and values of the recording.",
            )
        filtered = FilteredJointStream(
            stream.names,
            stamps[:count],
            effort_kind=stream.effort_kind,
            **{key: values[:count] for key, values in columns.items()},
        )
        return filtered, counts
