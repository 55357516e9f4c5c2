# SPDX-License-Identifier: Apache-2.0
"""Workspace box in which the loops of a closed chain close, and the test of closure from which the
box is derived.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import ExcitationError
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain, MotionBox

BOX_POSTURES = 200  # random ones, all of which must assemble
MAX_CONDITION = 1e3  # of J_u: beyond it a dead centre is near
_RESTARTS = 5  # random starts per posture in search of a second solution


@dataclass(frozen=True, eq=False)
class AssemblyMap:
    """Test at random actuated postures of whether the loops close uniquely, which is assumption 1
    of Zhang et al. (2024).

    Attributes:
        q: Postures of all joints, shape (K, n); not closed where `assembled` is False.
        assembled: Mask of the postures with closed loops, shape (K,).
        within_limits: Mask of the assembled postures that also respect the limits of the passive
            joints, shape (K,).
        condition: Condition number of J_u, the passive columns of the loop Jacobian, shape (K,).
        alternatives: Mask of the postures with a second solution within the limits, shape (K,).
        residual: Largest closure error of the assembled postures [m].
        most: Largest permitted condition number of J_u.
    """

    most: ClassVar[float] = MAX_CONDITION
    q: Array
    assembled: NDArray[np.bool_]
    within_limits: NDArray[np.bool_]
    condition: Array
    alternatives: NDArray[np.bool_]
    residual: float

    @property
    def unique(self) -> bool:
        """True if the loops close in only one way, within the limits, at every tested posture."""
        return not np.any(self.alternatives)

    @staticmethod
    def usable(chain: ClosedChain, q_a: Array) -> NDArray[np.bool_]:
        """Return the mask of the actuated postures (K, n_a) at which the loops close within the
        limits of all joints and away from singularities, shape (K,).
        """
        found = chain.try_assemble(q_a)
        condition = chain.passive_condition(found.q)
        return found.assembled & _within(chain, found.q) & (condition < MAX_CONDITION)

    @classmethod
    def of(
        cls,
        chain: ClosedChain,
        rng: np.random.Generator,
        n_samples: int = 300,
        *,
        box: MotionBox | None = None,
    ) -> AssemblyMap:
        """Test the closure of the loops at random actuated postures, within a box or the joint
        limits.

        Args:
            chain: Mechanism with loops.
            rng: Random generator of the postures.
            n_samples: Number of postures.
            box: Range of the actuated postures; None: the limits of the actuated joints.
        """
        lower, upper = _finite_limits(chain)
        if box is None:
            columns = chain.actuated_columns
            q_a = rng.uniform(lower[columns], upper[columns], (n_samples, chain.n_actuated))
        else:
            q_a = box.positions(rng.uniform(-1.0, 1.0, (n_samples, chain.n_actuated)))
        found = chain.try_assemble(q_a)
        within = found.assembled & _within(chain, found.q)
        alternatives = np.zeros(n_samples, dtype=bool)
        for _ in range(_RESTARTS if chain.passive else 0):
            start = rng.uniform(lower, upper, (n_samples, chain.n))
            other = chain.try_assemble(q_a, start)
            distance = np.abs(np.angle(np.exp(1j * (other.q - found.q)))).max(axis=1)
            alternatives |= within & other.assembled & _within(chain, other.q) & (distance > 1e-6)
        return cls(
            q=found.q,
            assembled=found.assembled,
            within_limits=within,
            condition=chain.passive_condition(found.q),
            alternatives=alternatives,
            residual=float(found.residual[found.assembled].max(initial=0.0)),
        )

    @staticmethod
    def motion_box(chain: ClosedChain, rng: np.random.Generator) -> MotionBox:
        """Return the range of the actuated joints, given or found by a search; for motors that share a
        loop, the coordinates are the sum and the difference of their positions.

        Raises:
            ExcitationError: The home posture is outside the limits, or there is no range in which the
                loops close everywhere.
            ModelError: The home posture does not assemble, or the actuated joints do not determine the
                passive ones there or in the centre of the range.
        """
        chain.require_determined(chain.assemble(chain.actuated_home))
        box = _widest_box(chain, rng) if chain.box is None else chain.box
        chain.require_determined(chain.assemble(box.center))
        return box


def _widest_box(chain: ClosedChain, rng: np.random.Generator) -> MotionBox:
    """Range found by a search: each coordinate is first widened alone. Then all are reduced
    together until the loops close within the limits and away from singularities, at random postures
    of the box and at its corners.
    """
    center = chain.actuated_home
    if not AssemblyMap.usable(chain, center[None])[0]:
        raise ExcitationError(
            f"The home posture of '{chain.name}' doesn't assemble within the joint limits.",
            remedy="Give `home` in the file of kinematic loops a posture in which the loops close.",
        )
    names, directions = _coordinates(chain)
    steps = np.linspace(0.0, 1.2, 49)[1:]
    half = np.empty(chain.n_actuated)
    for i in range(chain.n_actuated):
        line = center + np.concatenate([-steps, steps])[:, None] * directions[:, i]
        good = AssemblyMap.usable(chain, line)
        reach = [np.argmin(np.append(side, False)) for side in np.split(good, 2)]
        low, high = (steps[r - 1] if r else 0.0 for r in reach)
        half[i] = 0.5 * (low + high)
        center = center + 0.5 * (high - low) * directions[:, i]
    stuck = [name for name, reach in zip(names, half, strict=True) if reach <= 0.0]
    if stuck:
        raise ExcitationError(
            f"At the home posture of '{chain.name}' the loops or joint limits prevent {stuck} from"
            " moving.",
            remedy="Name fewer joints as actuated than the mechanism has degrees of freedom, or"
            " give `home` a posture off its limits.",
            coordinates=stuck,
        )
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * chain.n_actuated)).reshape(chain.n_actuated, -1)
    s = np.vstack([corners.T, rng.uniform(-1.0, 1.0, (BOX_POSTURES, chain.n_actuated))])
    # Shrink the coordinates of coupled motors before the independent ones.
    coupled = np.count_nonzero(directions, axis=0) > 1
    for _ in range(40):
        box = MotionBox(names, center, directions, half)
        if np.all(AssemblyMap.usable(chain, box.positions(s))):
            return dataclasses.replace(box, half=0.9 * half)
        half = half * np.where(coupled, 0.88, 0.94)
    raise ExcitationError(
        f"No box of postures around the home of '{chain.name}' closes everywhere.",
        remedy="Give `excitation` coordinates in the file of kinematic loops.",
    )


def _coordinates(chain: ClosedChain) -> tuple[tuple[str, ...], Array]:
    directions = np.eye(chain.n_actuated)
    names = list(chain.actuated)
    for group in chain.coupled_drives:
        if len(group) != 2:
            continue
        i, j = (chain.actuated.index(name) for name in group)
        directions[[i, j], i], directions[[i, j], j] = (1.0, -1.0), (1.0, 1.0)
        names[i], names[j] = f"{group[0]}-{group[1]}", f"{group[0]}+{group[1]}"
    return tuple(names), directions


def _within(chain: ClosedChain, q: Array) -> NDArray[np.bool_]:
    lower, upper = chain.model.position_limits
    return np.all((q >= lower - 1e-9) & (q <= upper + 1e-9), axis=1)


def _finite_limits(chain: ClosedChain) -> tuple[Array, Array]:
    lower, upper = chain.model.position_limits
    return np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
