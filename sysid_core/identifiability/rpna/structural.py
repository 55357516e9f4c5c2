# SPDX-License-Identifier: Apache-2.0
"""Exact structural identifiability: the parameter combinations that the motion of a robot can
determine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.rpna.algorithm import StageResult, recursive_parameter_nullspace
from sysid_core.identifiability.rpna.answer import BodyIdentifiability, Identifiability
from sysid_core.identifiability.rpna.joint_steps import joint_types
from sysid_core.identifiability.rpna.rounded_angles import (
    doubts_in_words,
    listed,
    mimic_in_words,
    with_exact_angles,
)
from sysid_core.identifiability.rpna.stages import Layout, Mimic, build_layout
from sysid_core.identifiability.rpna.subspace import TOLERANCE, SubspaceAlgebra
from sysid_core.robot import INERTIAL_NAMES, Array, RobotModel, Rotor


def structural_identifiability(
    model: RobotModel,
    *,
    gravity: ArrayLike | None = None,
    static: bool = False,
    rotors: Sequence[Rotor] | None = None,
    mimic: Mimic | str = Mimic.INDEPENDENT,
    tolerance: float = TOLERANCE,
) -> Identifiability:
    r"""Structural identifiability of a robot: combinations of its parameters that ideal data would
    determine.

    The recursive parameter nullspace algorithm (Wensing, Niemeyer, Slotine 2023): exact, from the
    kinematics alone, in time proportional to the number of bodies. Zero masses in the description
    don't matter: every body's ten parameters count as unknown.

    Args:
        model: The robot: any tree of revolute, continuous, prismatic, planar, spherical, floating,
            universal, helical and composite joints; a floating base is its first joint.
        gravity: In the base frame, shape (3,) [m/s^2]; None: the model's. Only the direction
            matters, and that it isn't zero.
        static: Only torques of resting postures are measured (gravity compensation).
        rotors: Geared rotors, each with one further parameter.
        mimic: "independent": mimic joints are joints of their own, as in the model's regressor;
            "coupled": they follow their leaders, the regressor is `G^T Y` with `coupling_matrix`.
        tolerance: Tolerance of rank decisions, relative to natural units.

    Returns:
        The answer. Verdicts and dimensions are there at once; `base`, `regroupings` and
        `transfers` are worked out when first asked for.

    Raises:
        IdentifiabilityError: A joint isn't covered; the message says what to do.
        ModelError: Rotors that don't fit the robot.

    Examples:
        >>> from sysid_core.robot import reference_robot
        >>> answer = structural_identifiability(reference_robot("puma560"))
        >>> answer.n_base, len(answer.base.names)
        (36, 60)
    """
    g = _require_gravity(model.gravity if gravity is None else gravity)
    mimic = Mimic.named(mimic, "The treatment of mimic joints", IdentifiabilityError)
    layout = build_layout(model, gravity=g, rotors=rotors or (), mimic=mimic)
    results = recursive_parameter_nullspace(
        layout, static=static, algebra=SubspaceAlgebra(tolerance)
    )
    alternative, warnings = None, doubts_in_words(model, layout, results)
    if any(result.doubts for result in results):
        exact, changed = with_exact_angles(model)
        if changed:
            other = structural_identifiability(
                exact, gravity=g, static=static, rotors=rotors, mimic=mimic, tolerance=tolerance
            )
            if _dimensions(other._results) != _dimensions(results):
                alternative = other
                warnings.append(_rounding_warning(layout, results, other._results, changed))
    warnings += mimic_in_words(model, mimic)
    return _assemble(model, g, static, layout, results, alternative, tuple(warnings))


def _require_gravity(gravity: ArrayLike) -> Array:
    g = np.array(gravity, dtype=float)
    if g.shape != (3,) or not np.all(np.isfinite(g)):
        raise IdentifiabilityError(
            f"Gravity is {g.tolist()}.", remedy="Give three numbers [m/s^2], zeros for none."
        )
    return g


def _rounding_warning(
    layout: Layout,
    results: Sequence[StageResult],
    exact: Sequence[StageResult],
    changed: Sequence[str],
) -> str:
    raw, snapped = (sum(len(r.visible) - len(r.dependent) for r in one) for one in (results, exact))
    counted = " (rotors included)" if layout.rotors else ""
    return (
        f"The URDF gives angles of {listed(changed)} with few digits (such as 3.1416 for"
        f" pi). As written there are {raw} base parameters{counted}, with the exact"
        f" angles {snapped}: the difference exists only through the rounding."
    )


def _assemble(
    model: RobotModel,
    gravity: Array,
    static: bool,
    layout: Layout,
    results: Sequence[StageResult],
    alternative: Identifiability | None,
    warnings: tuple[str, ...],
) -> Identifiability:
    n = model.n_bodies
    p = 10 * n + len(layout.rotors)
    # Rows of the nullspace: a parameter that no transfer touches is identifiable alone.
    touched, visible = np.zeros(p), np.zeros(p, dtype=bool)
    is_base = np.ones(p, dtype=bool)
    dim_v, dim_k = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for stage, where, result in zip(layout.stages, layout.parameter_places(), results, strict=True):
        own = np.sqrt(np.einsum("ij,ij->i", result.Z, result.Z))
        touched[where] = np.maximum(touched[where], own)
        visible[where] = result.visible
        is_base[where[result.dependent]] = False
        bodies = list(stage.bodies)
        dim_v[bodies], dim_k[bodies] = result.dim_v, result.dim_k
        if stage.parent >= 0:
            parent = slice(10 * stage.parent, 10 * stage.parent + 10)
            moved = np.sqrt(np.einsum("ij,ij->i", result.moved, result.moved))
            touched[parent] = np.maximum(touched[parent], moved)

    alone = touched < 1e-8
    codes = np.where(~visible, 3, np.where(alone, 0, np.where(is_base, 1, 2))).astype(np.int8)
    for array in (codes, is_base, gravity):
        array.setflags(write=False)
    names = model.body_names
    dimensions = _body_dimensions(model, dim_v, dim_k, is_base)
    return Identifiability(
        robot=model.name,
        gravity=gravity,
        static=static,
        floating_base=dimensions[0].joint_type == "floating",
        bodies=dimensions,
        parameter_names=tuple(f"{b}.{p}" for b in names for p in INERTIAL_NAMES) + layout.rotors,
        codes=codes,
        is_base=is_base,
        rotor_names=layout.rotors,
        warnings=warnings,
        exact_angles=alternative,
        _layout=layout,
        _results=results,
    )


def _dimensions(results: Sequence[StageResult]) -> list[tuple[int, int]]:
    return [(len(result.visible), len(result.dependent)) for result in results]


def _body_dimensions(
    model: RobotModel, dim_v: NDArray[np.int_], dim_k: NDArray[np.int_], is_base: NDArray[np.bool_]
) -> tuple[BodyIdentifiability, ...]:
    """Dimensions of every body's spaces and of its transfers to the body before it."""
    n = model.n_bodies
    dim_transfer = 10 - is_base[: 10 * n].reshape(n, 10).sum(axis=1)
    parents = [int(p) - 1 for p in model.pin_model.parents][1:]
    names, types = model.body_names, joint_types(model)
    return tuple(
        BodyIdentifiability(
            names[i],
            names[parents[i]] if parents[i] >= 0 else "world",
            joint,
            types[i],
            int(dim_v[i]),
            int(dim_k[i]),
            int(dim_transfer[i]),
        )
        for i, joint in enumerate(model.joint_names)
    )
