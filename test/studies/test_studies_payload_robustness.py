# SPDX-License-Identifier: Apache-2.0
"""The robustness study, small and with wide bounds: deviations hold whatever is wrong."""

import numpy as np

from sysid_studies.payload.robustness import nuisance_outcomes, shape_outcomes
from sysid_studies.payload.robustness_tables import Outcome, RobustnessStudy, RobustnessTable


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


def twenty(row, z, noted):
    return [Outcome(row, "faulty", (1.0, 1.0, 5.0), np.full(10, z), noted, False)] * 20


def test_the_page_names_rows_whose_deviations_break_in_silence_and_false_alarms(tmp_path):
    found = [
        *twenty("shape right", 0.5, True),
        *twenty("loud", 4.0, True),
        *twenty("silent", 4.0, False),
    ]
    table = RobustnessTable.of("Robustness", found)
    right, loud, silent = table.rows
    assert right.alarms and right.holds and loud.holds and not silent.holds
    assert [row[-1] for row in table.table().rows] == ["0 of 0", "20 of 20", "0 of 20"]
    page = RobustnessStudy((table,)).report()
    page.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "not in: silent (faulty); right data noted too often: shape right (faulty)" in text
