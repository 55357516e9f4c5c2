# SPDX-License-Identifier: Apache-2.0
"""Planning of motions of one joint at a time, in postures with well-conditioned estimation
steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import BaseParameters
from sysid_core.identifiability.composite_bodies import (
    BackwardSolution,
    MinimalConstants,
    RecursionStep,
    StepRows,
)
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.sequential.moves import Move, candidate_moves, pair_moves
from sysid_core.planning.trajectory import Trajectory, first_best
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.planning.violations import MotionCheck
from sysid_core.robot import Array, FrictionModel, RobotModel

TORQUE_NOISE = 0.01  # of each joint's typical torque; weighs joints against each other
SAMPLES = 60  # of a move that its information is computed from
_STARTS = 200  # random postures among which a free one to start from is looked for
_WORST_CONDITION = 1e4  # a plan whose worst step is conditioned worse is refused


class MoveChooser:
    """Selection of moves by their information about the minimal constants (base parameters), in natural units.

    Args:
        model: Robot model.
        friction: Friction terms that are estimated with the constants.
        rng: Random generator of the states that define the natural scale.
        locked_measured: True if the torques of joints at standstill are used.
    """

    def __init__(
        self,
        model: RobotModel,
        friction: FrictionModel,
        rng: np.random.Generator,
        locked_measured: bool,
    ) -> None:
        # Rounded right angles would show what the robot itself doesn't.
        self.model, self.friction = model.with_exact_angles()[0], friction
        self.locked_measured = locked_measured
        self.minimal: MinimalConstants = MinimalConstants.of(self.model)
        model = self.model
        q, v, a = model.random_states(12 * model.n_bodies + 30, rng)
        angles = rng.uniform(-np.pi, np.pi, (len(q), model.nv))
        Y = self._rows(q if q.shape[1] == model.nv else angles, v, a)
        names = self.minimal.names + friction.names
        self.groups: BaseParameters = BaseParameters.sampled(Y.reshape(-1, len(names)), names)
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
        rigid = self.minimal.regressor(self.model.torque_regressor(q, v, a))
        return np.concatenate([rigid, self.friction.regressor(q, v, a)], axis=2)

    def rows(self, move: Move) -> Array:
        """Return the whitened regressor rows of every joint (zero if unusable), (samples, n, p)."""
        keep = np.linspace(0, len(move.time) - 1, SAMPLES).astype(int)
        Y = self.groups.base_regressor(self._rows(move.q[keep], move.v[keep], move.a[keep]))
        Y = Y * self.scale / self.noise[:, None] * np.sqrt(len(move.time) / SAMPLES)
        if not self.locked_measured:
            still = np.setdiff1d(np.arange(self.model.nv), move.joints)
            Y[:, still] = 0.0
        return Y

    def information(self, move: Move) -> Array:
        """Return the information matrix of some moves, shape (p, p)."""
        Y = self.rows(move).reshape(-1, len(self.names))
        return Y.T @ Y

    def hidden_directions(self, pool: list[Move]) -> Array:
        """Return the parameter directions that the moves together do not excite, as columns, shape
        (p, k).
        """
        s, U = np.linalg.eigh(sum(self.information(move) for move in pool))
        return U[:, s < 1e-10 * s[-1]]

    def choose_pairs(
        self, pool: list[Move], hidden: Array, is_safe: Callable[[Move], bool]
    ) -> list[Move]:
        """Return the smallest set of two-joint moves that excite the remaining directions."""
        left = [(move, hidden.T @ self.information(move) @ hidden) for move in pool]
        total = np.eye(hidden.shape[1])
        chosen: list[Move] = []
        while left and np.linalg.eigvalsh(total)[0] < RecursionStep.CLEAR**-2:
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
        """Choose moves greedily by the increase of the log-determinant; unsafe moves are
        omitted.
        """
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

    def steps(self, moves: list[Move], max_condition: float) -> tuple[RecursionStep, ...]:
        """Return the steps of the sequential estimation for these moves, the last joint first.

        Raises:
            ExcitationError: Constants remain unidentified, or a step is too badly conditioned.
        """
        p = len(self.names)
        Y = np.concatenate([self.rows(move) for move in moves])
        blocks = []
        for j in reversed(range(self.model.nv)):
            used = Y[np.any(Y[:, j] != 0.0, axis=1), j]
            R = np.asarray(np.linalg.qr(used, mode="r")) if len(used) else np.zeros((0, p))
            blocks.append(StepRows(self.model.joint_names[j], R, np.zeros(len(R)), np.eye(len(R))))
        solution = BackwardSolution.of(blocks, np.zeros(p), np.eye(p))
        if solution.open_directions.shape[1]:
            unseen = [
                [self.names[k] for k in np.argsort(np.abs(u))[::-1][:3]]
                for u in solution.open_directions.T
            ]
            raise ExcitationError(
                f"{len(moves)} moves do not excite {len(unseen)} direction(s) of the parameters:"
                f" {'; '.join(' with '.join(names) for names in unseen[:8])}.",
                remedy="Allow more moves, faster or larger ones.",
                open=unseen,
            )
        worst = max(solution.steps, key=lambda step: step.condition)
        if worst.condition > max_condition:
            raise ExcitationError(
                f"The step of joint '{worst.name}' has the condition number {worst.condition:.3g}, more than"
                f" {max_condition:.3g}.",
                remedy="Allow more moves or candidates, or larger swings.",
                condition=worst.condition,
            )
        return solution.steps


def _best(total: Array, extras: list[Array]) -> int:
    """Index of the move whose information increases the log-determinant most."""
    return first_best([np.linalg.slogdet(total + extra)[1] for extra in extras])


@dataclass(frozen=True, eq=False)
class SequentialPlan:
    """Motion of one joint at a time, with the expected condition numbers.

    Attributes:
        trajectory: Checked trajectory of the whole motion; every move is a segment.
        moves: Moves in the order in which they are played.
        steps: Steps of the recursion, last joint first, with the constants of each and its
            conditioning.
        constants: Names of the unknowns: minimal constants (base parameters) and friction.
        check: Result of the safety check.
        remarks: Remarks on necessary motions other than single-joint moves.
    """

    trajectory: Trajectory
    moves: tuple[Move, ...]
    steps: tuple[RecursionStep, ...]
    constants: tuple[str, ...]
    check: MotionCheck
    remarks: tuple[str, ...] = ()

    @property
    def n_pairs(self) -> int:
        """Number of moves in which two joints move together."""
        return sum(len(move.joints) == 2 for move in self.moves)

    @property
    def worst_condition(self) -> float:
        """Largest condition number of all steps."""
        return max(step.condition for step in self.steps)

    @classmethod
    def of(
        cls,
        model: RobotModel,
        limits: MotionLimits,
        friction: FrictionModel,
        rng: np.random.Generator,
        *,
        locked_measured: bool = False,
        q_start: ArrayLike | None = None,
        n_moves: int | None = None,
        candidates: int = 20,
        amplitude: float = 0.6,
        rate_hz: float = 100.0,
        seed: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> SequentialPlan:
        """Plan single-joint moves, and the postures of the other joints.

        The moves are chosen one after another, each with the largest increase of the information about
        all constants (log-determinant). If torques are measured at the motors, single-joint moves
        cannot excite everything; the fewest possible moves of two joints are then added.

        Args:
            model: Robot model of a serial arm.
            limits: Motion limits.
            friction: Friction terms that are estimated with the constants.
            rng: Random generator of the postures.
            locked_measured: True if torques of joints at standstill are informative, because they
                are measured on the link side of the gears.
            q_start: Start and end posture, shape (n,) [rad or m]; None: zero, within the limits.
            n_moves: Largest number of single-joint moves; None: five per joint.
            candidates: Number of postures without contact that are tried per joint.
            amplitude: Amplitude of the swings [rad]; a quarter of it in metres for prismatic joints.
            rate_hz: Sampling rate of the trajectory [Hz].
            seed: Seed that is stored with the trajectory.
            progress: Function that is called with a phase and its completed share.

        Raises:
            ExcitationError: No safe plan excites every constant; the message lists the missing ones.
            ModelError: The robot is not a serial arm.
        """
        report = progress or (lambda phase, share: None)
        checker = MotionChecker(model, limits)
        home = _start_posture(checker, q_start, rate_hz)
        chooser = MoveChooser(model, friction, rng, locked_measured)
        share = partial(report, "free postures")
        pool = candidate_moves(checker, rng, candidates, amplitude, share)
        is_safe = partial(_is_reachable, checker, home, rate_hz=rate_hz)
        n_wanted = n_moves or 5 * model.nv
        chosen, remarks = _choose_moves(chooser, checker, pool, n_wanted, is_safe, report)
        steps = chooser.steps(chosen, _WORST_CONDITION)
        trajectory, order = _play(checker, home, chosen, rate_hz, seed, report)
        trajectory = dataclasses.replace(trajectory, notes=tuple(remarks))
        check = checker.check(trajectory, progress=partial(report, "final check"))
        check.raise_if_unsafe()
        return cls(trajectory, tuple(order), steps, chooser.names, check, tuple(remarks))


def _start_posture(checker: MotionChecker, q_start: ArrayLike | None, rate_hz: float) -> Array:
    """The given posture; if none is given, the zero posture or the nearest random posture without
    contact.
    """
    limits = checker.limits
    if q_start is None:
        zero = np.clip(np.zeros(len(limits.joint_names)), limits.lower, limits.upper)
        if not (broken := _at_rest(checker, zero, rate_hz)):
            return zero
        rng = np.random.default_rng(0)  # not the plan's: moves are drawn as ever
        reach = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        drawn = rng.uniform(*reach, size=(_STARTS, len(zero)))
        for q in sorted(drawn, key=lambda q: float(np.linalg.norm(q - zero))):
            if not _at_rest(checker, q, rate_hz):
                return np.asarray(q)
        raise ExcitationError(
            f"The zero posture and {_STARTS} random start postures violate limits or touch something;"
            f" at zero: {broken}.",
            remedy="Widen that limit, or give a start posture without contact.",
        )
    q = np.array(q_start, dtype=float)
    if q.shape != limits.lower.shape or np.any(q < limits.lower) or np.any(q > limits.upper):
        raise ExcitationError(
            f"The start posture {q.tolist()} has the wrong length or lies outside the limits.",
            remedy=f"Give {len(limits.lower)} joint positions between"
            f" {limits.lower.tolist()} and {limits.upper.tolist()}.",
        )
    if broken := _at_rest(checker, q, rate_hz):
        raise ExcitationError(
            f"The start posture violates a limit or touches something: {broken}.",
            remedy="Give a posture without contact, or widen the violated limit.",
        )
    return q


def _at_rest(checker: MotionChecker, q: Array, rate_hz: float) -> str:
    """Limits violated by standing still in a posture; "" if none."""
    model = checker.model
    time, still = np.arange(3) / rate_hz, np.zeros((3, len(q)))
    rest = Trajectory(
        model.name, model.urdf_hash, model.joint_names, time, np.tile(q, (3, 1)), still, still
    )
    return "; ".join(str(violation) for violation in checker.check(rest).violations)


def _is_reachable(checker: MotionChecker, home: Array, move: Move, rate_hz: float) -> bool:
    """True if the move and the straight path to it from the start posture are safe."""
    builder = MotionBuilder(checker, home, rate_hz=rate_hz)
    builder.move_to(move.posture)
    builder.play(move.time, move.q, move.v, move.a, move.label)
    return checker.check(builder.build()).is_safe


def _play(
    checker: MotionChecker,
    home: Array,
    moves: list[Move],
    rate_hz: float,
    seed: int | None,
    report: Callable[[str, float], None],
) -> tuple[Trajectory, list[Move]]:
    """Motion with all moves. Each is followed by the nearest of the remaining ones, on a straight
    path if that is safe, otherwise via the start posture.
    """
    builder = MotionBuilder(checker, home, rate_hz=rate_hz)
    left = list(moves)
    order: list[Move] = []
    while left:
        nearness = [-np.max(np.abs(move.posture - builder.q)) for move in left]
        move = left.pop(first_best(nearness))
        if not _straight_is_safe(checker, builder.q, move.posture, rate_hz):
            builder.move_to(home)
        builder.move_to(move.posture)
        label = f"{move.label}, posture {len(order) + 1}"
        builder.play(move.time, move.q, move.v, move.a, label)
        order.append(dataclasses.replace(move, label=label))
        report("joining moves", len(order) / len(moves))
    builder.move_to(home)
    return builder.build(seed=seed), order


def _straight_is_safe(checker: MotionChecker, start: Array, goal: Array, rate_hz: float) -> bool:
    if np.allclose(start, goal, atol=1e-9):
        return True
    builder = MotionBuilder(checker, start, rate_hz=rate_hz)
    builder.move_to(goal)
    return checker.check(builder.build()).is_safe


def _choose_moves(
    chooser: MoveChooser,
    checker: MotionChecker,
    pool: list[Move],
    n_wanted: int,
    is_safe: Callable[[Move], bool],
    report: Callable[[str, float], None],
) -> tuple[list[Move], list[str]]:
    """Moves of two joints that are needed, single-joint moves, and remarks."""
    chosen: list[Move] = []
    remarks = []
    hidden = chooser.hidden_directions(pool)
    if hidden.shape[1]:
        report("two-joint moves", 0.0)
        chosen = chooser.choose_pairs(pair_moves(checker, pool), hidden, is_safe)
        remarks.append(
            f"Motor torques do not determine {hidden.shape[1]} direction(s) while one joint moves"
            " at a time, because friction holds the others:"
            f" {len(chosen)} moves of two joints excite them."
        )
    singles = chooser.choose(pool, chosen, n_wanted, is_safe, report)
    if len(singles) < n_wanted:
        remarks.append(f"Only {len(singles)} of {n_wanted} single-joint moves are safe.")
    return [*chosen, *singles], remarks
