# SPDX-License-Identifier: Apache-2.0
"""`sysid identify … --loops FILE`: a closed chain from recordings of its driven joints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sysid_core.cli.app import console, copy_json, errors
from sysid_core.cli.identify.result import json_text
from sysid_core.cli.recordings import run_labels
from sysid_core.errors import EstimationError
from sysid_core.pipeline import is_bag, load_recording

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Estimator
    from sysid_core.robot.loops import ClosedChain
    from sysid_core.signals import ColumnMap, Recording
    from sysid_core.validation import TorqueError


def identify_closed_chain(
    recordings: list[Path],
    *,
    loops: str,
    robot: str,
    out: Path,
    columns: ColumnMap | None,
    validate: list[Path],
    estimator: Estimator,
    inertials: bool,
    effort_kind: str,
    gravity: str,
    mount: str,
    json_path: str,
) -> None:
    """Identify, validate, and write estimate.yaml, result.json and report.html.

    Args:
        recordings: Tables or bags.
        loops: Loops file, or a reference robot with loops.
        robot: URDF.
        out: Folder of the results.
        columns: For tables.
        validate: Runs that aren't fitted.
        estimator: Estimator of the whole-robot kind.
        inertials: Whether the inertial parameters are estimated, too.
        effort_kind: What the efforts of a bag mean, where it doesn't say.
        gravity: In the base frame, as on the command line.
        mount: Likewise.
        json_path: Copy of result.json; - prints it.
    """
    from dataclasses import replace

    from sysid_core.cli.mounting import ESTIMATE, mounted
    from sysid_core.cli.verdict import print_judgement
    from sysid_core.estimation.arm import full_parameters
    from sysid_core.estimation.closed_chain import (
        ConstrainedEquations,
        chain_with_parameters,
        identify_constrained_equations,
    )
    from sysid_core.report import constrained_identification_report, save_and_list
    from sysid_core.robot.loops import load_closed_chain
    from sysid_core.validation import judge_chain, torque_errors

    chain = load_closed_chain(loops, None if robot in ("", loops) else robot)
    if gravity == ESTIMATE:
        raise EstimationError(
            "--gravity estimate doesn't go with --loops.", remedy="Give the numbers, or --mount."
        )
    chain = replace(chain, model=mounted(chain.model, gravity, mount, columns))
    with errors.status("reading recordings") as status:
        runs, others = (
            [load_loop_recording(path, chain, columns, effort_kind) for path in paths]
            for paths in (recordings, validate)
        )
        status.update(f"closing the loops of {chain.name}")
        equations = ConstrainedEquations.build(chain, runs).without_delay(inertials=inertials)
        status.update("identifying")
        estimate = identify_constrained_equations(
            equations, inertials=inertials, estimator=estimator
        )
        regression = equations.regression(inertials=inertials)
        model = chain_with_parameters(
            chain, regression.names, full_parameters(regression, estimate, estimator.fixed)
        )
        status.update("predicting torques")
        tables = {"fitted": (torque_errors(equations, model), torque_errors(equations, chain))}
        for label, run in zip(run_labels(validate), others, strict=True):
            trial = ConstrainedEquations.build(chain, [run]).delayed_by(equations.delay)
            tables[f"not fitted: {label}"] = (
                torque_errors(trial, model),
                torque_errors(trial, chain),
            )
        judgement = judge_chain(estimate, tables)
        out.mkdir(parents=True, exist_ok=True)
        estimate.save(out / "estimate.yaml")
        report = constrained_identification_report(chain, estimate, tables, judgement)
        save_and_list(report, out / "report.html")
    result = {
        "schema": "robot_sysid/constrained_identification/1",
        "robot": chain.name,
        "method": estimate.method,
        "rank": estimate.rank,
        "structural_rank": estimate.structural_rank,
        "physically_consistent": estimate.physically_consistent,
        "delay_s": equations.delay,
        "torque_rms": torque_rms(chain, tables),
        "verdict": judgement.to_dict(),
        "gravity": chain.model.gravity.tolist(),
        "doubts": list(estimate.certify()),
        "notes": list(estimate.notes),
    }
    text = json_text(result) + "\n"
    (out / "result.json").write_text(text, encoding="utf-8")
    if copy_json(text, json_path):
        raise typer.Exit(judgement.exit_status)
    print_judgement(judgement)
    print_torque_rms(chain, tables)
    for note in estimate.notes:
        console.print(f"· {note}", highlight=False, soft_wrap=True, markup=False)
    console.print(
        f"written: {out / 'estimate.yaml'}, result.json, report.html", soft_wrap=True, markup=False
    )
    raise typer.Exit(judgement.exit_status)


def load_loop_recording(
    path: Path, chain: ClosedChain, columns: ColumnMap | None, effort_kind: str
) -> Recording:
    """A table, or of a bag the joints that count."""
    from sysid_core.estimation.closed_chain import read_loop_bag

    if path.exists() and is_bag(path):
        kind = effort_kind or (columns.effort_kind if columns else None)
        return read_loop_bag(path, chain, kind)
    return load_recording(path, columns, effort_kind)


Tables = Mapping[str, tuple[Mapping[str, "TorqueError"], Mapping[str, "TorqueError"]]]


def torque_rms(chain: ClosedChain, tables: Tables) -> dict[str, dict[str, dict[str, float]]]:
    """RMS torque errors of the identified and the nominal chain, by run and joint [N m]."""
    return {
        label: {
            joint: {"identified": new[joint].rms, "nominal": old[joint].rms}
            for joint in chain.actuated
        }
        for label, (new, old) in tables.items()
    }


def print_torque_rms(chain: ClosedChain, tables: Tables) -> None:
    """A line for each run."""
    for label, (new, old) in tables.items():
        shown = ", ".join(f"{j} {new[j].rms:.3g} ({old[j].rms:.3g})" for j in chain.actuated)
        console.print(f"{label}: RMS [N m], nominal in brackets: {shown}", soft_wrap=True)
