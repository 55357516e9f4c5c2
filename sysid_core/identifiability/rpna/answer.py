# SPDX-License-Identifier: Apache-2.0
"""Result of the structural analysis: verdicts, dimensions, regroupings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.rpna.algorithm import StageResult
from sysid_core.identifiability.rpna.regrouping import (
    Regrouping,
    Transfer,
    regroupings_of,
    structural_base_parameters,
    transfers_of,
)
from sysid_core.identifiability.rpna.stages import StageLayout
from sysid_core.robot import Array, RobotModel
from sysid_core.settings import Kind


def system_nullspace(
    layout: StageLayout, results: Sequence[StageResult], n_parameters: int
) -> Array:
    r"""Return the undetectable parameter changes: block upper-bidiagonal, `R_ii = null(N_i)`, `R_pi
    = -B_i R_ii`.

    Wensing, Niemeyer and Slotine (2023), eqs. (9), (43), appendix G.

    Args:
        layout: Stages of the robot.
        results: Results of the recursion, one per stage.
        n_parameters: Number p of all parameters.

    Returns:
        Basis of the undetectable changes in SI units, shape (p, d).
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
    layout: StageLayout, results: Sequence[StageResult], n_parameters: int
) -> Array:
    r"""Return the parameter combinations that data can excite: block upper-triangular, `N_ii =
    N_i`, `N_ij = N_i,p(j) B_j`.

    Wensing, Niemeyer and Slotine (2023), eqs. (28), (45), appendix G.

    Args:
        layout: Stages of the robot.
        results: Results of the recursion, one per stage.
        n_parameters: Number p of all parameters.

    Returns:
        Coefficients of the combinations in SI units, shape (b, p).
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


class StructuralVerdict(Kind):
    """Whether one parameter is identifiable, alone or in combination; `symbol` is that of Wensing et
    al.'s tables.
    """

    ALONE = "identifiable alone"
    BASE = "identifiable in combination, chosen as base parameter"
    ABSORBED = "identifiable in combination, absorbed into base parameters"
    UNIDENTIFIABLE = "unidentifiable"

    @property
    def symbol(self) -> str:
        """Symbol of the verdict in the tables of the paper."""
        return {"ALONE": "★", "BASE": "●", "ABSORBED": "○", "UNIDENTIFIABLE": "✕"}[self.name]


_VERDICTS = tuple(StructuralVerdict)


@dataclass(frozen=True)
class BodyIdentifiability:
    """Dimensions of one moving body.

    Attributes:
        name: Name of the link.
        parent: Name of the link that carries it ("world" for the first).
        joint: Name of the joint between this body and its parent.
        joint_type: Type of that joint, such as "revolute".
        dim_v: Dimension of the span of the velocities of the body (with the fictitious velocity due
            to gravity), at most 6.
        dim_k: Dimension of the span of the coefficients of the body's parameters, at most 10.
        dim_transfer: Number of undetectable inertia transfers into the parent.
    """

    name: str
    parent: str
    joint: str
    joint_type: str
    dim_v: int
    dim_k: int
    dim_transfer: int


@dataclass(frozen=True)
class ParameterAnswer:
    """Identifiability of one parameter, with its name and its role as a base parameter."""

    name: str
    verdict: StructuralVerdict
    is_base: bool


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Exact structural identifiability of one robot. Parameters are in the order of pinocchio,
    those of rotors last.

    Attributes:
        robot: Name of the robot.
        gravity: Gravity in the base frame, shape (3,) [m/s^2].
        static: True if only postures at rest are measured.
        floating_base: True if the first joint of the robot is a free joint with six degrees of
            freedom.
        bodies: Dimensions of each body.
        parameter_names: Names of the p parameters.
        codes: Verdict of each parameter as an index into `StructuralVerdict`, shape (p,).
        is_base: Mask of the base parameters, shape (p,).
        rotor_names: Names of the rotors' parameters, which are the last of `parameter_names`.
        warnings: Warnings about the result.
        exact_angles: Result with rounded angles of the URDF replaced by exact ones; None if it is
            the same.
    """

    robot: str
    gravity: Array
    static: bool
    floating_base: bool
    bodies: tuple[BodyIdentifiability, ...]
    parameter_names: tuple[str, ...]
    codes: NDArray[np.int8]
    is_base: NDArray[np.bool_]
    rotor_names: tuple[str, ...]
    warnings: tuple[str, ...]
    exact_angles: Identifiability | None
    _layout: StageLayout = field(repr=False)
    _results: Sequence[StageResult] = field(repr=False)

    @property
    def n_parameters(self) -> int:
        """Number of inertial parameters of the bodies, ten each."""
        return 10 * len(self.bodies)

    @property
    def n_base(self) -> int:
        """Number of base parameters of the bodies without rotors."""
        return int(np.count_nonzero(self.is_base[: self.n_parameters]))

    @property
    def n_base_with_rotors(self) -> int | None:
        """Number of base parameters of bodies and rotors; None without rotors."""
        return int(np.count_nonzero(self.is_base)) if self.rotor_names else None

    @property
    def practical(self) -> Identifiability:
        """Result for real data, with rounded angles of the URDF replaced by exact ones."""
        return self if self.exact_angles is None else self.exact_angles

    @cached_property
    def parameters(self) -> tuple[ParameterAnswer, ...]:
        """Verdicts of all parameters."""
        return tuple(
            ParameterAnswer(name, _VERDICTS[code], bool(chosen))
            for name, code, chosen in zip(
                self.parameter_names, self.codes, self.is_base, strict=True
            )
        )

    def verdict(self, name: str) -> StructuralVerdict:
        """Return the verdict on the parameter with the given name.

        Raises:
            IdentifiabilityError: No parameter has this name.
        """
        if name not in self.parameter_names:
            raise IdentifiabilityError(
                f"'{self.robot}' has no parameter '{name}'.",
                remedy="Names are <link>.<parameter>, such as"
                f" {self.parameter_names[0]}, with {', '.join(RobotModel.INERTIAL_NAMES)}.",
            )
        return _VERDICTS[self.codes[self.parameter_names.index(name)]]

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters with the dense map from all parameters, (b, p)."""
        return structural_base_parameters(
            self._layout, self._results, self.parameter_names, self.is_base
        )

    @cached_property
    def regroupings(self) -> tuple[Regrouping, ...]:
        """Base parameters as combinations of parameters."""
        return regroupings_of(self.base, self.bodies_of_parameters)

    @cached_property
    def nullspace(self) -> Array:
        r"""Changes of the parameters without effect on any torque, one per column: matrix R of
        appendix G, (p, d).
        """
        return system_nullspace(self._layout, self._results, len(self.parameter_names))

    @cached_property
    def combinations(self) -> Array:
        r"""Identifiable parameter combinations, one per row, shape (b, p): matrix N of appendix G of
        Wensing, Niemeyer and Slotine (2023).

        Its row-reduced form, with the preferred parameters as pivots, is `base.regrouping`.
        """
        return identifiable_combinations(self._layout, self._results, len(self.parameter_names))

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """Transfers of inertial parameters from each body to its parent without effect on any
        torque.
        """
        return transfers_of(
            self._layout,
            self._results,
            [body.name for body in self.bodies],
            [body.parent for body in self.bodies],
            [body.joint for body in self.bodies],
        )

    @property
    def bodies_of_parameters(self) -> tuple[str, ...]:
        """Name of the link (or rotor) of each parameter."""
        links = [body.name for body in self.bodies for _ in RobotModel.INERTIAL_NAMES]
        return tuple(links) + tuple(f"rotor of {name[:-3]}" for name in self.rotor_names)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "schema": "robot_sysid/identifiability/1",
            "robot": self.robot,
            "n_joints": len(self.bodies),
            "n_parameters": self.n_parameters,
            "n_base": self.n_base,
            "n_base_with_rotors": self.n_base_with_rotors,
            "n_base_exact_angles": None if self.exact_angles is None else self.exact_angles.n_base,
            "floating_base": self.floating_base,
            "gravity": self.gravity.tolist(),
            "static": self.static,
            "bodies": [asdict(body) for body in self.bodies],
            "parameters": [
                {"name": p.name, "verdict": p.verdict.name.lower(), "base": p.is_base}
                for p in self.parameters
            ],
            "regroupings": [
                {"base": r.base, "terms": r.terms, "meaning": r.meaning} for r in self.regroupings
            ],
            "transfers": [str(transfer) for transfer in self.transfers],
            "warnings": list(self.warnings),
        }
