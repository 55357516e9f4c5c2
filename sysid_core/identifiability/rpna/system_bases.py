# SPDX-License-Identifier: Apache-2.0
"""Bases for the whole robot from the transfers of its joints (appendix G of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.identifiability.rpna.algorithm import StageResult
from sysid_core.identifiability.rpna.stages import Layout
from sysid_core.robot import Array


def system_nullspace(layout: Layout, results: Sequence[StageResult], n_parameters: int) -> Array:
    r"""All undetectable changes: block upper-bidiagonal, `R_ii = null(N_i)`, `R_pi = -B_i R_ii`.

    Wensing, Niemeyer and Slotine (2023), eqs. (9), (43), appendix G.

    Args:
        layout: The robot.
        results: Results of the recursion.
        n_parameters: Number p of all parameters.

    Returns:
        Shape (p, d), SI units.
    """
    R = np.zeros((n_parameters, sum(result.Z.shape[1] for result in results)))
    column = 0
    for stage, where, result in zip(layout.stages, layout.parameter_places(), results, strict=True):
        columns = slice(column, column + result.Z.shape[1])
        R[where, columns] = result.Z
        if stage.parent >= 0:
            R[10 * stage.parent : 10 * stage.parent + 10, columns] = -result.moved
        column = columns.stop
    return R * layout.parameter_scales(n_parameters)[:, None]


def identifiable_combinations(
    layout: Layout, results: Sequence[StageResult], n_parameters: int
) -> Array:
    r"""Rows that data can show: block upper-triangular, `N_ii = N_i`, `N_ij = N_i,p(j) B_j`.

    Wensing, Niemeyer and Slotine (2023), eqs. (28), (45), appendix G.

    Args:
        layout: The robot.
        results: Results of the recursion.
        n_parameters: Number p of all parameters.

    Returns:
        Shape (b, p), in SI units.
    """
    carried: dict[int, Array] = {}  # all parameters behind a body, as that body would have them
    blocks = []
    for stage, where, result in zip(
        reversed(layout.stages),
        reversed(layout.parameter_places()),
        reversed(results),
        strict=True,
    ):
        own = np.zeros((len(where), n_parameters))
        own[np.arange(len(where)), where] = 1.0
        for k, body in enumerate(stage.bodies):
            if body in carried:
                own[10 * k : 10 * k + 10] += carried.pop(body)
        # N_i up to a change of basis: the complement of its nullspace.
        U = np.linalg.svd(result.Z, full_matrices=True)[0] if result.Z.size else np.eye(len(where))
        blocks.append(U[:, result.Z.shape[1] :].T @ own)
        if stage.parent >= 0:
            moved = stage.B @ own
            carried[stage.parent] = carried.get(stage.parent, 0.0) + moved
    return np.vstack(blocks[::-1]) / layout.parameter_scales(n_parameters)
