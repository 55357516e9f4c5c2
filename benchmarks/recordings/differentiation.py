# SPDX-License-Identifier: Apache-2.0
"""Filter, positions alone or splines: what cross-validation chooses on real arms, and the error on judged motions.

Usage: source scripts/env.sh; python benchmarks/recordings/differentiation.py [ARM...]
"""

from __future__ import annotations

import sys

from real_arms import ARMS
from rich.console import Console
from rich.table import Table

from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.arm.choices import choose_differentiation, choose_motion_cutoff
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import ConsistentLeastSquares
from sysid_core.robot import FrictionModel
from sysid_core.validation import Prediction


def main() -> None:
    ways = ("filter", "positions", "spline")
    held_out = [f"held out: {way}" for way in ways]
    table = Table("arm", *held_out, "chosen", "judged: filter", "spline")
    for name in sys.argv[1:] or ARMS:
        arm = ARMS[name]()
        friction = FrictionModel(arm.drives)
        filtered, _ = choose_motion_cutoff(arm.model, arm.fitted, friction, Processing())
        chosen, errors = choose_differentiation(filtered, arm.fitted)
        way = chosen.processing.differentiate.value
        splined = ArmEquations.build(
            arm.model, arm.fitted, friction, Processing(differentiate="spline")
        )
        judged = [
            Prediction.of(identify_equations(e, ConsistentLeastSquares()), run)
            for e in (filtered, splined)
            for run in arm.judged[:1]
        ]
        shares = [f"{100 * errors[way]:.2f} %" if way in errors else "–" for way in ways]
        table.add_row(name, *shares, way, *(f"{100 * p.relative_error():.2f} %" for p in judged))
    Console().print(table)


if __name__ == "__main__":
    main()
