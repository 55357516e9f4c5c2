# SPDX-License-Identifier: Apache-2.0
"""Choices between candidates that do not depend on the rounding errors of a processor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.robot import Array

# Of scores of about one (relative above): more than the rounding of log-determinants and costs may
# make between processors, far less than any motion's worth.
_ROUNDING = 1e-6


def first_best(scores: ArrayLike) -> int:
    """Return the index of the largest score; the first one if candidates differ only by rounding.

    Args:
        scores: Scores, shape (n,), at least one; NaN is the best only if all scores are NaN.
    """
    return int(best_first(scores)[0])


def best_first(scores: ArrayLike) -> Array:
    """Return the indices from the largest score to the smallest; nearly equal ones keep their
    order.

    Args:
        scores: Scores, shape (n,).
    """
    values = np.nan_to_num(
        np.asarray(scores, dtype=float), nan=-np.inf, posinf=np.inf, neginf=-np.inf
    )
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    with np.errstate(invalid="ignore"):  # of equal infinities
        apart = ranked[:-1] - ranked[1:] > _ROUNDING * np.maximum(1.0, np.abs(ranked[:-1]))
    group = np.concatenate([[0], np.cumsum(apart)])[: len(order)]
    return order[np.lexsort((order, group))]
