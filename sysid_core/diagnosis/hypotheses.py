# SPDX-License-Identifier: Apache-2.0
"""What is commonly wrong with recordings and robot descriptions, as changes that would mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike

from sysid_core.diagnosis.samples import Samples
from sysid_core.kinds import Kind
from sysid_core.robot import Array, with_gravity

STEP = np.radians(15.0)
_ANGLES = STEP * np.delete(np.arange(-11, 13), 11)  # all around, without zero
_ANGLE_UNITS = {"deg": np.pi / 180.0, "rad": 180.0 / np.pi}


class Fault(Kind):
    """Classes of faults in recordings and descriptions."""

    GRAVITY_COMPENSATED = "gravity-compensated efforts"
    EFFORT_SIGN = "effort sign"
    POSITION_SIGN = "position sign"
    JOINT_SIGN = "joint sign"
    EFFORT_ORDER = "effort order"
    POSITION_ORDER = "position order"
    JOINT_ORDER = "joint order"
    ANGLE_UNIT = "angle unit"
    ZERO_ANGLE = "zero angle"
    MOUNTING = "mounting"
    GAIN = "gain"
    CLOCK = "clock"


@dataclass(frozen=True)
class Hypothesis:
    """One thing that may be wrong.

    Attributes:
        kind: Class of faults.
        code: Code of the reason that names it.
        data: Data of that reason, but the evidence.
        mend: Makes of the samples what they would be without the fault.
        joint: Whose zero or gain is off by `amount`; None for other kinds.
        amount: Angle [rad], or factor of a gain or clock.
    """

    kind: Fault
    code: str
    data: Mapping[str, object]
    mend: Callable[[Samples], Samples]
    joint: int | None = None
    amount: float = 0.0


def candidates(samples: Samples) -> Iterator[Hypothesis]:
    """All faults that are tried on these samples."""
    names = samples.model.joint_names
    used = np.flatnonzero(samples.used)
    yield from _signs(names, used)
    yield from _orders(samples, names)
    yield from _units()
    yield from _zero_angles(names, used)
    yield Hypothesis(
        Fault.GRAVITY_COMPENSATED,
        "gravity-subtracted",
        {},
        lambda s: s.with_model(with_gravity(s.model, np.zeros(3))),
    )


def _signs(names: tuple[str, ...], used: Array) -> Iterator[Hypothesis]:
    n = len(names)
    flip = np.ones(n)

    def effort(sign: Array) -> Callable[[Samples], Samples]:
        return lambda s: replace(s, tau=s.tau * sign)

    def motion(sign: Array) -> Callable[[Samples], Samples]:
        return lambda s: replace(s, q=s.q * sign, v=s.v * sign, a=s.a * sign)

    yield Hypothesis(
        Fault.EFFORT_SIGN,
        "effort-signs",
        {},
        effort(-flip),
    )
    for j in used:
        one = flip.copy()
        one[j] = -1.0
        yield Hypothesis(
            Fault.EFFORT_SIGN,
            "effort-sign",
            {"joint": names[j]},
            effort(one),
        )
        yield Hypothesis(
            Fault.POSITION_SIGN,
            "position-sign",
            {"joint": names[j]},
            motion(one),
        )
        yield Hypothesis(
            Fault.JOINT_SIGN,
            "joint-sign",
            {"joint": names[j]},
            lambda s, one=one: replace(  # type: ignore[misc]
                s, q=s.q * one, v=s.v * one, a=s.a * one, tau=s.tau * one
            ),
        )


def _orders(samples: Samples, names: tuple[str, ...]) -> Iterator[Hypothesis]:
    n = len(names)

    def pick(values: Array, order: Array) -> Array:
        return np.asarray(values[:, order])

    def motion(order: Array) -> Callable[[Samples], Samples]:
        return lambda s: replace(s, q=pick(s.q, order), v=pick(s.v, order), a=pick(s.a, order))

    def effort(order: Array) -> Callable[[Samples], Samples]:
        return lambda s: replace(s, tau=pick(s.tau, order))

    def both(order: Array) -> Callable[[Samples], Samples]:
        return lambda s: motion(order)(effort(order)(s))

    orders = [np.arange(n)[::-1], np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)]
    for i, j in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, j]] = order[[j, i]]
        orders.append(order)
    matched = matched_efforts(samples)
    if not np.array_equal(matched, np.arange(n)):
        yield Hypothesis(
            Fault.EFFORT_ORDER, "effort-order", _exchanged(names, matched), effort(matched)
        )
    for order in orders:
        data = _exchanged(names, order)
        yield Hypothesis(Fault.EFFORT_ORDER, "effort-order", data, effort(order))
        yield Hypothesis(Fault.POSITION_ORDER, "position-order", data, motion(order))
        yield Hypothesis(Fault.JOINT_ORDER, "joint-order", data, both(order))


def _exchanged(names: tuple[str, ...], order: Array) -> dict[str, object]:
    """Joints whose data stand elsewhere, and whose data stand in their columns."""
    found = {int(i): j for j, i in enumerate(order) if i != j}
    joints = sorted(found)
    return {"joints": [names[j] for j in joints], "hold": [names[found[j]] for j in joints]}


def matched_efforts(samples: Samples) -> Array:
    """Which column of efforts fits which joint's motion best: the best assignment, shape (n,).

    Friction and drive inertia alone show it: they follow a joint's own velocity.
    """
    n = samples.q.shape[1]
    rigid = samples.model.inverse_dynamics(samples.q, samples.v, samples.a)
    variance = np.maximum(np.sum((samples.tau - samples.tau.mean(axis=0)) ** 2, axis=0), 1e-300)
    cost = np.zeros((n, n))
    for j in range(n):
        X = np.column_stack([rigid[:, j], samples.friction(j)])
        Q = np.linalg.qr(X / np.maximum(np.linalg.norm(X, axis=0), 1e-300))[0]
        left = samples.tau - Q @ (Q.T @ samples.tau)
        cost[j] = np.log(np.maximum(np.sum(left**2, axis=0) / variance, 3e-3))
    cost[:, np.std(samples.tau, axis=0) < 1e-9] = 0.0
    return np.asarray(scipy.optimize.linear_sum_assignment(cost)[1])


def _units() -> Iterator[Hypothesis]:
    for unit, factor in _ANGLE_UNITS.items():
        yield Hypothesis(
            Fault.ANGLE_UNIT,
            "angle-unit",
            {"unit": "degrees" if unit == "deg" else "radians", "short": unit},
            lambda s, k=factor: s.scaled(length=k),  # type: ignore[misc]
        )


def _zero_angles(names: tuple[str, ...], used: Array) -> Iterator[Hypothesis]:
    for j in used:
        for angle in _ANGLES:
            yield zero_angle(names, int(j), float(angle))


def zero_angle(names: tuple[str, ...], joint: int, angle: float) -> Hypothesis:
    """The zero of a joint is off: its recorded position lacks an angle [rad]."""

    def mend(s: Samples) -> Samples:
        q = s.q.copy()
        q[:, joint] += angle
        return replace(s, q=q)

    return Hypothesis(
        Fault.ZERO_ANGLE,
        "zero-angle",
        {"joint": names[joint], "degrees": float(np.degrees(angle)), "radians": angle},
        mend,
        joint,
        angle,
    )


def other_gravity(gravity: ArrayLike) -> Hypothesis:
    """The base is mounted in another direction; gravity in its frame, shape (3,) [m/s^2]."""
    g = np.asarray(gravity, dtype=float)
    return Hypothesis(
        Fault.MOUNTING,
        "mounting",
        {
            "gravity": g.tolist(),
            "written": ",".join(f"{x:.3f}" for x in g),
            "mount": ",".join(f"{x:.3f}" for x in mount_of(g)),
        },
        lambda s: s.with_model(with_gravity(s.model, g)),
    )


def mount_of(gravity: Array) -> Array:
    """Roll, pitch, yaw of a base with this gravity in its frame (yaw can't be known), (3,) [rad]."""
    up = -np.asarray(gravity, dtype=float) / np.linalg.norm(gravity)
    R = pin.Quaternion.FromTwoVectors(up, np.array([0.0, 0.0, 1.0])).toRotationMatrix()
    return np.asarray(pin.rpy.matrixToRpy(R)) + 0.0
