# SPDX-License-Identifier: Apache-2.0
"""Closed chains from recordings of their driven joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sysid_core.estimation import Estimate
from sysid_core.estimation.closed_chain import (
    ConstrainedEquations,
    chain_with_parameters,
    identify_constrained_equations,
)
from sysid_core.estimation.recorded import full_parameters
from sysid_core.reasons import Verdict
from sysid_core.report import constrained_identification_report, save_and_list
from sysid_core.robot import mounted
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import TorqueError, judge_chain, torque_errors
from sysid_core.workflows.choices import estimator_from
from sysid_core.workflows.inputs import inputs_of
from sysid_core.workflows.progress import Progress, Step, silent
from sysid_core.workflows.recordings import load_loop_recording, run_labels
from sysid_core.workflows.result_file import write_result
from sysid_core.workflows.settings import IdentifySettings

# Torque errors of the identified and the nominal chain by joint, by run.
Tables = Mapping[str, tuple[Mapping[str, TorqueError], Mapping[str, TorqueError]]]


@dataclass(frozen=True, eq=False)
class IdentifiedChain:
    """An identified closed chain with its verdict.

    Attributes:
        chain: The nominal mechanism as it is mounted.
        estimate: What was identified.
        delay: Delay of the efforts that was taken out [s].
        tables: Torque errors of all runs.
        verdict: Whether it may be used.
        inputs: What it came from.
    """

    chain: ClosedChain
    estimate: Estimate
    delay: float
    tables: Tables
    verdict: Verdict
    inputs: Mapping[str, Any]

    gain_sd = 0.0  # efforts are torques

    def errors(self) -> list[tuple[str, float, float, bool]]:
        """Name, RMS torque by the description and by the result [N m], and whether it was fitted."""
        rows = []
        for label, (new, old) in self.tables.items():
            before, after = (
                sum(errors[j].rms ** 2 for j in self.chain.actuated) ** 0.5 for errors in (old, new)
            )
            rows.append((label, before, after, label == "fitted"))
        return rows

    def parameters(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.estimate.names, self.estimate.values.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Contents of result.json."""
        estimate = self.estimate
        return {
            "schema": "robot_sysid/constrained_identification/1",
            "inputs": dict(self.inputs),
            "robot": self.chain.name,
            "urdf_hash": estimate.urdf_hash,
            "method": estimate.method,
            "rank": estimate.rank,
            "structural_rank": estimate.structural_rank,
            "physically_consistent": estimate.physically_consistent,
            "delay_s": self.delay,
            "torque_rms": torque_rms(self.chain, self.tables),
            "verdict": self.verdict.to_dict(),
            "gravity": self.chain.model.gravity.tolist(),
            "warnings": [reason.to_dict() for reason in estimate.certify()],
            "notes": list(estimate.notes),
        }

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write estimate.yaml, result.json and report.html; returns their names."""
        folder.mkdir(parents=True, exist_ok=True)
        self.estimate.save(folder / "estimate.yaml")
        report = constrained_identification_report(
            self.chain, self.estimate, self.tables, self.verdict
        )
        save_and_list(report, folder / "report.html")
        write_result(self.to_dict(), folder / "result.json")
        return "estimate.yaml", "result.json", "report.html"


def identify_loops(settings: IdentifySettings, progress: Progress = silent) -> IdentifiedChain:
    """Identify a closed chain, and predict the torques of all runs.

    Args:
        settings: With `loops`.
        progress: Shows steps.

    Raises:
        SysIdError: A file can't be read, or the recordings don't fit the chain.
    """
    progress(Step.READING)
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    chain = load_chain(settings.robot, settings.loops)
    gravity = None if columns is None else columns.gravity
    chain = replace(chain, model=mounted(chain.model, settings.gravity, settings.mount, gravity))
    runs, others = (
        [load_loop_recording(path, chain, columns, settings.effort_kind) for path in paths]
        for paths in (settings.recordings, settings.validate)
    )
    fit = settings.fit
    inertials = "inertials" not in fit.fix
    estimator = estimator_from(
        "lmi" if fit.method == "auto" else fit.method,
        [name for name in fit.fix if name != "inertials"],
        fit.prior_weight or 1.0,
        fit.prior_sd,
    )
    progress(Step.BUILDING)
    equations = ConstrainedEquations.build(chain, runs).without_delay(inertials=inertials)
    progress(Step.FITTING)
    estimate = identify_constrained_equations(equations, inertials=inertials, estimator=estimator)
    regression = equations.regression(inertials=inertials)
    values = full_parameters(regression, estimate, estimator.fixed)
    found = chain_with_parameters(chain, regression.names, values)
    progress(Step.PREDICTING)
    tables: dict[str, tuple[Mapping[str, TorqueError], Mapping[str, TorqueError]]]
    tables = {"fitted": (torque_errors(equations, found), torque_errors(equations, chain))}
    for label, run in zip(run_labels(settings.validate), others, strict=True):
        tables[f"not fitted: {label}"] = errors_of_run(chain, found, run, equations.delay)
    verdict = judge_chain(estimate, tables)
    inputs = inputs_of(settings)
    progress(Step.WRITING)
    return IdentifiedChain(chain, estimate, equations.delay, tables, verdict, inputs)


def load_chain(robot: str, loops: str) -> ClosedChain:
    """The mechanism of a file of loops; `robot` may be the loops' own name, or ""."""
    return load_closed_chain(loops, None if robot in ("", loops) else robot)


def errors_of_run(
    chain: ClosedChain, identified: ClosedChain, run: Recording, delay: float
) -> tuple[Mapping[str, TorqueError], Mapping[str, TorqueError]]:
    """Torque errors of the identified and the nominal chain; efforts lag by `delay` [s]."""
    trial = ConstrainedEquations.build(chain, [run]).with_delay(delay)
    return torque_errors(trial, identified), torque_errors(trial, chain)


def torque_rms(chain: ClosedChain, tables: Tables) -> dict[str, dict[str, dict[str, float]]]:
    """RMS torque errors of the identified and the nominal chain, by run and joint [N m]."""
    return {
        label: {
            joint: {"identified": new[joint].rms, "nominal": old[joint].rms}
            for joint in chain.actuated
        }
        for label, (new, old) in tables.items()
    }
