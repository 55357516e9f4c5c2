# SPDX-License-Identifier: Apache-2.0
"""Validation of identified robots with other recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sysid_core.diagnosis import require_fit
from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import Identification
from sysid_core.files import write_json
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Reason, Verdict
from sysid_core.report import ReportIndex, validation_report
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import Prediction, judge_predictions
from sysid_core.workflows.arm_data import ArmData, chain_of, require_unseen
from sysid_core.workflows.identification import IdentifiedArm
from sysid_core.workflows.inputs import RESULT, inputs_of
from sysid_core.workflows.settings import ValidateSettings


@dataclass(frozen=True, eq=False)
class ValidatedArm:
    """Efforts of recordings as predicted by an identified open or closed chain.

    Attributes:
        identification: The identified robot.
        predictions: Predictions, one per recording.
        verdict: Verdict on the accuracy of the predictions.
        name: Name of the identification.
        inputs: Files with their hashes, settings, and the key that identifies the computation.
    """

    identification: Identification
    predictions: tuple[Prediction, ...]
    verdict: Verdict
    name: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for validation.json."""
        return {
            "schema": "robot_sysid/validation/1",
            "inputs": self.inputs,
            "verdict": self.verdict.to_dict(),
            "runs": [p.to_dict() for p in self.predictions],
        }

    def write(self, folder: Path) -> None:
        """Write the files validation.json and validation.html."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "validation.json", self.to_dict())
        report = validation_report(self.verdict, self.identification, self.predictions, self.name)
        ReportIndex.add(report, folder / "validation.html")

    @classmethod
    def of(cls, found: IdentifiedArm, runs: Sequence[Recording]) -> ValidatedArm:
        """Predict the efforts of recordings in memory, and compare them with the measured efforts.

        Args:
            found: The identified robot, with the recordings of its fit.
            runs: Held-out recordings.

        Raises:
            SysIdError: A recording does not belong to the robot, or was fitted.
        """
        require_unseen(runs, found.data.fitted)
        predictions = [_predict(found.identification, run) for run in runs]
        verdict = judge_predictions(predictions, "these runs", None)
        return cls(found.identification, tuple(predictions), verdict)

    @staticmethod
    def from_files(settings: ValidateSettings, progress: Progress = silent) -> ValidatedArm:
        """Predict the efforts of recordings in files with an identified robot, and compare them with
        the measured efforts.

        Args:
            settings: Settings of result folder, recordings and robot.
            progress: Function called with each step.

        Raises:
            SysIdError: The folder contains no identification, or was fitted to one of the recordings.
                An unusable recording only makes the verdict fail; a table without a column map is
                refused.
        """
        progress(Step.READING)
        robot, loops = settings.robot, settings.loops
        model = chain_of(robot, loops) if loops else RobotModel.from_urdf(robot)
        found = Identification.load(settings.identified, model)
        settings = replace(
            settings, columns=settings.columns or _stored_columns(settings.identified)
        )
        columns = None if settings.columns is None else ColumnMap.load(settings.columns)
        progress(Step.PREDICTING)
        runs: list[Recording] = []
        predictions: list[Prediction] = []
        refused: list[Reason] = []

        def refuse(source: object, err: SysIdError) -> None:
            refused.append(
                Reason.failure("refused", message=f"{source}: {err.message}", remedy=err.remedy)
            )

        for path in settings.recordings:
            try:
                runs.append(ArmData.recording(path, columns, settings.effort_kind, model))
            except SysIdError as err:
                if columns is None and path.exists() and not ArmData.is_bag(path):
                    raise  # a missing option, which says nothing about the model
                refuse(path, err)
        require_unseen(runs, _result(settings.identified).get("fitted_samples") or {})
        for run in runs:
            try:
                predictions.append(_predict(found, run))
            except SysIdError as err:
                refuse(run.source, err)
        verdict = Verdict(tuple(refused)) + judge_predictions(
            predictions, "these runs", _fitted_share(settings.identified)
        )
        results = [settings.identified / name for name in ("estimate.yaml", "parameters.yaml")]
        inputs = inputs_of(settings, identified=results)
        return ValidatedArm(found, tuple(predictions), verdict, settings.identified.name, inputs)


def _predict(found: Identification, run: Recording) -> Prediction:
    require_fit(found.model, run)
    return Prediction.of(found, run)


def _fitted_share(identified: Path) -> float | None:
    """Share of the variance that the model left unexplained in the fitted runs, if it is known."""
    share = _result(identified).get("unexplained")
    return float(share) if isinstance(share, int | float) else None


def _stored_columns(identified: Path) -> Path | None:
    """Column map with the estimated gains of a result, or else the one of its recordings."""
    options = (_result(identified).get("inputs") or {}).get("options") or {}
    paths = (identified / "columns.yaml", (options.get("columns") or {}).get("path"))
    return next((Path(path) for path in paths if path and Path(path).is_file()), None)


def _result(identified: Path) -> Mapping[str, Any]:
    """Content of result.json; empty if it cannot be read."""
    try:
        found = RESULT.read_json(identified / "result.json")
    except SysIdError:
        return {}
    return found if isinstance(found, dict) else {}
