# SPDX-License-Identifier: Apache-2.0
"""Weights of joints: the fixed point of the plain iteration, in fewer rounds."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.estimation.fit import LeastSquares, Regression, Weighting


def plain(Y: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, int]:
    """Reweighted until nothing moves: values, and the rounds that it takes."""
    n, p = Y.shape[1:]
    x, w = np.zeros(p), np.ones(n)
    for k in range(500):
        S = np.sqrt(w)[None, :, None]
        new = np.linalg.lstsq((Y * S).reshape(-1, p), (tau * S[..., 0]).ravel(), rcond=None)[0]
        if np.linalg.norm(new - x) < 1e-9:
            return new, k
        x, w = new, 1.0 / np.mean((tau - Y @ new) ** 2, axis=0)
    raise AssertionError("the plain iteration doesn't settle")


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_joints_settle_where_the_plain_iteration_does(seed):
    """One joint contradicts the others, so that several sets of weights are optima."""
    rng = np.random.default_rng(seed)
    Y, x = rng.normal(size=(60, 3, 8)), rng.normal(size=8)
    tau = Y @ x + rng.normal(size=(60, 3)) * [0.1, 1.0, 2.0]
    tau[:, 0] = Y[:, 0] @ (x + rng.normal(size=8)) + 0.5 * rng.normal(size=60)
    found = LeastSquares(Weighting.JOINT).fit(
        Regression(
            Y=Y,
            tau=tau,
            names=tuple(f"j.{k}" for k in range(8)),
            units=("N m",) * 8,
            joints=("a", "b", "c"),
            bodies=(),
            prior=np.zeros(8),
            prior_sd=np.ones(8),
            non_negative=np.zeros(8, dtype=bool),
            structure=np.eye(8),
        )
    )
    expected, rounds = plain(Y, tau)
    assert found.values == pytest.approx(expected, abs=1e-6)
    assert len(found.changes) < rounds
