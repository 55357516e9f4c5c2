# SPDX-License-Identifier: Apache-2.0
"""Part of the efforts with which controllers react to velocity noise, on real arms.

`python benchmarks/estimation/velocity_feedback.py [--plain] [ARM]...` prints, for held-out motion: the relative
errors of the robot model alone and with the reaction, over all frequencies and below 8 Hz; the errors on
held-out blocks of the fitted recordings, by which the reaction was accepted or rejected; lag and velocity
gains; and, for the joint whose residual contains most of it, modulus, phase and coherence of the transfer
function from velocity noise to residual at high frequencies. Friction would have a phase of 0°, an inertia
90°, and a controller 180°. The fit is that of `sysid identify`; with --plain, it is weighted least squares
with the usual friction terms and default filters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.recordings.real_arms import ARMS, DATA, RealArm
from sysid_core.estimation.arm import Identification, identify
from sysid_core.estimation.arm.choices import choose_velocity_feedback
from sysid_core.estimation.arm.velocity_feedback import velocity_noise
from sysid_core.estimation.arm_fit import FitSettings, fit_arm
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import FrictionModel
from sysid_core.signals import Recording
from sysid_core.validation import Prediction
from sysid_studies.bench.measure import BAND_HZ, pooled_error
from sysid_studies.bench.recipe import load_recipes, read_split

RECIPES = ("go2",)  # arms that only the benchmark's recipes describe
HEADER = (
    "arm",
    "model alone, with reaction [%]",
    "below 8 Hz [%]",
    "blocks [%]",
    "lag",
    "gains",
    "transfer function",
)


def _of_recipe(name: str) -> Callable[[], RealArm]:
    def read() -> RealArm:
        split = read_split({r.name: r for r in load_recipes()}[name], DATA)
        return RealArm(split.model, split.drives, split.fitted, split.judged)

    return read


def errors(found: Identification, runs: Sequence[Recording]) -> list[float]:
    """Relative errors in motion: alone, in loop, and both below 8 Hz."""
    alone = [Prediction.of(found, run) for run in runs]
    whole = [p if p.reaction is None else p.in_loop() for p in alone]
    return [pooled_error(some, below_hz=hz) for hz in (0.0, BAND_HZ) for some in (alone, whole)]


def transfer(found: Identification, run: Recording) -> str:
    """Transfer function from velocity noise to residual above 8 Hz or half of the Nyquist frequency,
    for the joint with the largest coherent part: name, modulus, phase and coherence.
    """
    prediction = Prediction.of(found, run)
    rows = np.flatnonzero(prediction.motion & np.isfinite(prediction.predicted).all(axis=1))
    part = slice(rows[0], rows[-1] + 1)
    lag = 0 if found.feedback is None else found.feedback.lag
    noise = velocity_noise(found.model, run, found.processing, lag)[part]
    left = np.nan_to_num(prediction.measured - prediction.predicted)[part]
    rate = (len(prediction.time) - 1) / float(prediction.time[-1] - prediction.time[0])
    window = {"fs": rate, "nperseg": max(len(left) // 16, 32), "axis": 0}
    f, cross = scipy.signal.csd(noise, left, **window)
    high = f >= min(BAND_HZ, 0.25 * rate)
    together = cross[high].sum(axis=0)
    own, size = (scipy.signal.welch(x, **window)[1][high].sum(axis=0) for x in (noise, left))
    own, size = (np.maximum(x, 1e-300) for x in (own, size))
    j = int(np.argmax(np.abs(together) ** 2 / own))
    share = abs(together[j]) ** 2 / (own[j] * size[j])
    phase = np.degrees(np.angle(together[j]))
    modulus = abs(together[j]) / own[j]
    return f"{found.model.joint_names[j]}: {modulus:.3g} at {phase:.0f}°, coherence {share:.2f}"


def fitted(arm: RealArm, *, plain: bool) -> tuple[Identification, tuple[float, ...]]:
    """Identification with velocity feedback, and errors on held-out blocks."""
    friction = FrictionModel(arm.drives)
    if not plain:
        fit = fit_arm(arm.model, arm.fitted, friction, FitSettings())
        return fit.identification, fit.feedback_errors
    found = identify(arm.model, arm.fitted, friction, LeastSquares("joint"))
    feedback, blocks = choose_velocity_feedback(found, arm.fitted)
    return replace(found, feedback=feedback), blocks


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    readers = {**ARMS, **{name: _of_recipe(name) for name in RECIPES}}
    names = [name for name in arguments if name != "--plain"]
    print("| " + " | ".join(HEADER) + " |")
    for name in names or readers:
        arm = readers[name]()
        found, blocks = fitted(arm, plain="--plain" in arguments)
        seen = found.feedback
        alone, looped, low, low_looped = (f"{100 * x:.2f}" for x in errors(found, arm.judged))
        cells = [
            name,
            f"{alone}, {looped}",
            f"{low}, {low_looped}",
            ", ".join(f"{100 * x:.2f}" for x in blocks),
            "" if seen is None else str(seen.lag),
            "none" if seen is None else " ".join(f"{k:.3g}" for k in seen.gains),
            transfer(found, arm.judged[0]),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
