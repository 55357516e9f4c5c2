# SPDX-License-Identifier: Apache-2.0
"""How often estimates from disjoint recordings agree within two standard deviations.

    python benchmarks/recordings/coverage.py OUT.csv [ARM ...]

Every recording is cut in thirds; thirds of one recording are compared with each other, and whole
recordings of one robot. Gaussian deviations that are true give 95 %. Parameters count that the data of
both sides know better than their natural scale. The thirds' verdict is that of the spread of their
predictions: where `sysid identify` would warn of more than 8 residuals they count apart.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from real_arms import ARMS, RealArm, split

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import (
    ArmEquations,
    Estimator,
    Processing,
    identify_equations,
    prediction_spread,
)
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.robot import FrictionModel
from sysid_core.signals import Recording

METHODS: dict[str, Estimator] = {
    "ols": LeastSquares("none"),
    "wls": LeastSquares("joint"),
    "irls": LeastSquares("robust"),
    "lmi": ConsistentLeastSquares(),
    "entropic": ConsistentLeastSquares("entropic"),
}
TOO_SHORT = 8.0  # spread of predictions [residuals]
FIELDS = (
    "arm",
    "between",
    "method",
    "inside",
    "parameters",
    "inside_inertial",
    "inertial",
    "short",
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit: its recording, which part of it, and the base parameters."""

    run: int
    part: str
    method: str
    estimate: Estimate
    known: np.ndarray
    inertial: np.ndarray
    short: bool


def fits(arm: RealArm) -> Iterator[Fitted]:
    """All methods on all recordings and their thirds."""
    friction = FrictionModel(arm.drives)
    for i, run in enumerate(arm.whole):
        parts: list[tuple[str, Recording]] = [("whole", run)] if len(arm.whole) > 1 else []
        parts += [(f"third {k + 1}", split(run, k / 3, (k + 1) / 3)) for k in range(3)]
        for part, recording in parts:
            try:
                equations = ArmEquations.build(arm.model, [recording], friction, Processing())
                wls = identify_equations(equations, METHODS["wls"])
                short = prediction_spread(equations, wls.parameters, 1.0).spread > TOO_SHORT
            except SysIdError as err:
                print(i, part, err, file=sys.stderr)
                continue
            for name, estimator in METHODS.items():
                found = identify_equations(equations, estimator).estimate
                base = found if found.measured is None else found.measured
                known = np.array([v.value != "prior-dominated" for v in base.verdicts])
                links = {f"{body}." for body in arm.model.body_names}
                inertial = np.array([n.rsplit(".", 1)[0] + "." in links for n in base.names])
                yield Fitted(i, part, name, base, known, inertial, short)


def pairs(found: list[Fitted]) -> Iterator[tuple[str, Fitted, Fitted]]:
    """Disjoint fits by the same method: thirds of a recording, and whole recordings."""
    for a, b in combinations(found, 2):
        if a.method != b.method:
            continue
        if a.run == b.run and "whole" not in (a.part, b.part):
            yield "thirds", a, b
        elif a.run != b.run and a.part == b.part == "whole":
            yield "recordings", a, b


def table(found: list[Fitted]) -> Iterator[dict[str, object]]:
    """Rows of counts, and of z values inside 2."""
    inside: dict[tuple[str, str, bool], list[tuple[bool, bool]]] = defaultdict(list)
    for between, a, b in pairs(found):
        x, y = a.estimate, b.estimate
        sd = np.hypot(x.standard_deviations, y.standard_deviations)
        ok = np.abs(x.values - y.values) <= 2.0 * sd
        for i in np.flatnonzero(a.known & b.known):
            short = a.short or b.short
            inside[between, a.method, short].append((bool(ok[i]), bool(a.inertial[i])))
    for (between, method, short), hits in sorted(inside.items()):
        mechanical = [ok for ok, inertial in hits if inertial]
        yield {
            "between": between,
            "method": method,
            "inside": f"{np.mean([ok for ok, _ in hits]):.3f}",
            "parameters": len(hits),
            "inside_inertial": f"{np.mean(mechanical):.3f}" if mechanical else "",
            "inertial": len(mechanical),
            "short": short,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("arms", nargs="*", default=list(ARMS))
    options = parser.parse_args()
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in options.arms or ARMS:
            for row in table(list(fits(ARMS[name]()))):
                writer.writerow({"arm": name, **row})
                print(name, *row.values(), file=sys.stderr)
            file.flush()


if __name__ == "__main__":
    main()
