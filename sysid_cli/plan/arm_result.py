# SPDX-License-Identifier: Apache-2.0
"""What `sysid plan arm` shows and writes of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sysid_cli.plan.run import Planned

if TYPE_CHECKING:
    from sysid_core.planning import ArmPlan, Trajectory, Unknowns
    from sysid_core.report import Figure


def planned_motion(
    found: ArmPlan, unknowns: Unknowns, series: str, others: Mapping[str, Trajectory]
) -> Planned:
    """The plan as the command shows and writes it.

    Args:
        found: The motion and what it will show.
        unknowns: What was to be known.
        series: The series in words.
        others: Further motions, by name of their file.
    """
    expectation = found.expectation
    random = _random_deviation(found)
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/arm_plan/2",
        result=_result(found, unknowns),
        title="Exciting motion",
        facts={
            "excitation": str(found.conditioning),
            "series": series,
            "expected": str(expectation),
            "mean expected deviation": f"{100 * expectation.mean_deviation:.2g} % of the natural"
            f" size (best of a few random motions: {100 * random:.2g} %)",
            "efforts": "noise "
            + ", ".join(f"{x:.3g}" for x in unknowns.effort_sd)
            + f" N m, correlated over {unknowns.correlation:g} s",
        },
        remarks=[
            "Deviations are expected standard deviations; well: below 10 % of the parameter's"
            " natural size (the URDF's mass and lengths), roughly: below 50 %."
        ],
        tables=[
            (
                "What will be known",
                ("base parameter", "sd before", "sd after", "known"),
                [(n, f"{b:.3g}", f"{a:.3g}", w) for n, b, a, w in expectation.rows()],
            ),
            ("Longer or faster", ("change", "mean deviation", "known well"), _curve(found)),
        ],
        figures=[(progress_figure(found), "Criterion while the motion was improved.")]
        if found.history
        else [],
        lines=[str(found.conditioning), str(expectation)],
        others=others,
    )


def _result(found: ArmPlan, unknowns: Unknowns) -> dict[str, object]:
    """What plan.json says of this kind of motion."""
    excitation, expectation = found.conditioning.excitation, found.expectation
    return {
        "criterion": found.criterion.value,
        "rank": excitation.rank,
        "structural_rank": excitation.structural_rank,
        "maximally_exciting": excitation.maximally_exciting,
        "condition_number": found.conditioning.unit,
        "eigenvalue_ratio": found.conditioning.eigenvalue_ratio,
        "mean_deviation": expectation.mean_deviation,
        "mean_friction_deviation": expectation.mean_friction_deviation,
        "random_mean_deviation": _random_deviation(found),
        "base_parameters": [
            {"name": n, "before": before, "after": later, "known": word}
            for n, before, later, word in expectation.rows()
        ],
        "effort_sd": unknowns.effort_sd.tolist(),
        "period": found.basis.period,
        found.basis.size_name: found.basis.size,
        "centre": found.centre.tolist(),
        "coefficients": found.coefficients.tolist(),
    }


def _random_deviation(found: ArmPlan) -> float:
    """Mean deviation after the best of a few random motions."""
    return found.random.mean_deviation if found.random else float("nan")


def _curve(found: ArmPlan) -> list[tuple[str, str, str]]:
    """What longer or faster motion of the same shape would bring."""
    rows = []
    for label, expectation in found.alternatives():
        well = int((expectation.relative <= 0.1).sum())
        rows.append(
            (
                label,
                f"{100 * expectation.mean_deviation:.2g} %",
                f"{well} of {len(expectation.names)}",
            )
        )
    return rows


def progress_figure(found: ArmPlan) -> Figure:
    """Criterion over the iterations of the run that won."""
    from sysid_core.report import curves

    name = f"criterion '{found.criterion.value}'"
    return curves(
        {name: {name: (range(len(found.history)), found.history)}}, xlabel="iteration", height=220
    )
