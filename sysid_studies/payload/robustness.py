# SPDX-License-Identifier: Apache-2.0
"""Object x shape x fault: how well a payload estimator knows what it doesn't know.

Settings were chosen on random objects and other families (`CHOICE_FAMILIES`), never on these.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sysid_core.batch import Engine
from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import summarise_payload
from sysid_core.estimation.payload_map import (
    CALIBRATED_SENSOR,
    PayloadMAP,
    RunningMAP,
    SensorModel,
)
from sysid_core.robot import mass_com_inertia_from_pi
from sysid_core.robot.shapes import Shape
from sysid_core.validation import payload_errors
from sysid_studies.payload.families import FAMILIES, WRONG_SHAPES, given_shape
from sysid_studies.payload.nuisances import NUISANCES, nuisance_experiment
from sysid_studies.payload.objects import StudyObject, random_objects
from sysid_studies.payload.robustness_tables import Outcome, RobustnessStudy, RobustnessTable
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    encoder_experiment,
)

SPEED = 1.5  # [rad/s]
SECONDS = 1.5
TARED = replace(SensorModel(), bias=(0.05, 0.0025))
_SEED = 2026
_UPPER = ((0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2))


def outcome(row: str, kind: str, estimate: Estimate, thing: StudyObject) -> Outcome:
    """Judge an estimate."""
    payload = summarise_payload(estimate)
    mass, com, inertia = mass_com_inertia_from_pi(thing.pi)
    error = np.concatenate(
        [[payload.mass - mass], payload.com - com, (payload.inertia - inertia)[_UPPER]]
    )
    z = error / np.sqrt(np.maximum(np.diag(payload.covariance), 1e-300))
    return Outcome(
        row,
        kind,
        payload_errors(estimate.values, thing.pi, thing.size),
        z,
        any(reason.code == "shape-differs" for reason in estimate.warnings),
        any(reason.code == "wrench-misfit" for reason in estimate.warnings),
    )


def _fits(
    shape: Shape | None, sensor: SensorModel, experiment: Experiment
) -> dict[str, Callable[[], Estimate]]:
    return {
        "MAP": lambda: PayloadMAP(shape, sensor=sensor).fit(
            experiment.smoothed, copy.copy(experiment.belief)
        ),
        "running": lambda: RunningMAP(shape, sensor=sensor).fit(experiment.causal),
    }


def shape_outcomes(number: int, running: bool = False) -> list[Outcome]:
    """One object of each family with every shape, clean and faulty sensor."""
    found = []
    for family, make in FAMILIES.items():
        thing = make(np.random.default_rng([_SEED, number, *family.encode()]))
        for kind, faults, sensor in (
            ("clean", None, CALIBRATED_SENSOR),
            ("faulty", GOAL_FAULTS, SensorModel()),
        ):
            rng = np.random.default_rng([_SEED, number, 1])
            experiment = encoder_experiment(
                SPEED, SECONDS, thing, NOISE_LEVELS["moderate"], rng, faults=faults
            )
            for how in WRONG_SHAPES:
                shape = given_shape(thing, how, np.random.default_rng([_SEED, number, 2]))
                solve = _fits(shape, sensor, experiment)["running" if running else "MAP"]
                found.append(outcome(f"shape {how}", kind, solve(), thing))
                if how == "right":
                    found.append(replace(found[-1], row=f"family {family}"))
    return found


def nuisance_outcomes(number: int) -> list[Outcome]:
    """A random object with every fault alone, batch and running."""
    thing = random_objects(2, np.random.default_rng([_SEED, number, 3]))[number % 2]
    found = []
    for name, nuisance in NUISANCES.items():
        experiment = nuisance_experiment(
            SPEED, thing, nuisance, np.random.default_rng([_SEED, number, 4])
        )
        drifted = np.hypot(TARED.bias, np.multiply(TARED.drift, np.sqrt(nuisance.age)))
        sensor = replace(TARED, bias=(float(drifted[0]), float(drifted[1])))
        for kind, solve in _fits(thing.shape, sensor, experiment).items():
            try:
                found.append(outcome(name, kind, solve(), thing))
            except SysIdError:
                continue
    return found


def robustness_study(
    *,
    objects: int = 20,
    workers: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> RobustnessStudy:
    """All three tables.

    Args:
        objects: Objects of each family, and random ones for the faults.
        workers: Processes.
        progress: Called with what is done, how many of how many.
    """
    report = progress or (lambda what, done, total: None)
    tables = []
    with Engine(workers) as engine:
        for what, judge, note in (
            (
                "shapes and families",
                shape_outcomes,
                "Shells, dumbbells, lead in foam, an L of two materials, part-filled bottles; faulty:"
                " bias 0.3 N / 15 mN m, delay 10 ms, gain and crosstalk 1 %.",
            ),
            (
                "shapes and families, running",
                partial(shape_outcomes, running=True),
                "The same objects, sample by sample.",
            ),
            (
                "faults, each alone",
                nuisance_outcomes,
                "Random objects; the estimator assumes an ordinary sensor, tared to 0.05 N.",
            ),
        ):
            outcomes: list[Outcome] = []
            for done, batch in enumerate(engine.map(judge, range(objects)), start=1):
                outcomes += batch.unwrap()
                report(what, done, objects)
            tables.append(RobustnessTable.of(f"Robustness: {what}", outcomes, note))
    return RobustnessStudy(tuple(tables))
