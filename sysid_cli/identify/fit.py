# SPDX-License-Identifier: Apache-2.0
"""The fits of `sysid identify`: a whole arm at once, or one joint at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysid_cli.identify.load import load_section
from sysid_cli.identify.settings import IdentifySettings, ProcessingSettings
from sysid_core.errors import EstimationError
from sysid_core.pipeline import WITH_PRIOR, estimator_from, identify_arm

if TYPE_CHECKING:
    from rich.status import Status

    from sysid_cli.identify.data import ArmData
    from sysid_core.estimation.arm import Identification, PredictionSpread, Processing
    from sysid_core.estimation.loaded_arm import LoadedIdentification
    from sysid_core.report import Report
    from sysid_core.validation import Prediction


@dataclass(frozen=True, eq=False)
class Fit:
    """What was found, and how well it predicts.

    Attributes:
        identification: The result.
        report: The page, not yet judged.
        training: Predictions of the fitted runs.
        validation: Predictions of the others.
        extra: What the method adds to result.json.
        sentences: Printed at the end.
        spread: Whether the recordings determine the torques of other motions, if known.
        loaded: The result with its drive gains and load; None without loaded runs.
    """

    identification: Identification
    report: Report
    training: Sequence[Prediction]
    validation: Sequence[Prediction]
    extra: Mapping[str, object]
    sentences: Sequence[str]
    spread: PredictionSpread | None = None
    loaded: LoadedIdentification | None = None


def fit(settings: IdentifySettings, data: ArmData, status: Status) -> Fit:
    """Fit by the method that was asked for."""
    status.update(f"identifying {data.model.name} ({settings.method})")
    if settings.method == "sequential":
        return _fit_sequential(settings, data)
    return _fit_arm(settings, data, status)


def _fit_arm(settings: IdentifySettings, data: ArmData, status: Status) -> Fit:
    from sysid_core.report import identification_report
    from sysid_core.validation import predict_recording

    def estimator(weight: float) -> Any:
        return estimator_from(settings.method, settings.fix, weight, settings.prior_sd)

    differentiate = settings.processing.differentiate
    open_cutoff = not settings.processing.motion_cutoff_hz
    arm = identify_arm(
        data.model,
        data.runs,
        data.friction,
        estimator=estimator,
        processing=processing_of(settings.processing),
        delay=settings.delay,
        choose_friction=settings.friction == "auto",
        prior_weight=settings.prior_weight if settings.method in WITH_PRIOR else None,
        say=status.update,
        loaded=data.loaded,
        load=data.load,
        choose_cutoff=open_cutoff and differentiate != "spline",
        choose_way=open_cutoff and differentiate == "auto",
    )
    result = arm.identification
    status.update("predicting efforts")
    training = [predict_recording(result, run) for run in data.runs]
    if arm.loaded is not None:
        training += [predict_recording(arm.loaded.loaded, run) for run in data.loaded]
    validation = [predict_recording(result, run) for run in data.others]
    report = identification_report(result, training, validation, arm.benefits, arm.lag)
    if arm.loaded is not None and data.load is not None:
        load_section(report, arm.loaded, data.load)
    return Fit(
        result,
        report,
        training,
        validation,
        arm.to_dict(),
        arm.sentences,
        arm.spread,
        arm.loaded,
    )


def _fit_sequential(settings: IdentifySettings, data: ArmData) -> Fit:
    from sysid_core.estimation.sequential import Unexcited
    from sysid_core.planning import Trajectory
    from sysid_studies import run_sequential

    if settings.fix:
        raise EstimationError(
            "--fix doesn't go with --method sequential.",
            remedy="Leave friction terms out with --friction, or use another method.",
        )
    plan, unexcited = settings.sequential.plan, settings.sequential.unexcited
    if unexcited not in [choice.value for choice in Unexcited]:
        raise EstimationError(
            f"--unexcited is '{unexcited}'.", remedy="Choose 'refuse' or 'prior'."
        )
    found = run_sequential(
        data.runs,
        Trajectory.load(plan) if plan is not None else None,
        data.model,
        friction=data.friction,
        validation=data.others,
        at_once=data.at_once,
        unexcited=unexcited,
        processing=processing_of(settings.processing),
    )
    rivals = [(name, p) for name, some in found.rivals.items() for p in some]
    return Fit(
        found.identification,
        found.report(),
        [],
        found.validation,
        {"sequential": found.to_dict()},
        [f"{name}, {_prediction_sentence(p)}" for name, p in rivals],
    )


def processing_of(settings: ProcessingSettings) -> Processing:
    """Rates and filters as the options say.

    Raises:
        EstimationError: An unknown way to differentiate.
    """
    from sysid_core.estimation.arm import Differentiation, Processing

    return Processing(
        rate_hz=settings.rate_hz,
        motion_cutoff_hz=settings.motion_cutoff_hz or Processing.motion_cutoff_hz,
        differentiate=Differentiation.FILTER
        if settings.differentiate == "auto"
        else Differentiation.named(settings.differentiate, "--differentiate", EstimationError),
        torque_cutoff_hz=settings.torque_cutoff_hz,
    )


def _prediction_sentence(prediction: Prediction) -> str:
    r2 = ", ".join(f"{stats['r2']:.4f}" for stats in prediction.joints().values())
    share = 100 * prediction.relative_error()
    return f"{Path(prediction.source).stem}: {share:.2f} %, R² {r2}"
