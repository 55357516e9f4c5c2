# SPDX-License-Identifier: Apache-2.0
"""Errors of each identification method on the held-out data of a recipe (a description of public
recordings).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation
from scipy.special import ndtri

from sysid_core.errors import BatchError, EstimationError, SysIdError
from sysid_core.estimation import EstimateDifference
from sysid_core.estimation.arm import Identification, Processing
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.estimation.fit import LeastSquares
from sysid_core.export import ArmResult, Target
from sysid_core.robot import Array, FrictionModel
from sysid_core.signals.filters import ZeroPhaseFilter
from sysid_core.signals.wrench import FullCalibration, SensorCalibration, StaticPostures
from sysid_core.validation import Prediction
from sysid_core.workflows import ArmData, IdentifiedArm
from sysid_studies.bench.peers.peer import PEERS, Peer, PeerFit
from sysid_studies.bench.recipe import Recipe, Split, read_split, wrong_files

LEVEL = 0.95  # of the central intervals: what two standard deviations are taken for
_HALF = float(ndtri(0.5 + 0.5 * LEVEL))  # half width of the interval, in standard deviations
_GRAVITY = np.array([0.0, 0.0, -9.81])
BAND_HZ = 8.0  # rigid bodies move below it
AS_EXPORTED = ("urdf", "mjcf", "c")  # what every installation can read back
METHODS = {
    "default": "sysid identify, defaults",
    "chosen": "sysid identify --method ols: the same choices, no physical consistency",
    "ols": "plain OLS, usual friction, fixed low-pass",
    "wls": "plain WLS, usual friction, fixed low-pass",
    **{peer.name: peer.says for peer in PEERS},
}
METRICS = {
    "moving": "held-out error in motion, raw",
    "in_loop": "held-out error in motion, raw, with the reaction of the controllers to velocity noise",
    "whole": "held-out error over whole recordings, raw",
    "band": f"held-out error in motion below {BAND_HZ:g} Hz",
    "above": f"share of the held-out efforts in motion above {BAND_HZ:g} Hz: mostly noise, which no"
    " rigid body explains",
    "fitted": "error of the fitted recordings in motion, raw",
    **{
        f"as_{target}": f"held-out error in motion of the {target} as other software reads it, raw"
        for target in AS_EXPORTED
    },
    "coverage": "share of base parameters whose estimates from disjoint recordings agree within 95 %",
    "width": "median ratio of standard deviation to difference between disjoint recordings; 1.48 if"
    " correct",
    "consistent": "1 if every body is physically consistent, otherwise 0",
    "seconds": "processing time [s]",
}


@dataclass(frozen=True)
class Scores:
    """Scores of standard deviations against actual errors; smaller is better for both.

    Attributes:
        interval: Mean interval score of the central 95 % intervals: the width of the interval, plus
            40 times the distance of an error outside it. For Gaussian errors it is at least 4.67
            standard deviations of the errors.
        coverage: Share of the errors inside the intervals.
        width: Median ratio of standard deviation to absolute error; 1.48 for Gaussian errors.
    """

    interval: float
    coverage: float
    width: float


def score_deviations(error: ArrayLike, sd: ArrayLike) -> Scores:
    """Return the scores of Gaussian intervals; entries with a non-finite standard deviation are
    omitted.

    Args:
        error: Estimate minus true value, or the difference of two independent estimates.
        sd: Standard deviations, with the shape of the errors.

    Raises:
        EstimationError: A standard deviation is zero or negative.

    References:
        Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation",
        eq. 43.
    """
    e, s = (np.ravel(x) for x in np.broadcast_arrays(error, sd))
    known = np.isfinite(e) & np.isfinite(s)
    e, s = np.abs(e[known]), s[known]
    if np.any(s <= 0.0):
        raise EstimationError(
            "A standard deviation of zero or less has no score.",
            remedy="Omit parameters that were not estimated.",
        )
    if not len(e):
        nan = float("nan")
        return Scores(nan, nan, nan)
    outside = np.maximum(e - _HALF * s, 0.0)
    interval = 2.0 * _HALF * s + 2.0 / (1.0 - LEVEL) * outside
    return Scores(
        float(np.mean(interval)),
        float(np.mean(outside == 0.0)),
        float(np.median(s / np.maximum(e, np.finfo(float).tiny))),
    )


def sensor_rows(recipe: Recipe, data: Path) -> list[dict[str, Any]]:
    """Return the relative force errors on held-out static postures for two sensor models: weight
    and bias, and weight, bias and gains.

    The first training file of the recipe contains the poses (x y z, quaternion x y z w), the second
    one the readings (force, torque) in the axes of the base. Every second posture is held out.

    Raises:
        BatchError: A table has another shape.
    """
    poses, readings = (_table(data / recipe.folder / part.path) for part in recipe.fit)
    if poses.shape[1:] != (7,) or readings.shape != (len(poses), 6):
        raise BatchError(
            f"'{recipe.name}': tables of shapes {poses.shape} and {readings.shape}.",
            remedy="Expected (postures, 7) and (postures, 6).",
        )
    readings = -readings if recipe.negate else readings
    R_WS = Rotation.from_quat(poses[:, 3:]).as_matrix()
    wrench = np.concatenate(
        [np.einsum("kji,kj->ki", R_WS, readings[:, k : k + 3]) for k in (0, 3)], axis=1
    )
    gravity = np.einsum("kji,j->ki", R_WS, _GRAVITY)
    when = np.arange(len(poses), dtype=float)
    fit, held = when % 2 == 0, when % 2 == 1
    rows = []
    for method in ("default", "ols"):
        begun = time.perf_counter()
        if method == "default":
            full = FullCalibration.of(wrench[fit], gravity[fit], R_WS[fit], when[fit])
            found, moved = full.calibration, full.bias_at(when[held]) - full.calibration.bias
        else:
            found, moved = (
                StaticPostures.tare(wrench[fit], gravity[fit], R_WS=R_WS[fit]),
                np.zeros(6),
            )
        left = _left(found, wrench[held] - moved, gravity[held])
        size = wrench[held, :3] - np.mean(wrench[held, :3], axis=0)
        values = {
            "moving": float(np.linalg.norm(left[:, :3]) / np.linalg.norm(size)),
            "force_rms": float(np.sqrt(np.mean(np.sum(left[:, :3] ** 2, axis=1)))),
            "seconds": time.perf_counter() - begun,
        }
        rows += [{"parameter": f"{method}.{k}", "value": v} for k, v in values.items()]
    return rows


def _table(path: Path) -> Array:
    """Numbers of a text table, separated by commas or blanks."""
    lines = path.read_text(encoding="utf-8").replace(",", " ").splitlines()
    try:
        return np.array([[float(x) for x in line.split()] for line in lines if line.strip()])
    except ValueError as err:
        raise BatchError(
            f"'{path}' isn't a table of numbers: {err}.", remedy="Check the recipe."
        ) from err


def _left(found: SensorCalibration, wrench: Array, gravity: Array) -> Array:
    """Readings minus bias and tool, with corrected gains, shape (K, 6)."""
    load = SensorCalibration.static_regressor(gravity) @ found.tare_load
    return np.asarray((wrench - found.bias) @ found.matrix.T - load)


def bench_rows(item: tuple[Recipe, str, bool]) -> list[dict[str, Any]]:
    """Return the rows of one recipe: a row for each method and metric, named `method.metric`.

    Args:
        item: Recipe, folder with the data, and True to run other packages as well.

    Raises:
        BatchError: A file is not the one of the recipe.
    """
    recipe, data = item[0], Path(item[1])
    wrong = wrong_files(recipe, data)
    if wrong:
        raise BatchError(
            f"{', '.join(wrong)} of '{recipe.name}' is not the file of the recipe.",
            remedy=f"Get commit {recipe.source.commit[:12]} of {recipe.source.repository}.",
        )
    if recipe.kind == "sensor":
        return sensor_rows(recipe, data)
    split = read_split(recipe, data)
    rows: list[dict[str, Any]] = []
    for method, run in [*_methods(split), *(_peers(split) if item[2] else ())]:
        begun = time.perf_counter()
        try:
            found, verdict, reason = run()
            spent = time.perf_counter() - begun
            values = {**_errors(found, split), "seconds": spent}
        except SysIdError as err:
            rows.append({"parameter": f"{method}.moving", "outcome": "refused", "reason": str(err)})
            continue
        if isinstance(found, Identification):
            if (scores := _deviations(found, split)) is not None:
                values |= {"coverage": scores.coverage, "width": scores.width}
            if method == "default":
                values |= _exported(found, split)
        if found.physically_consistent is not None:
            values["consistent"] = float(found.physically_consistent)
        rows += [
            {
                "parameter": f"{method}.{metric}",
                "value": value,
                "outcome": verdict,
                "reason": reason,
                "model_hash": split.model.urdf_hash,
            }
            for metric, value in values.items()
        ]
    return rows


_Run = Callable[[], tuple[Identification | PeerFit, str, str]]


def _peers(split: Split) -> Iterator[tuple[str, _Run]]:
    """Other identification packages that are installed."""

    def theirs(peer: Peer) -> _Run:
        def run() -> tuple[PeerFit, str, str]:
            try:
                return peer.fit(split.model, split.fitted, split.drives), "", ""
            except SysIdError:
                raise
            except Exception as err:  # whatever another tool raises: its row says so
                raise BatchError(
                    f"{peer.name} ended with {type(err).__name__}: {err}",
                    remedy="The other methods are not affected.",
                ) from err

        return run

    for peer in PEERS:
        if peer.installed:
            yield peer.name, theirs(peer)


def _methods(split: Split) -> Iterator[tuple[str, _Run]]:
    """Identification methods by name, each with the function that runs it."""

    def ours(method: str) -> _Run:
        def run() -> tuple[Identification, str, str]:
            settings = FitSettings(method=method)
            data = ArmData.of(split.model, split.fitted, split.drives, settings)
            found = IdentifiedArm.of(data, settings)
            verdict = found.verdict
            return found.identification, verdict.outcome.value, " ".join(verdict.codes)

        return run

    def plain(weighting: str) -> _Run:
        def run() -> tuple[Identification, str, str]:
            friction = FrictionModel(split.drives)
            found = Identification.of(
                split.model, split.fitted, friction, LeastSquares(weighting), Processing()
            )
            return found, "", ""

        return run

    yield "default", ours("auto")
    yield "chosen", ours("ols")
    yield "ols", plain("none")
    yield "wls", plain("joint")


def _errors(found: Identification | PeerFit, split: Split) -> dict[str, float]:
    judged = [Prediction.of(found, run) for run in split.judged]
    fitted = [Prediction.of(found, run) for run in split.fitted]
    return {
        "moving": pooled_error(judged),
        "in_loop": pooled_error([p if p.reaction is None else p.in_loop() for p in judged]),
        "whole": pooled_error(judged, whole=True),
        "band": pooled_error(judged, below_hz=BAND_HZ),
        "above": pooled_error([_below(p, BAND_HZ) for p in judged]),
        "fitted": pooled_error(fitted),
    }


def _exported(found: Identification, split: Split) -> dict[str, float]:
    """Held-out errors of the exported files; NaN for formats that cannot express the robot."""
    arm, out = ArmResult(found, split.fitted, split.judged, (), ()), {}
    for target in AS_EXPORTED:
        with tempfile.TemporaryDirectory() as folder:
            try:
                (made,) = arm.export([Target(target)], Path(folder))
                out[f"as_{target}"] = made.error.exported
            except SysIdError:
                out[f"as_{target}"] = float("nan")
    return out


def _below(prediction: Prediction, hz: float) -> Prediction:
    """Ideal low-pass filter of a prediction: unchanged below a frequency, zero above."""
    time, measured = prediction.time, prediction.measured
    rate = (len(time) - 1) / float(time[-1] - time[0])
    predicted = np.where(
        np.isfinite(prediction.predicted), ZeroPhaseFilter(hz).apply(measured, rate), np.nan
    )
    return replace(prediction, predicted=predicted)


def pooled_error(
    predictions: Sequence[Prediction], *, whole: bool = False, below_hz: float = 0.0
) -> float:
    r"""Return the relative error `||measured - predicted|| / ||measured||` over all runs and
    joints, in the unit of the recording.

    Args:
        predictions: Predictions of runs.
        whole: True to include samples at rest.
        below_hz: Cut-off frequency of a low-pass filter that is applied to measurement and
            prediction [Hz]; 0: none.
    """
    left = size = 0.0
    for p in predictions:
        known = np.isfinite(p.predicted).all(axis=1)
        measured, predicted = p.measured[known], p.predicted[known]
        if below_hz:
            rate = (len(p.time) - 1) / float(p.time[-1] - p.time[0])
            low_pass = ZeroPhaseFilter(below_hz)
            measured, predicted = (low_pass.apply(x, rate) for x in (measured, predicted))
        rows = np.ones(len(measured), dtype=bool)
        if not whole and np.any(p.motion):
            rows = p.motion[known]
        left += float(np.sum((measured[rows] - predicted[rows]) ** 2))
        size += float(np.sum(measured[rows] ** 2))
    return float(np.sqrt(left / size)) if size > 0.0 else float("nan")


def _deviations(found: Identification, split: Split) -> Scores | None:
    """Scores of the standard deviations, by comparison with a fit of the held-out recordings; None
    without such a fit.
    """
    estimator = LeastSquares({"wls": "joint"}.get(found.estimate.method, "none"))
    try:
        other = Identification.of(
            found.model, split.judged, found.friction, estimator, found.processing
        ).estimate
        change = EstimateDifference.of(found.estimate, other)
    except SysIdError:
        return None
    return score_deviations(change.change, np.where(change.sd > 0.0, change.sd, np.nan))
