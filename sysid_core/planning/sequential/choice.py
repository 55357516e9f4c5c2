# SPDX-License-Identifier: Apache-2.0
"""Selection of the most informative single-joint moves, and the condition numbers of the estimation
steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import BaseParameters, random_states, sampled_base_parameters
from sysid_core.identifiability.composite_bodies import (
    CLEAR,
    MinimalConstants,
    Step,
    StepRows,
    minimal_constants,
    solve_backward,
)
from sysid_core.identifiability.rpna import with_exact_angles
from sysid_core.planning.sequential.moves import Move
from sysid_core.planning.ties import first_best
from sysid_core.robot import Array, FrictionModel, RobotModel, joint_torque_regressor

TORQUE_NOISE = 0.01  # of each joint's typical torque; weighs joints against each other
SAMPLES = 60  # of a move that its information is computed from


class MoveChooser:
    """Chooses moves by their information about the minimal constants, in natural units.

    Args:
        model: The robot.
        friction: Terms that are estimated with the constants.
        rng: States that the natural scale is taken from.
        locked_measured: Whether torques of joints at standstill count.
    """

    def __init__(
        self,
        model: RobotModel,
        friction: FrictionModel,
        rng: np.random.Generator,
        locked_measured: bool,
    ) -> None:
        # Rounded right angles would show what the robot itself doesn't.
        self.model, self.friction = with_exact_angles(model)[0], friction
        self.locked_measured = locked_measured
        self.minimal: MinimalConstants = minimal_constants(self.model)
        model = self.model
        q, v, a = random_states(model, 12 * model.n_bodies + 30, rng)
        angles = rng.uniform(-np.pi, np.pi, (len(q), model.nv))
        Y = self._rows(q if q.shape[1] == model.nv else angles, v, a)
        names = self.minimal.names + friction.names
        self.groups: BaseParameters = sampled_base_parameters(Y.reshape(-1, len(names)), names)
        self.names = self.groups.base_names
        tau = model.inverse_dynamics(q, 0.3 * v, 0.3 * a)
        typical = np.sqrt(np.mean(tau**2, axis=0))
        typical = np.maximum(typical, 0.01 * max(float(typical.max()), 1e-6))
        self.noise = TORQUE_NOISE * typical
        size = np.sqrt(np.mean(self.groups.base_regressor(Y) ** 2, axis=0))  # (n, p)
        with np.errstate(divide="ignore"):
            self.scale = np.min(
                np.where(size > 1e-9 * size.max(), typical[:, None] / size, np.inf), axis=0
            )

    def _rows(self, q: Array, v: Array, a: Array) -> Array:
        rigid = self.minimal.regressor(joint_torque_regressor(self.model, q, v, a))
        return np.concatenate([rigid, self.friction.regressor(q, v, a)], axis=2)

    def rows(self, move: Move) -> Array:
        """Whitened regressor rows of every joint (zero if unusable), (samples, n, p)."""
        keep = np.linspace(0, len(move.time) - 1, SAMPLES).astype(int)
        Y = self.groups.base_regressor(self._rows(move.q[keep], move.v[keep], move.a[keep]))
        Y = Y * self.scale / self.noise[:, None] * np.sqrt(len(move.time) / SAMPLES)
        if not self.locked_measured:
            still = np.setdiff1d(np.arange(self.model.nv), move.joints)
            Y[:, still] = 0.0
        return Y

    def information(self, move: Move) -> Array:
        """Information matrix of some moves, shape (p, p)."""
        Y = self.rows(move).reshape(-1, len(self.names))
        return Y.T @ Y

    def hidden_directions(self, pool: list[Move]) -> Array:
        """Parameter directions that the moves together do not excite, as columns, shape (p, k)."""
        s, U = np.linalg.eigh(sum(self.information(move) for move in pool))
        return U[:, s < 1e-10 * s[-1]]

    def choose_pairs(
        self, pool: list[Move], hidden: Array, is_safe: Callable[[Move], bool]
    ) -> list[Move]:
        """Smallest set of two-joint moves that excite the remaining directions."""
        left = [(move, hidden.T @ self.information(move) @ hidden) for move in pool]
        total = np.eye(hidden.shape[1])
        chosen: list[Move] = []
        while left and np.linalg.eigvalsh(total)[0] < CLEAR**-2:
            move, extra = left.pop(_best(total, [extra for _, extra in left]))
            if np.trace(extra) > 1.0 and is_safe(move):
                chosen.append(move)
                total = total + extra
        return chosen

    def choose(
        self,
        pool: list[Move],
        already: list[Move],
        n_moves: int,
        is_safe: Callable[[Move], bool],
        report: Callable[[str, float], None],
    ) -> list[Move]:
        """Greedy choice of moves by the increase of the log-determinant; unsafe moves are omitted."""
        left = [(move, self.information(move)) for move in pool]
        total = np.eye(len(self.names)) + sum(self.information(move) for move in already)
        chosen: list[Move] = []
        while left and len(chosen) < n_moves:
            move, extra = left.pop(_best(total, [extra for _, extra in left]))
            if not is_safe(move):
                continue
            chosen.append(move)
            total = total + extra
            report("choosing moves", len(chosen) / n_moves)
        if not chosen:
            raise ExcitationError(
                f"None of {len(pool)} random moves is safe within the limits.",
                remedy="Permit more space or smaller swings, or start from a posture further from obstacles."
                "",
            )
        return chosen

    def steps(self, moves: list[Move], max_condition: float) -> tuple[Step, ...]:
        """Steps of the sequential estimation for these moves, the last joint first.

        Raises:
            ExcitationError: Constants stay open, or a step is conditioned worse than allowed.
        """
        p = len(self.names)
        Y = np.concatenate([self.rows(move) for move in moves])
        blocks = []
        for j in reversed(range(self.model.nv)):
            used = Y[np.any(Y[:, j] != 0.0, axis=1), j]
            R = np.asarray(np.linalg.qr(used, mode="r")) if len(used) else np.zeros((0, p))
            blocks.append(StepRows(self.model.joint_names[j], R, np.zeros(len(R)), np.eye(len(R))))
        solution = solve_backward(blocks, np.zeros(p), np.eye(p))
        if solution.open_directions.shape[1]:
            unseen = [
                [self.names[k] for k in np.argsort(np.abs(u))[::-1][:3]]
                for u in solution.open_directions.T
            ]
            raise ExcitationError(
                f"{len(moves)} moves leave {len(unseen)} direction(s) open:"
                f" {'; '.join(' with '.join(names) for names in unseen[:8])}.",
                remedy="Allow more moves, faster or larger ones.",
                open=unseen,
            )
        worst = max(solution.steps, key=lambda step: step.condition)
        if worst.condition > max_condition:
            raise ExcitationError(
                f"The step of joint '{worst.name}' has condition {worst.condition:.3g}, more than"
                f" {max_condition:.3g}.",
                remedy="Allow more moves or candidates, or larger swings.",
                condition=worst.condition,
            )
        return solution.steps


def _best(total: Array, extras: list[Array]) -> int:
    """Index of the information that makes the log-determinant grow most."""
    return first_best([np.linalg.slogdet(total + extra)[1] for extra in extras])
