# SPDX-License-Identifier: Apache-2.0
"""The robustness benchmark, small and with wide bounds: deviations hold whatever is wrong."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "estimation"))
from payload_robustness import nuisance_outcomes, shape_outcomes


def inside(outcomes):
    z = np.array([o.z for o in outcomes])
    return np.mean(np.abs(z) < 2.0), float(np.mean(z**2))


def test_deviations_hold_for_every_family_and_shape():
    share, square = inside(shape_outcomes(2))
    assert share > 0.85 and square < 2.5


def test_faults_widen_the_deviations_or_are_noted():
    outcomes = [
        o for o in nuisance_outcomes(1) if "aliased" not in o.row and "30 s re" not in o.row
    ]
    for row in {o.row for o in outcomes}:
        some = [o for o in outcomes if o.row == row]
        assert inside(some)[0] > 0.8 or any(o.misfit_noted for o in some), row
