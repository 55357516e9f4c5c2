# SPDX-License-Identifier: Apache-2.0
"""Result of a motion check: violated limits, and the used fraction of each limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError, listed
from sysid_core.robot import Array
from sysid_core.settings import Kind


class LimitKind(Kind):
    """Kind of a motion limit."""

    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"
    JERK = "jerk"
    EFFORT = "effort"
    TCP_SPEED = "tcp speed"
    GROUND = "ground"
    WORKSPACE = "workspace"
    PLANE = "plane"
    CONTACT = "contact"  # of two bodies, or of one with an obstacle
    STEP = "step"  # between two samples
    REST = "rest"  # moving at an end
    CONSISTENCY = "consistency"  # v isn't what q does


_SIGNLESS = (
    LimitKind.VELOCITY,
    LimitKind.ACCELERATION,
    LimitKind.JERK,
    LimitKind.EFFORT,
    LimitKind.TCP_SPEED,
)
ROUNDING = 1e-9  # relative excess that is floating-point noise


@dataclass(frozen=True)
class Violation:
    """Limit that a motion violates, at its worst instant.

    Attributes:
        kind: Kind of limit.
        where: Name of the joint, frame or pair of bodies.
        time: Time of the worst excess, or of the first contact [s].
        value: Value at that time [unit of the kind].
        limit: Violated limit [unit of the kind].
    """

    kind: LimitKind
    where: str
    time: float
    value: float
    limit: float

    @property
    def excess(self) -> float:
        """Amount by which the limit is exceeded, in the unit of the kind."""
        return (
            abs(abs(self.value) - abs(self.limit))
            if self.kind in _SIGNLESS
            else abs(self.value - self.limit)
        )

    @property
    def demand(self) -> str:
        """Text with the violated limit and the excess; for contacts, only the first one."""
        if self.kind is LimitKind.CONTACT:
            return str(self)
        return f"{self}: required torque {self.excess:.3g}"

    def __str__(self) -> str:
        if self.kind is LimitKind.CONTACT:
            return f"contact of {self.where} at {self.time:.2f} s"
        return (
            f"{self.kind} of {self.where} at {self.time:.2f} s is {self.value:.4g},"
            f" limit {self.limit:.4g}"
        )


@dataclass(frozen=True)
class MotionCheck:
    """Result of the check of a motion.

    Attributes:
        violations: All violated limits, each once per joint at the worst instant.
        usage: Largest share of each kind of limit that the motion uses.
        samples: Number of checked instants.
        postures: Number of samples that were checked for contact, ground and workspace.
        notes: Assumptions of the check, and what it could not check, one sentence each.
        unchecked: Names of links whose contact could not be checked.
    """

    violations: tuple[Violation, ...]
    usage: Mapping[str, float]
    samples: int
    postures: int
    notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def is_safe(self) -> bool:
        """True if no limit is violated."""
        return not self.violations

    @property
    def answer(self) -> str:
        """Result in one or two sentences; a motion is called safe only if contact of every link was
        checked.
        """
        if self.violations:
            return "Not safe."
        checked = f"Checked at {self.samples} instants and {self.postures} postures:"
        if self.unchecked:
            links = ", ".join(self.unchecked)
            return f"{checked} within its limits. Contact was not checked for {links}."
        return f"{checked} safe."

    def raise_if_unsafe(self) -> None:
        """Raise an error if a limit is violated.

        Raises:
            ExcitationError: A limit is violated; `data["violations"]` lists all violations.
        """
        if self.violations:
            raise ExcitationError(
                f"The motion is not safe: {listed(self.violations, 5, '; ')}.",
                remedy="Plan a slower or smaller motion, or one about another posture, or correct the limits.",
                violations=self.violations,
            )


class Findings:
    """Collector of violations and used fractions while a motion is checked."""

    def __init__(self) -> None:
        self.worst: dict[tuple[str, str], tuple[float, Violation]] = {}
        self.usage: dict[str, float] = {}

    def add(self, violation: Violation, share: float = np.inf) -> None:
        """Add a violation; only the worst of each kind and place is kept."""
        key = (violation.kind, violation.where)
        if key not in self.worst or share > self.worst[key][0]:
            self.worst[key] = (share, violation)

    def compare(
        self, kind: LimitKind, names: Sequence[str], time: Array, value: Array, limit: Array
    ) -> None:
        """Compare |value| (K, n) with a limit (n,)."""
        share = np.abs(value) / limit
        self.usage[kind] = max(self.usage.get(kind, 0.0), float(share.max()))
        for j, k in enumerate(np.argmax(share, axis=0)):
            if share[k, j] > 1.0 + ROUNDING:
                found = Violation(
                    kind, names[j], float(time[k]), float(value[k, j]), float(limit[j])
                )
                self.add(found, float(share[k, j]))

    def between(
        self,
        kind: LimitKind,
        name: str,
        time: Array,
        low: Array,
        high: Array,
        lower: float,
        upper: float,
    ) -> None:
        """Compare the extreme values (K,) of a quantity with its bounds."""
        if np.isfinite(lower) and np.isfinite(upper) and upper > lower:
            share = np.max(
                np.abs([low.min() - (lower + upper) / 2, high.max() - (lower + upper) / 2])
            )
            self.usage[kind] = max(self.usage.get(kind, 0.0), float(2 * share / (upper - lower)))
        for values, k, bound, sign in (
            (low, int(np.argmin(low)), lower, 1.0),
            (high, int(np.argmax(high)), upper, -1.0),
        ):
            excess = sign * (bound - values[k])
            if excess > ROUNDING:
                self.add(Violation(kind, name, float(time[k]), float(values[k]), bound), excess)

    def result(self, samples: int, postures: int, notes: tuple[str, ...]) -> MotionCheck:
        """Return the result of the check."""
        violations = tuple(violation for _, violation in self.worst.values())
        return MotionCheck(violations, self.usage, samples, postures, notes)
