# SPDX-License-Identifier: Apache-2.0
"""Hypotheses about faults of recordings and robot descriptions, each with its correction and its
prior odds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from sysid_core.diagnosis.evidence import DENSITY, tool_masses
from sysid_core.diagnosis.samples import LAGS, Samples
from sysid_core.robot import Array, RobotModel, is_physically_consistent, pseudo_inertia_from_pi
from sysid_core.settings import Kind

STEP = np.radians(30.0)
_ANGLES = STEP * np.delete(np.arange(-5, 7), 5)  # all around, without zero
_ANGLE_UNITS = {"deg": np.pi / 180.0, "rad": 180.0 / np.pi}
_FACTORS = (0.03, 0.1, 0.3, 0.5, 2.0, 3.0, 10.0, 30.0)  # of gains
_CLOCKS = (0.1, 0.25, 0.5, 0.7, 1.4, 2.0, 4.0, 10.0)  # of time stamps
# Logarithm of a factor that all masses of a description are off by: densities of plastic, aluminium and steel
# are each two to three times the next, a pound is half a kilogram.
MASSES_SD = np.log(2.0)
# Density of a description [kg/m^3], see `apparent_density`, and the spread of its logarithm: Student's t with two
# degrees of freedom, fitted to the 66 descriptions of example-robot-data: half are within a factor of 1.4 of the median,
# and a fifth is off by more than three.
_USUAL_DENSITY, _DENSITY_SPREAD = 840.0, 0.5
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


class Fault(Kind):
    """Kind of fault of a recording or of a robot description."""

    NONE = "as declared"
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
    EFFORT_UNIT = "effort unit"
    CLOCK = "clock"
    LAG = "lag"
    TOOL = "tool"
    TOOL_CHANGE = "tool attached or removed"
    MASSES = "masses of the description"
    OTHER_ROBOT = "another robot"
    SILENT = "efforts unrelated to the motion"


# Share of recordings with such a fault, by what is met, to a factor of three: tools differ most often, then what a
# column map declares. Spread evenly over the causes of a kind (all joints, or one), then over joints, pairs and sizes.
_OFTEN, _SOMETIMES, _SELDOM = 0.1, 0.03, 0.01
SHARES = (
    dict.fromkeys(Fault, _SOMETIMES)
    | dict.fromkeys((Fault.TOOL, Fault.MASSES), _OFTEN)
    | dict.fromkeys((Fault.POSITION_SIGN, Fault.POSITION_ORDER, Fault.CLOCK, Fault.SILENT), _SELDOM)
)


def _unchanged(samples: Samples) -> Samples:
    return samples


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


@dataclass(frozen=True)
class Hypothesis:
    """Hypothesis that one particular fault is present.

    Attributes:
        kind: Class of faults.
        code: Code of the reason that reports the fault; empty: none.
        data: Data of that reason, without the evidence.
        mend: Function that corrects the samples for this fault.
        joint: Index of the joint whose zero, direction or gain is wrong; None if the fault does not
            concern a single joint.
        amount: Angle [rad], factor of a gain or clock [-], lag [s], or share of samples at a load
            change.
        share: Share of this hypothesis in the prior probability of its kind.
        mute: Indices of the joints whose torques are unrelated to the motion.
        tool: Mass of a tool that is missing in the description (positive) or on the robot
            (negative) [kg].
    """

    kind: Fault
    code: str
    data: Mapping[str, object] = field(default_factory=dict)
    mend: Callable[[Samples], Samples] = _unchanged
    joint: int | None = None
    amount: float = 0.0
    share: float = 1.0
    mute: tuple[int, ...] = ()
    tool: float = 0.0

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior odds of this fault relative to faultless data."""
        return 0.0 if self.kind is Fault.NONE else float(np.log(SHARES[self.kind] * self.share))

    @property
    def cause(self) -> tuple[str, str]:
        """Name of the fault without its size; hypotheses that differ only in size share it."""
        if self.kind is Fault.EFFORT_UNIT:
            return "effort-scale", ""
        if self.kind is Fault.OTHER_ROBOT:
            return self.code, ""
        return self.code, f"{self.joints}{self.data.get('hold', '')}"

    @property
    def place(self) -> str:
        """Name of the single joint that is faulty, `tool`, or else the name of the fault."""
        tool = self.kind is Fault.TOOL
        return "tool" if tool else str(self.data.get("joint", "/".join(self.cause)))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that the fault concerns; empty: none in particular."""
        one = self.data.get("joint")
        return (str(one),) if one else tuple(map(str, self.data.get("joints", ())))  # type: ignore[call-overload]


AS_DECLARED = Hypothesis(Fault.NONE, "")


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
    some += [clock_fault(factor) for factor in _CLOCKS]
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
    some += [mass_fault(samples.model, factor) for factor in _FACTORS]
    some.append(Hypothesis(Fault.SILENT, "no-model", mute=tuple(used.tolist())))
    some += [
        Hypothesis(Fault.SILENT, "joint-chance", {"joint": names[j]}, mute=(int(j),)) for j in used
    ]
    if gains_known:
        some += [gain_fault(names, int(j), factor) for j in used for factor in _FACTORS]
        some += [scale_fault(factor) for factor in _FACTORS]
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


def sign_fault(names: tuple[str, ...], joints: Iterable[int], kind: Fault) -> Hypothesis:
    """Return the hypothesis that the efforts, the positions or (kind `JOINT_SIGN`) both have the
    wrong sign at these joints; any number of several joints is as likely.
    """
    n, some = len(names), [int(j) for j in joints]
    k, sign = len(some), np.ones(n)
    sign[some] = -1.0

    def mend(s: Samples) -> Samples:
        if kind is not Fault.EFFORT_SIGN:
            s = replace(s, q=s.q * sign, v=s.v * sign, a=s.a * sign)
        return s if kind is Fault.POSITION_SIGN else s.with_torques(lambda x: x * sign)

    code = kind.value.replace(" ", "-")
    if k == 1:
        return Hypothesis(kind, code, {"joint": names[some[0]]}, mend, some[0])
    share = 1.0 / (n * comb(n, k)) if k < n else 1.0
    return Hypothesis(kind, code + "s", {"joints": [names[j] for j in some]}, mend, share=share)


def conventions(samples: Samples, joint: int) -> list[Hypothesis]:
    """Return the hypotheses that a joint has another zero or direction than in the URDF."""
    names = samples.model.joint_names
    reverse = sign_fault(names, (joint,), Fault.JOINT_SIGN)
    return [reverse, *(zero_angle(names, joint, float(x)) for x in _ANGLES)]


def other_conventions(samples: Samples, faults: Sequence[Hypothesis]) -> Hypothesis:
    """Return the hypothesis that the robot is another one, in which the zeros or directions of
    several joints, and possibly all masses, differ from the description by these faults. Any number
    of joints, all conventions and all factors of the masses are equally likely.
    """
    names, n = samples.model.joint_names, samples.q.shape[1]
    changes = [fault for fault in faults if fault.joint is not None]
    joints = sorted({fault.joint for fault in changes if fault.joint is not None})
    share = 1.0 / (n * comb(n, len(joints)))
    share /= (len(_ANGLES) + 1) ** len(changes) * (len(_FACTORS) + 1)

    def mend(s: Samples) -> Samples:
        for fault in faults:
            s = fault.mend(s)
        return s

    data = {"joints": [names[j] for j in joints]}
    return Hypothesis(Fault.OTHER_ROBOT, "other-robot", data, mend, share=share)


def reversed_positions(samples: Samples, faults: Sequence[Hypothesis]) -> Hypothesis:
    """Return the hypothesis that the positions of all joints of these faults are reversed; a joint
    that two of them reverse is not.
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

    With the masses of the description, each joint has a part of its own, in which friction and
    drive inertia are positive.
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


def zero_angle(names: tuple[str, ...], joint: int, angle: float) -> Hypothesis:
    """Return the hypothesis that the zero position of a joint is wrong by an angle [rad]."""

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
    """Return the hypothesis that the base is mounted in another orientation, given gravity in the
    base frame, shape (3,) [m/s^2].
    """
    g = np.asarray(gravity, dtype=float)
    return Hypothesis(
        Fault.MOUNTING,
        "mounting",
        {
            "gravity": g.tolist(),
            "written": ",".join(f"{x:.3f}" for x in g),
            "mount": ",".join(f"{x:.3f}" for x in mount_of(g)),
        },
        lambda s: s.with_model(s.model.with_gravity(g)),
    )


def mount_of(gravity: Array) -> Array:
    """Return roll, pitch and yaw of a base, (3,) [rad], from gravity in the base frame; yaw is not
    observable.
    """
    up = -np.asarray(gravity, dtype=float) / np.linalg.norm(gravity)
    R = pin.Quaternion.FromTwoVectors(up, np.array([0.0, 0.0, 1.0])).toRotationMatrix()
    return np.asarray(pin.rpy.matrixToRpy(R)) + 0.0


def gain_fault(names: tuple[str, ...], joint: int, factor: float) -> Hypothesis:
    """Return the hypothesis that the recorded torque of a joint is `factor` times its true value."""
    scale = np.ones(len(names))
    scale[joint] = 1.0 / factor
    data = {"joint": names[joint], "factor": factor}
    return Hypothesis(
        Fault.GAIN, "gain", data, lambda s: s.with_torques(lambda x: x * scale), joint, factor
    )


def scale_fault(factor: float, unit: str = "") -> Hypothesis:
    """Return the hypothesis that all recorded torques are `factor` times their true values."""
    return Hypothesis(
        Fault.EFFORT_UNIT,
        "effort-unit" if unit else "effort-scale",
        {"factor": factor, "unit": unit},
        lambda s: s.with_torques(lambda x: x / factor),
        amount=factor,
    )


def mass_fault(model: RobotModel, factor: float) -> Hypothesis:
    """Return the hypothesis that the robot description is wrong by a factor: all torques are
    `factor` times those of its masses.

    No motion can distinguish this fault from `scale_fault`. Only prior knowledge can: typical
    errors of the masses in robot descriptions, and typical densities of robots.
    """
    density = apparent_density(model)

    def worth(x: ArrayLike) -> Array:
        wide, usual = (np.exp(-0.5 * (np.log(x) / sd) ** 2) for sd in (MASSES_SD, DENSITY))
        return np.asarray(wide * (1.0 - usual) + 1e-300)  # a usual factor is as declared

    def likely(value: float) -> float:
        z = np.log(value / _USUAL_DENSITY) / _DENSITY_SPREAD
        return float((1.0 + 0.5 * z**2) ** -1.5)

    share = float(worth(factor) / worth(_FACTORS).sum())
    if density is not None:
        share *= likely(factor * density) / likely(density)
    return Hypothesis(
        Fault.MASSES,
        "urdf-masses",
        {"factor": factor},
        lambda s: s.with_model(s.model.with_pi(factor * s.model.pi)),
        amount=factor,
        share=share,
    )


def apparent_density(model: RobotModel) -> float | None:
    """Return the median density of the links [kg/m^3], where each link is the uniform ellipsoid
    with its mass and inertia; None without physically consistent links.
    """
    pi = model.pi[is_physically_consistent(model.pi) & (model.pi[:, 0] > 0.0)]
    if not len(pi):
        return None
    centres = pi[:, 1:4] / pi[:, :1]
    moments = pseudo_inertia_from_pi(pi)[:, :3, :3] / pi[:, :1, None]
    spread = moments - centres[:, :, None] * centres[:, None, :]
    volume = 4.0 / 3.0 * np.pi * np.sqrt(np.maximum(np.linalg.det(5.0 * spread), 1e-300))
    return float(np.median(pi[:, 0] / volume))


def tool_fault(mass: float) -> Hypothesis:
    """Return the hypothesis that the description lacks a tool of about this mass [kg], or, if
    negative, that it contains one that the robot lacks.
    """
    return Hypothesis(Fault.TOOL, "load-lacking" if mass > 0.0 else "load-surplus", tool=mass)


def clock_fault(factor: float) -> Hypothesis:
    """Return the hypothesis that the stamps advance `factor` times too fast."""
    return Hypothesis(
        Fault.CLOCK,
        "stamps",
        {"factor": factor},
        lambda s: s.scaled(rate=factor),
        amount=factor,
    )


def lag_fault(which: int) -> Hypothesis:
    """Return the hypothesis that all efforts are delayed by `LAGS[which]`."""
    return Hypothesis(
        Fault.LAG,
        "efforts-late",
        {"ms": 1e3 * LAGS[which]},
        lambda s: s.with_lag(which),
        amount=LAGS[which],
    )
