# SPDX-License-Identifier: Apache-2.0
"""Exact structural identifiability: the parameter combinations that the motion of a robot can
determine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import IdentifiabilityError, listed
from sysid_core.identifiability.rpna.algorithm import (
    TOLERANCE,
    Decision,
    StageResult,
    SubspaceAlgebra,
    recursive_parameter_nullspace,
)
from sysid_core.identifiability.rpna.answer import BodyIdentifiability, Identifiability
from sysid_core.identifiability.rpna.stages import Mimic, StageLayout, build_layout, joint_types
from sysid_core.robot import Array, RobotModel, Rotor

_ROUNDING = 1e-4  # of the natural scale: kept directions below this are reported
_MOTION_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


def doubts_in_words(
    model: RobotModel, layout: StageLayout, results: Sequence[StageResult]
) -> list[str]:
    """Return the sentences on rank decisions that are uncertain or depend on rounding."""
    near, weak = [], []
    for stage, result in zip(layout.stages, results, strict=True):
        name = model.body_names[stage.bodies[0]]
        for kind, decision in result.doubts:
            if decision.is_near_the_edge:
                near.append(
                    f"A rank decision on '{name}' ({kind} span) is near the threshold: the smallest"
                    f" singular value counted as nonzero is {decision.kept:.1e}, the largest counted as zero"
                    f" {decision.dropped:.1e} of the natural scale, along {_direction(kind, decision, len(stage.bodies))}."
                )
            elif decision.kept < _ROUNDING and name not in weak:
                weak.append(name)
    if weak:
        near.append(
            f"Part of the result for {listed(weak, 6)} depends on offsets or angles of less than"
            f" {_ROUNDING:g} of the robot's size, which real data will hardly excite."
        )
    return near


def _direction(kind: str, decision: Decision, n_links: int) -> str:
    vector = decision.direction
    names: tuple[str, ...]
    if kind == "velocity" or len(vector) == len(_MOTION_NAMES):
        names, extra = _MOTION_NAMES, "spin"
    else:
        names, extra = RobotModel.INERTIAL_NAMES, "Im"
    labels = [*names * n_links, *[extra] * len(vector)]  # rotors come last
    terms = [
        f"{vector[i]:+.2f} {labels[i]}"
        for i in np.argsort(-np.abs(vector))[:3]
        if abs(vector[i]) > 0.1
    ]
    return " ".join(terms)


def mimic_in_words(model: RobotModel, mimic: Mimic) -> list[str]:
    """Return a sentence on the treatment of mimic joints; empty without mimic joints."""
    followers = model.mimic_joints
    if not followers:
        return []
    what = listed((f"{f.joint} (follows {f.leader})" for f in followers), 6)
    if mimic is Mimic.COUPLED:
        return [f"Mimic joints move with their leaders, without separate torques: {what}."]
    return [
        "Mimic joints count as independent joints with measured torques, which gives an upper"
        f" bound: {what}. Choose mimic='coupled' for the parameters identifiable from one drive."
    ]


def structural_identifiability(
    model: RobotModel,
    *,
    gravity: ArrayLike | None = None,
    static: bool = False,
    rotors: Sequence[Rotor] | None = None,
    mimic: Mimic | str = Mimic.INDEPENDENT,
    tolerance: float = TOLERANCE,
) -> Identifiability:
    r"""Return the structural identifiability of a robot: combinations of its parameters that ideal
    data would determine.

    Uses the recursive parameter nullspace algorithm (Wensing, Niemeyer, Slotine 2023), which is
    exact, needs only the kinematics, and takes time proportional to the number of bodies. Zero
    masses in the description have no effect, because the ten parameters of every body count as
    unknown.

    Args:
        model: Robot with any tree of revolute, continuous, prismatic, planar, spherical, floating,
            universal, helical and composite joints; a floating base is its first joint.
        gravity: Gravity in the base frame, shape (3,) [m/s^2], of which only the direction counts
            (zero: none); None: that of the model.
        static: True if only postures at rest are measured (gravity compensation).
        rotors: Geared rotors with one additional parameter each; None: no rotors.
        mimic: Treatment of mimic joints: "independent", as in the model's regressor; or "coupled"
            to their leaders, with the regressor `G^T Y` and the matrix G from the velocities of the leaders to those of all joints.
        tolerance: Tolerance of rank decisions, relative to natural units.

    Returns:
        Structural identifiability; `base`, `regroupings` and `transfers` are computed on first
        access.

    Raises:
        IdentifiabilityError: A joint is not covered; the message contains a remedy.
        ModelError: The rotors do not belong to the joints of the robot.

    Examples:
        >>> from sysid_core.robot import RobotModel
        >>> answer = structural_identifiability(RobotModel.from_urdf("puma560"))
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
        exact, changed = model.with_exact_angles()
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
            f"The gravity vector {g.tolist()} is invalid.",
            remedy="Give three numbers [m/s^2], zeros for none.",
        )
    return g


def _rounding_warning(
    layout: StageLayout,
    results: Sequence[StageResult],
    exact: Sequence[StageResult],
    changed: Sequence[str],
) -> str:
    raw, snapped = (sum(len(r.visible) - len(r.dependent) for r in one) for one in (results, exact))
    counted = " (rotors included)" if layout.rotors else ""
    return (
        f"The URDF gives angles of {listed(changed, 6)} with few digits (such as 3.1416 for"
        f" pi). As written there are {raw} base parameters{counted}, with the exact"
        f" angles {snapped}: the difference exists only through the rounding."
    )


def _assemble(
    model: RobotModel,
    gravity: Array,
    static: bool,
    layout: StageLayout,
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
        parameter_names=tuple(f"{b}.{p}" for b in names for p in RobotModel.INERTIAL_NAMES)
        + layout.rotors,
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
    """Dimensions of every body's spaces and of its transfers to its parent."""
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
