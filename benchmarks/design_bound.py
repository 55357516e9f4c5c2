# SPDX-License-Identifier: Apache-2.0
"""How far any motion could go: the best distribution of states, beside a plan of the planner.

A motion of a duration tells what its states tell, one by one. The best distribution of states
inside the limits, whether or not a robot could pass from one to the next, is a convex problem
(approximate design; Fedorov 1972): no motion leaves a smaller mean deviation than its optimum. The
bound that is printed follows from the slope at the best state that was found (Kiefer and Wolfowitz
1960), so it is as good as that search. Contact and ground are left out, which only lowers it.
Usage: python benchmarks/design_bound.py [seconds of motion] [robots]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from sysid_core.excitation import MotionChecker, MotionLimits, Unknowns
from sysid_core.robot import Array, load_robot

FRAMES = {"xarm7": "link_eef", "ur5": "tool0", "panda": "panda_hand_tcp"}
ROUNDS, REWEIGHTS, DRAWN, KEPT, CLIMBS = 30, 60, 400, 60, 25


class Design:
    """States with weights, and what they would tell in a time.

    Args:
        checker: Checker of the robot and its limits.
        unknowns: What is estimated.
        duration: Of the motion [s].
    """

    def __init__(self, checker: MotionChecker, unknowns: Unknowns, duration: float) -> None:
        self.checker, self.unknowns = checker, unknowns
        self.limits, self.rng = checker.limits, np.random.default_rng(0)
        self.count = duration / unknowns.correlation
        self.prior = unknowns.prior_information * np.outer(unknowns.size, unknowns.size)
        self.lower = np.maximum(self.limits.lower, -np.pi)
        self.upper = np.minimum(self.limits.upper, np.pi)

    def inside(self, states: Array) -> Array:
        """q, v and a (3, K, n) brought inside the limits of joints and tool speed."""
        q = np.clip(states[0], self.lower, self.upper)
        v = np.clip(states[1], -self.limits.velocity, self.limits.velocity)
        used = self.checker.tcp_speed(q, v) / self.limits.tcp_speed
        return np.stack([q, v / np.maximum(used, 1.0)[:, None], states[2]])

    def drawn(self, count: int) -> Array:
        """Random states with the largest accelerations, (3, count, n)."""
        shape = (count, len(self.lower))
        q = self.rng.uniform(self.lower, self.upper, shape)
        v = self.rng.normal(size=shape) * self.limits.velocity
        a = self.rng.choice([-1.0, 1.0], shape) * self.limits.acceleration
        return self.inside(np.stack([q, v, a]))

    def rows(self, states: Array) -> Array:
        """Scaled regressor rows of states; none where torques exceed, (K, n, b)."""
        u = self.unknowns
        Phi = u.regressor(*states) / u.effort_sd[:, None] * u.size
        torque = np.abs(self.checker.model.inverse_dynamics(*states))
        return np.asarray(Phi * np.all(torque <= self.limits.effort, axis=1)[:, None, None])

    def value_and_slope(self, M: Array) -> tuple[float, Array]:
        """Mean log deviation of the inertial parameters, and minus its slope by M."""
        P, r = np.linalg.inv(self.count * M + self.prior), self.unknowns.n_rigid
        d = np.diag(P)[:r]
        return float(np.mean(np.log(d)) / 2), (P[:, :r] / d) @ P[:r] * self.count / (2 * r)

    def best(self) -> tuple[float, float]:
        """Mean deviation of the best design that was found, and the bound below all others."""
        states, bound = self.drawn(3000), -np.inf
        Phi = self.rows(states)
        w = np.full(len(Phi), 1.0 / len(Phi))
        value = np.inf
        for _ in range(ROUNDS):
            for _ in range(REWEIGHTS):
                slope = self.value_and_slope(information(w, Phi))[1]
                w = w * np.sqrt(np.maximum(gains(Phi, slope), 1e-12))
                w /= w.sum()
            M = information(w, Phi)
            value, slope = self.value_and_slope(M)
            keep = w > 1e-5
            states, Phi, w = states[:, keep], Phi[keep], w[keep] / w[keep].sum()
            new = self.climbed(states, gains(Phi, slope), slope)
            top = float(gains(self.rows(new), slope).max())
            bound = max(bound, value - (top - float(np.sum(slope * M))))
            states = np.concatenate([states, new], axis=1)
            Phi = np.concatenate([Phi, self.rows(new)])
            w = np.concatenate([0.9 * w, np.full(new.shape[1], 0.1 / new.shape[1])])
        return float(np.exp(value)), float(np.exp(bound))

    def climbed(self, states: Array, told: Array, slope: Array) -> Array:
        """States that tell most, by random search from the best and from new ones."""
        top = np.argsort(-told)[: DRAWN // 2]
        found = np.concatenate([states[:, top], self.drawn(DRAWN)], axis=1)
        best, step = gains(self.rows(found), slope), 0.5
        for _ in range(CLIMBS):
            moved = found.copy()
            some = self.rng.random(found[:2].shape) < 0.5
            by = np.stack([np.ones_like(self.lower), self.limits.velocity])[:, None]
            moved[:2] += step * by * some * self.rng.normal(size=some.shape)
            moved[2] *= np.where(self.rng.random(found[2].shape) < 0.15, -1.0, 1.0)
            moved = self.inside(moved)
            told = gains(self.rows(moved), slope)
            better = told > best
            found[:, better], best[better] = moved[:, better], told[better]
            step *= 0.93
        return np.asarray(found[:, np.argsort(-best)[:KEPT]])


def information(weights: Array, Phi: Array) -> Array:
    """Mean information of weighted states, (b, b)."""
    return np.asarray(np.einsum("k,krb,krc->bc", weights, Phi, Phi, optimize=True))


def gains(Phi: Array, slope: Array) -> Array:
    """What each state adds to first order, (K,)."""
    return np.asarray(np.einsum("krb,bc,krc->k", Phi, slope, Phi, optimize=True))


def main(arguments: Sequence[str]) -> None:
    duration = float(arguments[0]) if arguments else 20.0
    for robot in arguments[1:] or FRAMES:
        model = load_robot(robot)
        if held := [name for name in model.joint_names if "finger" in name]:
            model = model.with_locked(held)
        limits = MotionLimits.from_model(
            model, tcp_frame=FRAMES.get(robot), tcp_speed=1.0, velocity_share=0.9, effort_share=0.8
        )
        found, bound = Design(MotionChecker(model, limits), Unknowns.of_arm(model), duration).best()
        print(
            f"{robot}: {duration:g} s at 1 m/s: the best states {100 * found:.2f} %,"
            f" no motion below {100 * bound:.2f} % mean deviation",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
