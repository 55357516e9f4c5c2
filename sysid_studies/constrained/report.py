# SPDX-License-Identifier: Apache-2.0
"""Report of the closed-chain study, compared with the numbers of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sysid_core.report import Figure, Report
from sysid_studies.constrained.seed import MODELS

if TYPE_CHECKING:
    from sysid_core.report import Figure
    from sysid_studies.constrained.study import ConstrainedStudy

PAPER_JOINTS = ("hip-roll", "hip-yaw", "hip-pitch", "knee", "toe-A", "toe-B")

# (identified, manufacturer)
PAPER_TORQUE_RMS = (  # table I [N m]
    (0.9982, 1.8116),
    (0.5642, 0.3830),
    (0.8954, 1.0983),
    (0.7384, 1.8219),
    (0.3675, 0.3907),
    (0.6688, 0.9422),
)
PAPER_INTEGRATION_L2 = (  # table II [rad]
    (0.5497, 3.1946),
    (4.1865, 2.8339),
    (2.4127, 7.4932),
    (3.5314, 11.2491),
    (3.0140, 1.4248),
    (1.5589, 13.9524),
)
# Tables III and IV, 5 rad/s: (mean, largest) identified, (mean, largest) manufacturer [deg]
PAPER_TRACKING_5 = (
    ((1.985, 3.848), (2.805, 7.198)),
    ((1.398, 3.399), (2.537, 6.070)),
    ((1.343, 3.810), (2.413, 7.471)),
    ((1.283, 3.546), (2.088, 6.559)),
    ((1.217, 3.297), (1.976, 5.887)),
    ((1.781, 3.492), (1.897, 8.181)),
)


_COLUMNS = ("nominal", "paper's processing", "identified", "true parameters")


def constrained_report(study: ConstrainedStudy) -> Report:
    """Return a report with goals, parameters and tables I to IV."""
    config, n = study.config, len(study.seeds)
    report = Report(
        f"Closed chain: {study.chain.name}",
        f"{n} simulated robots, {config.trajectories} trajectories of {config.duration:g} s each",
    )
    report.paragraph(
        "Every robot is a MuJoCo model with the loops as equality constraints; friction, drive"
        f" inertia and offsets of its {study.chain.n_actuated} actuated joints differ from those"
        f" of the description by factors of 1.25 to {config.spread:g}. Measured: positions"
        f" (steps of {config.noise.position_step:g} rad), velocities (noise"
        f" {config.noise.velocity_sd:g} rad/s) and torques (noise"
        f" {100 * config.noise.effort_share:g} % of RMS) of the actuated joints at 1 kHz. Inertial"
        " parameters are fixed at the values of the description, as the paper does for legs."
    )
    report.heading("Goals")
    for name, (reached, text) in study.goals().items():
        report.verdict(reached, f"{name}: {text}")
    report.heading("Parameters")
    report.table(
        ("robot", "processing", "F_c [%]", "F_v [%]", "I_a [%]", "truth within 2 sd [%]"),
        [
            (
                seed.seed if model == "nominal" else "",
                label,
                *(100.0 * value for value in seed.errors(model).values()),
                None if model == "nominal" else 100.0 * seed.within_two_sd(model),
            )
            for seed in study.seeds
            for model, label in (
                ("nominal", "none (nominal)"),
                ("paper", "the paper's: 18/15/33 Hz"),
                ("identified", "ours: regressor and torque filtered alike"),
            )
        ],
        "Largest relative error over the joints.",
    )
    report.figure(
        _parameter_figure(study),
        "Error of every parameter divided by its standard deviation; one dot for each robot, grey: ±2.",
    )
    report.heading("Table I: torque prediction on a held-out run, RMS [N m]")
    _table(report, study, study.torque_table(), PAPER_TORQUE_RMS)
    report.paragraph(
        "Torque prediction as in Table I, but only for joint speeds above 0.05 rad/s, without stiction:"
    )
    _table(report, study, study.torque_table(moving=True))
    report.heading("Table II: forward integration in segments of 0.5 s, L2 error [rad]")
    _table(report, study, study.integration_table(), PAPER_INTEGRATION_L2)
    report.heading("Tables III and IV: tracking with inverse dynamics, error [deg]")
    for speed in config.speeds:
        how = "one coordinate after another" if study.alone(speed) else "all joints together"
        report.heading(f"Peak velocity {speed:g} rad/s, {how}", 3)
        _tracking(report, study, speed)
    report.heading("Notes")
    report.bullets(study.seeds[0].estimates["identified"].notes)
    report.bullets(study.conditions)
    report.paragraph(
        "The values of the paper were measured on the left leg of a real Digit; only the comparison of"
        " identified with nominal parameters is transferable."
    )
    return report


def _table(
    report: Report,
    study: ConstrainedStudy,
    values: Mapping[str, Mapping[str, float]],
    paper: Sequence[tuple[float, float]] | None = None,
) -> None:
    beside = _beside(study, paper)
    columns = ["joint", *_COLUMNS]
    columns += ["Digit, manufacturer", "Digit, identified"] if beside else []
    report.table(
        columns,
        [
            (joint, *(values[model][joint] for model in MODELS), *(beside or {}).get(joint, ()))
            for joint in study.chain.actuated
        ],
    )


def _tracking(report: Report, study: ConstrainedStudy, speed: float) -> None:
    mean, largest = study.tracking_table(speed), study.tracking_table(speed, largest=True)
    stuck = study.saturated_table(speed)
    with_paper = speed == 5.0 and len(study.chain.actuated) == len(PAPER_JOINTS)
    columns = ["joint", *_COLUMNS, "at the torque limit [%]"]
    columns += ["Digit, manufacturer", "Digit, identified"] if with_paper else []
    rows = []
    for i, joint in enumerate(study.chain.actuated):
        row: list[object] = [joint]
        row += [f"{mean[model][joint]:.3f}, {largest[model][joint]:.3f}" for model in MODELS]
        row.append(100.0 * stuck[joint])
        if with_paper:
            ours, theirs = PAPER_TRACKING_5[i]
            row += [f"{theirs[0]:.3f}, {theirs[1]:.3f}", f"{ours[0]:.3f}, {ours[1]:.3f}"]
        rows.append(row)
    report.table(columns, rows, "Mean, largest absolute error.")


def _beside(
    study: ConstrainedStudy, paper: Sequence[tuple[float, float]] | None
) -> dict[str, tuple[float, float]]:
    if paper is None or len(study.chain.actuated) != len(paper):
        return {}
    return {
        joint: (manufacturer, identified)
        for joint, (identified, manufacturer) in zip(study.chain.actuated, paper, strict=True)
    }


def _parameter_figure(study: ConstrainedStudy) -> Figure:
    names = tuple(study.seeds[0].truth)
    errors = {}
    for seed in study.seeds:
        estimate = seed.estimates["identified"]
        sd = dict(zip(estimate.names, estimate.standard_deviations, strict=True))
        errors[f"robot {seed.seed}"] = [
            (estimate[name] - true) / sd[name] for name, true in seed.truth.items()
        ]
    return Figure.dots(names, errors, ylabel="error / sd", band=(-2.0, 2.0))
