# SPDX-License-Identifier: Apache-2.0
"""The robustness study, small and with wide bounds: deviations hold whatever is wrong."""

import numpy as np

from sysid_core.studies.payload import nuisance_outcomes, shape_outcomes


def inside(outcomes):
    z = np.array([o.z for o in outcomes])
    return np.mean(np.abs(z) < 2.0), float(np.mean(z**2))


def test_deviations_hold_for_every_family_and_shape():
    outcomes = shape_outcomes(3)
    assert len(outcomes) == 5 * 2 * 8
    share, square = inside(outcomes)
    assert share > 0.85 and square < 2.5
    assert not any(o.shape_noted for o in outcomes if o.row == "shape right")


def test_faults_widen_the_deviations_or_are_noted():
    outcomes = [
        o for o in nuisance_outcomes(1) if "aliased" not in o.row and "30 s re" not in o.row
    ]
    for row in {o.row for o in outcomes}:
        some = [o for o in outcomes if o.row == row]
        assert inside(some)[0] > 0.8 or any(o.misfit_noted for o in some), row
