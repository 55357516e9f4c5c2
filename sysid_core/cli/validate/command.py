# SPDX-License-Identifier: Apache-2.0
"""`sysid validate`: an identified robot against other recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import app, copy_json, errors, example
from sysid_core.cli.recordings import ColumnsOption, EffortKindOption, JsonPathOption
from sysid_core.cli.tables import print_table
from sysid_core.errors import SysIdError

if TYPE_CHECKING:
    from sysid_core.validation import Prediction


@app.command(
    epilog=example(
        "sysid validate results/ur5 examples/ur5/validate.csv --robot ur5 --columns examples/ur5/columns.yaml"
    )
)
def validate(
    identified: Annotated[Path, typer.Argument(help="Folder that `sysid identify` wrote.")],
    recordings: Annotated[
        list[Path], typer.Argument(metavar="RECORDING...", help="Tables (CSV) or rosbag2 bags.")
    ],
    robot: Annotated[str, typer.Option(help="The URDF that was used for identification.")],
    columns: ColumnsOption = None,
    loops: Annotated[
        str, typer.Option(help="YAML of closed loops, where it was identified with one.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and .html.")] = None,
    effort_kind: EffortKindOption = "",
    json_path: JsonPathOption = "",
) -> None:
    """Predict the efforts of recordings with an identified robot, and compare with the raw ones."""
    from rich.table import Table

    from sysid_core.cli.identify.result import json_text
    from sysid_core.cli.verdict import print_judgement
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.arm import load_identification
    from sysid_core.judgement import Judgement
    from sysid_core.pipeline import load_recording
    from sysid_core.plausibility import require_fit
    from sysid_core.report import (
        Report,
        prediction_chart,
        prediction_sentence,
        prediction_table,
        save_and_list,
    )
    from sysid_core.robot import RobotModel
    from sysid_core.signals import ColumnMap
    from sysid_core.validation import judge_predictions, predict_recording

    column_map = None if columns is None else ColumnMap.load(columns)
    if loops:
        from sysid_core.cli.validate.loops import validate_closed_chain

        validate_closed_chain(
            identified,
            recordings,
            loops=loops,
            robot=robot,
            columns=column_map,
            effort_kind=effort_kind,
            out=out,
            json_path=json_path,
        )
        return
    estimate = Estimate.load(identified / "estimate.yaml")
    identification = load_identification(
        identified / "parameters.yaml", RobotModel.from_urdf(robot), estimate
    )
    model = identification.model
    predictions: list[Prediction] = []
    refused: list[str] = []
    with errors.status("predicting efforts"):
        for path in recordings:
            try:
                run = load_recording(path, column_map, effort_kind)
                require_fit(model, run)
                predictions.append(predict_recording(identification, run))
            except SysIdError as err:  # the other recordings count all the same
                refused.append(f"{path}: {err.message} {err.remedy}".strip())
        judgement = Judgement(tuple(refused)) + judge_predictions(
            predictions, "these runs", fitted_share(identified)
        )
        text = json_text(
            {
                "schema": "robot_sysid/validation/1",
                "verdict": judgement.to_dict(),
                "runs": [p.to_dict() for p in predictions],
            }
        )
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            (out / "validation.json").write_text(text + "\n", encoding="utf-8")
            report = Report(
                f"Validation of {model.name}",
                f"identified by {estimate.method} ({identified.name})",
            )
            report.judged(judgement, prediction_sentence(predictions))
            prediction_table(report, predictions)
            for prediction in predictions:
                report.figure(prediction_chart(prediction), prediction.source)
            save_and_list(report, out / "validation.html")
    if copy_json(text, json_path):
        raise typer.Exit(judgement.exit_status)
    print_judgement(judgement)
    table = Table(title=f"{model.name}: raw efforts against prediction")
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
    raise typer.Exit(judgement.exit_status)


def fitted_share(identified: Path) -> float | None:
    """Share of variance that the model left in the runs that it was fitted to, if it is known."""
    try:
        raw = json.loads((identified / "result.json").read_text(encoding="utf-8"))
        return float(raw["unexplained"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
