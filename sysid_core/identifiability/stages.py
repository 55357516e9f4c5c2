r"""A robot laid out for the RPNA: one stage per coordinate set, in natural units.

A stage holds the bodies that one joint moves: nearly always one link; with a rotor, its spin as a
seventh velocity; with coupled mimic joints, several links of the same parent (remark 11). Velocities
and parameters of the members are stacked, so that the recursion is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin
import scipy.linalg

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.joint_steps import joint_steps
from sysid_core.identifiability.mimic import coupled_joints
from sysid_core.identifiability.spatial import (
    motion_crosses,
    motion_transforms,
    parameter_rates,
    parameter_transforms,
)
from sysid_core.robot import Array, RobotModel, Rotor, rotors_of, wrench_regressor

Mimic = Literal["independent", "coupled"]


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One set of constant free modes; D velocities, P parameters, k modes.

    Attributes:
        X: Velocities of the parent to those of the members at zero position, shape (D, 6).
        B: Parameters of the members to those of the parent, shape (10, P).
        modes: Free modes, shape (D, k).
        crosses: `phi x` of every mode, each (D, D).
        rates: `A(phi)` of every mode, each (P, P).
        momenta: `I(pi) phi = momenta @ pi` of every mode, each (D, P).
    """

    X: Array
    B: Array
    modes: Array
    crosses: Sequence[Array] | Array
    rates: Sequence[Array] | Array
    momenta: Sequence[Array] | Array


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """What one joint (or one group of coupled joints) moves.

    Attributes:
        parent: Index of the body that carries it, -1 for the world.
        bodies: Indices of the bodies.
        rotors: Names of the rotors' parameters; they follow the bodies' parameters.
        rotor_scales: Their SI units [kg m^2] per natural unit.
        steps: One, or several for joints with massless bodies inside.
        key: Equal for stages whose momentum and mapping conditions are the same when the parent
            moves freely; None where that can't be said.
    """

    parent: int
    bodies: tuple[int, ...]
    rotors: tuple[str, ...]
    rotor_scales: tuple[float, ...]
    steps: tuple[Step, ...]
    key: bytes | None


@dataclass(frozen=True, eq=False)
class Layout:
    """All stages of a robot, parents before children, and its natural length.

    Attributes:
        stages: In the order of the recursion.
        length: Natural unit of length [m]: the largest offset between joints.
        pi_scale: Parameter in SI units per natural unit, for one body, shape (10,).
        gravity: Direction of gravity as a spatial vector, (6, 1), or (6, 0) without.
    """

    stages: tuple[Stage, ...]
    length: float
    pi_scale: Array
    gravity: Array


def build_layout(
    model: RobotModel, *, gravity: Array, rotors: Sequence[Rotor] = (), mimic: Mimic = "independent"
) -> Layout:
    """Lay out a robot.

    Args:
        model: The robot.
        gravity: In the base frame, shape (3,); zero for none.
        rotors: Rotors of joints with one degree of freedom.
        mimic: Whether mimic joints are joints of their own or follow their leaders.

    Raises:
        IdentifiabilityError: A joint isn't covered, see `joint_steps` and `coupled_joints`.
    """
    pin_model = model.pin_model
    poses = np.array([M.homogeneous for M in pin_model.jointPlacements][1:])
    parents = [int(p) - 1 for p in pin_model.parents][1:]
    sequences = [joint_steps(model, j + 1) for j in range(model.n_bodies)]
    groups = coupled_joints(model) if mimic == "coupled" else {}
    followers = {j - 1: (m, b) for group in groups.values() for j, m, b in group}
    rotations = poses[:, :3, :3].copy()
    for j, (_, offset) in followers.items():
        twist = offset * sequences[j][0][1][0]
        poses[j] = poses[j] @ pin.exp6(pin.Motion(twist)).homogeneous

    offsets = [np.linalg.norm(poses[:, :3, 3], axis=1)]
    offsets += [[np.linalg.norm(X[:3, 3])] for seq in sequences for X, _ in seq if X is not None]
    length = float(np.max(np.concatenate(offsets), initial=0.0)) or 1.0

    # Every step of every joint in flat arrays, so that the maps are computed all at once.
    first = np.cumsum([0] + [len(sequence) for sequence in sequences])
    flat = [step for sequence in sequences for step in sequence]
    pose = np.tile(np.eye(4), (len(flat), 1, 1))
    pose[first[:-1]] = poses
    for i, (X, _) in enumerate(flat):
        if X is not None:
            pose[i] = pose[i] @ X
    pose[:, :3, 3] /= length
    counts = [len(modes) for _, modes in flat]
    at = np.cumsum([0, *counts])
    modes = np.concatenate([m for _, m in flat]).astype(float)
    modes[:, :3] /= length
    norms = np.linalg.norm(modes, axis=1)
    modes /= norms[:, None]
    X, B = motion_transforms(pose), parameter_transforms(pose)
    crosses, rates = motion_crosses(modes), parameter_rates(modes)
    momenta = wrench_regressor(modes[:, :3], np.zeros((len(modes), 3)), modes[:, 3:])

    def step(i: int) -> Step:
        k = slice(at[i], at[i + 1])
        return Step(X[i], B[i], modes[k].T, crosses[k], rates[k], momenta[k])

    placed = rotors_of(model, rotors) if rotors else {}
    stages = []
    for j in range(model.n_bodies):
        if j in followers:
            continue
        members = [(j, 1.0)] + [(k - 1, m) for k, m, _ in groups.get(j + 1, [])]
        unit = norms[at[first[j]]]  # natural units of the leader's mode per SI unit
        spins = [
            (
                placed[k + 1].parameter_name,
                rotations[k] @ placed[k + 1].axis,
                placed[k + 1].ratio * m / unit,
            )
            for k, m in members
            if k + 1 in placed
        ]
        if len(members) == 1 and not spins:
            steps = tuple(step(i) for i in range(first[j], first[j + 1]))
            key = modes[at[first[j]] : at[first[j + 1]]].tobytes() if len(steps) == 1 else None
            stages.append(Stage(parents[j], (j,), (), (), steps, key))
            continue
        if first[j + 1] - first[j] != 1:
            raise IdentifiabilityError(
                f"Joint '{model.joint_names[j]}' with several steps can't be coupled or carry a rotor.",
                remedy="Model it as single joints.",
            )
        stacked = _stack(
            [step(first[k]) for k, _ in members],
            [m * norms[at[first[k]]] / unit for k, m in members],
            [(z, n) for _, z, n in spins],
        )
        names = tuple(name for name, _, _ in spins)
        scales = tuple(length**2 / n**2 for _, _, n in spins)
        bodies = tuple(k for k, _ in members)
        stages.append(Stage(parents[j], bodies, names, scales, (stacked,), None))

    norm = float(np.linalg.norm(gravity))
    seed = np.concatenate([gravity / norm, np.zeros(3)])[:, None] if norm > 0 else np.zeros((6, 0))
    pi_scale = np.array([1.0, *[length] * 3, *[length**2] * 6])
    return Layout(tuple(stages), length, pi_scale, seed)


def _stack(
    members: Sequence[Step], speeds: Sequence[float], spins: Sequence[tuple[Array, float]]
) -> Step:
    r"""Members and rotors that one coordinate moves, as one step (appendix I).

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
    return Step(
        X=np.vstack([member.X for member in members] + rows),
        B=np.hstack([member.B for member in members] + columns),
        modes=np.vstack([s * m.modes for m, s in moved] + one),
        crosses=[block(*[s * m.crosses[0] for m, s in moved], *zero)],
        rates=[block(*[s * m.rates[0] for m, s in moved], *zero)],
        momenta=[block(*[s * m.momenta[0] for m, s in moved], *one)],
    )
