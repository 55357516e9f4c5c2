# SPDX-License-Identifier: Apache-2.0
r"""Inertia constants of composite bodies: a minimal set in closed form (Lin 1992, theorems 2 and
4).

Composite body i is links i ... n. Its mass, first moment and inertia about the origin of E_i split
into constants `m, k, U` and parts `l, V` that depend on the later joints (lemma 1). Which constants
the joint torques depend on follows from the axes' directions alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain
from sysid_core.robot import Array, RobotModel, parameter_transform

# Places in the constants of one body, in the order of pi: m, kx, ky, kz, U11, U12, U22, U13, U23, U33.
_M, _KX, _KY, _KZ, _U11, _U12, _U22, _U13, _U23, _U33 = range(10)
_REVOLUTE_ROWS = (
    ("U{}_11-22", {_U11: 1.0, _U22: -1.0}, "kg m^2"),
    ("U{}_33", {_U33: 1.0}, "kg m^2"),
    ("U{}_12", {_U12: 1.0}, "kg m^2"),
    ("U{}_13", {_U13: 1.0}, "kg m^2"),
    ("U{}_23", {_U23: 1.0}, "kg m^2"),
    ("k{}x", {_KX: 1.0}, "kg m"),
    ("k{}y", {_KY: 1.0}, "kg m"),
)


@dataclass(frozen=True, eq=False)
class MinimalConstants:
    r"""Minimal inertia constants of a serial arm (Lin 1992), linear in its parameters: `c = L @
    pi`.

    Lin (1992), eqs. (5), (6), (7).

    Attributes:
        chain: Driving-axis frames of the arm.
        names: Names of the b constants (`m3`, `k2x`, `U2_11-22`, `U2_33`), with the body's number;
            for a prismatic joint between parallel revolute ones `k3_axial` (eq. 40), `k3_radial`
            (eq. 43).
        units: Units of the b constants.
        bodies: Index (from 0) of the body of each constant.
        selection: Matrix that selects the minimal constants from the constants of all bodies, shape
            (b, 10 n).
        lift: Right inverse of `selection`, with 0 for all other constants, shape (10 n, b).
        constants_from_pi: Matrix from the model's parameters to all constants, shape (10 n, 10 n).
        parameter_names: Names of the 10 n parameters `pi`.
    """

    chain: DrivingAxisChain
    names: tuple[str, ...]
    units: tuple[str, ...]
    bodies: tuple[int, ...]
    selection: Array
    lift: Array
    constants_from_pi: Array
    parameter_names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Number b of minimal constants (base parameters)."""
        return len(self.names)

    @property
    def matrix(self) -> Array:
        """Matrix L with `c = L @ pi`, shape (b, 10 n)."""
        return self.selection @ self.constants_from_pi

    @property
    def right_inverse(self) -> Array:
        """Right inverse of L, `L @ L_right = 1`, which gives parameters with the given constants,
        shape (10 n, b).

        Joint torques depend on pi through the constants only, so `Y_c = Y @ L_right` is the
        regressor of the constants: `tau = Y_c @ c`.
        """
        return np.linalg.solve(self.constants_from_pi, self.lift)

    def values(self, pi: ArrayLike) -> Array:
        """Return the minimal constants (base parameters) of a robot with parameters pi, (n, 10) or (10 n,) to
        (b,).
        """
        return self.matrix @ np.asarray(pi, dtype=float).reshape(-1)

    def all_constants(self, values: ArrayLike) -> Array:
        """Return the constants of every body; those outside the minimal set are zero; (..., b) to
        (..., n, 10).
        """
        full = np.asarray(values) @ self.lift.T
        return full.reshape(*full.shape[:-1], self.chain.n, 10)

    def regressor(self, Y: ArrayLike) -> Array:
        """Return the regressor of the constants from the regressor of the parameters, (..., 10 n)
        to (..., b).
        """
        return np.asarray(Y, dtype=float) @ self.right_inverse

    @classmethod
    def of(cls, model: RobotModel) -> MinimalConstants:
        """Return the minimal inertia constants of a serial arm under its gravity vector (Lin 1992,
        theorem 2).

        Raises:
            ModelError: The robot is not a serial arm of revolute and prismatic joints.
            IdentifiabilityError: The robot has no gravity, although the theorem assumes gravity.
        """
        chain = DrivingAxisChain.from_model(model)
        if not np.any(chain.gravity):
            raise IdentifiabilityError(
                f"Theorem 2 holds under gravity; '{model.name}' has none, and fewer constants may"
                " matter.",
                remedy="Load the robot with its gravity, or use the exact structural analysis.",
            )
        names, units, bodies, rows = _minimal_rows(chain)
        selection = np.zeros((len(rows), 10 * chain.n))
        for i, (body, row) in enumerate(zip(bodies, rows, strict=True)):
            selection[i, 10 * body : 10 * body + 10] = row
        return cls(
            chain=chain,
            names=names,
            units=units,
            bodies=bodies,
            selection=selection,
            lift=_lift(selection),
            constants_from_pi=_composite_map(chain) @ _parameters_in_driving_axes(chain),
            parameter_names=model.parameter_names,
        )


def _minimal_rows(
    chain: DrivingAxisChain,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...], list[Array]]:
    """Theorem 2: name, unit, body and coefficients of each minimal constant (base parameter)."""
    r, s = chain.first_revolute, chain.first_not_parallel
    found: list[tuple[str, str, int, Array]] = []

    def add(name: str, unit: str, body: int, terms: dict[int, float]) -> None:
        row = np.zeros(10)
        row[list(terms)] = list(terms.values())
        found.append((name.format(body + 1), unit, body, row))

    for i in range(chain.n):
        if chain.revolute[i]:
            for name, terms, unit in _REVOLUTE_ROWS:
                first_moment = unit == "kg m"
                if i >= s or name == "U{}_33" or (first_moment and shows_first_moment(chain, i)):
                    add(name, unit, i, terms)
            continue
        add("m{}", "kg", i, {_M: 1.0})
        if i > s:
            for name, place in (("k{}x", _KX), ("k{}y", _KY), ("k{}z", _KZ)):
                add(name, "kg m", i, {place: 1.0})
        elif i > r:
            ux, uy, uz = chain.axis_in_body(r, i)
            if not chain.are_parallel(r, i):
                add("k{}_axial", "kg m", i, {_KX: -uy, _KY: ux})
                add("k{}_radial", "kg m", i, {_KX: -uz * ux, _KY: -uz * uy, _KZ: 1.0 - uz**2})
    names, units, bodies, rows = zip(*found, strict=True)
    return names, units, bodies, list(rows)


def shows_first_moment(chain: DrivingAxisChain, j: int) -> bool:
    r"""Return `delta_j` of theorem 2 for a revolute joint before joint s: 1 if the torques depend
    on `k_jx, k_jy`, and 0 if they do not.

    The torques do not depend on these first moments if every axis up to j is vertical and coincides
    with that of j.
    """
    axes = chain.axis_lines(np.zeros(chain.n))[1]
    return not all(
        chain.is_vertical(axes[k])
        and (chain.coincide(k, j) if chain.revolute[k] else chain.are_parallel(k, j))
        for k in range(j + 1)
    )


def _lift(selection: Array) -> Array:
    """Right inverse that uses U11 - U22 as U11, and zero for all constants outside the set."""
    reduced = selection.copy()
    reduced[:, _U22::10] = 0.0
    return np.linalg.pinv(reduced)


def _parameters_in_driving_axes(chain: DrivingAxisChain) -> Array:
    """Block diagonal map of the parameters from the model's joint frames to E_i."""
    return scipy.linalg.block_diag(*[parameter_transform(X) for X in chain.X_EJ])


def _composite_map(chain: DrivingAxisChain) -> Array:
    r"""All constants (m, k, U) from all link parameters in E_i, shape (10 n, 10 n).

    For the last body, see eqs. (14), (16).

    Equations (18), (20) and (22), (24) transform the part that is constant while joint i + 1 moves
    to another frame. Beyond a revolute joint, this is the part that is symmetric about its axis;
    beyond a prismatic joint, it is the whole inertia at zero displacement.
    """
    symmetric = np.zeros((10, 10))
    symmetric[[_M, _KZ, _U11, _U22, _U33], [_M, _KZ, _U22, _U22, _U33]] = 1.0
    R = chain.rotations(np.zeros(chain.n))
    s = chain.distances(np.zeros(chain.n))
    n = chain.n
    C = np.eye(10 * n)
    for i in range(n - 2, -1, -1):
        X = np.eye(4)
        X[:3, :3] = R[i + 1]
        if chain.revolute[i + 1]:
            X[:3, 3] = s[i + 1]
            step = parameter_transform(X) @ symmetric
        else:
            X[0, 3] = chain.b[i + 1]
            step = parameter_transform(X)
        C[10 * i : 10 * i + 10] += step @ C[10 * i + 10 : 10 * i + 20]
    return C
