# SPDX-License-Identifier: Apache-2.0
"""`sysid validate … --loops FILE`: an identified closed chain against other recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from sysid_cli.app import copy_json, errors
from sysid_cli.identify.loops import load_loop_recording, print_torque_rms, torque_rms
from sysid_cli.identify.result import json_text
from sysid_cli.recordings import load_columns, run_labels
from sysid_core.errors import EstimationError

if TYPE_CHECKING:
    from sysid_cli.identify.loops import Tables
    from sysid_cli.validate.command import ValidateSettings
    from sysid_core.estimation import Estimate
    from sysid_core.robot.loops import ClosedChain


def validate_closed_chain(settings: ValidateSettings) -> None:
    """Predict torques with the identified and the nominal chain, and judge.

    Raises:
        EstimationError: The folder holds no closed chain's result.
    """
    from sysid_cli.verdict import print_verdict
    from sysid_core.estimation import Estimate
    from sysid_core.report import constrained_identification_report, save_and_list
    from sysid_core.validation import judge_chain

    chain, delay = _load(settings)
    estimate = Estimate.load(settings.identified / "estimate.yaml")
    with errors.status("predicting torques"):
        tables = _tables(settings, chain, estimate, delay)
    verdict = judge_chain(estimate, tables)
    result = {
        "schema": "robot_sysid/constrained_validation/1",
        "robot": chain.name,
        "torque_rms": torque_rms(chain, tables),
        "verdict": verdict.to_dict(),
    }
    text = json_text(result) + "\n"
    if settings.out is not None:
        settings.out.mkdir(parents=True, exist_ok=True)
        (settings.out / "validation.json").write_text(text, encoding="utf-8")
        report = constrained_identification_report(chain, estimate, tables, verdict)
        save_and_list(report, settings.out / "validation.html")
    if copy_json(text, settings.json_path):
        raise typer.Exit(verdict.exit_status)
    print_verdict(verdict)
    print_torque_rms(chain, tables)
    raise typer.Exit(verdict.exit_status)


def _load(settings: ValidateSettings) -> tuple[ClosedChain, float]:
    """The chain, mounted as it was identified, and its delay [s]."""
    from sysid_core.robot import with_gravity
    from sysid_core.robot.loops import load_closed_chain

    robot, loops, folder = settings.robot, settings.loops, settings.identified
    chain = load_closed_chain(loops, None if robot in ("", loops) else robot)
    try:
        found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        delay = float(found["delay_s"])
        if "gravity" in found:
            chain = replace(chain, model=with_gravity(chain.model, found["gravity"]))
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise EstimationError(
            f"'{folder}' holds no result of a closed chain: {err}.",
            remedy="Give the folder that `sysid identify … --loops` wrote.",
        ) from err
    return chain, delay


def _tables(
    settings: ValidateSettings, chain: ClosedChain, estimate: Estimate, delay: float
) -> Tables:
    """Torque errors of the identified and the nominal chain, by recording."""
    from sysid_core.estimation.closed_chain import ConstrainedEquations, chain_with_parameters
    from sysid_core.validation import torque_errors

    columns = load_columns(settings.columns)
    model = chain_with_parameters(chain, estimate.names, estimate.values)
    tables = {}
    for path, label in zip(settings.recordings, run_labels(settings.recordings), strict=True):
        run = load_loop_recording(path, chain, columns, settings.effort_kind)
        trial = ConstrainedEquations.build(chain, [run]).with_delay(delay)
        tables[label] = (torque_errors(trial, model), torque_errors(trial, chain))
    return tables
