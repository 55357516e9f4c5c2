# SPDX-License-Identifier: Apache-2.0
"""Gapless spans of samples, their checks, and the interface of the estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.signals.filters import ZeroPhaseFilter

_PIECE = 2_000  # samples of each piece


@dataclass(frozen=True, eq=False)
class Span:
    """Gapless, equally spaced motion with measured joint torques.

    Attributes:
        motion: Motion of all joints, delayed by the `delay` of the efforts to match the torques.
        tau: Torques of the n joints, unfiltered, shape (K, n) [N m].
        rate_hz: Sampling rate [Hz].
        source: Name of the recording.
    """

    motion: JointStream
    tau: Array
    rate_hz: float
    source: str = ""


def shifted(values: Array, time: Array, shift: float) -> Array:
    """Values, shape (K, ...), delayed by `shift` [s] (linear interpolation); constant beyond both
    ends.
    """
    return make_interp_spline(time, values, k=1)(np.clip(time - shift, time[0], time[-1]))


def require_recordings(recordings: Sequence[Recording]) -> None:
    """Raise an error if there is no recording.

    Raises:
        EstimationError: The sequence of recordings is empty.
    """
    if not recordings:
        raise EstimationError("No recording was given.", remedy="Give a recording.")


def require_torques(stream: JointStream, source: str, *, currents: bool = False) -> None:
    """Raise an error if the efforts are not torques.

    Args:
        stream: Joint states.
        source: Name of the recording, for the error message.
        currents: True to accept motor currents, for drives with known gains.

    Raises:
        SignalError: Efforts are missing, undeclared, gravity-compensated, or unwanted currents.
    """
    if stream.effort is None:
        raise SignalError(
            f"'{source}' has no efforts.",
            remedy="Record the motor currents or joint torques as well; identification needs them.",
        )
    kind = stream.effort_kind
    if kind.is_torque or (currents and kind is EffortKind.MOTOR_CURRENT):
        return
    unit = "torques or currents" if currents else "torques"
    raise SignalError(
        f"The efforts of '{source}' are declared '{stream.effort_kind}', not {unit}.",
        remedy="Declare their kind (`effort_kind: actuator_torque` …) in the column map or with"
        " --effort-kind; gravity-compensated efforts can't be used: the weight has been subtracted."
        + ("" if currents else " Multiply motor currents by the drive gains first."),
    )


def require_finite(stream: JointStream, source: str) -> None:
    """Raise an error if values are NaN or infinite.

    Raises:
        SignalError: Values are not finite; the message names signal, joints and first sample.
    """
    for key in ("q", "v", "a", "effort"):
        values = getattr(stream, key)
        if values is not None and not np.all(np.isfinite(values)):
            rows, columns = np.nonzero(~np.isfinite(values))
            names = sorted({stream.names[j] for j in columns})
            raise SignalError(
                f"'{key}' of {names} in '{source}' holds {len(rows)} NaN or infinite values, the"
                f" first in sample {rows[0]}.",
                remedy="Remove these samples or record again.",
            )


@runtime_checkable
class Estimator(Protocol):
    """Interface of all estimators of robot parameters: configuration in the constructor, data in
    `fit`.
    """

    fixed: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the method, as stored in the result."""
        ...

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the parameters of the measurement equations."""
        ...


@dataclass(frozen=True, eq=False)
class RegressorBlocks:
    """Stacked, filtered and decimated rows of the rigid-body and friction regressor of several
    spans of motion. They are computed again for each use instead of being stored.

    Attributes:
        model: Robot model.
        friction: Friction terms.
        spans: Gapless spans of motion.
        rigid: Rigid-body regressor of each span, (K_i, n, 10 N); None: recomputed for each use.
        rows: Indices of the samples of each span that are used.
        pi: Inertial parameters for the load in load-dependent friction, shape (10 N,).
        torque_cutoff_hz: Cut-off frequency of the filter [Hz]; None: no filter.
        unmeasured: Mask of the joints without measured efforts, shape (n,).
    """

    model: RobotModel
    friction: FrictionModel
    spans: tuple[Span, ...]
    rigid: tuple[Array, ...] | None
    rows: tuple[NDArray[np.intp], ...]
    pi: Array
    torque_cutoff_hz: float | None
    unmeasured: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of samples K, joints n and parameters p."""
        p = 10 * self.model.n_bodies + len(self.friction.names)
        return sum(map(len, self.rows)), self.model.nv, p

    def __iter__(self) -> Iterator[Array]:
        """Iterate over the spans that have rows in use; one block each, shape (k, n, p)."""
        for i, rows in enumerate(self.rows):
            if len(rows):
                yield self._filtered(i, rows)

    def predict(self, parameters: Array) -> Array:
        """Return the filtered torques `Y @ parameters` of all rows, shape (K, n)."""
        split, out = 10 * self.model.n_bodies, []
        for i, rows in enumerate(self.rows):
            Y, Phi = self._raw(i)
            tau = Y @ parameters[:split] + Phi @ parameters[split:]
            tau[:, self.unmeasured] = 0.0
            if self.torque_cutoff_hz is not None:
                tau = ZeroPhaseFilter(self.torque_cutoff_hz).apply(tau, self.spans[i].rate_hz)
            out.append(tau[rows])
        return np.concatenate(out)

    def friction_squares(self) -> Array:
        """Return the mean square of every unfiltered friction column over the rows in use, shape
        (n, p_f).
        """
        total = np.zeros((self.model.nv, len(self.friction.names)))
        for i, rows in enumerate(self.rows):
            Phi = self._raw(i)[1] if self.friction.needs_load else self._friction(i, None)
            total += np.sum(Phi[rows] ** 2, axis=0)
        return total / max(sum(map(len, self.rows)), 1)

    def _raw(self, i: int) -> tuple[Array, Array]:
        """Unfiltered rigid-body and friction regressors of a span."""
        motion = self.spans[i].motion
        Y = self.model.torque_regressor(*motion.kinematics) if self.rigid is None else self.rigid[i]
        return Y, self._friction(i, Y @ self.pi)

    def _friction(self, i: int, load: Array | None) -> Array:
        return self.friction.regressor(*self.spans[i].motion.kinematics, load)

    def _filtered(self, i: int, rows: NDArray[np.intp]) -> Array:
        """Rows of a span; only columns that aren't zero are filtered, joint by joint."""
        Y, Phi = self._raw(i)
        out = np.zeros((len(rows), *self.shape[1:]))
        for j in np.flatnonzero(~self.unmeasured):
            for part, offset in ((Y, 0), (Phi, Y.shape[2])):
                used = np.flatnonzero(np.any(part[:, j] != 0.0, axis=0))
                columns = part[:, j][:, used]
                if self.torque_cutoff_hz is not None and len(used):
                    columns = ZeroPhaseFilter(self.torque_cutoff_hz).apply(
                        columns, self.spans[i].rate_hz
                    )
                out[:, j, offset + used] = columns[rows]
        return out


def evenly_spread(lengths: Sequence[int], total: int) -> list[list[slice]]:
    """Select pieces of several spans, about `total` samples in all, that are distributed evenly.

    Args:
        lengths: Number of samples of each span.
        total: Desired total number of samples.

    Returns:
        Slices of each span; whole spans if they have no more than `total` samples together.
    """
    if sum(lengths) <= total:
        return [[slice(0, K)] for K in lengths]
    stride = max(_PIECE, int(_PIECE * sum(lengths) / total))
    out: list[list[slice]] = []
    due = 0  # where the next piece begins, from the start of this span: many spans share a stride
    for K in lengths:
        out.append(
            [
                slice(a, min(a + _PIECE, K))
                for a in range(due, K, stride)
                if min(a + _PIECE, K) - a >= 200
            ]
        )
        due = max(due - K, 0) if due >= K else -(K - due) % stride
    return out
