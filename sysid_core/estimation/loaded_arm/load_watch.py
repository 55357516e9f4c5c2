# SPDX-License-Identifier: Apache-2.0
"""Detection of a change of the load during the motion of an arm without a force-torque sensor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sysid_core.estimation.payload_live.online import ChangeDetector, PayloadChange, kind_of_change
from sysid_core.robot import Array
from sysid_core.signals import JointStream, Recording

_SIGNALS = 4  # mass and its three moments: what gravity shows
_LIMIT = 4.0  # deviations of the residual, averaged over a tenth of a second
_SETTLED_S = 2.0  # before a change can be told from the estimate's own settling
_AGREE_S = 1.0  # for which residuals are alike: friction errors last as long as a movement


class LoadWatch:
    """Detector of load changes, which tracks the load by least squares.

    The residual of all joints is projected on the torques of an additional load, `s_i = y_i^T W r /
    sqrt(y_i^T W y_i)` with the columns y_i of the payload's regressor; it has unit variance while
    the load is constant.

    Args:
        noise: RMS torque residual of each joint, shape (n,) [N m].
        prior: Prior covariance of the payload parameters, shape (10, 10).
        period_s: Time between samples [s].
    """

    def __init__(self, noise: Array, prior: Array, period_s: float) -> None:
        self._weights = 1.0 / np.maximum(np.asarray(noise, dtype=float), 1e-9) ** 2
        self._prior = np.asarray(np.linalg.inv(prior))
        self._share = min(1.0, period_s / _AGREE_S)
        self._start()

    def _start(self) -> None:
        self._H, self._h = self._prior.copy(), np.zeros(10)
        self._detector = ChangeDetector(np.zeros(_SIGNALS), share=0.0, limit=_LIMIT)
        self._began: float | None = None

    def update(self, time_s: float, extra: Array, Y: Array) -> PayloadChange | None:
        """Add one sample; returns the change if the load has changed.

        Args:
            time_s: Time of the sample [s], increasing.
            extra: Measured torques minus those of the unloaded arm, shape (n,) [N m].
            Y: Regressor of the payload's torques, shape (n, 10).
        """
        self._began = time_s if self._began is None else self._began
        YW = Y.T * self._weights
        change = None
        if time_s - self._began >= _SETTLED_S:
            pi = np.linalg.solve(self._H, self._h)
            residual = extra - Y @ pi
            y = YW[:_SIGNALS]
            size = np.sqrt(np.maximum(np.einsum("ij,ji->i", y, Y[:, :_SIGNALS]), 1e-12))
            shown = y @ Y / size[:, None]  # (4, 10): of the load that the estimate leaves open
            open_sd = np.sqrt(1.0 + np.einsum("ij,ji->i", shown, np.linalg.solve(self._H, shown.T)))
            if self._detector.update(time_s, y @ residual / size, np.zeros(_SIGNALS), open_sd):
                mass = float(self._detector.jump[0] / size[0])
                change = PayloadChange(time_s, kind_of_change(mass, 1.0 / float(size[0])), mass)
                self._start()
        self._H += self._share * YW @ Y
        self._h += self._share * YW @ extra
        return change


def load_changes(
    time: Array, extra: Array, Y: Array, noise: Array, prior: Array
) -> tuple[PayloadChange, ...]:
    """Return all changes of the load in one recording.

    Args:
        time: Times, shape (K,) [s].
        extra: Measured torques minus those of the unloaded arm, shape (K, n) [N m].
        Y: Regressor of the payload's torques, shape (K, n, 10).
        noise: RMS torque residual of each joint, shape (n,) [N m].
        prior: Prior covariance of the payload parameters, shape (10, 10).
    """
    watch = LoadWatch(noise, prior, float(np.median(np.diff(time))))
    found: Sequence[PayloadChange | None] = [
        watch.update(float(t), e, y) for t, e, y in zip(time, extra, Y, strict=True)
    ]
    changes = [change for change in found if change is not None]
    weights = 1.0 / np.maximum(np.asarray(noise, dtype=float), 1e-9) ** 2

    def contrasts() -> list[float]:
        edges = [float(time[0]), *(change.stamp_s for change in changes), np.inf]
        parts = [
            _fit((time >= begin) & (time < end - _AGREE_S), time, extra, Y, weights, prior)
            for begin, end in pairwise(edges)
        ]
        return [_contrast(*two) for two in pairwise(parts)]

    # Friction that errs for a movement is no change: what the parts' own loads don't bear out goes.
    while changes and min(found_now := contrasts()) <= _LIMIT**2:
        del changes[int(np.argmin(found_now))]
    return tuple(changes)


Part = tuple[Array, Array] | None  # mass and moments, (4,), and their covariance, (4, 4)


def _fit(rows: Array, time: Array, extra: Array, Y: Array, weights: Array, prior: Array) -> Part:
    """Load during a part of the run, with its scatter from second to second; None if the part is
    too short.
    """
    if not rows.any() or np.ptp(time[rows]) < _SETTLED_S:
        return None
    X, x = Y[rows], extra[rows]
    left = np.linalg.inv(prior)
    information = left + np.einsum("kji,j,kjl->il", X, weights, X)
    inverse = np.linalg.inv(information)
    pi = inverse @ np.einsum("kji,j,kj->i", X, weights, x)
    scores = np.einsum("kji,j,kj->ki", X, weights, x - X @ pi)
    second = ((time[rows] - time[rows][0]) / _AGREE_S).astype(int)
    blocks = np.array([scores[second == k].sum(axis=0) for k in np.unique(second)])
    covariance = inverse @ (blocks.T @ blocks + left) @ inverse
    return pi[:_SIGNALS], covariance[:_SIGNALS, :_SIGNALS]


def _contrast(before: Part, after: Part) -> float:
    """Squared Mahalanobis distance between the loads of two parts of a run; infinite if the second
    part is too short.
    """
    if before is None or after is None:
        return 0.0 if before is None else float("inf")
    change = after[0] - before[0]
    return float(change @ np.linalg.solve(before[1] + after[1], change))


def change_note(
    stream: JointStream, extra: Array, Y: Array, noise: Array, prior: Array, run: Recording | None
) -> tuple[str, ...]:
    """Return a note about the largest change of the load in a span; empty without a change.

    Args:
        stream: Joint states of the span, K samples.
        extra: Measured torques minus those of the unloaded arm, shape (K, n) [N m].
        Y: Regressor of the payload's torques, shape (K, n, 10).
        noise: RMS torque residual of each joint, shape (n,) [N m].
        prior: Prior covariance of the payload parameters, shape (10, 10).
        run: Recording that contains the span, named in the note; None: unknown.
    """
    changes = load_changes(stream.time, extra, Y, noise, prior)
    if not changes:
        return ()
    largest = max(changes, key=lambda change: abs(change.mass))
    begins = 0.0 if run is None else float(stream.stamps_ns[0] - run.joints.stamps_ns[0]) * 1e-9
    where = "a recording" if run is None else f"'{run.source}'"
    return (
        f"The load probably changes {begins + largest.stamp_s:.1f} s into {where}"
        f" ({largest.kind.value}, {largest.mass:+.2g} kg): weigh the parts before and after"
        " separately.",
    )
