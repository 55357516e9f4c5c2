# SPDX-License-Identifier: Apache-2.0
"""`sysid validate`: an identified robot against other recordings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import app, copy_json, errors
from sysid_cli.identify.result import json_text
from sysid_cli.recordings import (
    ColumnsOption,
    EffortKindOption,
    JsonPathOption,
    RecordingsArgument,
    load_columns,
)
from sysid_cli.settings import command
from sysid_cli.tables import print_table
from sysid_core.errors import SysIdError

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Identification
    from sysid_core.reasons import Reason, Verdict
    from sysid_core.validation import Prediction


@dataclass(frozen=True, kw_only=True)
class ValidateSettings:
    """Everything that `sysid validate` is given."""

    identified: Annotated[Path, typer.Argument(help="Folder that `sysid identify` wrote.")]
    recordings: RecordingsArgument
    robot: Annotated[str, typer.Option(help="The URDF that was used for identification.")]
    columns: ColumnsOption = None
    loops: Annotated[
        str, typer.Option(help="YAML of closed loops, where it was identified with one.")
    ] = ""
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and .html.")] = None
    effort_kind: EffortKindOption = ""
    json_path: JsonPathOption = ""


@command(
    app,
    example="sysid validate results/ur5 examples/ur5/validate.csv --robot ur5 --columns examples/ur5/columns.yaml",
)
def validate(settings: ValidateSettings) -> None:
    """Predict the efforts of recordings with an identified robot, and compare with the raw ones."""
    if settings.loops:
        from sysid_cli.validate.loops import validate_closed_chain

        validate_closed_chain(settings)
    else:
        _validate_arm(settings)


def _validate_arm(settings: ValidateSettings) -> None:
    from sysid_cli.verdict import print_verdict
    from sysid_core.reasons import Verdict
    from sysid_core.validation import judge_predictions

    identification = _load(settings)
    with errors.status("predicting efforts"):
        predictions, refused = _predict(settings, identification)
        verdict = Verdict(tuple(refused)) + judge_predictions(
            predictions, "these runs", fitted_share(settings.identified)
        )
        text = json_text(
            {
                "schema": "robot_sysid/validation/1",
                "verdict": verdict.to_dict(),
                "runs": [p.to_dict() for p in predictions],
            }
        )
        if settings.out is not None:
            settings.out.mkdir(parents=True, exist_ok=True)
            (settings.out / "validation.json").write_text(text + "\n", encoding="utf-8")
            _report(settings, identification, predictions, verdict)
    if copy_json(text, settings.json_path):
        raise typer.Exit(verdict.exit_status)
    print_verdict(verdict)
    _print_predictions(identification, predictions)
    raise typer.Exit(verdict.exit_status)


def _load(settings: ValidateSettings) -> Identification:
    """The identified robot of a folder."""
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.arm import load_identification
    from sysid_core.robot import RobotModel

    estimate = Estimate.load(settings.identified / "estimate.yaml")
    model = RobotModel.from_urdf(settings.robot)
    return load_identification(settings.identified / "parameters.yaml", model, estimate)


def _predict(
    settings: ValidateSettings, identification: Identification
) -> tuple[list[Prediction], list[Reason]]:
    """Predictions, and why recordings were refused: the others count all the same."""
    from sysid_core.diagnosis import require_fit
    from sysid_core.pipeline import load_recording
    from sysid_core.reasons import failure
    from sysid_core.validation import predict_recording

    columns = load_columns(settings.columns)
    predictions: list[Prediction] = []
    refused: list[Reason] = []
    for path in settings.recordings:
        try:
            run = load_recording(path, columns, settings.effort_kind)
            require_fit(identification.model, run)
            predictions.append(predict_recording(identification, run))
        except SysIdError as err:
            refused.append(failure("refused", message=f"{path}: {err.message}", remedy=err.remedy))
    return predictions, refused


def _report(
    settings: ValidateSettings,
    identification: Identification,
    predictions: list[Prediction],
    verdict: Verdict,
) -> None:
    """Write validation.html."""
    from sysid_core.report import (
        Report,
        prediction_chart,
        prediction_sentence,
        prediction_table,
        save_and_list,
    )

    assert settings.out is not None
    report = Report(
        f"Validation of {identification.model.name}",
        f"identified by {identification.estimate.method} ({settings.identified.name})",
    )
    report.judged(verdict, prediction_sentence(predictions))
    prediction_table(report, predictions)
    for prediction in predictions:
        report.figure(prediction_chart(prediction), prediction.source)
    save_and_list(report, settings.out / "validation.html")


def _print_predictions(identification: Identification, predictions: list[Prediction]) -> None:
    from rich.table import Table

    table = Table(title=f"{identification.model.name}: raw efforts against prediction")
    for column in ("run", "joint", "RMS", "URDF's RMS", "R²", "RMS whole run"):
        table.add_column(column, justify="left" if column in ("run", "joint") else "right")
    for p in predictions:
        still = not p.motion.any()  # R² of a constant says nothing
        beside = p if p.nominal is None else p.beside()
        whole, nominal = p.joints(whole=True), beside.joints()
        for name, stats in p.joints().items():
            label = Path(p.source).stem + (" (at rest)" if still else "")
            table.add_row(
                label if name == p.joint_names[0] else "",
                name,
                f"{stats['rms']:.3g} {p.unit}",
                f"{nominal[name]['rms']:.3g} {p.unit}",
                "–" if still else f"{stats['r2']:.4f}",
                f"{whole[name]['rms']:.3g} {p.unit}",
            )
        table.add_row(
            "",
            "all",
            f"{100 * p.relative_error():.2f} %",
            f"{100 * beside.relative_error():.2f} %",
            "",
            f"{100 * p.relative_error(whole=True):.2f} %",
            end_section=True,
        )
    print_table(table)


def fitted_share(identified: Path) -> float | None:
    """Share of variance that the model left in the runs that it was fitted to, if it is known."""
    try:
        raw = json.loads((identified / "result.json").read_text(encoding="utf-8"))
        return float(raw["unexplained"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
