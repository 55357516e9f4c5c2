# SPDX-License-Identifier: Apache-2.0
"""Base parameters from the transfers of the RPNA, and regroupings in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.rpna.algorithm import StageResult
from sysid_core.identifiability.rpna.stages import StageLayout
from sysid_core.robot import Array, RobotModel

_ZERO = 1e-10  # of the natural scale: below, a coefficient of a regrouping is rounding


@dataclass(frozen=True)
class Regrouping:
    """Base parameter as a combination of parameters.

    Attributes:
        base: Name of the leading parameter.
        terms: Coefficient of each parameter in the combination, that of the leading one (1) first.
        meaning: Meaning of the combination in words.
    """

    base: str
    terms: dict[str, float]
    meaning: str


@dataclass(frozen=True)
class Transfer:
    """Transfer of parameters from a body to its parent that has no effect on any torque.

    Attributes:
        body: Name of the body whose parameters decrease.
        parent: Name of the body whose parameters increase ("world": the parameters have no effect
            on any torque).
        joint: Name of the joint between the two bodies.
        freedoms: Undetectable combinations of the body's parameters, coefficients by name.
    """

    body: str
    parent: str
    joint: str
    freedoms: tuple[dict[str, float], ...]

    def __str__(self) -> str:
        what = "; ".join(combination_text(freedom) for freedom in self.freedoms) or "nothing"
        return f"{self.body} into {self.parent} across {self.joint}: {what}"


def combination_text(terms: dict[str, float]) -> str:
    """Return the linear combination as text, such as `Ixx + 0.25 m`."""
    parts: list[str] = []
    for name, value in terms.items():
        size = "" if f"{abs(value):.6g}" == "1" else f"{abs(value):.6g} "
        sign = "- " if value < 0 else ("+ " if parts else "")
        parts.append(f"{sign}{size}{name}")
    return " ".join(parts)


def structural_base_parameters(
    layout: StageLayout,
    results: Sequence[StageResult],
    names: tuple[str, ...],
    is_base: NDArray[np.bool_],
) -> BaseParameters:
    r"""Return the base parameters (`pi_b = R @ pi`) that follow from the undetectable transfers.

    A transfer removes the dependent parameter d of body i. One unit of d has the same effect as
    `-c` units of the other parameters of body i together with `B (e_d + c)` units of the parameters
    of the parent. These are base parameters, or are replaced in the same way.

    Args:
        layout: Stages of the robot.
        results: Results of the recursion, one per stage.
        names: Names of all p parameters, rotors last.
        is_base: Mask of the base parameters, shape (p,).
    """
    columns = np.full(len(names), -1)
    columns[is_base] = np.arange(np.count_nonzero(is_base))
    R = np.zeros((int(columns.max(initial=-1)) + 1, len(names)))  # in natural units
    R[columns[is_base], np.flatnonzero(is_base)] = 1.0
    unit = layout.parameter_scales(len(names))
    for stage, where, result in zip(layout.stages, layout.parameter_places(), results, strict=True):
        if len(result.dependent) == 0:
            continue
        dependent = where[result.dependent]
        kept = np.setdiff1d(np.arange(len(where)), result.dependent)
        R[columns[where[kept]][:, None], dependent] = -result.E[kept]
        if stage.parent >= 0:
            parent = slice(10 * stage.parent, 10 * stage.parent + 10)
            # moved = B Z belongs to the orthonormal basis Z = E Z[dependent].
            moved = result.moved @ np.linalg.inv(result.Z[result.dependent])
            R[:, dependent] += R[:, parent] @ moved
    R[np.abs(R) < _ZERO] = 0.0
    R *= unit[is_base][:, None]
    R /= unit
    R[np.arange(len(R)), np.flatnonzero(is_base)] = 1.0
    return BaseParameters(names, tuple(int(i) for i in np.flatnonzero(is_base)), R, exact=True)


def regroupings_of(base: BaseParameters, bodies: Sequence[str]) -> tuple[Regrouping, ...]:
    """Return every base parameter with its terms and their meaning."""
    regroupings = []
    for i, own in enumerate(base.independent):
        row = base.regrouping[i]
        others = [int(j) for j in np.flatnonzero(row) if j != own]
        terms = {base.names[own]: 1.0} | {base.names[j]: float(row[j]) for j in others}
        inner = [base.names[j].rpartition(".")[2] for j in others if bodies[j] == bodies[own]]
        outer = list(dict.fromkeys(bodies[j] for j in others if bodies[j] != bodies[own]))
        parts = []
        if inner:
            parts.append(f"acts only together with {', '.join(inner)} of {bodies[own]} itself")
        if outer:
            parts.append(f"inertia transfer of {', '.join(outer)} into {bodies[own]}")
        meaning = "; ".join(parts) or "identifiable alone"
        regroupings.append(Regrouping(base.names[own], terms, meaning))
    return tuple(regroupings)


def transfers_of(
    layout: StageLayout,
    results: Sequence[StageResult],
    bodies: Sequence[str],
    parents: Sequence[str],
    joints: Sequence[str],
) -> tuple[Transfer, ...]:
    """Return the undetectable transfers of every stage in SI units, by name."""
    transfers = []
    for stage, result in zip(layout.stages, results, strict=True):
        several = len(stage.bodies) > 1
        names = [
            f"{bodies[b]}.{name}" if several else name
            for b in stage.bodies
            for name in RobotModel.INERTIAL_NAMES
        ] + list(stage.rotors)
        unit: Array = np.concatenate(
            [np.tile(layout.pi_scale, len(stage.bodies)), stage.rotor_scales]
        )
        freedoms = []
        for column, d in sorted(enumerate(result.dependent), key=lambda pair: pair[1]):
            vector = np.where(np.abs(result.E[:, column]) < _ZERO, 0.0, result.E[:, column])
            vector = vector * unit / unit[d]
            freedoms.append({names[k]: float(vector[k]) for k in np.flatnonzero(vector)})
        first = stage.bodies[0]
        transfers.append(
            Transfer(
                ", ".join(bodies[b] for b in stage.bodies),
                parents[first],
                ", ".join(joints[b] for b in stage.bodies),
                tuple(freedoms),
            )
        )
    return tuple(transfers)
