# SPDX-License-Identifier: Apache-2.0
"""Moves of one or two joints about a posture of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import Array

FAST, SLOW = 0.9, 0.4  # shares of the limits: two speeds tell inertia and friction apart
RATE_HZ = 100.0  # of planned samples
HOLDING_SHARE = 0.8  # of the effort limits; the rest is for accelerating
TRIES = 200  # random postures per wanted one
PER_PAIR = 4  # postures of one joint in which another swings with it
REVOLUTE_RANGE = np.pi  # [rad] joints that turn further are kept within one turn
METRES_PER_RADIAN = 0.25  # of the swings of prismatic joints


@dataclass(frozen=True, eq=False)
class Move:
    """Move of one or two joints; it starts and ends at rest in its posture.

    Attributes:
        joints: Indices of the joints that move.
        posture: Positions of all joints, shape (n,) [rad or m].
        amplitude: Amplitude of each moving joint [rad or m].
        label: Label of the move, such as `joint2 alone`.
        time: Times of the samples, shape (K,) [s].
        q: Positions of all joints, shape (K, n) [rad or m].
        v: Velocities of all joints, shape (K, n) [rad/s or m/s].
        a: Accelerations of all joints, shape (K, n) [rad/s^2 or m/s^2].
    """

    joints: tuple[int, ...]
    posture: Array
    amplitude: tuple[float, ...]
    label: str
    time: Array
    q: Array
    v: Array
    a: Array

    @property
    def duration(self) -> float:
        """Duration of the move [s]."""
        return float(self.time[-1])


def strokes(
    checker: MotionChecker, posture: Array, joints: Sequence[int], amplitude: Sequence[float]
) -> Move:
    """Return strokes in both directions, fast and slow, so that friction is excited with both
    signs.

    A single joint moves to +A, to -A, slowly to +A, and back. Two joints move along both diagonals.

    Args:
        checker: Checker of the robot and its limits, which determine the durations.
        posture: Positions of all joints, shape (n,) [rad or m].
        joints: Indices of one or two joints that move.
        amplitude: Amplitude of each moving joint [rad or m].
    """
    names = checker.model.joint_names
    turns: list[tuple[tuple[float, ...], float]]
    if len(joints) == 1:
        turns = [((1.0,), FAST), ((-1.0,), FAST), ((1.0,), SLOW), ((0.0,), FAST)]
        label = f"{names[joints[0]]} alone"
    else:
        corners = ((1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 0.0))
        turns = [(corner, FAST) for corner in corners]
        label = f"{names[joints[0]]} with {names[joints[1]]}"
    builder = MotionBuilder(checker, posture, rate_hz=RATE_HZ)
    for signs, share in turns:
        builder.share = share
        goal = np.array(posture, dtype=float)
        goal[list(joints)] += np.array(signs) * np.array(amplitude)
        builder.move_to(goal)
    m = builder.build()
    here = np.array(posture, dtype=float)
    return Move(tuple(joints), here, tuple(amplitude), label, m.time, m.q, m.v, m.a)


def candidate_moves(
    checker: MotionChecker,
    rng: np.random.Generator,
    per_joint: int,
    amplitude: float,
    progress: Callable[[float], None] | None = None,
) -> list[Move]:
    """Return random single-joint moves that start, reverse and end in postures without contact.

    Raises:
        ExcitationError: A joint has no room to move, or no posture without contact is found for it.
    """
    limits = checker.limits
    lower = np.maximum(limits.lower, -REVOLUTE_RANGE)
    upper = np.minimum(limits.upper, REVOLUTE_RANGE)
    room = upper - lower
    moves = []
    for i, name in enumerate(limits.joint_names):
        size = min(_amplitude(checker, i, amplitude), 0.4 * float(room[i]))
        if size < 0.02:
            raise ExcitationError(
                f"Joint '{name}' has a range of {room[i]:.3g} only: too little to swing.",
                remedy="Widen its position limits, or lock it.",
                joint=name,
            )
        found = 0
        for _ in range(TRIES * per_joint):
            margin = np.zeros(len(room))
            margin[i] = size
            posture = rng.uniform(lower + margin, upper - margin)
            ends = [posture.copy(), posture.copy(), posture]
            ends[0][i] += size
            ends[1][i] -= size
            if any(not _is_free(checker, q) for q in ends):
                continue
            moves.append(strokes(checker, posture, (i,), (size,)))
            found += 1
            if found == per_joint:
                break
        if found == 0:
            raise ExcitationError(
                f"No free posture to swing joint '{name}' by {size:.3g} was found.",
                remedy="Permit more space (workspace, ground) or effort, or smaller swings.",
                joint=name,
            )
        if progress is not None:
            progress((i + 1) / len(room))
    return moves


def pair_moves(checker: MotionChecker, singles: list[Move]) -> list[Move]:
    """Moves of two joints about the postures of single-joint moves."""
    n = checker.model.nv
    out = []
    for i in range(n):
        own = [move for move in singles if move.joints == (i,)]
        for j in range(i + 1, n):
            size_j = next(m.amplitude[0] for m in singles if m.joints == (j,))
            for move in own[:PER_PAIR]:
                posture = move.posture
                room = np.minimum(checker.limits.upper - posture, posture - checker.limits.lower)[j]
                corners = []
                size = min(size_j, float(room))
                for a in (1.0, -1.0):
                    for b in (1.0, -1.0):
                        corner = posture.copy()
                        corner[i] += a * move.amplitude[0]
                        corner[j] += b * size
                        corners.append(corner)
                if size >= 0.02 and all(_is_free(checker, q) for q in corners):
                    out.append(strokes(checker, posture, (i, j), (move.amplitude[0], size)))
    return out


def _amplitude(checker: MotionChecker, i: int, amplitude: float) -> float:
    kind = checker.model.pin_model.joints[i + 1].shortname()
    return amplitude * METRES_PER_RADIAN if "JointModelP" in kind else amplitude


def _is_free(checker: MotionChecker, q: Array) -> bool:
    """True if a posture can be held, nothing is in contact, and everything stays in its workspace."""
    limits, rest = checker.limits, np.zeros((1, len(q)))
    weight = checker.loaded.inverse_dynamics(q[None], rest, rest)[0]
    if np.any(np.abs(weight) > HOLDING_SHARE * limits.effort):
        return False
    if checker.geometry is None:
        return True
    if checker.contacts(q):
        return False
    low, high = checker.geometry.extent(q)
    if limits.ground_height is not None and low[2] < limits.ground_height:
        return False
    if limits.workspace is None:
        return True
    return bool(np.all(low >= limits.workspace[0]) and np.all(high <= limits.workspace[1]))
