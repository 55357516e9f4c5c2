# SPDX-License-Identifier: Apache-2.0
r"""Bound on the information of any motion: the optimal distribution of states, beside a planned
motion.

A motion of a duration tells what its states tell, one by one. The best distribution of states
inside the limits is a convex problem (approximate design; Fedorov 1972): no motion leaves a smaller
mean deviation than its optimum. A motion is one state after the other, too: for every smooth f(q, v)

    mean(df/dq . v + df/dv . a) = 0

over a motion that ends as it began (Liouville's equation; Lasserre et al. 2008), and distributions
are held to it for some f. The bound follows from the slope and the multipliers at the best state that was found (Kiefer
and Wolfowitz 1960), so it is as good as that search. Contact is left out, which only lowers it.
Usage: python benchmarks/excitation/design_bound.py [--level 0|1|2] [--rounds N] [robots|ur10e]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import goals
import numpy as np
import scipy.optimize

from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.design import Unknowns
from sysid_core.robot import Array

ROUNDS, STAGES, DESCENTS = 30, 3, 60  # of columns; of multipliers and of L-BFGS in each
FIRST, DRAWN, KEPT, CLIMBS = 4000, 300, 500, 35  # states: at first, new, climbed from; steps
STIFFNESS = 1.5  # of the augmented Lagrangian


class Flow:
    """Rates of test functions `phi(q) v_j`, in units of their root mean square.

    Even functions of v need none: the best distribution holds each state with v and -v.

    Args:
        n: Joints.
        level: 0 for no function; 1 for phi = 1, q_i, sin q_i and cos q_i; 2 for sin and cos of
            2 q_i and q_i ± q_i+1 too.
    """

    def __init__(self, n: int, level: int) -> None:
        one = np.eye(n)
        pairs = [one[i] + s * one[i + 1] for i in range(n - 1) for s in (1.0, -1.0)]
        self.level = level
        self.k = np.array([*one, *2.0 * one, *pairs]) if level == 2 else one
        self.unit: float | Array = 1.0

    def rates(self, states: Array) -> Array:
        """`dphi/dq . v v_j + phi a_j` of states (3, K, n), shape (K, m)."""
        q, v, a = states
        if not self.level:
            return np.zeros((len(q), 0))
        angle, rate, one = q @ self.k.T, v @ self.k.T, np.ones((len(q), 1))
        s, c = np.sin(angle), np.cos(angle)
        phi = np.hstack([one, q, s, c])
        slope = np.hstack([0.0 * one, v, c * rate, -s * rate])
        both = phi[:, :, None] * a[:, None] + slope[:, :, None] * v[:, None]
        return np.asarray(both.reshape(len(q), -1) / self.unit)


class Design:
    """States with weights, and what they would tell in a time.

    Args:
        checker: Checker of the robot and its limits.
        unknowns: What is estimated.
        duration: Duration of the motion [s].
        level: Level of the test functions by which successive states are linked, `Flow`.
    """

    def __init__(
        self, checker: MotionChecker, unknowns: Unknowns, duration: float, level: int
    ) -> None:
        self.checker, self.unknowns = checker, unknowns
        self.limits, self.rng = checker.limits, np.random.default_rng(0)
        self.count = duration / unknowns.correlation
        self.prior = unknowns.prior_information * np.outer(unknowns.size, unknowns.size)
        bounded = np.isfinite(self.limits.upper - self.limits.lower)
        self.lower = np.where(bounded, self.limits.lower, -np.pi)
        self.upper = np.where(bounded, self.limits.upper, np.pi)
        self.flow = Flow(len(self.lower), level)

    def inside(self, states: Array) -> Array:
        """q, v and a (3, K, n) brought inside the limits of joints and tool speed."""
        q = np.clip(states[0], self.lower, self.upper)
        v = np.clip(states[1], -self.limits.velocity, self.limits.velocity)
        used = self.checker.tcp_speed(q, v) / self.limits.tcp_speed
        return np.stack([q, v / np.maximum(used, 1.0)[:, None], states[2]])

    def strong(self, states: Array) -> Array:
        """Mask of states within the torque limits, (K,)."""
        torque = self.checker.model.inverse_dynamics(*states)
        return np.all(np.abs(torque) <= self.limits.effort, axis=1)

    def drawn(self, count: int) -> Array:
        """Random states with the largest accelerations: between them nothing tells more."""
        shape = (count, len(self.lower))
        q = self.rng.uniform(self.lower, self.upper, shape)
        v = self.rng.normal(size=shape) * self.limits.velocity
        a = self.rng.choice([-1.0, 1.0], shape) * self.limits.acceleration
        states = self.inside(np.stack([q, v, a]))
        return np.asarray(states[:, self.strong(states)])

    def rows(self, states: Array) -> Array:
        """Scaled regressor rows of states, (K, n, b)."""
        u = self.unknowns
        return np.asarray(u.regressor(*states) / u.effort_sd[:, None] * u.size)

    def value_and_slope(self, M: Array) -> tuple[float, Array]:
        """Mean log deviation of the inertial parameters, and minus its slope by M."""
        P, r = np.linalg.inv(self.count * M + self.prior), self.unknowns.n_rigid
        d = np.diag(P)[:r]
        return float(np.mean(np.log(d)) / 2), (P[:, :r] / d) @ P[:r] * self.count / (2 * r)

    def weighted(self, Phi: Array, C: Array, w: Array, by: Array) -> tuple[Array, Array]:
        """Weights, and multipliers `by` of the rates' means, improved by an augmented Lagrangian."""

        def lagrangian(z: Array) -> tuple[float, Array]:
            w = z / z.sum()
            value, slope = self.value_and_slope(information(w, Phi))
            off = C.T @ w
            up = C @ (by + STIFFNESS * off) - gains(Phi, slope)
            return value + by @ off + STIFFNESS / 2 * off @ off, (up - up @ w) / z.sum()

        for _ in range(STAGES):
            found = scipy.optimize.minimize(
                lagrangian,
                w * len(w),
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, None)] * len(w),
                options={"maxiter": DESCENTS, "maxcor": 20},
            )
            w = found.x / found.x.sum()
            by = by + STIFFNESS * (C.T @ w)
        return w, by

    def best(self, rounds: int) -> Iterator[tuple[float, float]]:
        """Mean deviation of the best design so far, and the bound below all others, by rounds."""
        states = self.drawn(FIRST)
        self.flow.unit = np.sqrt(np.mean(self.flow.rates(states) ** 2, axis=0))
        Phi, C = self.rows(states), self.flow.rates(states)
        w, by = np.full(len(Phi), 1.0 / len(Phi)), np.zeros(C.shape[1])
        bound = -np.inf
        for _ in range(rounds):
            w, by = self.weighted(Phi, C, w, by)
            keep = w > 1e-7
            states, Phi, C, w = states[:, keep], Phi[keep], C[keep], w[keep] / w[keep].sum()
            M = information(w, Phi)
            value, slope = self.value_and_slope(M)
            new, top = self.climbed(states, slope, by)
            bound = max(bound, value - (top - float(np.sum(slope * M))))
            yield float(np.exp(value)), float(np.exp(bound))
            states = np.concatenate([states, new], axis=1)
            Phi, C = np.concatenate([Phi, self.rows(new)]), np.vstack([C, self.flow.rates(new)])
            w = np.concatenate([0.9 * w, np.full(new.shape[1], 0.1 / new.shape[1])])

    def climbed(self, states: Array, slope: Array, by: Array) -> tuple[Array, float]:
        """States that tell most for what they cost, by random search, and the most."""

        def told(states: Array) -> Array:
            return gains(self.rows(states), slope) - self.flow.rates(states) @ by

        top = np.argsort(-told(states))[:DRAWN]
        found, step = np.concatenate([states[:, top], self.drawn(DRAWN)], axis=1), 0.5
        best = told(found)
        for _ in range(CLIMBS):
            moved = found.copy()
            some = self.rng.random(found[:2].shape) < 0.5
            far = np.stack([np.ones_like(self.lower), self.limits.velocity])[:, None]
            moved[:2] += step * far * some * self.rng.normal(size=some.shape)
            moved[2] *= np.where(self.rng.random(found[2].shape) < 0.15, -1.0, 1.0)
            moved = self.inside(moved)
            now = told(moved)
            better = (now > best) & self.strong(moved)
            found[:, better], best[better] = moved[:, better], now[better]
            step *= 0.93
        return found[:, np.argsort(-best)[:KEPT]], float(best.max())


def information(weights: Array, Phi: Array) -> Array:
    """Mean information of weighted states, (b, b)."""
    flat = (Phi * np.sqrt(weights)[:, None, None]).reshape(-1, Phi.shape[2])
    return np.asarray(flat.T @ flat)


def gains(Phi: Array, slope: Array) -> Array:
    """First-order gain of each state, (K,)."""
    return np.asarray(np.sum((Phi @ slope) * Phi, axis=(1, 2)))


def cases(robot: str) -> Iterator[tuple[str, MotionChecker, Unknowns, float, float]]:
    """Name, limits, unknowns, duration and what the deviation is divided by."""
    if robot == "ur10e":
        for run in goals.published_runs():
            theirs = run.expectation.mean_deviation
            checker = MotionChecker(run.unknowns.model, run.limits)
            yield run.name, checker, run.unknowns, run.period, theirs
        return
    model = goals.arm(robot)
    limits: MotionLimits = goals.at_one_metre(model, goals.ARMS[robot])
    yield robot, MotionChecker(model, limits), Unknowns.of_arm(model), 20.0, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=[*goals.ARMS])
    parser.add_argument("--level", type=int, choices=(0, 1, 2), default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    for robot in asked.robots:
        for name, checker, unknowns, seconds, unit in cases(robot):
            found = bound = 0.0
            for found, bound in Design(checker, unknowns, seconds, asked.level).best(asked.rounds):
                print(f"\r{found / unit:.4f} {bound / unit:.4f}", end="", flush=True)
            print(
                f"\r{name}: {seconds:g} s: the best states {100 * found / unit:.2f} %, no motion"
                f" below {100 * bound / unit:.2f} % mean deviation"
                + (" of the published run's" if unit != 1.0 else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
