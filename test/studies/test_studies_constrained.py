# SPDX-License-Identifier: Apache-2.0
"""The closed-chain study in small: its goals, tables and page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sysid_core.planning.closed_chain import LoopExcitation
from sysid_core.robot.loops import load_closed_chain
from sysid_studies.constrained import (
    ConstrainedStudyConfig,
    constrained_study,
)
from sysid_studies.constrained.report import PAPER_TORQUE_RMS
from sysid_studies.constrained.robot import perturbed_truth

SMALL = ConstrainedStudyConfig(
    seeds=(1,),
    trajectories=2,
    duration=5.0,
    held_out=2.2,
    speeds=(1.8,),
    tracking_duration=2.5,
    excitation=LoopExcitation(generations=3, population=8),
)


def test_true_robots_differ_from_the_description_as_declared():
    leg = load_closed_chain("own-leg")
    truth = perturbed_truth(leg, np.random.default_rng(3), spread=2.0)
    for joint in leg.actuated:
        for key in ("F_c", "F_v", "I_a"):
            ratio = getattr(truth.drive(joint), key) / getattr(leg.drive(joint), key)
            assert 1.25 <= max(ratio, 1 / ratio) <= 2.0
        assert abs(truth.drive(joint).beta) <= 0.5 * leg.drive(joint).F_c
    np.testing.assert_array_equal(truth.model.pi, leg.model.pi)


@pytest.mark.slow
def test_a_small_study_reaches_its_goals_and_shows_them(tmp_path, clicks):
    study = constrained_study(load_closed_chain("own-leg"), SMALL)
    goals = study.goals()
    missed = {name: text for name, (reached, text) in goals.items() if not reached}
    assert not missed
    assert len(goals) == 7
    numbers = json.loads(json.dumps(study.to_dict()))
    assert set(numbers["table_1_torque_rms"]) == {"nominal", "paper", "identified", "truth"}
    page = study.report().save(tmp_path / "page.html").read_text()
    clicks(tmp_path / "page.html")
    assert "Table II" in page and f"{PAPER_TORQUE_RMS[0][1]:.4g}" in page
