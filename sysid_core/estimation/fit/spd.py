# SPDX-License-Identifier: Apache-2.0
"""Symmetric positive (semi-)definite matrices whose rows have very different units."""

from __future__ import annotations

import numpy as np
import scipy

from sysid_core.robot import Array


def symmetric(M: Array) -> Array:
    """Symmetric part of a matrix."""
    return 0.5 * (M + M.T)


def root(M: Array, tolerance: float = 1e-9) -> Array:
    """Square root R of a symmetric matrix, with `R^T R` the nearest positive semi-definite matrix
    (after scaling its diagonal to one).

    Args:
        M: Shape (n, n).
        tolerance: Eigenvalues below this part of the largest count as zero.
    """
    scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(symmetric(M / np.outer(scale, scale)))
    values = np.where(values > tolerance * max(float(values[-1]), 0.0), values, 0.0)
    return (vectors * np.sqrt(values)).T * scale


def inverse(M: Array) -> Array:
    """Inverse of a positive definite matrix after scaling its diagonal to one."""
    scale = 1.0 / np.sqrt(np.diag(M))
    factor = scipy.linalg.cho_factor(symmetric(M * np.outer(scale, scale)))
    return scipy.linalg.cho_solve(factor, np.diag(scale)) * scale[:, None]
