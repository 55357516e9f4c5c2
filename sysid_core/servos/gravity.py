# SPDX-License-Identifier: Apache-2.0
r"""Check of a recording's conventions by gravity: signs, zero positions and order of joints, and
mounting.

The position loop of a servo is the same for any sign and zero position of its angles. A wrong sign,
zero position or order of command *and* position therefore changes the simulated motion only through
gravity, whose torque the robot's model predicts. Each possible convention is an alternative
hypothesis: the same servos with the loads that follow from it, and with stiffness and friction
fitted again. Each block of time has an error variance of its own and counts as one datum, so that
blocks in which the robot leaned on something do not decide. As a function of the recorded angle x,
where the true angle of the joint is \(q = s x + z\), the load \(a \cos q + b \sin q\) is

\[ s (a \cos z + b \sin z) \cos x + (b \cos z - a \sin z) \sin x . \]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sysid_core.servos.bodies import Array, BodyTree, Loads
from sysid_core.servos.examine import HALF_TOOTH, SURE, Finding, ServoReason
from sysid_core.servos.fit import (
    TRIAL_STEP,
    JointFit,
    JointMotion,
    block_weights,
    errors,
    solve_joint,
    unlikely,
)
from sysid_core.servos.model import Term
from sysid_core.servos.recording import GRAVITY, ServoRecording

ODDS = float(np.log(20.0))  # from which an alternative is believed, or no longer in doubt
# Of a servo what a wrong load would change; the rest is what the motion itself shows.
REFITTED = (Term.COMPLIANCE, Term.FRICTION)
# Of a replay's error, what a model that isn't quite the robot's gains from a wrong convention: its errors
# repeat wherever a posture does, so that blocks don't vote apart (4 to 16 % on an SO-101 as it is).
_MISFIT = 0.2
_ENOUGH = 120.0  # [s] of motions: their errors repeat, and more only takes longer
_APART = 0.05  # [s] a hobby servo's time constant
_RECENTRED = 4  # times that a zero is looked for beyond what was tried
_MOUNTS = {
    "upside down": Rotation.from_euler("x", np.pi),
    "turned by 90° about x": Rotation.from_euler("x", np.pi / 2),
    "turned by -90° about x": Rotation.from_euler("x", -np.pi / 2),
    "turned by 90° about y": Rotation.from_euler("y", np.pi / 2),
    "turned by -90° about y": Rotation.from_euler("y", -np.pi / 2),
}


@dataclass(frozen=True)
class Witness:
    """Fitted servo with its data and the effective number of independent data."""

    motions: Sequence[JointMotion]
    fit: JointFit
    data: float


@dataclass(frozen=True)
class _Convention:
    """Assumed order, signs and zero positions of the columns: the position of joint j is `sign[j]`
    times column `order[j]`, plus `zero[j]`.
    """

    sign: Array
    zero: Array
    order: NDArray[np.int64]
    mount: Rotation | None = None

    def loads(self, tree: BodyTree, x: Array) -> Loads:
        """Gravity torques for the columns as recorded, shape (K, n)."""
        s, z = self.sign, self.zero
        up = tree if self.mount is None else tree.turned(self.mount.as_matrix())
        loads = up.loads(s * x[:, self.order] + z)
        turns = loads.turns
        a = s * np.where(turns, loads.a * np.cos(z) + loads.b * np.sin(z), loads.a)
        b = np.where(turns, loads.b * np.cos(z) - loads.a * np.sin(z), 0.0)
        column = np.argsort(self.order)
        return Loads(a[:, column], b[:, column], loads.inertia[:, column], turns[column])


@dataclass(frozen=True)
class Odds:
    """Log-odds of the assumed convention relative to an alternative one, from the deflections under
    gravity.

    Attributes:
        against: Logarithm of the odds that the alternative is wrong.
        data: Number of blocks that were used.
    """

    against: float
    data: int

    @property
    def believed(self) -> bool:
        """True if the alternative is more likely than what was assumed, beyond the effect of model
        errors.
        """
        return -self.against > max(ODDS, _MISFIT * self.data)

    @property
    def refuted(self) -> bool:
        """True if the recordings contradict the alternative."""
        return self.against > ODDS

    @property
    def times(self) -> float:
        """Ratio of the likelihoods, within the range of floating-point numbers."""
        return float(np.exp(np.clip(-self.against, -20.0, 20.0)))


class _Court:
    """Log-likelihoods of alternative conventions, relative to the convention of the recording."""

    def __init__(
        self,
        tree: BodyTree,
        recordings: Sequence[ServoRecording],
        witnesses: Sequence[Witness | None],
    ) -> None:
        n = len(tree.joints)
        self.tree, self.recordings, self.witnesses = tree, recordings, witnesses
        self.as_is = _Convention(np.ones(n), np.zeros(n), np.arange(n))
        # As they are recorded in all: how joints swing each other is not what is asked.
        self._coupling = [tree.coupling(r.t, r.q) for r in recordings]
        self._loads, self._felt = self._all_loads(self.as_is), self._ranges(self.as_is)
        nothing = [replace(x, a=0 * x.a, b=0 * x.b) for x in self._loads]
        self._blocks = sum(len(np.unique(m.block)) for m in next(w.motions for w in witnesses if w))
        self._none = [self._fit(j, nothing)[0] for j in range(n)]
        self._own = [self._cost(j, self._loads) for j in range(n)]

    def against(self, convention: _Convention) -> Odds:
        """Return the log-odds against a convention: the decrease of the log-likelihood if it
        replaces the assumed one.
        """
        loads, total, data = self._all_loads(convention), 0.0, 0
        felt = np.maximum(self._ranges(convention), self._felt) > GRAVITY
        for j, own in enumerate(self._own):
            same = all(
                np.array_equal(new.a[:, j], old.a[:, j])
                and np.array_equal(new.b[:, j], old.b[:, j])
                for new, old in zip(loads, self._loads, strict=True)
            )
            if felt[j] and not same and self.witnesses[j] is not None:
                total += self._cost(j, loads) - own
                data += self._blocks
        return Odds(total, data)

    def _ranges(self, convention: _Convention) -> Array:
        """Range of the gravity torque on the joint of each column, shape (n,) [N m]."""
        torques = [convention.loads(self.tree, r.q).gravity(r.q) for r in self.recordings]
        return np.ptp(np.concatenate(torques), axis=0)

    def _all_loads(self, convention: _Convention) -> list[Loads]:
        return [
            convention.loads(self.tree, r.q).beside(torque, r.q)
            for r, torque in zip(self.recordings, self._coupling, strict=True)
        ]

    def _cost(self, j: int, loads: Sequence[Loads]) -> float:
        cost, compliance = self._fit(j, loads)
        # Nothing rises under its weight.
        return cost if compliance >= 0.0 else max(cost, self._none[j])

    def _fit(self, j: int, loads: Sequence[Loads]) -> tuple[float, float]:
        witness = self.witnesses[j]
        if witness is None:
            return 0.0, 0.0
        motions = [replace(m, loads=x) for m, x in zip(witness.motions, loads, strict=True)]
        fit = refitted(witness, motions, 1.0)
        offs = [
            (fit.values[t] - fit.priors[t].mean) / fit.priors[t].deviation
            for t in REFITTED
            if t in fit.values
        ]
        likely = unlikely(motions, errors(motions, fit.vector, TRIAL_STEP))
        return float(likely.sum()) + 0.5 * float(np.square(offs).sum()), fit.values[Term.COMPLIANCE]


def refitted(witness: Witness, motions: Sequence[JointMotion], share: Array | float) -> JointFit:
    """Servo with stiffness and friction fitted again to motions with other loads. The samples are
    weighted by `share`, and in a second fit also by how well their block is simulated.
    """
    priors, values = witness.fit.priors, dict(witness.fit.values)
    values.setdefault(Term.COMPLIANCE, priors[Term.COMPLIANCE].mean)
    weights = share * np.ones(sum(len(m.t) for m in motions))
    for _ in range(2):
        fit = solve_joint(
            motions, values, weights,
            trial=True, priors=priors, data=witness.data, fitted=REFITTED,
        )  # fmt: skip
        r = errors(motions, fit.vector)
        weights, values = share * block_weights(motions, r), fit.values
    return fit


def thinned(
    recordings: Sequence[ServoRecording], witnesses: Sequence[Witness | None]
) -> tuple[list[ServoRecording], list[Witness | None]]:
    """Return the first part of each motion, sampled at intervals of a servo's time constant,
    because the torque of gravity does not change faster.
    """
    share = min(_ENOUGH / sum(r.duration for r in recordings), 1.0)
    few = []
    for r in recordings:
        every = max(int(_APART / float(np.median(np.diff(r.t)))), 1)
        few.append(slice(None, max(int(share * len(r.t)), 2), every))
    kept = [replace(r, t=r.t[k], q=r.q[k]) for r, k in zip(recordings, few, strict=True)]
    seen = [
        w and replace(w, motions=[m.part(k) for m, k in zip(w.motions, few, strict=True)])
        for w in witnesses
    ]
    return kept, seen


def examine_conventions(
    tree: BodyTree,
    recordings: Sequence[ServoRecording],
    witnesses: Sequence[Witness | None],
    named: bool,
) -> Iterator[Finding]:
    """Yield findings on conventions that are more likely than those of the recordings, or that
    gravity does not determine.

    Args:
        tree: Tree of the robot's bodies.
        recordings: Recordings with the joints in the order of the tree.
        witnesses: Fitted servo of each joint with its data; None if no servo was fitted.
        named: True if the recordings contain column names, so that the order is certain.
    """
    if not any(witnesses):
        return
    court = _Court(tree, *thinned(recordings, witnesses))
    moved = [j for j, w in enumerate(witnesses) if w is not None]
    against: list[tuple[Odds, Finding]] = []
    untold: dict[str, list[str]] = {}
    for j in moved:
        sign = court.as_is.sign.copy()
        sign[j] = -1.0
        joint = tree.joints[j]
        odds = court.against(replace(court.as_is, sign=sign))
        against.append((odds, Finding(ServoReason.DIRECTION, joint, odds.times)))
        if not odds.refuted:
            untold.setdefault(joint, []).append("direction")
        if tree.turns[j]:
            zero, sd, odds = _zero(court, j)
            if abs(zero) - SURE * sd > HALF_TOOTH:
                against.append((odds, Finding(ServoReason.OFFSET, joint, zero)))
            if abs(zero) + SURE * sd > 2.0 * HALF_TOOTH or odds.against < -ODDS:
                untold.setdefault(joint, []).append("zero")
    n = len(tree.joints)
    for a, b in combinations(moved, 2):
        order = np.arange(n)
        order[[a, b]] = b, a
        odds = court.against(replace(court.as_is, order=order))
        finding = Finding(ServoReason.EXCHANGED, tree.joints[a], odds.times, tree.joints[b])
        against.append((odds, finding))
        if not odds.refuted and not named:
            untold.setdefault(tree.joints[a], []).append(f"exchange with {tree.joints[b]}")
    if len(moved) > 2:
        odds = court.against(replace(court.as_is, order=np.arange(n)[::-1].copy()))
        finding = Finding(ServoReason.EXCHANGED, tree.joints[0], odds.times, tree.joints[-1])
        against.append((odds, finding))
    for name, mount in _MOUNTS.items():
        odds = court.against(replace(court.as_is, mount=mount))
        against.append((odds, Finding(ServoReason.MOUNT, "", odds.times, name)))
    least = min(odds.against for odds, _ in against)
    yield from (f for odds, f in against if odds.believed and odds.against < least + ODDS)
    for joint, what in untold.items():
        yield Finding(ServoReason.UNTOLD, joint, float(len(what)), ", ".join(what))


def _zero(court: _Court, j: int) -> tuple[float, float, Odds]:
    """Zero error of a joint according to gravity [rad], its standard deviation, and the odds
    against it.

    The angle is the maximum of a parabola through the likelihoods of three angles, half a tooth of
    the servo horn apart; the middle one is moved until it is the best of the three.
    """
    known: dict[int, Odds] = {0: Odds(0.0, 0)}

    def against(k: int) -> float:
        if k not in known:
            zero = court.as_is.zero.copy()
            zero[j] = k * HALF_TOOTH
            known[k] = court.against(replace(court.as_is, zero=zero))
        return known[k].against

    k = 0
    for _ in range(_RECENTRED):
        low, middle, high = against(k - 1), against(k), against(k + 1)
        if middle <= min(low, high):
            break
        k += 1 if high < low else -1
    low, middle, high = against(k - 1), against(k), against(k + 1)
    curvature = low - 2.0 * middle + high
    if curvature <= 0.0:
        return k * HALF_TOOTH, np.inf, known[k]
    shift = float(np.clip(0.5 * (low - high) / curvature, -1.0, 1.0))
    best = middle - 0.5 * curvature * shift**2
    odds = replace(known[k - 1], against=best)
    return (k + shift) * HALF_TOOTH, HALF_TOOTH / float(np.sqrt(curvature)), odds
