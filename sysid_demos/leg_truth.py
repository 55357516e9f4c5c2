# SPDX-License-Identifier: Apache-2.0
"""What a simulated leg's identification is held against: its true parameters."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import ArmEquations, Processing, torque_delay
from sysid_core.report import Report
from sysid_core.robot import DriveTrain, FrictionModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot, chain_with_parameters
from sysid_core.signals.bags import read_bag
from sysid_core.validation import torque_errors
from sysid_demos.parts import show_rows


def show_torques(
    console: Console,
    report: Report,
    bag: Path,
    estimate: Estimate,
    nominal: ClosedChain,
    truth: ClosedChain,
) -> float:
    """RMS of predicted torques on a held-out run; the worst ratio to the truth's."""
    friction = FrictionModel(DriveTrain.direct(nominal.actuated))
    equations = ArmEquations.build(DrivenRobot.of(nominal), [read_bag(bag)], friction, Processing())
    equations = equations.with_delay(torque_delay(equations).seconds)
    identified = chain_with_parameters(nominal, estimate.names, estimate.values)
    errors = [torque_errors(equations, chain) for chain in (identified, nominal, truth)]
    rows: list[list[object]] = [[j, *(e[j].rms for e in errors)] for j in nominal.actuated]
    show_rows(
        console,
        report,
        "Predicted torques on a held-out motion, RMS [N m]",
        ("joint", "identified", "nominal", "truth"),
        rows,
    )
    return max(errors[0][j].rms / errors[2][j].rms for j in nominal.actuated)


def show_drives(console: Console, report: Report, estimate: Estimate, truth: ClosedChain) -> float:
    """Estimates against the truth; the worst error of the frictions, % of the largest.

    Drive inertias aren't judged: short motions hardly separate them from the links'.
    """
    values = dict(zip(estimate.names, estimate.values, strict=True))
    rows: list[list[object]] = []
    worst = 0.0
    for symbol in ("F_c", "F_v", "I_a"):
        true = [float(getattr(truth.drive(joint), symbol)) for joint in truth.actuated]
        for joint, x in zip(truth.actuated, true, strict=True):
            error = 100.0 * abs(values[f"{joint}.{symbol}"] - x) / max(true)
            if symbol != "I_a":
                worst = max(worst, error)
            rows.append([f"{joint}.{symbol}", values[f"{joint}.{symbol}"], x, error])
    columns = ("parameter", "estimate", "truth", "error, % of the largest")
    show_rows(console, report, "Friction and drive inertia", columns, rows)
    return worst
