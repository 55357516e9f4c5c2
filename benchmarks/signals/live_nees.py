# SPDX-License-Identifier: Apache-2.0
"""Calibration of the live filter's standard deviations, for the table in the docs.

Normalised squared errors of q, v and a (1: the errors agree with the stated deviations) for
different robots, noise and rates: during the motion, in the first second after the start, and after
gaps of 0.3 s. Usage: source scripts/env.sh; python benchmarks/signals/live_nees.py
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from sysid_core.robot import RobotModel
from sysid_core.signals.filters import JointFilter

SECONDS, GAP_S = 12.0, 0.3
ROBOTS, NOISES, RATES = ("xarm7", "ur5", "panda"), (1e-5, 1e-4, 1e-3), (125, 500, 1000)


def motion(
    rng: np.random.Generator, t: np.ndarray, fastest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a of a Fourier series that reaches half of the joints' speed limits."""
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    A, B = rng.normal(size=(2, len(fastest), 5))
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    v = c @ A.T + s @ B.T
    scale = 0.5 * fastest / np.abs(v).max(axis=0)
    q = s @ (A / w).T - c @ (B / w).T
    a = c @ (B * w).T - s @ (A * w).T
    return q * scale, v * scale, a * scale


def nees(fastest: np.ndarray, noise: float, rate: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Mean normalised squared errors of q, v and a for each of these phases."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, SECONDS, 1.0 / rate)
    t = t + rng.uniform(-0.2, 0.2, len(t)) / rate  # stamps with jitter
    gaps = np.array([5.0, 9.0])
    keep = np.all((t[:, None] < gaps) | (t[:, None] > gaps + GAP_S), axis=1)
    t = t[keep] - t[0]
    true = motion(rng, t, fastest)
    z = true[0] + noise * rng.normal(size=true[0].shape)
    joint_filter = JointFilter(len(fastest))
    squares = np.empty((len(t), 3))
    for k in range(len(t)):
        sample = joint_filter.update(int(t[k] * 1e9), z[k])
        pairs = zip(
            (sample.q, sample.v, sample.a),
            (sample.q_sd, sample.v_sd, sample.a_sd),
            true,
            strict=True,
        )
        squares[k] = [np.mean(((x - y[k]) / sd) ** 2) for x, sd, y in pairs]
    after = np.any((t[:, None] > gaps + GAP_S) & (t[:, None] < gaps + GAP_S + 0.5), axis=1)
    return {
        "motion": squares[(t > 1.0) & ~after].mean(axis=0),
        "first second": squares[t < 1.0].mean(axis=0),
        "after gaps": squares[after].mean(axis=0),
    }


def main() -> None:
    table = Table("robot", "Hz", "noise [rad]", "motion q, v, a", "first second", "after gaps")
    for name in ROBOTS:
        robot = RobotModel.from_urdf(name)
        fastest = np.asarray(robot.velocity_limits)
        fastest = np.where(np.isfinite(fastest), fastest, 2.0)[:6]
        for rate in RATES:
            for noise in NOISES:
                found = nees(fastest, noise, rate)
                cells = (", ".join(f"{x:.2f}" for x in values) for values in found.values())
                table.add_row(name, str(rate), f"{noise:.0e}", *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
