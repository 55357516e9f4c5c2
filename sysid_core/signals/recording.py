# SPDX-License-Identifier: Apache-2.0
"""Recorded signals: named, stamped, read-only arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from sysid_core.errors import SignalError
from sysid_core.settings import Kind

if TYPE_CHECKING:
    from sysid_core.robot import StaticTransform
    from sysid_core.signals.timing import TimingReport

Array = NDArray[Any]  # of float64
Stamps = NDArray[np.int64]
_PIECE = 6_000  # resampled samples of a piece
_PIECE_S = 4.0  # [s] at least: each start costs the filters' settling and friction's history


class EffortKind(Kind):
    """Physical meaning of `effort` in joint states. Vendors differ, so it must be declared."""

    LINK_TORQUE = "link_torque"  # measured behind the gear [N m] (Franka tau_J)
    ACTUATOR_TORQUE = "actuator_torque"  # of the drive, reflected to the joint [N m] (Kinova)
    MOTOR_CURRENT = "motor_current"  # [A] (UR); drive gains [N m/A] make it a torque
    GRAVITY_COMPENSATED = "gravity_compensated"  # something has been subtracted: not usable
    UNKNOWN = "unknown"  # refused for identification

    @property
    def is_torque(self) -> bool:
        """True if the values are total joint torques, gravity included (forces for prismatic
        joints).
        """
        return self in (EffortKind.LINK_TORQUE, EffortKind.ACTUATOR_TORQUE)

    @property
    def unit(self) -> str:
        """Unit of the effort values."""
        return {"motor_current": "A", "unknown": "?"}.get(self.value, "N m")


def frozen_array(values: object, *, dtype: type = np.float64) -> NDArray[Any]:
    """Return the values as a read-only array: the same array if it is read-only, otherwise a copy."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and _is_frozen(values):
        return values
    out: NDArray[Any] = np.array(values, dtype=dtype)
    out.setflags(write=False)
    return out


def _is_frozen(array: NDArray[Any]) -> bool:
    """True if neither the array nor its base can be written to."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    return owner is None


@dataclass(frozen=True, eq=False)
class JointStream:
    """Joint states over time: K samples of n joints, possibly with irregular stamps.

    Attributes:
        names: Names of the n joints, in the order of the columns of all arrays.
        stamps_ns: Time stamps, shape (K,), int64 [ns], not necessarily increasing (see `timing`).
        q: Positions, shape (K, n) [rad or m].
        v: Velocities, shape (K, n) [rad/s or m/s]; None if not measured.
        a: Accelerations, shape (K, n) [rad/s^2 or m/s^2]; None if not measured.
        effort: Efforts, shape (K, n), in the unit of `effort_kind`; None if not measured.
        effort_kind: Kind of `effort`.
    """

    names: tuple[str, ...]
    stamps_ns: Stamps
    q: Array
    v: Array | None = None
    a: Array | None = None
    effort: Array | None = None
    effort_kind: EffortKind = EffortKind.UNKNOWN

    COLUMNS: ClassVar[tuple[str, ...]] = ("q", "v", "a", "effort")  # the arrays of shape (K, n)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "stamps_ns", frozen_array(self.stamps_ns, dtype=np.int64))
        expected = (len(self.stamps_ns), len(self.names))
        for key in self.COLUMNS:
            value = getattr(self, key)
            if value is None:
                continue
            value = frozen_array(value)
            if value.shape != expected:
                raise SignalError(
                    f"'{key}' has shape {value.shape}, expected {expected} (samples, joints).",
                    remedy="Check the columns of the recording.",
                )
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return len(self.stamps_ns)

    @property
    def time(self) -> Array:
        """Time since the first sample, shape (K,) [s]."""
        return (self.stamps_ns - self.stamps_ns[0]) * 1e-9 if len(self) else np.empty(0)

    @property
    def kinematics(self) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations, shape (K, n) each.

        Raises:
            SignalError: Velocities or accelerations are unknown.
        """
        if self.v is None or self.a is None:
            raise SignalError(
                "The motion has no velocities or accelerations.",
                remedy="Smooth the motion first: `ZeroPhaseFilter.smooth` gives velocities and accelerations.",
            )
        return self.q, self.v, self.a

    def ordered(self, names: Sequence[str]) -> Self:
        """Return a copy with the columns of the joints `names`, in that order.

        Raises:
            SignalError: A joint is missing.
        """
        if tuple(names) == self.names:
            return self
        missing = [name for name in names if name not in self.names]
        if missing:
            raise SignalError(
                f"The recording has no joints {missing}; it has {list(self.names)}.",
                remedy="Correct the joint names in the column map, or use the right URDF.",
                missing=missing,
            )
        k = [self.names.index(name) for name in names]
        columns: dict[str, Any] = {
            key: None if getattr(self, key) is None else getattr(self, key)[:, k]
            for key in self.COLUMNS
        }
        return dataclasses.replace(self, names=tuple(names), **columns)

    def select(self, rows: slice | NDArray) -> Self:
        """Return a copy with some of the samples, given by a slice, a mask (K,) or indices."""
        columns: dict[str, Any] = {
            key: None if getattr(self, key) is None else getattr(self, key)[rows]
            for key in self.COLUMNS
        }
        return dataclasses.replace(self, stamps_ns=self.stamps_ns[rows], **columns)

    def split_at_gaps(self, max_gap_s: float) -> tuple[Self, ...]:
        """Split a stream into spans without a gap longer than `max_gap_s` [s].

        Raises:
            SignalError: The time stamps do not increase.
        """
        steps = np.diff(self.stamps_ns)
        if np.any(steps <= 0):
            k = int(np.argmax(steps <= 0)) + 1
            raise SignalError(
                f"Stamps of the recording don't increase at sample {k}"
                f" ({self.stamps_ns[k - 1]} ns, then {self.stamps_ns[k]} ns).",
                remedy="Repair the recording first (`sysid bag`), or sort it.",
                sample=k,
            )
        cuts = np.flatnonzero(steps > max_gap_s * 1e9) + 1
        bounds = [0, *cuts.tolist(), len(self)]
        return tuple(self.select(slice(a, b)) for a, b in pairwise(bounds))

    def pieces(self, max_gap_s: float, rate_hz: float) -> Iterator[Self]:
        """Yield the spans without a gap longer than `max_gap_s` [s] in pieces, to limit the memory of
        filtered copies.

        Args:
            max_gap_s: Longest gap within a span [s].
            rate_hz: Rate at which the samples are resampled afterwards [Hz].

        Raises:
            SignalError: The time stamps do not increase.
        """
        for span in self.split_at_gaps(max_gap_s):
            duration = float(span.time[-1]) if len(span) else 0.0
            resampled = min(len(span), int(duration * rate_hz) + 1)
            most = max(_PIECE, int(_PIECE_S * resampled / max(duration, 1e-9)))
            count = max(1, -(-resampled // most))
            for index in np.array_split(np.arange(len(span)), count):
                yield span.select(slice(int(index[0]), int(index[-1]) + 1)) if count > 1 else span


@dataclass(frozen=True, eq=False)
class WrenchStream:
    """Force-torque readings over time: the wrench on the load side of the sensor.

    Attributes:
        frame: Frame of the sensor (axes and reference point).
        stamps_ns: Time stamps, shape (K,) [ns].
        wrench: Readings, force then torque, shape (K, 6) [N, N m].
    """

    frame: str
    stamps_ns: Stamps
    wrench: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamps_ns", frozen_array(self.stamps_ns, dtype=np.int64))
        object.__setattr__(self, "wrench", frozen_array(self.wrench))
        if self.wrench.shape != (len(self.stamps_ns), 6):
            raise SignalError(
                f"A wrench stream of {len(self.stamps_ns)} stamps has values of shape"
                f" {self.wrench.shape}, expected ({len(self.stamps_ns)}, 6).",
                remedy="Give six numbers: three forces, then three torques.",
            )

    def __len__(self) -> int:
        return len(self.stamps_ns)

    @property
    def time(self) -> Array:
        """Time since the first sample, shape (K,) [s]."""
        return (self.stamps_ns - self.stamps_ns[0]) * 1e-9 if len(self) else np.empty(0)

    def select(self, rows: slice | NDArray) -> WrenchStream:
        """Return a copy with some of the samples, given by a slice, a mask (K,) or indices."""
        return dataclasses.replace(self, stamps_ns=self.stamps_ns[rows], wrench=self.wrench[rows])


@dataclass(frozen=True)
class Mark:
    """Label with a time stamp.

    Attributes:
        stamp_ns: Time since the start of the recording [ns].
        label: Text such as `tare_1:start` or `motion:end`.
    """

    stamp_ns: int
    label: str


@dataclass(frozen=True, eq=False)
class Recording:
    """Streams that were recorded together. `from_arrays` builds a recording from arrays.

    Attributes:
        joints: Joint states.
        wrench: Readings of the force-torque sensor; None without a sensor.
        marks: Labelled instants, in the order of time.
        source: Name of the file or of the topics.
        urdf_xml: Recorded description of the robot, or "".
        transforms: Recorded transforms of `tf_static`.
        notes: Remarks on repaired or dropped samples, one sentence each.
        units_assumed: True if no column states the unit of the wrench, so that N and N m are assumed.
        timing: Statistics of the time stamps of `joints` and `wrench` before samples were dropped;
            may be empty.

    Examples:
        >>> import numpy as np
        >>> t = np.arange(0.0, 1.0, 0.01)
        >>> run = Recording.from_arrays(["j1"], t, np.sin(t)[:, None])
        >>> len(run.joints), run.wrench is None
        (100, True)
    """

    joints: JointStream
    wrench: WrenchStream | None = None
    marks: tuple[Mark, ...] = ()
    source: str = ""
    urdf_xml: str = field(default="", repr=False)
    transforms: tuple[StaticTransform, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    units_assumed: bool = False
    timing: Mapping[str, TimingReport] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        effort: ArrayLike | None = None,
        effort_kind: EffortKind | str = EffortKind.LINK_TORQUE,
        wrench: ArrayLike | None = None,
        wrench_frame: str = "",
        source: str = "arrays",
    ) -> Recording:
        """Return the recording of K samples of n joints, with a common stamp for all signals.

        Args:
            names: Joint names, n of them.
            time: Times of the samples, shape (K,) [s].
            q: Positions, shape (K, n) [rad or m].
            v: Velocities, shape (K, n) [rad/s or m/s]; None if not measured.
            effort: Torques, forces or currents, shape (K, n), in the unit of `effort_kind`.
            effort_kind: Kind of the efforts; default: link-side torques [N m].
            wrench: Wrench that the sensor exerts on the load, force then torque, shape (K, 6) [N, N m].
            wrench_frame: Frame of the sensor.
            source: Name of the recording.

        Raises:
            SignalError: An array is not numeric, shapes are inconsistent, the time does not
                increase, or the kind of efforts is unknown.
        """
        t, positions = _numbers("time", time), _numbers("q", q)
        if t.ndim != 1 or not len(t) or not np.all(np.diff(t) > 0.0):
            back = int(np.argmax(~(np.diff(t) > 0.0))) + 1 if t.ndim == 1 and len(t) > 1 else 0
            raise SignalError(
                f"`time` doesn't grow at sample {back}."
                if back
                else f"`time` has shape {t.shape}, expected samples in time.",
                remedy="Give seconds that grow from sample to sample, shape (K,).",
            )
        stamps = np.round(t * 1e9).astype(np.int64)
        velocities, efforts = (
            None if x is None else _numbers(name, x) for name, x in (("v", v), ("effort", effort))
        )
        kind = EffortKind.named(str(effort_kind), "The kind of efforts", SignalError)
        joints = JointStream(
            tuple(names),
            stamps,
            positions,
            velocities,
            effort=efforts,
            effort_kind=kind,
        )
        readings = None
        if wrench is not None:
            readings = WrenchStream(wrench_frame, stamps, _numbers("wrench", wrench))
        return cls(joints, readings, source=source)

    def between(self, start: str, end: str) -> Recording:
        """Return the part of the recording from the (last) mark `start` to the first mark `end`
        after it.

        Raises:
            SignalError: A mark is missing.
        """
        starts = [m.stamp_ns for m in self.marks if m.label == start]
        t0 = starts[-1] if starts else None
        ends = [
            m.stamp_ns for m in self.marks if m.label == end and t0 is not None and m.stamp_ns >= t0
        ]
        if t0 is None or not ends:
            raise SignalError(
                f"'{self.source}' has no span from mark '{start}' to '{end}'.",
                remedy=f"Marks in it: {[m.label for m in self.marks]}.",
            )
        return self.window(t0, ends[0])

    def window(self, start_ns: int, end_ns: int) -> Recording:
        """Return the part of the recording with start <= stamp <= end."""

        def inside(stamps: Stamps) -> NDArray[np.bool_]:
            return (stamps >= start_ns) & (stamps <= end_ns)

        return dataclasses.replace(
            self,
            joints=self.joints.select(inside(self.joints.stamps_ns)),
            wrench=None
            if self.wrench is None
            else self.wrench.select(inside(self.wrench.stamps_ns)),
            marks=tuple(m for m in self.marks if start_ns <= m.stamp_ns <= end_ns),
        )


def _numbers(argument: str, values: ArrayLike) -> Array:
    """Convert an argument to an array of numbers.

    Raises:
        SignalError: The argument is not an array of numbers.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as err:
        raise SignalError(
            f"`{argument}` holds no numbers: {err}.", remedy="Give an array of floats."
        ) from err
