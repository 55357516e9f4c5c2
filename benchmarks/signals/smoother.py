# SPDX-License-Identifier: Apache-2.0
"""Offline smoother compared with the Butterworth filter whose cutoff is best for the true motion,
for the table in the docs.

Usage: source scripts/env.sh; python benchmarks/signals/smoother.py
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.signal import butter, sosfiltfilt

from sysid_core.signals import JointStream
from sysid_core.signals.filters import central_difference
from sysid_core.signals.filters.zero_phase import smooth_joints

JOINTS, SECONDS, PERIOD = 7, 20.0, 10.0
NOISES = ("1e-6", "1e-5", "1e-4", "1e-3", "steps of 1e-4")


def fourier(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w = 2.0 * np.pi / PERIOD * np.arange(1, 6)
    A, B = 0.3 * rng.normal(size=(2, JOINTS, 5))
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    return s @ (A / w).T - c @ (B / w).T, c @ (B * w).T - s @ (A * w).T


def swings(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, a = np.zeros((2, len(t), JOINTS))
    for j in range(JOINTS):
        begin = 0.2 * j
        while begin < SECONDS:
            length, step = rng.uniform(0.6, 1.5), 0.6 * rng.normal()
            s = np.clip((t - begin) / length, 0.0, 1.0)
            q[:, j] += step * (10 * s**3 - 15 * s**4 + 6 * s**5)
            a[:, j] += step * 60 * s * (1 - s) * (1 - 2 * s) / length**2
            begin += length + rng.uniform(0.2, 1.0)
    return q, a


def rippled(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, a = fourier(rng, t)
    w = 2.0 * np.pi * 12.0
    ripple = 2e-4 * np.sin(w * t)[:, None]
    return q + ripple, a - w * w * ripple


def best_butterworth(z: np.ndarray, a: np.ndarray, rate: int) -> float:
    errors = []
    for cutoff in np.geomspace(1.0, 0.4 * rate, 26):
        for order in (2, 4, 8):
            pad = min(len(z) - 1, int(3 * rate / cutoff))
            smooth = sosfiltfilt(butter(order, 2 * cutoff / rate, output="sos"), z, 0, padlen=pad)
            found = central_difference(central_difference(smooth, rate), rate)
            errors.append(rms(found - a, rate))
    return min(errors)


def rms(error: np.ndarray, rate: int) -> float:
    return float(np.sqrt(np.mean(error[rate:-rate] ** 2)))


def main() -> None:
    rng = np.random.default_rng(3)
    table = Table("motion", "Hz", "noise", "best filter", "splines", "CPU s")
    shares = []
    for motion in (fourier, swings, rippled):
        for rate in (125, 1000):
            for noise in NOISES:
                t = np.arange(0.0, SECONDS, 1.0 / rate)
                q, a = motion(rng, t)
                if noise.startswith("steps"):
                    z = np.round(q / 1e-4) * 1e-4
                else:
                    z = q + float(noise) * rng.normal(size=q.shape)
                names = tuple(f"joint_{j}" for j in range(JOINTS))
                stream = JointStream(names, np.round(t * 1e9).astype(np.int64), z)
                begin = time.process_time()
                plain = smooth_joints(stream)
                cpu = time.process_time() - begin
                best = best_butterworth(z, a, rate)
                shares.append(rms(plain.a - a, rate) / best)
                cells = (f"{best:.3g}", f"{shares[-1]:.2f}")
                table.add_row(motion.__name__, str(rate), noise, *cells, f"{cpu:.2f}")
    Console().print(table)
    x = np.array(shares)
    print(f"Splines: geometric mean {np.exp(np.log(x).mean()):.2f} of the best filter's error;")
    print(f"{(x <= 0.7).sum()} of {len(x)} at most 0.7, {(x <= 1.0).sum()} at most 1.")


if __name__ == "__main__":
    main()
