# SPDX-License-Identifier: Apache-2.0
"""Identified robots against other recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sysid_core.diagnosis import require_fit
from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, load_identification
from sysid_core.estimation.closed_chain import chain_with_parameters
from sysid_core.reasons import Reason, Verdict, failure
from sysid_core.report import (
    Report,
    constrained_identification_report,
    prediction_chart,
    prediction_sentence,
    prediction_table,
    save_and_list,
)
from sysid_core.robot import RobotModel, with_gravity
from sysid_core.robot.loops import ClosedChain
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import Prediction, judge_chain, judge_predictions, predict_recording
from sysid_core.workflows.loops import Tables, errors_of_run, load_chain, torque_rms
from sysid_core.workflows.progress import Progress, Step, silent
from sysid_core.workflows.recordings import load_loop_recording, load_recording, run_labels
from sysid_core.workflows.result_file import write_result
from sysid_core.workflows.settings import ValidateSettings


@dataclass(frozen=True, eq=False)
class ValidatedArm:
    """Predictions of recordings by an identified open chain.

    Attributes:
        identification: The identified robot.
        predictions: One of each recording.
        verdict: Whether the result holds for them.
        name: Name of the identification.
    """

    identification: Identification
    predictions: tuple[Prediction, ...]
    verdict: Verdict
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Contents of validation.json."""
        return {
            "schema": "robot_sysid/validation/1",
            "verdict": self.verdict.to_dict(),
            "runs": [p.to_dict() for p in self.predictions],
        }

    def report(self) -> Report:
        """The page."""
        found = self.identification
        report = Report(
            f"Validation of {found.model.name}",
            f"identified by {found.estimate.method} ({self.name})",
        )
        report.judged(self.verdict, prediction_sentence(self.predictions))
        prediction_table(report, self.predictions)
        for prediction in self.predictions:
            report.figure(prediction_chart(prediction), prediction.source)
        return report


@dataclass(frozen=True, eq=False)
class ValidatedChain:
    """Torques of recordings predicted by an identified closed chain.

    Attributes:
        chain: The nominal mechanism.
        estimate: What was identified.
        tables: Torque errors of all recordings.
        verdict: Whether the result holds for them.
    """

    chain: ClosedChain
    estimate: Estimate
    tables: Tables
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Contents of validation.json."""
        return {
            "schema": "robot_sysid/constrained_validation/1",
            "robot": self.chain.name,
            "torque_rms": torque_rms(self.chain, self.tables),
            "verdict": self.verdict.to_dict(),
        }

    def report(self) -> Report:
        """The page."""
        return constrained_identification_report(
            self.chain, self.estimate, self.tables, self.verdict
        )


def validate(
    settings: ValidateSettings, progress: Progress = silent
) -> ValidatedArm | ValidatedChain:
    """Predict the efforts of recordings with an identified robot, and compare with the raw ones.

    Args:
        settings: Files.
        progress: Shows steps.

    Raises:
        SysIdError: The folder holds no identification. A recording that can't be read or doesn't fit
            fails the verdict of an open chain: the others count all the same.
    """
    progress(Step.READING)
    if settings.loops:
        return _validate_chain(settings, progress)
    estimate = Estimate.load(settings.identified / "estimate.yaml")
    model = RobotModel.from_urdf(settings.robot)
    found = load_identification(settings.identified / "parameters.yaml", model, estimate)
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    progress(Step.PREDICTING)
    predictions: list[Prediction] = []
    refused: list[Reason] = []
    for path in settings.recordings:
        try:
            predictions.append(_predict(found, load_recording(path, columns, settings.effort_kind)))
        except SysIdError as err:
            refused.append(failure("refused", message=f"{path}: {err.message}", remedy=err.remedy))
    verdict = Verdict(tuple(refused)) + judge_predictions(
        predictions, "these runs", _fitted_share(settings.identified)
    )
    return ValidatedArm(found, tuple(predictions), verdict, settings.identified.name)


def validate_runs(
    found: Identification, runs: Sequence[Recording], fitted_share: float | None = None
) -> ValidatedArm:
    """Predict the efforts of recordings in memory.

    Args:
        found: The identified robot.
        runs: Recordings that weren't fitted.
        fitted_share: Share of variance that was left in the fitted recordings, if it is known.

    Raises:
        SysIdError: A recording doesn't fit the robot.
    """
    predictions = [_predict(found, run) for run in runs]
    verdict = judge_predictions(predictions, "these runs", fitted_share)
    return ValidatedArm(found, tuple(predictions), verdict)


def write_validation(found: ValidatedArm | ValidatedChain, folder: Path) -> None:
    """Write validation.json and validation.html."""
    folder.mkdir(parents=True, exist_ok=True)
    write_result(found.to_dict(), folder / "validation.json")
    save_and_list(found.report(), folder / "validation.html")


def _predict(found: Identification, run: Recording) -> Prediction:
    require_fit(found.model, run)
    return predict_recording(found, run)


def _fitted_share(identified: Path) -> float | None:
    """Share of variance that the model left in the runs that it was fitted to, if it is known."""
    try:
        return float(_result(identified)["unexplained"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _result(identified: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((identified / "result.json").read_text(encoding="utf-8"))
    return found


def _validate_chain(settings: ValidateSettings, progress: Progress) -> ValidatedChain:
    folder = settings.identified
    chain = load_chain(settings.robot, settings.loops)
    try:
        found = _result(folder)
        delay = float(found["delay_s"])
        if "gravity" in found:
            chain = replace(chain, model=with_gravity(chain.model, found["gravity"]))
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise EstimationError(
            f"'{folder}' holds no result of a closed chain: {err}.",
            remedy="Give the folder that `sysid identify … --loops` wrote.",
        ) from err
    estimate = Estimate.load(folder / "estimate.yaml")
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    model = chain_with_parameters(chain, estimate.names, estimate.values)
    progress(Step.PREDICTING)
    tables = {}
    for path, label in zip(settings.recordings, run_labels(settings.recordings), strict=True):
        run = load_loop_recording(path, chain, columns, settings.effort_kind)
        tables[label] = errors_of_run(chain, model, run, delay)
    return ValidatedChain(chain, estimate, tables, judge_chain(estimate, tables))
