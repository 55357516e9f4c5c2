# SPDX-License-Identifier: Apache-2.0
"""Errors of a payload estimate with respect to the true parameters."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array, mass_com_inertia_from_pi


def payload_errors(pi: Array, truth: Array, size: Array) -> tuple[float, float, float]:
    r"""Return the errors of mass, centre of mass and inertia tensor in percent.

    Nadeau, Giamou and Kelly (2022), eqs. (10), (11), (12).

    The error of the mass is relative to the mass; of the centre of mass, to the bounding box (mean
    of three axes); of the inertia, to `m/12 (delta_ij (a_i^2 + a_j^2 + a_k^2) - a_i a_j)`, mean of
    six entries.

    Args:
        pi: Estimated inertial parameters, shape (10,).
        truth: True inertial parameters, shape (10,).
        size: Dimensions of the bounding box, shape (3,) [m].

    Returns:
        Errors of mass, centre of mass and inertia [%].
    """
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    mass_0, com_0, inertia_0 = mass_com_inertia_from_pi(truth)
    scale = np.abs(mass_0 / 12.0 * (np.eye(3) * (size @ size) - np.outer(size, size)))
    upper = np.triu_indices(3)
    return (
        100.0 * float(abs(mass - mass_0) / mass_0),
        100.0 * float(np.mean(np.abs(com - com_0) / size)),
        100.0 * float(np.mean((np.abs(inertia - inertia_0) / scale)[upper])),
    )
