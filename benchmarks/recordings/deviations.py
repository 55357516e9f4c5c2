# SPDX-License-Identifier: Apache-2.0
"""Proper scores of the stated standard deviations, from disjoint recordings of real arms, by halves
of the arms.

    python benchmarks/recordings/deviations.py OUT.csv [ARM ...]

Every recording is cut into thirds. The estimates of the thirds of one recording are compared with
each other, and so are those of whole recordings of one robot. Physically consistent estimates,
which share a prior, are compared with robust ones without a prior. Only parameters are counted
whose standard deviation under white noise as large as the residuals is within a tenth of their
natural scale, which is the unit of the scores, whatever standard deviation is stated. Settings that
were chosen on one half of the arms are judged on the other half.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from mutations import HALVES
from real_arms import ARMS, RealArm, split

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate, measured_part
from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares, Regression
from sysid_core.estimation.fit.regression import compress
from sysid_core.robot import FrictionModel
from sysid_core.signals import Recording
from sysid_studies.bench.measure import Scores, score_deviations

METHODS: dict[str, tuple[Estimator, str]] = {  # with the method that judges it
    "wls": (LeastSquares("joint"), "wls"),
    "irls": (LeastSquares("robust"), "irls"),
    "lmi": (ConsistentLeastSquares(prior_weight=100.0), "irls"),
}
SHOWN = 0.1  # of the natural scale
REPEATED = ("kiwiwan", "psm")  # the same motion three times: thirds say the same wrongly


@dataclass(frozen=True, eq=False)
class Fitted:
    """Base parameters of one recording, or of a third of it, estimated with every method."""

    run: int
    part: str
    estimates: dict[str, Estimate]
    natural: dict[str, float]
    inertial: frozenset[str]
    shown: frozenset[str]


def fits(arm: RealArm) -> Iterator[Fitted]:
    """Yield the estimates of all methods for all recordings and their thirds."""
    friction = FrictionModel(arm.drives)
    for i, run in enumerate(arm.whole):
        parts: list[tuple[str, Recording]] = [("whole", run)] if len(arm.whole) > 1 else []
        parts += [(f"third {k + 1}", split(run, k / 3, (k + 1) / 3)) for k in range(3)]
        for part, recording in parts:
            try:
                equations = ArmEquations.build(arm.model, [recording], friction, Processing())
                regression = equations.regression(equations.prior)
                found = {
                    name: estimator.fit(regression) for name, (estimator, _) in METHODS.items()
                }
            except SysIdError as err:
                print(i, part, err, file=sys.stderr)
                continue
            yield Fitted(i, part, found, *_scales(regression, found["wls"]))


def _scales(
    regression: Regression, wls: Estimate
) -> tuple[dict[str, float], frozenset[str], frozenset[str]]:
    base = regression.base
    rms = np.array([wls.residual_rms.get(joint, np.inf) for joint in regression.joints])
    R = compress(regression).weighted(rms**-2.0)[0][:, list(base.independent)]
    natural = np.sqrt((base.regrouping**2) @ regression.prior_sd**2)
    inertial = (i < regression.n_inertial for i in base.independent)
    names = base.base_names
    white = np.sqrt(np.diag(np.linalg.pinv((R * natural).T @ (R * natural), hermitian=True)))
    return (
        dict(zip(names, natural.tolist(), strict=True)),
        frozenset(name for name, yes in zip(names, inertial, strict=True) if yes),
        frozenset(name for name, x in zip(names, white, strict=True) if 0.0 < x < SHOWN),
    )


def pairs(found: list[Fitted], thirds: bool) -> Iterator[tuple[str, Fitted, Fitted]]:
    """Yield pairs of estimates from disjoint data: thirds of a recording, and whole recordings."""
    for a, b in permutations(found, 2):
        if thirds and a.run == b.run and "whole" not in (a.part, b.part):
            yield "thirds", a, b
        elif a.run != b.run and a.part == b.part == "whole":
            yield "recordings", a, b


Row = tuple[float, float, float]  # difference, deviation, natural scale


def differences(found: list[Fitted], thirds: bool) -> dict[tuple[str, str, str], list[Row]]:
    """Differences of the parameters by method, kind of pair and kind of parameter."""
    rows: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for between, one, other in pairs(found, thirds):
        for method, (_, judge) in METHODS.items():
            a, b = measured_part(one.estimates[method]), other.estimates[judge]
            for name, value, sd, _, _ in a.rows():
                if name not in one.shown & other.shown:
                    continue
                k = b.names.index(name)
                kind = "inertial" if name in one.inertial else "friction"
                spread = float(np.hypot(sd, b.standard_deviations[k]))
                rows[method, between, kind].append((value - b.values[k], spread, one.natural[name]))
    return rows


def main() -> None:
    """Print one row for each arm, method, kind of pair and kind of parameter; then both halves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("arms", nargs="*", default=list(ARMS))
    options = parser.parse_args()
    of_half: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(
            file, ("arm", "method", "between", "kind", *Scores.__dataclass_fields__)
        )
        writer.writeheader()

        def write(arm: str, key: tuple[str, ...], rows: list[Row]) -> None:
            scores = asdict(score_deviations(*np.array(rows).T))
            cells = dict(zip(("method", "between", "kind"), key, strict=True))
            writer.writerow({"arm": arm, **cells, **scores})
            file.flush()
            numbers = " ".join(f"{name} {x:.3g}" for name, x in scores.items())
            print(f"{arm:12s} {key[0]:5s} {key[1]:10s} {key[2]:8s} {numbers}")

        for name in options.arms:
            half = "first half" if name in HALVES[0] else "second half"
            for key, rows in differences(list(fits(ARMS[name]())), name not in REPEATED).items():
                write(name, key, rows)
                of_half[(half, *key)] += rows
        for (half, *key), rows in sorted(of_half.items()):
            write(half, tuple(key), rows)


if __name__ == "__main__":
    main()
