# SPDX-License-Identifier: Apache-2.0
"""Robot in the form of the RPNA: one stage per joint or group of coupled joints, in natural units.

A stage contains the bodies that one joint moves. This is nearly always one link; a rotor adds its
spin as a seventh velocity, and coupled mimic joints move several links of the same parent (remark
11). Velocities and parameters of the members are stacked, so that the recursion is the same for
all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import NDArray

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.rpna.coupled_chain import (
    CoupledChain,
    CoupledGroup,
    coupled_groups,
    motion_crosses,
    motion_transforms,
    parameter_rates,
    parameter_transforms,
)
from sysid_core.robot import Array, RobotModel, Rotor, wrench_regressor
from sysid_core.settings import Kind

_UNIT_MODES = {
    **{f"JointModelP{axis}": k for k, axis in enumerate("XYZ")},
    **{f"JointModelR{axis}": 3 + k for k, axis in enumerate("XYZ")},
    **{f"JointModelRUB{axis}": 3 + k for k, axis in enumerate("XYZ")},
}
_KINDS = {
    "JointModelFreeFlyer": "floating",
    "JointModelPlanar": "planar",
    "JointModelSpherical": "spherical",
    "JointModelSphericalZYX": "spherical",
    "JointModelTranslation": "translation",
    "JointModelUniversal": "universal",
    "JointModelComposite": "composite",
    "JointModelHelicalUnaligned": "helical",
    **{f"JointModelH{axis}": "helical" for axis in "XYZ"},
    **{f"JointModelR{axis}": "revolute" for axis in "XYZ"},
    **{f"JointModelRUB{axis}": "continuous" for axis in "XYZ"},
    **{f"JointModelP{axis}": "prismatic" for axis in "XYZ"},
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelRevoluteUnboundedUnaligned": "continuous",
    "JointModelPrismaticUnaligned": "prismatic",
}


def joint_types(model: RobotModel) -> list[str]:
    """Return the common names of the joint types, such as "revolute"."""
    names = [joint.shortname() for joint in model.pin_model.joints][1:]
    return [_KINDS.get(name, name.removeprefix("JointModel").lower()) for name in names]


@functools.cache
def _unit_mode(k: int) -> Array:
    mode = np.zeros((1, 6))
    mode[0, k] = 1.0
    mode.setflags(write=False)
    return mode


def joint_steps(model: RobotModel) -> list[list[tuple[Array | None, Array]]]:
    r"""Return every joint as a sequence of steps with constant free modes.

    Nearly every joint is a single step. A universal or composite joint consists of several steps,
    with massless bodies between them. Spherical joints in Euler angles reach every rotation, so
    that their spans are those of a ball joint.

    Args:
        model: Robot model.

    Returns:
        Steps of each joint: pose of the step's frame in the preceding frame (None: the same), and
        free modes [v; omega], shape (n_modes, 6).

    Raises:
        IdentifiabilityError: The free modes of a joint depend on its position in another way.
    """
    joints, names = model.pin_model.joints, model.pin_model.names
    return [_steps(joint, name) for joint, name in list(zip(joints, names, strict=True))[1:]]


def _steps(joint: pin.JointModel, name: str) -> list[tuple[Array | None, Array]]:
    kind = joint.shortname()
    k = _UNIT_MODES.get(kind)
    if k is not None:
        return [(None, _unit_mode(k))]
    if kind == "JointModelSphericalZYX":
        return [(None, np.eye(6)[3:])]
    # Generic joints come wrapped; the members of a composite joint too.
    inner = joint.extract() if hasattr(joint, "extract") else joint
    if kind == "JointModelUniversal":
        return [
            (None, np.concatenate([np.zeros(3), axis])[None]) for axis in (inner.axis1, inner.axis2)
        ]
    if kind == "JointModelComposite":
        steps: list[tuple[Array | None, Array]] = []
        for member, placement in zip(inner.joints, inner.jointPlacements, strict=True):
            (first, modes), *rest = _steps(member, name)
            pose = np.asarray(placement.homogeneous)
            steps += [(pose if first is None else pose @ first, modes), *rest]
        return steps
    if kind not in _KINDS:
        raise IdentifiabilityError(
            f"Joint '{name}' is a {kind}, whose motion subspace changes with its position.",
            remedy="Model it with revolute, prismatic, planar, spherical or floating joints"
            " (a mimic joint: build the robot without it and choose mimic='coupled').",
            joint=name,
        )
    data = joint.createData()
    joint.calc(data, joint.lieGroup().neutral)
    return [(None, np.asarray(data.S, dtype=float).reshape(6, -1).T)]


class Mimic(Kind):
    """Treatment of mimic joints: independent, or coupled to their leaders."""

    INDEPENDENT = "independent"
    COUPLED = "coupled"


@dataclass(frozen=True, eq=False, slots=True)
class JointStep:
    """Set of constant free modes of a joint: k modes, D velocities, P parameters.

    `momenta` is M of Wensing, Niemeyer and Slotine (2023), eqs. (36), (52).

    Attributes:
        X: Map from the parent's velocities to those of the members at zero position, shape (D, 6).
        B: Map from the members' parameters to those of the parent, shape (10, P).
        modes: Free modes phi, shape (D, k).
        crosses: Cross-product matrices `phi x` of the modes, each (D, D).
        rates: Matrices `A(phi)` of the rates of the parameters along each mode, each (P, P).
        momenta: Matrices M with `I(pi) phi = M @ pi` for each mode phi, each (D, P).
    """

    X: Array
    B: Array
    modes: Array
    crosses: Sequence[Array] | Array
    rates: Sequence[Array] | Array
    momenta: Sequence[Array] | Array


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """Bodies moved by one joint (or one group of coupled joints).

    Attributes:
        parent: Index of the body that carries the stage; -1: the world.
        bodies: Indices of the bodies in the stage.
        rotors: Names of the rotors' parameters, which follow those of the bodies.
        rotor_scales: SI unit of each rotor parameter [kg m^2] per natural unit.
        steps: Steps of the joint; several if there are massless bodies between them; none for a
            chain.
        chain: Coupled links that carry each other; None: no chain.
        key: Key that is equal for stages with the same momentum and mapping conditions if the
            parent moves freely; None: unknown.
    """

    parent: int
    bodies: tuple[int, ...]
    rotors: tuple[str, ...]
    rotor_scales: tuple[float, ...]
    steps: tuple[JointStep, ...]
    key: bytes | None
    chain: CoupledChain | None = None

    @property
    def B(self) -> Array:
        """Map of the parameters of the stage to those of the parent at zero position, shape
        (10, P).
        """
        if self.chain is not None:
            return np.hstack(list(self.chain.at(0.0)[2]))
        out = self.steps[0].B
        for step in self.steps[1:]:
            out = out @ step.B
        return out


@dataclass(frozen=True, eq=False)
class StageLayout:
    """Joint steps of a robot, parents before children, and the length that scales them.

    Attributes:
        stages: Stages in the order of the recursion.
        length: Natural unit of length [m]: the largest offset between two joints.
        pi_scale: SI units per natural unit of the ten parameters of a body, shape (10,).
        gravity: Direction of gravity as a spatial vector, shape (6, 1); (6, 0) without gravity.
        rotors: Names of all rotors' parameters in the order they were given.
    """

    stages: tuple[Stage, ...]
    length: float
    pi_scale: Array
    gravity: Array
    rotors: tuple[str, ...]

    def parameter_places(self) -> list[NDArray[np.intp]]:
        """Return the indices of the parameters of each stage among all parameters: bodies in order,
        rotors last.
        """
        n_links = 10 * sum(len(stage.bodies) for stage in self.stages)
        rotor_at = {name: n_links + i for i, name in enumerate(self.rotors)}
        places = []
        for stage in self.stages:
            links = [np.arange(10 * body, 10 * body + 10) for body in stage.bodies]
            own = np.array([rotor_at[name] for name in stage.rotors], dtype=np.intp)
            places.append(np.concatenate([*links, own]))
        return places

    def parameter_scales(self, n: int) -> Array:
        """Return the conversion factor from natural to SI units for all n parameters, shape
        (n,).
        """
        scales = np.ones(n)
        for stage, where in zip(self.stages, self.parameter_places(), strict=True):
            scales[where] = np.concatenate(
                [np.tile(self.pi_scale, len(stage.bodies)), stage.rotor_scales]
            )
        return scales


def build_layout(
    model: RobotModel,
    *,
    gravity: Array,
    rotors: Sequence[Rotor] = (),
    mimic: Mimic = Mimic.INDEPENDENT,
) -> StageLayout:
    """Return the stages of a robot.

    Args:
        model: Robot model.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; zero: no gravity.
        rotors: Rotors of joints with one degree of freedom.
        mimic: Treatment of mimic joints: independent, or coupled to their leaders.

    Raises:
        IdentifiabilityError: A joint is not covered (see `joint_steps` and `coupled_groups`).
    """
    groups = coupled_groups(model) if mimic is Mimic.COUPLED else ()
    placed = Rotor.by_joint(model, rotors) if rotors else {}
    joints = _Joints(model, groups)
    group_of = {j - 1: group for group in groups for j, _, _ in group.joints}
    stages = []
    for j in range(model.n_bodies):
        group = group_of.get(j)
        if group is not None and group.joints[0][0] - 1 != j:
            continue  # was laid out with the first of its group
        members = [(k - 1, m) for k, m, _ in group.joints] if group else [(j, 1.0)]
        rotor_joints = [(k, m, placed[k + 1]) for k, m in members if k + 1 in placed]
        if group is not None and group.is_chain:
            stages.append(joints.chain_stage(members, rotor_joints))
        elif group is None and not rotor_joints:
            stages.append(joints.single_stage(j))
        else:
            stages.append(joints.stacked_stage(members, rotor_joints))

    norm = float(np.linalg.norm(gravity))
    seed = np.concatenate([gravity / norm, np.zeros(3)])[:, None] if norm > 0 else np.zeros((6, 0))
    pi_scale = np.array([1.0, *[joints.length] * 3, *[joints.length**2] * 6])
    names = tuple(rotor.parameter_name for rotor in rotors)
    return StageLayout(tuple(stages), joints.length, pi_scale, seed, names)


class _Joints:
    """Steps of all joints as flat arrays in natural units, so that all maps are computed at
    once.
    """

    def __init__(self, model: RobotModel, groups: Sequence[CoupledGroup]) -> None:
        pin_model = model.pin_model
        self.names = model.joint_names
        self.parents = [int(p) - 1 for p in pin_model.parents][1:]
        poses = np.array([M.homogeneous for M in pin_model.jointPlacements][1:])
        self.rotations = poses[:, :3, :3].copy()
        sequences = joint_steps(model)
        for group in groups:
            for j, _, offset in group.joints:
                if offset:
                    shift = pin.exp6(pin.Motion(offset * sequences[j - 1][0][1][0]))
                    poses[j - 1] = poses[j - 1] @ shift.homogeneous

        self.first = np.cumsum([0] + [len(sequence) for sequence in sequences])
        flat = [step for sequence in sequences for step in sequence]
        pose = np.tile(np.eye(4), (len(flat), 1, 1))
        pose[self.first[:-1]] = poses
        for i, (X, _) in enumerate(flat):
            if X is not None:
                pose[i] = pose[i] @ X
        # Where the robot stands in the world says nothing of its size.
        offsets = np.linalg.norm(pose[:, :3, 3], axis=1)
        offsets[[self.first[j] for j, parent in enumerate(self.parents) if parent < 0]] = 0.0
        self.length = float(offsets.max()) or 1.0
        pose[:, :3, 3] /= self.length
        self.pose = pose
        self.at = np.cumsum([0] + [len(modes) for _, modes in flat])
        modes = np.concatenate([modes for _, modes in flat]).astype(float)
        modes[:, :3] /= self.length
        self.norms = np.linalg.norm(modes, axis=1)
        self.modes = modes / self.norms[:, None]
        self.X, self.B = motion_transforms(pose), parameter_transforms(pose)
        self.crosses, self.rates = motion_crosses(self.modes), parameter_rates(self.modes)
        zero = np.zeros((len(modes), 3))
        self.momenta = wrench_regressor(self.modes[:, :3], zero, self.modes[:, 3:])

    def step(self, i: int) -> JointStep:
        k = slice(self.at[i], self.at[i + 1])
        return JointStep(
            self.X[i], self.B[i], self.modes[k].T, self.crosses[k], self.rates[k], self.momenta[k]
        )

    def single_stage(self, j: int) -> Stage:
        steps = tuple(self.step(i) for i in range(self.first[j], self.first[j + 1]))
        key = None
        if len(steps) == 1:
            key = self.modes[self.at[self.first[j]] : self.at[self.first[j] + 1]].tobytes()
        return Stage(self.parents[j], (j,), (), (), steps, key)

    def stacked_stage(
        self, members: Sequence[tuple[int, float]], rotors: Sequence[tuple[int, float, Rotor]]
    ) -> Stage:
        for j, _ in members:
            if self.first[j + 1] - self.first[j] != 1:
                raise IdentifiabilityError(
                    f"Joint '{self.names[j]}' consists of several steps and can't be coupled or"
                    " carry a rotor.",
                    remedy="Model the joint as several single joints.",
                )
        speeds = [m * self.norms[self.at[self.first[j]]] for j, m in members]
        unit = abs(speeds[0])  # of the coordinate, in natural units per SI unit
        spins = [(self.rotations[j] @ r.axis, r.ratio * m / unit) for j, m, r in rotors]
        steps = [self.step(self.first[j]) for j, _ in members]
        return Stage(
            parent=self.parents[members[0][0]],
            bodies=tuple(j for j, _ in members),
            rotors=tuple(r.parameter_name for _, _, r in rotors),
            rotor_scales=tuple(self.length**2 / n**2 for _, n in spins),
            steps=(_stack(steps, [s / unit for s in speeds], spins),),
            key=None,
        )

    def chain_stage(
        self, members: Sequence[tuple[int, float]], rotors: Sequence[tuple[int, float, Rotor]]
    ) -> Stage:
        if rotors:
            raise IdentifiabilityError(
                f"Joint '{self.names[rotors[0][0]]}' has a rotor and is coupled with joints that"
                " carry each other.",
                remedy="Omit the rotor, or choose mimic='independent'.",
            )
        order = [j for j, _ in members]
        at = [self.at[self.first[j]] for j in order]
        unit = max(abs(m) * self.norms[k] for (_, m), k in zip(members, at, strict=True))
        carriers = [order.index(self.parents[j]) if self.parents[j] in order else -1 for j in order]
        chain = CoupledChain(
            carriers=carriers,
            poses=[self.pose[self.first[j]] for j in order],
            modes=[
                m * self.norms[k] / unit * self.modes[k]
                for (_, m), k in zip(members, at, strict=True)
            ],
        )
        parent = self.parents[order[carriers.index(-1)]]
        return Stage(parent, tuple(order), (), (), (), None, chain)


def _stack(
    members: Sequence[JointStep], speeds: Sequence[float], spins: Sequence[tuple[Array, float]]
) -> JointStep:
    r"""Members and rotors that one coordinate moves, as one step (appendix I).

    Wensing, Niemeyer and Slotine (2023), eqs. (53) to (55): (53), (54), (55) for link and rotor
    as one body of 7 velocities.

    A symmetric rotor has one parameter. Its velocity is the spin about its own axis z,
    `w = (z.omega_p + n q') / n`, and its parameter `n^2 Im`, so that all numbers are of order one;
    seen from the parent it is an inertia `z z^T / n^2`.
    """
    rows, columns = [], []
    for z, n in spins:
        row = np.zeros((1, 6))
        row[0, 3:] = z / n
        rows.append(row)
        zz = np.outer(z, z) / n**2
        columns.append(
            np.concatenate([np.zeros(4), zz[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])[:, None]
        )
    moved = list(zip(members, speeds, strict=True))
    one, zero = [np.ones((1, 1))] * len(rows), [np.zeros((1, 1))] * len(rows)
    block = scipy.linalg.block_diag
    return JointStep(
        X=np.vstack([member.X for member in members] + rows),
        B=np.hstack([member.B for member in members] + columns),
        modes=np.vstack([s * m.modes for m, s in moved] + one),
        crosses=[block(*[s * m.crosses[0] for m, s in moved], *zero)],
        rates=[block(*[s * m.rates[0] for m, s in moved], *zero)],
        momenta=[block(*[s * m.momenta[0] for m, s in moved], *one)],
    )
