# SPDX-License-Identifier: Apache-2.0
"""`sysid validate … --loops FILE`: an identified closed chain against other recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sysid_core.cli.app import copy_json, errors
from sysid_core.errors import EstimationError

if TYPE_CHECKING:
    from sysid_core.signals import ColumnMap


def validate_closed_chain(
    identified: Path,
    recordings: list[Path],
    *,
    loops: str,
    robot: str,
    columns: ColumnMap | None,
    effort_kind: str,
    out: Path | None,
    json_path: str,
) -> None:
    """Predict torques with the identified and the nominal chain, and judge.

    Args:
        identified: Folder that `sysid identify --loops` wrote.
        recordings: Tables or bags that weren't fitted.
        loops: Loops file, or a reference robot with loops.
        robot: URDF.
        columns: For tables.
        effort_kind: What the efforts of a bag mean, where it doesn't say.
        out: Folder for validation.json and .html.
        json_path: The numbers; - prints them.

    Raises:
        EstimationError: The folder holds no closed chain's result.
    """
    from sysid_core.cli.identify.loops import (
        load_loop_recording,
        print_torque_rms,
        torque_rms,
    )
    from sysid_core.cli.identify.result import json_text
    from sysid_core.cli.recordings import run_labels
    from sysid_core.cli.verdict import print_judgement
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.closed_chain import ConstrainedEquations, chain_with_parameters
    from sysid_core.report import constrained_identification_report, save_and_list
    from sysid_core.robot import with_gravity
    from sysid_core.robot.loops import load_closed_chain
    from sysid_core.validation import judge_chain, torque_errors

    chain = load_closed_chain(loops, None if robot in ("", loops) else robot)
    estimate = Estimate.load(identified / "estimate.yaml")
    try:
        found = json.loads((identified / "result.json").read_text(encoding="utf-8"))
        delay = float(found["delay_s"])
        if "gravity" in found:  # mounted as it was identified
            chain = replace(chain, model=with_gravity(chain.model, found["gravity"]))
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise EstimationError(
            f"'{identified}' holds no result of a closed chain: {err}.",
            remedy="Give the folder that `sysid identify … --loops` wrote.",
        ) from err
    model = chain_with_parameters(chain, estimate.names, estimate.values)
    tables = {}
    with errors.status("predicting torques"):
        for path, label in zip(recordings, run_labels(recordings), strict=True):
            run = load_loop_recording(path, chain, columns, effort_kind)
            trial = ConstrainedEquations.build(chain, [run]).delayed_by(delay)
            tables[label] = (torque_errors(trial, model), torque_errors(trial, chain))
    judgement = judge_chain(estimate, tables)
    result = {
        "schema": "robot_sysid/constrained_validation/1",
        "robot": chain.name,
        "torque_rms": torque_rms(chain, tables),
        "verdict": judgement.to_dict(),
    }
    text = json_text(result) + "\n"
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "validation.json").write_text(text, encoding="utf-8")
        report = constrained_identification_report(chain, estimate, tables, judgement)
        save_and_list(report, out / "validation.html")
    if copy_json(text, json_path):
        raise typer.Exit(judgement.exit_status)
    print_judgement(judgement)
    print_torque_rms(chain, tables)
    raise typer.Exit(judgement.exit_status)
