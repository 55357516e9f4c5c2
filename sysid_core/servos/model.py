# SPDX-License-Identifier: Apache-2.0
"""Model of a robot with position servos: terms, parameters, simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError, SignalError
from sysid_core.report import with_deviation
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array, BodyTree, Loads, unwritten
from sysid_core.servos.ground import Ground, Surface, arm_rollout, clearance
from sysid_core.servos.rollout import RESTED, drive_rollout, follow_commands, time_steps
from sysid_core.settings import Kind


class Term(Kind):
    """Parameter of a servo model; a missing parameter is zero. Terms given as angles are torques
    divided by the servo's stiffness.
    """

    COMPLIANCE = "compliance"
    TIME_CONSTANT = "time_constant"
    FRICTION = "friction"
    LOAD_FRICTION = "load_friction"
    BREAKAWAY = "breakaway"
    BREAKAWAY_SPEED = "breakaway_speed"
    ZERO = "zero"
    DELAY = "delay"
    INVERSE_ACCELERATION = "inverse_acceleration"
    INVERSE_SPEED = "inverse_speed"
    INERTIA = "inertia"
    INVERSE_LIMIT = "inverse_limit"
    BACKLASH = "backlash"
    INTEGRAL = "integral"


@dataclass(frozen=True)
class TermFacts:
    """Properties of a term of the servo model.

    Attributes:
        unit: Unit of the value, for a revolute joint.
        meaning: Description of the term.
        start: Initial value of the search, typical of hobby servos and of the drives of small
            legged robots. Another initial value changes the result by less than its standard
            deviation. Torques are relative to the largest gravity torque on a joint of the robot,
            since the servos of strong and of weak arms deflect equally.
        scale: Change of the value that changes the position noticeably [`unit`].
        spread: Standard deviation of the prior about `start`, chosen for these drives. Data of more
            than a few time blocks have more weight than the prior, which only determines the terms
            that the data do not determine.
        least: Smallest value [`unit`]; minus infinity: no lower bound.
        most: Largest value [`unit`].
    """

    unit: str
    meaning: str
    start: float
    scale: float
    spread: float
    least: float = 0.0
    most: float = np.inf


# The order of the compiled rollout's parameters. Users set profiles and limits, so that their spreads are
# wide: a tenth to ten times what is usual. The zero's spread is one increment of a 12-bit encoder:
# the servo's loop and the recording read the same encoder. Freed, it would take gravity's place.
TERMS: Mapping[Term, TermFacts] = MappingProxyType({
    Term.COMPLIANCE: TermFacts("rad/(N m)", "compliance of the position loop, 1/K", 0.03, 0.012, 0.12, -np.inf),
    Term.TIME_CONSTANT: TermFacts("s", "damping, back-EMF and derivative gain over K", 0.05, 0.02, 0.05),
    Term.FRICTION: TermFacts("rad", "dry friction over K: the half width of the sticking band", 0.01, 0.01, 0.03),
    Term.LOAD_FRICTION: TermFacts("-", "dry friction per load torque", 0.3, 0.2, 0.3, most=1.0),
    Term.BREAKAWAY: TermFacts("rad", "additional dry friction at rest, over K", 0.005, 0.005, 0.01),
    Term.BREAKAWAY_SPEED: TermFacts("rad/s", "speed at which that has fallen to 1/e", 0.1, 0.05, 0.1),
    Term.ZERO: TermFacts("rad", "command at which the unloaded joint rests at zero", 0.0, 0.001, 0.0015, -np.inf),
    Term.DELAY: TermFacts("s", "dead time of the command", 0.02, 0.01, 0.02),
    Term.INVERSE_ACCELERATION: TermFacts("s²/rad", "inverse of the profile's acceleration", 0.02, 0.005, 0.2),
    Term.INVERSE_SPEED: TermFacts("s/rad", "inverse of the profile's largest speed", 0.15, 0.05, 1.5),
    Term.INERTIA: TermFacts("s²", "inertia of rotor and gears over K", 0.002, 0.001, 0.002),
    Term.INVERSE_LIMIT: TermFacts("1/rad", "inverse of the error at which the drive saturates", 2.0, 0.5, 5.0),
    Term.BACKLASH: TermFacts("rad", "half of the gap between motor and encoder", 0.005, 0.003, 0.005),
    Term.INTEGRAL: TermFacts("1/s", "integral gain over K", 1.0, 0.5, 2.0, 1.0 / RESTED),
})  # fmt: skip

_OF_REFERENCE = [
    list(TERMS).index(term) for term in (Term.DELAY, Term.INVERSE_ACCELERATION, Term.INVERSE_SPEED)
]
ANYWHERE = (np.empty(0), np.empty(0))  # where nothing is in a joint's way


def between(
    low: float, high: float, q: Array, also: tuple[Array, Array] = ANYWHERE
) -> tuple[Array, Array]:
    """Return the smallest and largest positions between two stops, shape (K,) each, or (0,) if there
    are none.

    Args:
        low, high: Positions of the stops [rad]; infinite: none.
        q: Measured positions, which are possible in any case, shape (K,) [rad].
        also: Smallest and largest positions for other reasons.
    """
    if np.isinf(low) and np.isinf(high):
        return also
    least, most = np.minimum(low, q), np.maximum(high, q)
    return (
        (np.maximum(also[0], least), np.minimum(also[1], most)) if also[0].size else (least, most)
    )


# [s] Of the rollout. Steps of 5 ms shift friction and delay by up to ten standard deviations.
STEP = 0.00125


@dataclass(frozen=True)
class JointServo:
    """Position servo of one joint.

    Attributes:
        joint: Name of the joint.
        values: Values of the servo's terms; all others are zero.
        deviations: Standard deviations of the identified terms.
        load: Mean absolute load torque in the identification motions [N m].
        stops: Positions of the mechanical stops [rad]; infinite: unknown.
    """

    joint: str
    values: Mapping[Term, float] = field(default_factory=dict)
    deviations: Mapping[Term, float] = field(default_factory=dict)
    load: float = 0.0
    stops: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        for name in ("values", "deviations"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def vector(self) -> Array:
        """All parameters of the servo in the order of `TERMS`, shape (len(TERMS),)."""
        return np.array([self.values.get(term, 0.0) for term in TERMS])

    @property
    def stiffness(self) -> float | None:
        """Stiffness of the position loop [N m/rad], if gravity or inertia determines its inverse
        with a standard deviation below half of its value; None otherwise.
        """
        compliance = self.values.get(Term.COMPLIANCE, 0.0)
        known = compliance > 2.0 * self.deviations.get(Term.COMPLIANCE, 0.0)
        return 1.0 / compliance if known else None

    def in_words(self, term: Term) -> str:
        """Return the value of a term and its standard deviation with matching digits, or a note that the search
        ended at a bound.
        """
        value = self.values[term]
        if term not in self.deviations:
            return f"{value:.3g} (at its bound: not determined)"
        return with_deviation(value, self.deviations[term])

    def in_newton_metres(self, unit: float) -> JointServo:
        """Return a copy with torques converted to newton metres, from a unit of `unit` newton
        metres.
        """
        values, deviations = dict(self.values), dict(self.deviations)
        for terms in (values, deviations):
            if Term.COMPLIANCE in terms:
                terms[Term.COMPLIANCE] /= unit
        return replace(self, values=values, deviations=deviations, load=self.load * unit)


@dataclass(frozen=True, eq=False)
class ServoModel:
    """Robot whose joints are position servos; simulates positions from commands.

    Attributes:
        robot: Rigid-body model.
        servos: Servos of the moving joints, in the joint order of the robot; other joints are held
            at zero.
        ground: Level surface that the bodies cannot penetrate; None: no surface.

    Examples:
        >>> from sysid_core.robot import RobotModel
        >>> from sysid_core.servos import JointServo, ServoModel, Term
        >>> servo = JointServo("joint1", {Term.TIME_CONSTANT: 0.05})
        >>> model = ServoModel(RobotModel.from_urdf("puma560"), (servo,))
        >>> q = model.simulate([0.0, 0.1], [[0.0], [0.5]], [0.0, 0.5, 1.0], [0.0])
        >>> q.shape
        (3, 1)
    """

    robot: RobotModel
    servos: tuple[JointServo, ...]
    ground: Ground | None = None

    def __post_init__(self) -> None:
        unknown = [s.joint for s in self.servos if s.joint not in self.robot.joint_names]
        if unknown or not self.servos:
            raise ModelError(
                f"The robot '{self.robot.name}' has no joint {unknown}.",
                remedy=f"Its joints: {list(self.robot.joint_names)}.",
            )

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that have a servo, in the order of the columns of commands and
        positions.
        """
        return tuple(servo.joint for servo in self.servos)

    @cached_property
    def tree(self) -> BodyTree:
        """Rigid-body model in which joints without a servo are locked at zero."""
        return body_tree(self.robot, self.joints)

    def simulate(
        self,
        t_target: ArrayLike,
        target: ArrayLike,
        t: ArrayLike,
        q0: ArrayLike,
        *,
        step: float = STEP,
    ) -> Array:
        """Simulate the positions of the robot for given commands.

        The joints are coupled by gravity: each is simulated along the motion of the others, until
        no position changes (waveform relaxation, Lelarasmee 1982).

        Args:
            t_target: Times of the commands, shape (L,) [s].
            target: Commands, each held until the next, shape (L, n) [rad].
            t: Times of the positions, ascending, shape (K,) [s].
            q0: Positions at `t[0]`, at rest, shape (n,) [rad].
            step: Longest time step [s].

        Returns:
            Positions, shape (K, n) [rad].

        Raises:
            SignalError: The shapes are inconsistent, the times do not increase, or values are not
                finite.
        """
        t_target, target, t, q0 = _checked(len(self.servos), t_target, target, t, q0)
        q = np.stack([np.interp(t, t_target, column) for column in target.T], axis=1)
        parameters = np.array([servo.vector for servo in self.servos])
        stops = np.array([servo.stops for servo in self.servos])
        ways = [
            between(low, high, np.full(len(t), at))
            for (low, high), at in zip(stops, q0, strict=True)
        ]
        for _ in range(_MOST_PASSES):
            last = q
            loads = self.tree.loads(q).beside(self.tree.coupling(t, q), q)
            if self.ground is None:
                q = np.stack(
                    [
                        Drive(t, t_target, target[:, j], loads, j, ways[j]).rollout(p, q0[j], step)
                        for j, p in enumerate(parameters)
                    ],
                    axis=1,
                )
            else:
                q = arm_rollout(
                    self.tree, self.ground, parameters, stops, t_target, target, t, q0, loads, step
                )
            if np.abs(q - last).max() < _SAME:
                break
        return q


def warm_up() -> None:
    """Compile the simulation, which takes half a minute once per computer; the result is cached."""
    free = ServoModel(
        RobotModel.from_urdf("puma560"), (JointServo("joint1", {Term.COMPLIANCE: 0.1}),)
    )
    never = Ground(-np.inf, Surface(np.zeros(1, dtype=np.int64), np.zeros((1, 3))))
    for model in (free, replace(free, ground=never)):
        model.simulate([0.0], [[0.1]], [0.0, 0.1], [0.0])
    clearance(free.tree, never.surface, [[0.0]])


_MOST_PASSES = 8
_SAME = 1e-4  # [rad] a fifteenth of a hobby servo's increment


def body_tree(robot: RobotModel, joints: tuple[str, ...]) -> BodyTree:
    """Return the bodies of a robot on the given joints, in their order; all other joints are locked
    at zero.
    """
    return BodyTree(robot.holding(joints=joints) if joints != robot.joint_names else robot)


@dataclass(frozen=True, eq=False)
class Drive:
    """Commands of one joint, and its load torques along the motion of the others.

    Attributes:
        t: Times of the positions, shape (K,) [s].
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, shape (L,) [rad].
        loads: Load torques of all joints.
        joint: Index of the joint among the columns of the loads.
        between: Smallest and largest positions, shape (K,) each [rad]; (0,): no bounds.
    """

    t: Array
    t_target: Array
    target: Array
    loads: Loads
    joint: int
    between: tuple[Array, Array] = ANYWHERE

    def rollout(self, p: Array, q0: float, step: float = STEP) -> Array:
        """Simulate the positions with parameters in the order of `TERMS`, shape (K,) [rad]."""
        q = np.empty(len(self.t))
        steps, ref = self._reference(step, *p[_OF_REFERENCE].tolist())
        t, *along = self._along
        turns = bool(self.loads.turns[self.joint])
        drive_rollout(t, steps, ref, *along, turns, float(q0), unwritten(p), q)
        return q

    def _reference(self, step: float, *values: float) -> tuple[NDArray[np.int64], Array]:
        """Number of steps between the times, and reference at each step.

        The last ones are stored, because most columns of a Jacobian do not change the reference.
        """
        key = (step, *values)
        known = self._references.get(key)
        if known is None:
            steps = self._steps.get(step)
            if steps is None:
                steps = self._steps[step] = unwritten(time_steps(self.t, step), np.int64)
            ref = np.empty(1 + int(steps.sum()))
            along = (unwritten(x) for x in (self.t_target, self.target))
            follow_commands(self._along[0], steps, *along, *values, ref)
            known = steps, unwritten(ref)
            if len(self._references) > len(_OF_REFERENCE):
                del self._references[next(iter(self._references))]
            self._references[key] = known
        return known

    @cached_property
    def _references(self) -> dict[tuple[float, ...], tuple[NDArray[np.int64], Array]]:
        return {}

    @cached_property
    def _steps(self) -> dict[float, NDArray[np.int64]]:
        return {}

    @cached_property
    def _along(self) -> tuple[Array, ...]:
        L, j = self.loads, self.joint
        columns = L.a[:, j], L.b[:, j], L.inertia[:, j]
        return tuple(unwritten(x) for x in (self.t, *columns, *self.between))


def _checked(
    n: int, t_target: ArrayLike, target: ArrayLike, t: ArrayLike, q0: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    t_target, t = np.asarray(t_target, dtype=float), np.asarray(t, dtype=float)
    target, q0 = np.asarray(target, dtype=float), np.asarray(q0, dtype=float).reshape(-1)
    if target.ndim == 1 and n == 1:
        target = target[:, None]
    if t_target.ndim != 1 or t.ndim != 1 or not len(t) or target.shape != (len(t_target), n):
        raise SignalError(
            f"Commands of shape {target.shape} at {t_target.shape} times and positions at"
            f" {t.shape} don't fit {n} joints.",
            remedy=f"Give t_target (L,), target (L, {n}), t (K,) and q0 ({n},).",
        )
    if q0.shape != (n,):
        raise SignalError(f"q0 has shape {q0.shape}.", remedy=f"Give {n} positions [rad].")
    if not all(np.isfinite(x).all() for x in (t_target, target, t, q0)):
        raise SignalError(
            "The commands or positions contain NaN or infinite values.",
            remedy="Remove such samples.",
        )
    if (np.diff(t) <= 0).any() or (np.diff(t_target) < 0).any():
        raise SignalError(
            "The times do not increase from sample to sample.",
            remedy="Sort the samples by their time [s].",
        )
    return t_target, target, t, q0
