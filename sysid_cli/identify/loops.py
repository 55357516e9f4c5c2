# SPDX-License-Identifier: Apache-2.0
"""`sysid identify … --loops FILE`: a closed chain from recordings of its driven joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sysid_cli.app import console, copy_json, errors
from sysid_cli.identify.result import json_text
from sysid_cli.mounting import ESTIMATE, mounted
from sysid_cli.recordings import load_columns, run_labels
from sysid_core.errors import EstimationError
from sysid_core.pipeline import estimator_from, is_bag, load_recording

if TYPE_CHECKING:
    from rich.status import Status

    from sysid_cli.identify.settings import IdentifySettings
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.closed_chain import ConstrainedEquations
    from sysid_core.reasons import Verdict
    from sysid_core.robot.loops import ClosedChain
    from sysid_core.signals import ColumnMap, Recording
    from sysid_core.validation import TorqueError


def identify_closed_chain(settings: IdentifySettings) -> None:
    """Identify, validate, and write estimate.yaml, result.json and report.html."""
    from sysid_cli.verdict import print_verdict
    from sysid_core.report import constrained_identification_report, save_and_list
    from sysid_core.validation import judge_chain

    out = settings.out
    columns = load_columns(settings.columns)
    chain = _chain(settings, columns)
    with errors.status("reading recordings") as status:
        runs, others = (
            [load_loop_recording(path, chain, columns, settings.effort_kind) for path in paths]
            for paths in (settings.recordings, settings.validate)
        )
        equations, estimate, model = _fit(settings, chain, runs, status)
        status.update("predicting torques")
        tables = _tables(settings, equations, model, others)
        verdict = judge_chain(estimate, tables)
        out.mkdir(parents=True, exist_ok=True)
        estimate.save(out / "estimate.yaml")
        report = constrained_identification_report(chain, estimate, tables, verdict)
        save_and_list(report, out / "report.html")
    text = json_text(_result(settings, equations, estimate, tables, verdict)) + "\n"
    (out / "result.json").write_text(text, encoding="utf-8")
    if copy_json(text, settings.json_path):
        raise typer.Exit(verdict.exit_status)
    print_verdict(verdict)
    print_torque_rms(chain, tables)
    for note in estimate.notes:
        console.print(f"· {note}", highlight=False, soft_wrap=True, markup=False)
    console.print(
        f"written: {out / 'estimate.yaml'}, result.json, report.html", soft_wrap=True, markup=False
    )
    raise typer.Exit(verdict.exit_status)


def _chain(settings: IdentifySettings, columns: ColumnMap | None) -> ClosedChain:
    """The mechanism, mounted as the options say."""
    from sysid_core.robot.loops import load_closed_chain

    robot, loops = settings.robot, settings.loops
    chain = load_closed_chain(loops, None if robot in ("", loops) else robot)
    if settings.gravity == ESTIMATE:
        raise EstimationError(
            "--gravity estimate doesn't go with --loops.", remedy="Give the numbers, or --mount."
        )
    return replace(chain, model=mounted(chain.model, settings.gravity, settings.mount, columns))


def _fit(
    settings: IdentifySettings, chain: ClosedChain, runs: list[Recording], status: Status
) -> tuple[ConstrainedEquations, Estimate, ClosedChain]:
    """Equations without their delay, the estimate, and the chain that has it."""
    from sysid_core.estimation.closed_chain import (
        ConstrainedEquations,
        chain_with_parameters,
        identify_constrained_equations,
    )
    from sysid_core.estimation.recorded import full_parameters

    inertials = "inertials" not in settings.fix
    estimator = estimator_from(
        "ols" if settings.method == "auto" else settings.method,
        [name for name in settings.fix if name != "inertials"],
        settings.prior_weight or 1.0,
        settings.prior_sd,
    )
    status.update(f"closing the loops of {chain.name}")
    equations = ConstrainedEquations.build(chain, runs).without_delay(inertials=inertials)
    status.update("identifying")
    estimate = identify_constrained_equations(equations, inertials=inertials, estimator=estimator)
    regression = equations.regression(inertials=inertials)
    values = full_parameters(regression, estimate, estimator.fixed)
    return equations, estimate, chain_with_parameters(chain, regression.names, values)


def _tables(
    settings: IdentifySettings,
    equations: ConstrainedEquations,
    model: ClosedChain,
    others: list[Recording],
) -> Tables:
    """Torque errors of the identified and the nominal chain, on fitted runs and others."""
    from sysid_core.estimation.closed_chain import ConstrainedEquations
    from sysid_core.validation import torque_errors

    chain = equations.chain
    tables = {"fitted": (torque_errors(equations, model), torque_errors(equations, chain))}
    for label, run in zip(run_labels(settings.validate), others, strict=True):
        trial = ConstrainedEquations.build(chain, [run]).with_delay(equations.delay)
        tables[f"not fitted: {label}"] = (torque_errors(trial, model), torque_errors(trial, chain))
    return tables


def _result(
    settings: IdentifySettings,
    equations: ConstrainedEquations,
    estimate: Estimate,
    tables: Tables,
    verdict: Verdict,
) -> dict[str, object]:
    """Contents of result.json."""
    chain = equations.chain
    return {
        "schema": "robot_sysid/constrained_identification/1",
        "inputs": settings.inputs(),
        "robot": chain.name,
        "urdf_hash": estimate.urdf_hash,
        "method": estimate.method,
        "rank": estimate.rank,
        "structural_rank": estimate.structural_rank,
        "physically_consistent": estimate.physically_consistent,
        "delay_s": equations.delay,
        "torque_rms": torque_rms(chain, tables),
        "verdict": verdict.to_dict(),
        "gravity": chain.model.gravity.tolist(),
        "warnings": [reason.to_dict() for reason in estimate.certify()],
        "notes": list(estimate.notes),
    }


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
