# SPDX-License-Identifier: Apache-2.0
"""Ties that only rounding would break are broken by the order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sysid_core.planning.trajectory import best_first, first_best

# Scores a thousandth apart, or equal.
SCORES = st.lists(st.integers(-500, 500).map(lambda k: 1e-3 * k), min_size=1, max_size=20)


@given(SCORES, st.integers(0, 2**32))
def test_rounding_changes_no_choice(scores: list[float], seed: int) -> None:
    disturbed = np.array(scores) + 1e-9 * np.random.default_rng(seed).normal(size=len(scores))
    expected = sorted(range(len(scores)), key=lambda k: -scores[k])  # stable
    assert best_first(scores).tolist() == best_first(disturbed).tolist() == expected
    assert first_best(disturbed) == expected[0]


def test_what_has_no_score_comes_last() -> None:
    assert best_first([np.nan, 1.0, -np.inf, 2.0]).tolist() == [3, 1, 0, 2]
    assert first_best([-np.inf, -np.inf]) == 0
