# SPDX-License-Identifier: Apache-2.0
"""Scores are best if standard deviations are correct; larger ones alone don't improve them."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import EstimationError
from sysid_studies.bench.measure import score_deviations


def test_true_deviations_score_best():
    rng = np.random.default_rng(0)
    error = rng.normal(size=40_000)
    right, narrow, wide = (score_deviations(error, f) for f in (1.0, 0.7, 1.4))
    assert right.interval < min(narrow.interval, wide.interval)
    assert right.interval == pytest.approx(4.67, rel=0.02)
    assert right.coverage == pytest.approx(0.95, abs=0.005)
    assert right.width == pytest.approx(1.48, rel=0.02)
    assert wide.coverage > 0.98 and wide.width == pytest.approx(2.08, rel=0.02)


def test_unknown_deviations_are_left_out_and_zero_ones_refused():
    assert score_deviations([1.0, 2.0], [np.nan, 4.0]).width == pytest.approx(2.0)
    assert np.isnan(score_deviations([], []).interval)
    with pytest.raises(EstimationError, match="no score"):
        score_deviations([1.0], [0.0])
