# SPDX-License-Identifier: Apache-2.0
"""Object x shape x fault: how well a payload estimator knows what it doesn't know.

Settings were chosen on random objects and other families (`CHOICE_FAMILIES`), never on these.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from sysid_core.robot import Array, mass_com_inertia_from_pi
from sysid_core.robot.shapes import Shape
from sysid_core.studies.payload.families import FAMILIES, WRONG_SHAPES, given_shape
from sysid_core.studies.payload.nuisances import NUISANCES, nuisance_experiment
from sysid_core.studies.payload.objects import StudyObject, random_objects
from sysid_core.studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    encoder_experiment,
)
from sysid_core.studies.payload.tables import StudyTable
from sysid_core.validation import payload_errors

SPEED = 1.5  # [rad/s]
SECONDS = 1.5
TARED = replace(SensorModel(), bias=(0.05, 0.0025))
_SEED = 2026
_UPPER = ((0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2))


@dataclass(frozen=True, eq=False)
class Outcome:
    """One fit against the truth.

    Attributes:
        row: Row of the table.
        kind: "clean", "faulty" or "running".
        errors: Mass, centre of mass and inertia in per cent.
        z: Errors of the ten numbers in standard deviations, shape (10,).
        shape_noted, misfit_noted: Whether the estimate says so.
    """

    row: str
    kind: str
    errors: tuple[float, float, float]
    z: Array
    shape_noted: bool
    misfit_noted: bool

    @property
    def noted(self) -> bool:
        """Whether anything is said against the estimate."""
        return self.shape_noted or self.misfit_noted


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
        any(note.startswith("The shape") for note in estimate.notes),
        any("explained" in note for note in estimate.notes),
    )


def _fits(
    shape: Shape | None, sensor: SensorModel, experiment: Experiment
) -> dict[str, Callable[[], Estimate]]:
    return {
        "MAP": lambda: PayloadMAP(shape, sensor=sensor).fit(
            experiment.smoothed, copy.copy(experiment.belief)
        ),
        "running": lambda: RunningMAP(shape, sensor=sensor).fit(
            experiment.causal, experiment.covariance
        ),
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
) -> list[StudyTable]:
    """Both tables.

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
            tables.append(robustness_table(f"Robustness: {what}", outcomes, note))
    return tables


def robustness_table(title: str, outcomes: Sequence[Outcome], note: str) -> StudyTable:
    """Medians, squared errors in variances, share inside two deviations, what was noted.

    The last column has the estimates whose inertia is more than three deviations off: how many, and how
    many of these were noted.
    """
    columns = (
        "case",
        "sensor",
        "mass / COM / inertia, median %",
        "inertia, mean %",
        "z² mass / COM / inertia",
        "inside 2 sd %",
        "shape noted %",
        "misfit noted %",
        "inertia beyond 3 sd: noted",
    )
    rows: list[tuple[object, ...]] = []
    for row, kind in dict.fromkeys((o.row, o.kind) for o in outcomes):
        some = [o for o in outcomes if (o.row, o.kind) == (row, kind)]
        errors, z = np.array([o.errors for o in some]), np.array([o.z for o in some])
        groups = (z[:, :1], z[:, 1:4], z[:, 4:])
        medians = np.median(errors, axis=0)
        far = [o for o in some if np.abs(o.z[4:]).max() > 3.0]
        rows.append(
            (
                row,
                kind,
                f"{medians[0]:.2f} / {medians[1]:.2f} / {medians[2]:.1f}",
                round(float(errors[:, 2].mean()), 1),
                " / ".join(f"{np.mean(g**2):.1f}" for g in groups),
                " / ".join(f"{100 * np.mean(np.abs(g) < 2):.0f}" for g in groups),
                round(100 * float(np.mean([o.shape_noted for o in some]))),
                round(100 * float(np.mean([o.misfit_noted for o in some]))),
                f"{sum(o.noted for o in far)} of {len(far)}",
            )
        )
    return StudyTable(title, columns, tuple(rows), note)
