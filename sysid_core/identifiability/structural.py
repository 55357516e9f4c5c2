"""Exact structural identifiability: which parameters a robot's motion can tell at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.joint_steps import joint_type
from sysid_core.identifiability.mimic import mimic_joints
from sysid_core.identifiability.regrouping import (
    Regrouping,
    Transfer,
    regroupings_of,
    structural_base_parameters,
    transfers_of,
)
from sysid_core.identifiability.rounded_angles import with_exact_angles
from sysid_core.identifiability.rpna import StageResult, recursive_parameter_nullspace
from sysid_core.identifiability.stages import Layout, Mimic, build_layout
from sysid_core.identifiability.subspace import Decision, SubspaceAlgebra
from sysid_core.robot import INERTIAL_NAMES, Array, RobotModel, Rotor

_ROUNDING = 1e-4  # of the natural scale: kept directions below this are reported
_MOTION_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


class Verdict(str, Enum):
    """What can be said of one parameter; the values are the paper's symbols' meanings."""

    ALONE = "identifiable alone"
    BASE = "identifiable in combination, chosen as base parameter"
    ABSORBED = "identifiable in combination, absorbed into base parameters"
    UNIDENTIFIABLE = "unidentifiable"

    @property
    def symbol(self) -> str:
        """The symbol of the paper's tables."""
        return {"ALONE": "★", "BASE": "●", "ABSORBED": "○", "UNIDENTIFIABLE": "✕"}[self.name]


_VERDICTS = tuple(Verdict)


@dataclass(frozen=True)
class BodyIdentifiability:
    """Dimensions of one moving body.

    Attributes:
        name: The link.
        parent: The link that carries it ("world" for the first).
        joint: The joint between them.
        joint_type: Such as "revolute".
        dim_v: Of the span of its velocities (with gravity's fictitious one), at most 6.
        dim_k: Of the span of its parameters' coefficients, at most 10.
        dim_transfer: Undetectable inertia transfers into the parent.
    """

    name: str
    parent: str
    joint: str
    joint_type: str
    dim_v: int
    dim_k: int
    dim_transfer: int


@dataclass(frozen=True)
class ParameterVerdict:
    """One parameter: its name, what can be said of it, whether it is a base parameter."""

    name: str
    verdict: Verdict
    is_base: bool


@dataclass(frozen=True, eq=False)
class Identifiability:
    """The exact answer for one robot. Parameters are in pinocchio's order, rotors' last.

    Attributes:
        robot: Name of the robot.
        gravity: In the base frame, shape (3,) [m/s^2].
        static: Whether only resting postures count.
        floating_base: Whether the robot's first joint moves freely.
        bodies: Dimensions per body.
        parameter_names: Of all parameters.
        codes: Verdict of each parameter as its place in `Verdict`, shape (p,).
        is_base: Whether each is one of the base parameters, shape (p,).
        rotor_names: The rotors' parameters, also the last of `parameter_names`.
        warnings: What should be known before the answer is used.
        exact_angles: The answer with rounded angles of the URDF replaced by the exact ones, when
            that is another one.
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
    _layout: Layout = field(repr=False)
    _results: Sequence[StageResult] = field(repr=False)

    @property
    def n_parameters(self) -> int:
        """Number of the bodies' inertial parameters, ten each."""
        return 10 * len(self.bodies)

    @property
    def n_base(self) -> int:
        """Number of base parameters of the bodies, rotors not counted."""
        return int(np.count_nonzero(self.is_base[: self.n_parameters]))

    @property
    def n_base_with_rotors(self) -> int | None:
        """Number of base parameters of bodies and rotors; None when no rotors were given."""
        return int(np.count_nonzero(self.is_base)) if self.rotor_names else None

    @cached_property
    def parameters(self) -> tuple[ParameterVerdict, ...]:
        """Verdict of every parameter."""
        return tuple(
            ParameterVerdict(name, _VERDICTS[code], bool(chosen))
            for name, code, chosen in zip(
                self.parameter_names, self.codes, self.is_base, strict=True
            )
        )

    def verdict(self, name: str) -> Verdict:
        """What can be said of the parameter of that name.

        Raises:
            IdentifiabilityError: There is no such parameter.
        """
        if name not in self.parameter_names:
            raise IdentifiabilityError(
                f"'{self.robot}' has no parameter '{name}'.",
                remedy="Names are <link>.<parameter>, such as"
                f" {self.parameter_names[0]}, with {', '.join(INERTIAL_NAMES)}.",
            )
        return _VERDICTS[self.codes[self.parameter_names.index(name)]]

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters with the map from all parameters; dense, (b, p)."""
        return structural_base_parameters(
            self._layout, self._results, self.parameter_names, self.is_base
        )

    @cached_property
    def regroupings(self) -> tuple[Regrouping, ...]:
        """Every base parameter with the parameters that it stands for."""
        return regroupings_of(self.base, self.bodies_of_parameters)

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """For every body, what can pass into its parent unnoticed."""
        return transfers_of(
            self._layout,
            self._results,
            [body.name for body in self.bodies],
            [body.parent for body in self.bodies],
            [body.joint for body in self.bodies],
        )

    @property
    def bodies_of_parameters(self) -> tuple[str, ...]:
        """The link (or rotor) that each parameter belongs to."""
        links = [body.name for body in self.bodies for _ in INERTIAL_NAMES]
        return tuple(links) + tuple(f"rotor of {name[:-3]}" for name in self.rotor_names)


def structural_identifiability(
    model: RobotModel,
    *,
    gravity: ArrayLike | None = None,
    static: bool = False,
    rotors: Sequence[Rotor] | None = None,
    mimic: Mimic = "independent",
    tolerance: float = 1e-9,
) -> Identifiability:
    r"""Which combinations of a robot's parameters perfect data could identify.

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
        tolerance: Of rank decisions, relative to natural units.

    Returns:
        The answer. Verdicts and dimensions are there at once; `base`, `regroupings` and
        `transfers` are worked out when first asked for.

    Raises:
        IdentifiabilityError: A joint isn't covered; the message says what to do.
        ModelError: Rotors that don't fit the robot.
    """
    g = np.array(model.gravity if gravity is None else gravity, dtype=float)
    if g.shape != (3,) or not np.all(np.isfinite(g)):
        raise IdentifiabilityError(
            f"Gravity is {g.tolist()}.", remedy="Give three numbers [m/s^2], zeros for none."
        )
    layout = build_layout(model, gravity=g, rotors=rotors or (), mimic=mimic)
    results = recursive_parameter_nullspace(
        layout, static=static, algebra=SubspaceAlgebra(tolerance)
    )
    alternative, warnings = None, _doubts_in_words(model, layout, results)
    if any(result.doubts for result in results):
        exact, changed = with_exact_angles(model)
        if changed:
            other = structural_identifiability(
                exact, gravity=g, static=static, rotors=rotors, mimic=mimic, tolerance=tolerance
            )
            if _dimensions(other._results) != _dimensions(results):
                alternative = other
                raw = sum(len(r.visible) - len(r.dependent) for r in results)
                snapped = sum(len(r.visible) - len(r.dependent) for r in other._results)
                warnings.append(
                    f"The URDF gives angles of {_listed(changed)} with few digits (such as 3.1416 for"
                    f" pi). As written there are {raw} base parameters, with the exact angles"
                    f" {snapped}: the difference exists only through the rounding."
                )
    warnings += _mimic_in_words(model, mimic)
    return _assemble(model, g, static, layout, results, alternative, tuple(warnings))


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
    rotor_names = tuple(name for stage in layout.stages for name in stage.rotors)
    # Rows of the nullspace: a parameter that no transfer touches is identifiable alone.
    touched, visible = np.zeros((n, 10)), np.zeros((n, 10), dtype=bool)
    independent = np.ones((n, 10), dtype=bool)
    rotor_touched: list[float] = []
    rotor_visible: list[bool] = []
    rotor_independent: list[bool] = []
    dim_v, dim_k = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for stage, result in zip(layout.stages, results, strict=True):
        own = np.sqrt(np.einsum("ij,ij->i", result.Z, result.Z))
        for k, body in enumerate(stage.bodies):
            touched[body] = np.maximum(touched[body], own[10 * k : 10 * k + 10])
            visible[body] = result.visible[10 * k : 10 * k + 10]
            dim_v[body], dim_k[body] = result.dim_v[k], result.dim_k[k]
        if len(stage.bodies) == 1 and not stage.rotors:
            independent[body, result.dependent] = False
        else:
            mask = np.ones(len(own), dtype=bool)
            mask[result.dependent] = False
            n_links = 10 * len(stage.bodies)
            independent[list(stage.bodies)] = mask[:n_links].reshape(-1, 10)
            rotor_touched += own[n_links:].tolist()
            rotor_visible += result.visible[n_links:].tolist()
            rotor_independent += mask[n_links:].tolist()
        if stage.parent >= 0:
            moved = np.sqrt(np.einsum("ij,ij->i", result.moved, result.moved))
            touched[stage.parent] = np.maximum(touched[stage.parent], moved)

    is_base = np.concatenate([independent.ravel(), np.array(rotor_independent, dtype=bool)])
    seen = np.concatenate([visible.ravel(), np.array(rotor_visible, dtype=bool)])
    alone = np.concatenate([touched.ravel(), rotor_touched]) < 1e-8
    codes = np.where(~seen, 3, np.where(alone, 0, np.where(is_base, 1, 2))).astype(np.int8)
    for array in (codes, is_base, gravity):
        array.setflags(write=False)
    parents = [int(p) - 1 for p in model.pin_model.parents][1:]
    names, dim_transfer = model.body_names, 10 - independent.sum(axis=1)
    bodies = tuple(
        BodyIdentifiability(
            names[i],
            names[parents[i]] if parents[i] >= 0 else "world",
            joint,
            joint_type(model, i + 1),
            int(dim_v[i]),
            int(dim_k[i]),
            int(dim_transfer[i]),
        )
        for i, joint in enumerate(model.joint_names)
    )
    return Identifiability(
        robot=model.name,
        gravity=gravity,
        static=static,
        floating_base=bodies[0].joint_type == "floating",
        bodies=bodies,
        parameter_names=tuple(f"{b}.{p}" for b in names for p in INERTIAL_NAMES) + rotor_names,
        codes=codes,
        is_base=is_base,
        rotor_names=rotor_names,
        warnings=warnings,
        exact_angles=alternative,
        _layout=layout,
        _results=results,
    )


def _dimensions(results: Sequence[StageResult]) -> list[tuple[int, int]]:
    return [(len(result.visible), len(result.dependent)) for result in results]


def _doubts_in_words(
    model: RobotModel, layout: Layout, results: Sequence[StageResult]
) -> list[str]:
    near, weak = [], []
    for stage, result in zip(layout.stages, results, strict=True):
        name = model.body_names[stage.bodies[0]]
        for kind, decision in result.doubts:
            if decision.is_near_the_edge:
                near.append(
                    f"A rank decision on '{name}' ({kind} span) is near the edge: kept"
                    f" {decision.kept:.1e}, dropped {decision.dropped:.1e} of the natural scale,"
                    f" along {_direction(decision)}."
                )
            elif decision.kept < _ROUNDING and name not in weak:
                weak.append(name)
    if weak:
        near.append(
            f"Some of the answer on {_listed(weak)} rests on offsets or angles of less than"
            f" {_ROUNDING:g} of the robot's size: real data will hardly show it."
        )
    return near


def _direction(decision: Decision) -> str:
    vector = decision.direction
    names = _MOTION_NAMES if len(vector) in (6, 7) else INERTIAL_NAMES
    terms = [
        f"{vector[i]:+.2f} {names[i % len(names)]}"
        for i in np.argsort(-np.abs(vector))[:3]
        if abs(vector[i]) > 0.1
    ]
    return " ".join(terms)


def _mimic_in_words(model: RobotModel, mimic: Mimic) -> list[str]:
    followers = mimic_joints(model)
    if not followers:
        return []
    what = _listed([f"{f.joint} (follows {f.leader})" for f in followers])
    if mimic == "coupled":
        return [f"Mimic joints move with their leaders, without torques of their own: {what}."]
    return [
        f"Mimic joints count as joints of their own with measured torques, which is an upper bound:"
        f" {what}. Choose mimic='coupled' for what one drive can tell."
    ]


def _listed(names: Sequence[str], at_most: int = 6) -> str:
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"
