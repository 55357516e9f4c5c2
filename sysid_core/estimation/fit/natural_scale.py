"""A-priori scales of parameters, against which 'weak' and 'excited' are measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from sysid_core.robot import Array, RobotModel


def inertial_scale(model: RobotModel) -> Array:
    r"""Natural scale of every inertial parameter: `[m, m L, m L^2]` with the body's own m and L.

    m is the URDF's mass, but at least a tenth of the mean; L is the largest of the reach to the
    centre of mass, to the next joint, and the radius of gyration, at least 3 cm.

    Returns:
        Shape (10 n_bodies,), in the order of the parameters.
    """
    pi = model.pi
    mass = np.maximum(pi[:, 0], 0.1 * max(float(np.mean(pi[:, 0])), 1e-3))
    reach = np.linalg.norm(pi[:, 1:4], axis=1) / mass
    gyration = np.sqrt(np.maximum(pi[:, 4] + pi[:, 6] + pi[:, 9], 0.0) / (2.0 * mass))
    span = np.zeros(model.n_bodies)
    tree: pin.Model = model.pin_model
    for joint in range(1, tree.njoints):
        parent = tree.parents[joint]
        if parent > 0:
            offset = float(np.linalg.norm(tree.jointPlacements[joint].translation))
            span[parent - 1] = max(span[parent - 1], offset)
    length = np.maximum.reduce([reach, gyration, span, np.full(model.n_bodies, 0.03)])
    # Distal bodies that move none further: half the arm's mean size at least.
    length = np.maximum(length, 0.25 * float(np.mean(length)))
    scale = np.empty((model.n_bodies, 10))
    scale[:, 0] = mass
    scale[:, 1:4] = (mass * length)[:, None]
    scale[:, 4:] = (mass * length**2)[:, None]
    return scale.ravel()


def friction_scale(Phi: Array, tau: Array, names: Sequence[str] = ()) -> Array:
    """As `friction_scale_from_squares`, from the friction regressor itself, shape (K, n, p)."""
    return friction_scale_from_squares(np.mean(Phi**2, axis=0), tau, names)


def friction_scale_from_squares(squares: Array, tau: Array, names: Sequence[str] = ()) -> Array:
    r"""Natural scale of friction parameters: what would explain a joint's whole torque.

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
