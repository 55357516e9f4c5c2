# SPDX-License-Identifier: Apache-2.0
"""Hypotheses to be tested on samples, with their shares of the prior probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import scipy
from scipy.optimize import nnls

from sysid_core.diagnosis.evidence import tool_masses
from sysid_core.diagnosis.hypotheses import (
    AS_DECLARED,
    CLOCKS,
    FACTORS,
    STEP,
    Fault,
    Hypothesis,
    clock_fault,
    gain_fault,
    lag_fault,
    mass_fault,
    other_gravity,
    scale_fault,
    sign_fault,
    tool_fault,
    zero_angle,
)
from sysid_core.diagnosis.samples import LAGS, Samples
from sysid_core.robot import Array

_ANGLES = STEP * np.delete(np.arange(-5, 7), 5)  # all around, without zero
_ANGLE_UNITS = {"deg": np.pi / 180.0, "rad": 180.0 / np.pi}
_CHANGES = np.arange(1, 8) / 8.0  # shares of a recording after which a load may come or go
# Units of torque, how many make a newton metre.
_UNITS = {
    "N mm or mA": 1e3,
    "kN m or kA": 1e-3,
    "kgf m": 1.0 / 9.80665,
    "kgf cm": 100.0 / 9.80665,
    "lbf in": 12.0 / 1.355818,
    "N cm": 100.0,
    "ozf in": 192.0 / 1.355818,
}


def _weight_added(samples: Samples) -> Samples:
    still, step = np.zeros_like(samples.v), 1e-4
    weight, soon = (
        samples.model.inverse_dynamics(q, still, still)
        for q in (samples.q, samples.q + step * samples.v)
    )
    rate = (soon - weight) / step
    return replace(
        samples,
        tau=samples.tau + weight,
        tau_dot=samples.tau_dot + rate,
        later=samples.later + np.stack([weight, rate]),
    )


def candidates(samples: Samples, *, gains_known: bool = True) -> list[Hypothesis]:
    """Return all hypotheses to be tested on these samples; causes of one kind share the prior
    probability of that kind.

    Args:
        samples: Samples with the present declarations, after the corrections found so far.
        gains_known: True if the drive gains are known; False: scale faults are not tested.
    """
    names = samples.model.joint_names
    used = np.flatnonzero(samples.used)
    some: list[Hypothesis] = [*_signs(samples, names, used), *_orders(samples, names), *_units()]
    some += [h for j in used for h in conventions(samples, int(j))]
    some += [lag_fault(k) for k in range(len(LAGS))]
    some += [clock_fault(factor) for factor in CLOCKS]
    tools = tool_masses(samples.model)
    lightest = min(tools, key=abs)  # which friction's drift resembles
    some += [
        Hypothesis(
            Fault.TOOL_CHANGE, "load-comes-or-goes", {"share": x}, tool=mass, amount=float(x)
        )
        for x in _CHANGES
        for mass in tools
        if abs(mass) > abs(lightest)
    ]
    some += [tool_fault(mass) for mass in tools]
    some += [mass_fault(samples.model, factor) for factor in FACTORS]
    some.append(Hypothesis(Fault.SILENT, "no-model", mute=tuple(used.tolist())))
    some += [
        Hypothesis(Fault.SILENT, "joint-chance", {"joint": names[j]}, mute=(int(j),)) for j in used
    ]
    if gains_known:
        some += [gain_fault(names, int(j), factor) for j in used for factor in FACTORS]
        some += [scale_fault(factor) for factor in FACTORS]
        some += [scale_fault(size, unit) for unit, size in _UNITS.items()]
    if np.any(samples.model.gravity):
        size = float(np.linalg.norm(samples.model.gravity))
        some += [other_gravity(size * axis) for axis in np.vstack([np.eye(3), -np.eye(3)])]
        some.append(
            Hypothesis(
                Fault.GRAVITY_COMPENSATED,
                "gravity-subtracted",
                mend=_weight_added,
            )
        )
    members = Counter(h.code for h in some if h.share == 1.0)  # of a cause
    causes = Counter(kind for kind, _ in {(h.kind, h.code) for h in some})
    return [
        replace(h, share=h.share / (causes[h.kind] * members[h.code])) if h.share == 1.0 else h
        for h in some
    ]


def _signs(samples: Samples, names: tuple[str, ...], used: Array) -> Iterator[Hypothesis]:
    yield sign_fault(names, range(len(names)), Fault.EFFORT_SIGN)
    reversed_efforts = np.flatnonzero(matched_signs(samples) < 0.0)
    if 1 < len(reversed_efforts) < len(names):
        yield sign_fault(names, reversed_efforts, Fault.EFFORT_SIGN)
    for j in used:
        yield sign_fault(names, (j,), Fault.EFFORT_SIGN)
        yield sign_fault(names, (j,), Fault.POSITION_SIGN)


def conventions(samples: Samples, joint: int) -> list[Hypothesis]:
    """Return the hypotheses that a joint's zero position or direction differs from the URDF."""
    names = samples.model.joint_names
    reverse = sign_fault(names, (joint,), Fault.JOINT_SIGN)
    zeros = (zero_angle(names, joint, float(x)) for x in _ANGLES)
    n_used = np.count_nonzero(samples.used)
    return [reverse, *(replace(h, share=_share_of_angle(h.amount) / n_used) for h in zeros)]


def _share_of_angle(angle: float) -> float:
    """Prior probability of an error of the zero position by this angle: quarter turns together are
    as likely as all other angles together.
    """
    step = round(angle / STEP)
    return 0.5 / (3 if step and step % 3 == 0 else len(_ANGLES) - 3)


def other_conventions(samples: Samples, faults: Sequence[Hypothesis]) -> Hypothesis:
    """Return the hypothesis that the recordings are those of another robot, which differs from the
    description by all of these faults: zero positions or directions of several joints, and possibly
    all masses by one factor. All numbers of joints, zero positions, directions and mass factors are
    equally likely a priori.
    """
    names, n = samples.model.joint_names, samples.q.shape[1]
    changes = [fault for fault in faults if fault.joint is not None]
    joints = sorted({fault.joint for fault in changes if fault.joint is not None})
    share = 1.0 / (n * comb(n, len(joints)))
    for change in changes:
        is_angle = change.kind is Fault.ZERO_ANGLE
        share *= 0.5 * (_share_of_angle(change.amount) if is_angle else 1.0)
    share /= len(FACTORS) + 1

    def mend(s: Samples) -> Samples:
        for fault in faults:
            s = fault.mend(s)
        return s

    data = {"joints": [names[j] for j in joints]}
    return Hypothesis(Fault.OTHER_ROBOT, "other-robot", data, mend, share=share)


def reversed_positions(samples: Samples, faults: Sequence[Hypothesis]) -> Hypothesis:
    """Return the hypothesis that the positions of all joints of these faults are reversed; a joint
    that occurs in two faults is not reversed.
    """
    names = samples.model.joint_names
    times = Counter(str(name) for fault in faults for name in fault.joints)
    joints = [j for j, name in enumerate(names) if times[name] % 2]
    return sign_fault(names, joints, Fault.POSITION_SIGN) if joints else AS_DECLARED


def _orders(samples: Samples, names: tuple[str, ...]) -> Iterator[Hypothesis]:
    n = len(names)

    def pick(values: Array, order: Array) -> Array:
        return np.asarray(values[:, order])

    def motion(order: Array) -> Callable[[Samples], Samples]:
        return lambda s: replace(s, q=pick(s.q, order), v=pick(s.v, order), a=pick(s.a, order))

    def effort(order: Array) -> Callable[[Samples], Samples]:
        return lambda s: s.with_torques(lambda x: np.asarray(x[..., order]))

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
    """Joints whose data are in the column of another joint, and for each the joint whose data are
    in its column.
    """
    found = {int(i): j for j, i in enumerate(order) if i != j}
    joints = sorted(found)
    return {"joints": [names[j] for j in joints], "hold": [names[found[j]] for j in joints]}


def matched_efforts(samples: Samples) -> Array:
    """Find the assignment of effort columns to joints that fits the motion best, shape (n,).

    Only friction and drive inertia determine the assignment, because they depend on the joint's own
    velocity and acceleration alone.
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


def matched_signs(samples: Samples) -> Array:
    """Find the signs of the efforts that fit the motion best, joint by joint, shape (n,).

    The rigid-body torques are those of the description, so that each joint can be fitted
    separately: its friction and drive inertia must be non-negative.
    """
    rigid, signs = samples.model.inverse_dynamics(samples.q, samples.v, samples.a), []
    for j, (torque, there) in enumerate(zip(samples.tau.T, samples.moving.T, strict=True)):
        X = samples.friction(j)[there]
        X = np.column_stack([X, -X[:, 3]])  # an offset of either sign
        left = [nnls(X, sign * torque[there] - rigid[there, j])[1] for sign in (1.0, -1.0)]
        signs.append(-1.0 if left[1] < left[0] else 1.0)
    return np.array(signs)


def _units() -> Iterator[Hypothesis]:
    for unit, factor in _ANGLE_UNITS.items():
        yield Hypothesis(
            Fault.ANGLE_UNIT,
            "angle-unit",
            {"unit": "degrees" if unit == "deg" else "radians", "short": unit},
            lambda s, k=factor: s.scaled(length=k),  # type: ignore[misc]
        )
