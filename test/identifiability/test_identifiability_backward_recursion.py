# SPDX-License-Identifier: Apache-2.0
"""Backward least squares with carried errors against closed forms and repeated experiments."""

from __future__ import annotations

import numpy as np

from sysid_core.identifiability.composite_bodies import BackwardSolution, StepRows

P, SD = 6, 0.1


def triangular_blocks(rng, x, *, noise=SD, rows=30) -> list[StepRows]:
    """Steps 2, 1, 0: step j sees the parameters from 2 j on."""
    blocks = []
    for j in (2, 1, 0):
        R = np.zeros((rows, P))
        R[:, 2 * j :] = rng.normal(size=(rows, P - 2 * j))
        values = R @ x + noise * rng.normal(size=rows)
        blocks.append(StepRows(f"joint{j + 1}", R, values, max(noise, 1e-12) ** 2 * np.eye(rows)))
    return blocks


def test_exact_rows_give_exact_parameters(rng) -> None:
    x = rng.normal(size=P)
    solution = BackwardSolution.of(triangular_blocks(rng, x, noise=0.0), np.zeros(P), np.eye(P))
    np.testing.assert_allclose(solution.x, x, atol=1e-11)
    assert [step.n_settled for step in solution.steps] == [2, 2, 2]
    assert solution.open_directions.shape == (P, 0)


def test_covariance_is_that_of_repeated_experiments(rng) -> None:
    x, errors = rng.normal(size=P), []
    design = np.random.default_rng(5).bit_generator.state
    for _ in range(1500):
        fixed = np.random.default_rng(5)
        fixed.bit_generator.state = design
        blocks = triangular_blocks(fixed, x, noise=0.0)
        noisy = [
            StepRows(b.name, b.rows, b.values + SD * rng.normal(size=len(b.values)), SD**2 * np.eye(len(b.values)))
            for b in blocks
        ]  # fmt: skip
        solution = BackwardSolution.of(noisy, np.zeros(P), np.eye(P))
        errors.append(solution.x - x)
    sampled = np.cov(np.array(errors).T)
    np.testing.assert_allclose(
        np.sqrt(np.diag(solution.covariance)), np.sqrt(np.diag(sampled)), rtol=0.07
    )
    # Off the diagonal too: errors of the first steps reappear in the last.
    scale = np.sqrt(np.outer(np.diag(sampled), np.diag(sampled)))
    np.testing.assert_allclose(solution.covariance / scale, sampled / scale, atol=0.08)


def test_later_steps_inherit_the_noise_of_earlier_ones(rng) -> None:
    solution = BackwardSolution.of(triangular_blocks(rng, np.ones(P)), np.zeros(P), np.eye(P))
    variance = np.diagonal(solution.shares, axis1=1, axis2=2)  # (steps, P)
    np.testing.assert_allclose(
        variance[1:, 4:], 0.0, atol=1e-20
    )  # the last body knows its own only
    assert np.all(variance[0, :2] > 0.0) and np.all(variance[1, :2] > 0.0)
    np.testing.assert_allclose(variance.sum(axis=0), np.diag(solution.covariance))


def test_weakly_shown_directions_wait_for_a_better_step(rng) -> None:
    x = np.array([1.0, 2.0])
    weak = np.column_stack([rng.normal(size=50), 0.02 * rng.normal(size=50)])
    strong = rng.normal(size=(50, 2))
    blocks = [
        StepRows("joint2", R, R @ x + SD * rng.normal(size=50), SD**2 * np.eye(50))
        for R in (weak, strong)
    ]
    solution = BackwardSolution.of(blocks, np.zeros(2), np.eye(2))
    assert [(s.n_settled, s.n_postponed) for s in solution.steps] == [(1, 1), (1, 0)]
    np.testing.assert_allclose(solution.x, x, atol=5 * SD / np.sqrt(40))


def test_unseen_directions_keep_the_prior_and_are_named(rng) -> None:
    R = np.zeros((20, 3))
    R[:, 0] = rng.normal(size=20)
    prior = np.array([0.0, 3.0, -1.0])
    solution = BackwardSolution.of(
        [StepRows("joint1", R, R[:, 0], SD**2 * np.eye(20))], prior, np.eye(3)
    )
    np.testing.assert_allclose(solution.x, [1.0, 3.0, -1.0], atol=1e-9)
    assert solution.open_directions.shape == (3, 2)
    np.testing.assert_allclose(np.diag(solution.covariance)[1:], 1.0)
