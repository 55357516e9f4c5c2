# SPDX-License-Identifier: Apache-2.0
"""Two further experiments of the payload study: static postures, and computing times."""

from __future__ import annotations

import time

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import CompressedWrenches, PayloadData, PointMassDiscretization
from sysid_core.estimation.payload_map import (
    CALIBRATED_SENSOR,
    JointSplines,
    PayloadMAP,
    RunningMAP,
    SplineMotion,
)
from sysid_core.robot import STANDARD_GRAVITY, wrench_regressor
from sysid_core.validation import payload_errors
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.runs import Case, simulate
from sysid_studies.payload.scene import NOISE_LEVELS, NoiseLevel, robot, swing
from sysid_studies.payload.tables import Goal, StudyTable


def stop_and_go(
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
    *,
    postures: int = 12,
    samples: int = 100,
) -> PayloadData:
    """Wrenches recorded at rest in random orientations."""
    R = Rotation.random(postures, rng=rng)
    gravity = np.repeat(R.inv().apply(STANDARD_GRAVITY), samples, axis=0)
    still = np.zeros_like(gravity)
    wrench = wrench_regressor(-gravity, still, still) @ thing.pi
    sd = np.repeat([noise.force, noise.torque], 3)
    wrench = wrench + sd * rng.normal(size=wrench.shape)
    stamps = np.arange(len(wrench)) / 100.0
    return PayloadData(stamps, wrench, -gravity, still, still, gravity)


def stop_and_go_table(seed: int = 0) -> tuple[StudyTable, list[Goal]]:
    """Mass and COM errors of PMD and MAP from data at rest, all eight objects."""
    rows, goals = [], []
    for noise, limit in (("none", 1e-6), ("moderate", 0.1)):
        worst = {"PMD": [0.0, 0.0], "MAP": [0.0, 0.0]}
        for thing in modular_objects().values():
            data = stop_and_go(thing, NOISE_LEVELS[noise], np.random.default_rng(seed))
            for name, estimator in (
                ("PMD", PointMassDiscretization(thing.shape)),
                ("MAP", PayloadMAP(thing.shape, sensor=CALIBRATED_SENSOR)),
            ):
                mass, com, _ = payload_errors(estimator.fit(data).values, thing.pi, thing.size)
                worst[name] = [max(worst[name][0], mass), max(worst[name][1], com)]
        for name, (mass, com) in worst.items():
            rows.append((name, noise, mass, com))
        goals.append(
            Goal(
                f"stop and go, noise {noise}: worst errors of MAP [%]",
                ("mass", "COM"),
                (limit, limit),
                (worst["MAP"][0], worst["MAP"][1]),
            )
        )
    note = "12 postures of one second at 100 Hz; the worst of the eight objects. The paper asks for < 0.1 %."
    columns = ("method", "noise", "mass error %", "COM error %")
    return StudyTable("Stop and go", columns, tuple(rows), note), goals


def timing_table(repeats: int = 5) -> tuple[StudyTable, list[Goal]]:
    """Processor time of an answer on one core (the best of some)."""
    case = Case("Hammer", 1.5, "moderate", "encoders", 1.5, 0)
    thing, experiment = simulate(case)
    motion = swing(case.speed, case.seconds)
    q = motion.q + 1e-4 * np.random.default_rng(0).normal(size=motion.q.shape)

    def decide() -> None:
        splines = JointSplines.fit(motion.time, q)
        belief = SplineMotion(robot(), motion.frame, splines, motion.time)
        PayloadMAP(thing.shape).fit(experiment.smoothed, belief)

    information = CompressedWrenches.from_data(experiment.causal, 300.0)
    pmd = PointMassDiscretization(thing.shape)
    squared = PointMassDiscretization(thing.shape, squared=True)
    running = RunningMAP(thing.shape)
    data = experiment.causal

    def stream() -> None:
        running.fit(data)

    rows = [
        ("MAP: smoothing, sensor model, prior, 150 samples", _best_ms(decide, repeats)),
        ("PMD (SOCP) from compressed data", _best_ms(lambda: pmd.masses(information), repeats)),
        ("PMD (QP) from compressed data", _best_ms(lambda: squared.masses(information), repeats)),
        ("running MAP, one sample", _best_ms(stream, repeats) / len(data)),
        ("running MAP, one answer", _best_ms(lambda: running.estimate(), repeats)),
    ]
    limits = (150.0, 5.0, float("inf"), 0.5, float("inf"))
    goals = [
        Goal(f"time: {name} [ms]", ("best",), (limit,), (value,))
        for (name, value), limit in zip(rows, limits, strict=True)
        if np.isfinite(limit)
    ]
    note = f"Processor time on this machine, best of {repeats}."
    return StudyTable("Times", ("what", "ms"), tuple(rows), note), goals


def _best_ms(work: object, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()  # type: ignore[operator]
        times.append(1e3 * (time.process_time() - start))
    return min(times)
