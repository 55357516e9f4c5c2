# SPDX-License-Identifier: Apache-2.0
"""Optimisation problem of exciting motions, with value and gradient."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import MotionBasis
from sysid_core.planning.design.criteria import Score
from sysid_core.planning.design.limit_penalties import LimitPenalties
from sysid_core.planning.design.tree_motion import BodySlopes, Tree
from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.trajectory import Trajectory
from sysid_core.planning.transfer import MotionBuilder, sample_times
from sysid_core.planning.violations import LimitKind, Violation
from sysid_core.robot import Array, FrictionTerm, RobotModel

BETWEEN = 4  # samples of the fine grid per sample of the coarse one
NOTICED = 1e-6  # squared excess of one sample
CONTACT_RATE = 12.0  # [Hz], at which contacts are asked for: most of an evaluation's time
TCP_STEPS, TCP_AIM = 10, 0.96  # scalings until the TCP is slow enough; share of its limit
ASKED = 40  # random postures that tell what is in the way
# Shares of the amplitude that are tried until the dense check passes.
AMPLITUDES = np.concatenate([np.arange(1.0, 0.9, -0.01), np.geomspace(0.9, 0.05, 10)])


class ExcitationProblem:
    r"""Optimality criterion plus penalties, as a function of centre and coefficients of the motion.

    The gradient is exact, in closed form: through the information, the regressor, the bodies'
    motion (`TreeMotion`) and the linear series. The penalties are quadratic in the amount by which
    a quantity exceeds a share of its limit, or a distance is too small, on a coarse grid and at the
    instants that `watch` added. Whether a motion is safe is decided by the motion check on a dense
    grid.

    Args:
        checker: Checker of motions against the robot's limits.
        unknowns: Parameters to be estimated.
        score: Criterion to be minimised.
        basis: Basis of the series.
    """

    def __init__(
        self,
        checker: MotionChecker,
        unknowns: Unknowns,
        score: Score,
        basis: MotionBasis,
    ) -> None:
        self.checker, self.score, self.basis = checker, score, basis
        self._given = (checker, unknowns, score, basis)
        self.unknowns = unknowns.smooth()
        self.penalty = 2000.0  # what one sample of a hundred at twice a limit costs
        n_samples = basis.n_samples
        self._n_even = n_samples  # samples that the information is computed from; then the watched
        self._time = np.arange(n_samples) * basis.period / n_samples
        self._matrices = basis.matrices(self._time)
        self._contact_weights = _contact_weights(n_samples, basis.period, CONTACT_RATE)
        self._tree = Tree(checker.model)
        self.limits = LimitPenalties(checker, self._tree, basis.share)
        self.last_score = float("inf")  # of the last evaluation
        self.last_excess: dict[LimitKind, float] = {}

    def __reduce__(self) -> tuple[type[ExcitationProblem], tuple[object, ...]]:
        """Support pickling: rebuild the problem from the constructor's arguments."""
        return ExcitationProblem, self._given

    @property
    def n_variables(self) -> int:
        """Number of variables: centre and free coefficients of all joints."""
        return self.checker.model.nv * (1 + self.basis.n_free)

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the centre (n,) and coefficients (n_free, n) from a vector of variables."""
        n = self.checker.model.nv
        return x[:n], x[n:].reshape(self.basis.n_free, n)

    def units(self) -> Array:
        """Return the scaling of the coefficients during the optimisation, shape (n, n_free,
        n_free).

        Without scaling, the penalties of limits have far more curvature in some directions (high
        harmonics, or differences of neighbouring splines) than in others, which slows the whole
        search. For splines, `units[j] @ z` has, at |z| = 1, the root mean square 1 of joint j's
        velocity, acceleration and jerk together, in shares of their limits. Harmonics are
        orthogonal, so that each is scaled by the amplitude with which it alone reaches the limits
        of the joint.
        """
        limits, K = self.checker.limits, self._n_even
        bounds = [limits.velocity, limits.acceleration]
        if limits.jerk is not None:
            bounds.append(limits.jerk)
        rates = [m[:K] for m in self._matrices[1:]][: len(bounds)]
        if self.basis.orthogonal:
            used = sum(
                np.abs(m).max(axis=0) / b[:, None] for m, b in zip(rates, bounds, strict=True)
            )
            return np.asarray(np.eye(self.basis.n_free) / used[:, None, :])
        square = sum(
            m.T @ m / K / b[:, None, None] ** 2 for m, b in zip(rates, bounds, strict=True)
        )
        return np.asarray(np.linalg.inv(np.linalg.cholesky(square)).transpose(0, 2, 1))

    def motion(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return the motion on the coarse grid: q, v, a and jerk, each (K, n)."""
        centre, coefficients = self.split(x)
        Q, V, A, B = (matrix @ coefficients for matrix in self._matrices)
        return centre + Q, V, A, B

    def fitted_to_joint_limits(self, x: Array) -> Array:
        """Return the motion with the amplitude of every joint scaled to 0.9 of its tightest limit."""
        centre, coefficients = self.split(x)
        q, v, a, jerk = self.motion(x)
        limits = self.checker.limits
        room = np.minimum(limits.upper - centre, centre - limits.lower)
        used = [
            np.abs(q - centre).max(axis=0) / np.maximum(room, 1e-6),
            np.abs(v).max(axis=0) / limits.velocity,
            np.abs(a).max(axis=0) / limits.acceleration,
        ]
        if limits.jerk is not None:
            used.append(np.abs(jerk).max(axis=0) / limits.jerk)
        return np.concatenate([centre, (coefficients * 0.9 / np.max(used, axis=0)).ravel()])

    def fitted_to_tcp_speed(self, x: Array) -> Array:
        """Return the motion with all amplitudes reduced until the TCP speed respects its limit."""
        centre, coefficients = self.split(x)
        for _ in range(TCP_STEPS):  # speeds are nearly linear in the amplitude
            q, v, _, _ = self.motion(np.concatenate([centre, coefficients.ravel()]))
            used = self.checker.tcp_speed(q, v).max() / (TCP_AIM * self.checker.limits.tcp_speed)
            if used <= 1.0:
                break
            coefficients = coefficients / used
        return np.concatenate([centre, coefficients.ravel()])

    def watch(self, x: Array) -> int:
        """Find the times between the samples at which a motion violates its limits most, and check
        the limits there too from now on; returns the number of times added.
        """
        n = BETWEEN * self._n_even
        time = np.arange(n) * self.basis.period / n
        centre, coefficients = self.split(x)
        Q, V, A, B = (matrix @ coefficients for matrix in self.basis.matrices(time))
        q = centre + Q
        Y = self.unknowns.model.torque_regressor(q, V, A)
        fine = LimitPenalties(self.checker, self._tree, 1.0)
        asked = _contact_weights(n, self.basis.period, BETWEEN * CONTACT_RATE)
        over = fine.excess(q, V, A, B, Y, self._tree.move(q, V, A), asked).by_sample
        peak = (over > NOTICED) & (over >= np.roll(over, 1)) & (over >= np.roll(over, -1))
        new = np.setdiff1d(time[peak], self._time)
        self._time = np.concatenate([self._time, new])
        self._matrices = self.basis.matrices(self._time)
        self._contact_weights = np.concatenate([self._contact_weights, np.ones(len(new))])
        return len(new)

    def forget(self) -> None:
        """Return to the initial coarse grid."""
        self.limits.forget()
        self._time = self._time[: self._n_even]
        self._contact_weights = self._contact_weights[: self._n_even]
        self._matrices = self.basis.matrices(self._time)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return the objective function and its gradient, shape (n_variables,)."""
        q, v, a, jerk = self.motion(x)
        K, unknowns = self._n_even, self.unknowns
        motion = self._tree.move(q, v, a)
        Y = unknowns.model.torque_regressor(q, v, a)
        Phi = np.concatenate([Y, unknowns.friction.regressor(q, v, a)], axis=2)
        independent = list(unknowns.base.independent)
        white = Phi[:K][..., independent] * self.score.weights[:, None]  # (K, n, b)
        flat = white.reshape(-1, len(independent))
        self.last_score, slope = self.score.value_and_slope(flat.T @ flat / K)

        excess = self.limits.excess(q, v, a, jerk, Y, motion, self._contact_weights)
        self.last_excess = excess.by_kind
        cost = self.penalty * 100.0 / K
        pull = np.zeros_like(Phi)
        pull[:K, :, independent] = (2.0 / K) * (flat @ slope).reshape(white.shape)
        pull *= self.score.weights[:, None]
        rigid = pull[..., : Y.shape[2]]
        if excess.pull is not None:
            rigid = rigid + cost * excess.pull
        by = motion.regressor_pull(rigid)
        if excess.bodies is not None:
            by = BodySlopes.sum(by, excess.bodies, cost)
        by_q, by_v, by_a = motion.joint_slopes(by)
        friction_v, friction_a = self._friction_slopes(pull[..., Y.shape[2] :], v)
        slopes = (
            by_q + cost * excess.q,
            by_v + cost * excess.v + friction_v,
            by_a + cost * excess.a + friction_a,
            cost * excess.jerk,
        )
        coefficients = sum(m.T @ s for m, s in zip(self._matrices, slopes, strict=True))
        gradient = np.concatenate([slopes[0].sum(axis=0), np.asarray(coefficients).ravel()])
        return self.last_score + cost * excess.total, gradient

    def _friction_slopes(self, pull: Array, v: Array) -> tuple[Array, Array]:
        """Derivatives with respect to v and a of the weighted friction columns, (K, n, f) to (K,
        n).
        """
        friction, by_v, by_a = self.unknowns.friction, np.zeros_like(v), np.zeros_like(v)
        slope = friction.slopes(v)
        column = 0
        for j, axis in enumerate(friction.drives.axis_names):
            for term in friction.terms_of(axis):
                if term is FrictionTerm.INERTIA:
                    by_a[:, j] += pull[:, j, column]
                elif term in slope:
                    by_v[:, j] += pull[:, j, column] * slope[term][:, j]
                column += 1
        return by_v, by_a


def _contact_weights(n_samples: int, period: float, rate_hz: float) -> Array:
    """Weight of contact at each of evenly spaced samples, (K,); 0 without contact checks."""
    stride = max(1, round(n_samples / period / rate_hz))
    return np.where(np.arange(n_samples) % stride == 0, float(stride), 0.0)


def build_series_motion(
    checker: MotionChecker,
    basis: MotionBasis,
    centre: Array,
    coefficients: Array,
    *,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int | None = None,
) -> Trajectory:
    """Return the motion of a rest, some periods of a series, and a rest; it is not checked yet.

    Args:
        checker: Checker of motions against the robot's limits.
        basis: Basis of the series.
        centre: Start and end posture, shape (n,) [rad or m].
        coefficients: Free coefficients of the series, shape (n_free, n).
        still: Duration of each still phase [s].
        rate_hz: Sampling rate [Hz].
        seed: Seed of the search.
    """
    builder = MotionBuilder(checker, centre, rate_hz=rate_hz)
    builder.rest(still, "still")
    time = sample_times(basis.period, rate_hz)
    builder.play(time, *basis.motion(time, centre, coefficients), basis.label)
    builder.rest(still, "settle")
    series = {"begins": still, **basis.as_dict(centre, coefficients)}
    return dataclasses.replace(builder.build(seed=seed), series=series)


def largest_safe(
    problem: ExcitationProblem, x: Array
) -> tuple[Array | None, float, tuple[Violation, ...]]:
    """Return the motion with its amplitude reduced until the dense check passes, and the remaining
    share.

    If the check fails for every amplitude, the motion is None, and the violations of the full
    amplitude are returned.
    """
    checker, basis = problem.checker, problem.basis
    centre, coefficients = problem.split(x)
    # Not by bisection: on the way to the centre the arm may pass through what it went around.
    for share in AMPLITUDES:
        motion = build_series_motion(checker, basis, centre, share * coefficients, still=0.1)
        check = checker.check(motion, stop_early=True)
        if check.is_safe:
            return np.concatenate([centre, share * coefficients.ravel()]), float(share), ()
    return None, 0.0, checker.check(motion).violations


def infeasible(
    model: RobotModel, blame: Sequence[Violation], excess: Sequence[Mapping[LimitKind, float]]
) -> ExcitationError:
    """Return the error that states the limit which prevents the motion, and the necessary change of
    this limit.

    Args:
        model: Robot model.
        blame: Limits that even the smallest motions violate.
        excess: Remaining squared excess over the limits of each improved motion.
    """
    worst: dict[tuple[str, str], Violation] = {}
    for violation in blame:
        key = (violation.kind, violation.where)
        if key not in worst or violation.excess < worst[key].excess:
            worst[key] = violation
    kinds: dict[str, float] = {}
    for left in excess:
        for kind, amount in left.items():
            kinds[kind] = kinds.get(kind, 0.0) + amount
    ranked = sorted((k for k in kinds if kinds[k] > 1e-9), key=lambda k: -kinds[k])
    order = {kind: i for i, kind in enumerate(ranked)}
    first = sorted(worst.values(), key=lambda v: order.get(v.kind, len(order)))[:4]
    details = "; ".join(v.demand for v in first)
    coarse = all(v.kind is LimitKind.CONSISTENCY for v in first)
    ways = ", ".join(
        ranked if any(v.kind in ranked for v in first) else sorted({v.kind for v in first})
    )
    return ExcitationError(
        f"No motion of '{model.name}' was found that keeps to its limits. Limiting: {ways}."
        f" Even the smallest motions violate: {details}.",
        remedy="The series is too fast for its sampling: choose fewer harmonics or spans, a longer period, or a higher rate."
        if coarse
        else "Widen that limit, hold joints still, or try another seed.",
        blame=ranked,
        violations=tuple(worst.values()),
    )


def all_in_contact(checker: MotionChecker, n_postures: int) -> ExcitationError:
    """Return the error that lists the bodies that are in contact in nearly all postures.

    Args:
        checker: Checker of motions against the robot's limits.
        n_postures: Number of random postures that were tried.
    """
    lower, upper = (np.clip(x, -np.pi, np.pi) for x in (checker.limits.lower, checker.limits.upper))
    rng, postures, pairs = np.random.default_rng(0), Counter[str](), Counter[str]()
    for q in rng.uniform(lower, upper, (ASKED, len(lower))):
        bodies = [name for pair in checker.contacts(q) for name in pair]
        postures.update(set(bodies))
        pairs.update(bodies)
    # Of bodies that touch as often the one that touches most others is to blame.
    first = sorted(postures, key=lambda name: (-postures[name], -pairs[name], name))[:3]
    most = ", ".join(f"'{name}' in {postures[name]} of {ASKED}" for name in first)
    return ExcitationError(
        f"All of {n_postures} random postures of '{checker.model.name}' are in contact: {most}.",
        remedy="Correct or move that body, check collision shapes, or hold joints still.",
    )
