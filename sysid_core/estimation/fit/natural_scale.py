# SPDX-License-Identifier: Apache-2.0
"""Natural scales of parameters, relative to which 'weak' and 'excited' are defined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.robot import Array


def friction_scale(Phi: Array, tau: Array, names: Sequence[str] = ()) -> Array:
    """Natural scale of friction parameters from the friction regressor, shape (K, n, p); see
    `friction_scale_from_squares`.
    """
    return friction_scale_from_squares(np.mean(Phi**2, axis=0), tau, names)


def friction_scale_from_squares(squares: Array, tau: Array, names: Sequence[str] = ()) -> Array:
    r"""Natural scale of friction parameters: the value with which the parameter alone would explain
    the joint's torque.

    Args:
        squares: Mean square of every column of the friction regressor, shape (n, p).
        tau: Measured torques, shape (K, n).
        names: Names of the p parameters: where a joint hardly moves, its columns count as at
            least a hundredth of the same symbol's at the liveliest joint. Sensor noise is no motion.

    Returns:
        Shape (p,); the torque's RMS over the column's, in the joints where the column acts.
    """
    column = np.sqrt(squares)  # (n, p)
    torque = np.sqrt(np.mean(tau**2, axis=0))[:, None]
    symbols = np.array([name.rsplit(".", 1)[-1] for name in names])
    largest = column.max(axis=0, initial=0.0)
    for symbol in set(symbols.tolist()):
        alike = symbols == symbol
        least = 0.01 * float(largest[alike].max())
        column[:, alike] = np.where(
            column[:, alike] > 0.0, np.maximum(column[:, alike], least), 0.0
        )
    acts = column > 1e-9 * max(float(column.max(initial=0.0)), 1e-300)
    ratio = np.divide(torque, column, out=np.zeros_like(column), where=acts)
    scale = ratio.max(axis=0, initial=0.0)
    return np.where(scale > 0.0, scale, 1.0)
