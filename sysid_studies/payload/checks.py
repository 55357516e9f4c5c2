# SPDX-License-Identifier: Apache-2.0
"""Additional experiment of the payload study: static postures."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadData, PointMassDiscretization
from sysid_core.estimation.payload_map import CALIBRATED_SENSOR, PayloadMAP
from sysid_core.robot import STANDARD_GRAVITY, wrench_regressor
from sysid_core.validation import payload_errors
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.scene import NOISE_LEVELS, NoiseLevel
from sysid_studies.payload.tables import Goal
from sysid_studies.table import StudyTable


def stop_and_go(
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
) -> PayloadData:
    """Simulated wrenches at rest in twelve random orientations, with a hundred samples in each."""
    R = Rotation.random(12, rng=rng)
    gravity = np.repeat(R.inv().apply(STANDARD_GRAVITY), 100, axis=0)
    still = np.zeros_like(gravity)
    wrench = wrench_regressor(-gravity, still, still) @ thing.pi
    sd = np.repeat([noise.force, noise.torque], 3)
    wrench = wrench + sd * rng.normal(size=wrench.shape)
    stamps = np.arange(len(wrench)) / 100.0
    return PayloadData(stamps, wrench, -gravity, still, still, gravity)


def stop_and_go_table() -> tuple[StudyTable, list[Goal]]:
    """Table of mass and COM errors of PMD and MAP from static data, for all eight objects."""
    rows, goals = [], []
    for noise, limit in (("none", 1e-6), ("moderate", 0.1)):
        worst = {"PMD": [0.0, 0.0], "MAP": [0.0, 0.0]}
        for thing in modular_objects().values():
            data = stop_and_go(thing, NOISE_LEVELS[noise], np.random.default_rng(0))
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
