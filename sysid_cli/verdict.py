# SPDX-License-Identifier: Apache-2.0
"""How commands end: the verdict in words, and the exit status that says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sysid_cli.app import console, errors
from sysid_core.reasons import Outcome, Verdict, advice_of

if TYPE_CHECKING:
    from sysid_core.robot import DriveTrain, RobotModel
    from sysid_core.signals import Recording

_STYLES = {
    Outcome.PASS: "bold green",
    Outcome.WARN: "bold yellow",
    Outcome.FAIL: "bold red",
    Outcome.NOT_JUDGED: "bold yellow",
}


def print_verdict(verdict: Verdict, consequence: str = "") -> None:
    """Verdict, reasons, and what follows from a failure."""
    console.print(f"Verdict: {verdict.outcome.value}", style=_STYLES[verdict.outcome])
    for reason in verdict.notable or (*verdict.held, *verdict.not_judged):
        console.print(f"· {advice_of(reason)}", highlight=False, soft_wrap=True, markup=False)
    if not verdict.ok and consequence:
        console.print(consequence, highlight=False, soft_wrap=True, markup=False)


def next_steps(verdict: Verdict, method: str, *, validated: bool) -> list[str]:
    """What to do after an identification."""
    if not verdict.ok:
        return ["Mend what the reasons name, record again if it is the motion, and repeat."]
    steps = []
    if not validated:
        steps.append("Record another motion and repeat with --validate: a fit can't judge itself.")
    if method in ("ols", "wls", "irls"):
        steps.append("For a model to simulate or control with, repeat with --method lmi.")
    else:
        steps.append("identified.urdf, beside this page, is the URDF with these values.")
    steps.append("sysid validate says of any later recording whether the result still holds.")
    return steps


def with_gravity_found(
    model: RobotModel, runs: Sequence[Recording], drives: DriveTrain
) -> RobotModel:
    """The robot with gravity as its recordings show it, for `--gravity estimate`."""
    import numpy as np

    from sysid_core.diagnosis import collect_samples, estimate_gravity
    from sysid_core.robot import with_gravity

    found = estimate_gravity(collect_samples(model, runs, drives, count=800))
    shown = ",".join(f"{x:.3f}" for x in found.gravity)
    errors.print(
        f"Gravity in the base frame: {shown} m/s^2, ± {np.degrees(found.angle_sd):.2f}°;"
        f" {np.degrees(found.angle):.1f}° from the URDF's.",
        highlight=False,
        soft_wrap=True,
    )
    return with_gravity(model, found.gravity)
