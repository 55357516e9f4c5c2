# SPDX-License-Identifier: Apache-2.0
"""Errors and stated uncertainty of the payload estimators by object, assumed shape and fault.

Run: python benchmarks/estimation/payload_robustness.py shapes 60    objects of each family
     python benchmarks/estimation/payload_robustness.py faults 12    random objects
     python benchmarks/estimation/payload_robustness.py tools 2 TOOLS    runs of each tool, exact meshes

TOOLS is the folder "Workshop Tools Dataset" of Nadeau, Giamou, Kelly 2023 (The sum of its parts), which the
repository github.com/utiasSTARS/inertial-identification-with-part-segmentation holds.

Settings were chosen on random objects and on other families (`CHOICE_FAMILIES`), not on these.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import yaml
from scipy.spatial.transform import Rotation

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_map import PayloadMAP, RunningMAP, SensorModel
from sysid_core.robot import (
    Array,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
    transform_pi,
    wrench_regressor,
)
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration
from sysid_fleet.batch import Engine
from sysid_studies.bench.measure import score_deviations
from sysid_studies.payload.families import (
    CHOICE_FAMILIES,
    FAMILIES,
    WRONG_SHAPES,
    given_shape,
)
from sysid_studies.payload.objects import StudyObject, random_objects
from sysid_studies.payload.runs import payload_error
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    Swing,
    encoder_experiment,
    seen_by_encoders,
    swing,
)
from sysid_studies.table import print_head, print_row

SPEED = 1.5  # [rad/s]
SECONDS = 1.5
SENSORS = (("clean", None, SensorModel.named("calibrated")), ("faulty", GOAL_FAULTS, SensorModel()))
TARED = SensorModel().tared(SensorCalibration("", np.zeros(6), np.zeros(4), np.zeros((10, 10))))
_SEED = 2026
_GROUPS = slice(0, 1), slice(1, 4), slice(4, 10)  # mass, centre of mass, inertia
_USEFUL = 0.2  # of `told`
_NOISE = np.repeat([NOISE_LEVELS["moderate"].force, NOISE_LEVELS["moderate"].torque], 3)
_PER_NEWTON = np.repeat([1.0, 0.05], 3)  # torque faults in proportion to those of the force
Fault = Callable[[Array, Array, np.random.Generator], Array]


@dataclass(frozen=True)
class Nuisance:
    """A fault of the sensor or robot, and the duration of the recording.

    Attributes:
        wrench: Function that returns the faulty wrench (K, 6) for times (K,), the wrench (K, 6) and
            a random generator.
        seconds: Duration of the recording.
        delay: Delay of the wrench [s].
        gravity: Error of the direction of gravity [rad].
        encoder: Standard deviation of the encoders' offsets [rad].
        age: Age of the tare, known to the estimator [s].
    """

    wrench: Fault = lambda time, wrench, rng: wrench
    seconds: float = 1.5
    delay: float = 0.0
    gravity: float = 0.0
    encoder: float = 0.0
    age: float = 0.0


def _axis(rng: np.random.Generator) -> Array:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _drift(rate: float, start: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        return wrench + np.outer(start + time, rate * _PER_NEWTON * rng.choice([-1, 1], 6))

    return fault


def _turned(degrees: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        R = Rotation.from_rotvec(np.deg2rad(degrees) * _axis(rng))
        return np.hstack([R.apply(wrench[:, :3]), R.apply(wrench[:, 3:])])

    return fault


def _hum(hertz: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        phase = rng.uniform(0, 2 * np.pi, 6)
        wave = np.sin(2 * np.pi * hertz * time[:, None] + phase)
        return wrench + 0.3 * _PER_NEWTON * wave

    return fault


def _spikes(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
    out = wrench.copy()
    for _ in range(rng.poisson(3.0 * time[-1])):
        k = rng.integers(len(time))
        out[k : k + rng.integers(2, 4)] += _PER_NEWTON * rng.choice([-1, 1], 6)
    return out


def _gain(sd: float, cross: float) -> Fault:
    def fault(time: Array, wrench: Array, rng: np.random.Generator) -> Array:
        E = cross * rng.normal(size=(6, 6)) * _PER_NEWTON[:, None] / _PER_NEWTON
        np.fill_diagonal(E, sd * rng.normal(size=6))
        return wrench @ (np.eye(6) + E).T

    return fault


NUISANCES: dict[str, Nuisance] = {
    "none": Nuisance(),
    "stale tare (.3 N)": Nuisance(lambda t, w, rng: w + 0.3 * _PER_NEWTON * rng.normal(size=6)),
    "drift .5 N / 30 s, fresh": Nuisance(_drift(0.5 / 30, 0.0)),
    "drift .5 N / 30 s, 20 s after the tare": Nuisance(_drift(0.5 / 30, 20.0), age=20.0),
    "drift .5 N / 30 s, 30 s recorded": Nuisance(_drift(0.5 / 30, 0.0), seconds=30.0),
    "gain 2 % per axis": Nuisance(_gain(0.02, 0.0)),
    "crosstalk 2 %": Nuisance(_gain(0.0, 0.02)),
    "mounting 2°": Nuisance(_turned(2.0)),
    "mounting 5°": Nuisance(_turned(5.0)),
    "gravity 1°": Nuisance(gravity=np.deg2rad(1.0)),
    "gravity 3°": Nuisance(gravity=np.deg2rad(3.0)),
    "delay 20 ms": Nuisance(delay=0.02),
    "delay 40 ms": Nuisance(delay=0.04),
    "spikes 1 N, 3 per s": Nuisance(_spikes),
    "quantised .1 N": Nuisance(
        lambda t, w, rng: np.round(w / (0.1 * _PER_NEWTON)) * 0.1 * _PER_NEWTON
    ),
    "hum 50.1 Hz .3 N": Nuisance(_hum(50.1)),
    "hum 100.3 Hz .3 N (aliased)": Nuisance(_hum(100.3)),
    "encoder offsets .5°": Nuisance(encoder=np.deg2rad(0.5)),
}


def nuisance_experiment(
    speed: float, thing: StudyObject, nuisance: Nuisance, rng: np.random.Generator
) -> Experiment:
    """Return a recording of an object with one fault at a mean angular speed [rad/s]."""
    motion = swing(speed, nuisance.seconds)
    time = motion.time
    late = swing(speed, nuisance.seconds, shift=-nuisance.delay)
    offsets = nuisance.encoder * rng.normal(size=motion.model.nv)
    wrench = _true_wrench(replace(late, q=late.q + offsets), thing, nuisance.gravity, rng)
    if nuisance is NUISANCES["quantised .1 N"]:  # after the noise
        wrench = nuisance.wrench(time, wrench + _NOISE * rng.normal(size=wrench.shape), rng)
    else:
        wrench = nuisance.wrench(time, wrench, rng) + _NOISE * rng.normal(size=wrench.shape)
    return seen_by_encoders(motion, wrench, rng)


def _true_wrench(motion: Swing, thing: StudyObject, tilt: float, rng: np.random.Generator) -> Array:
    m = motion.model.frame_motion(motion.frame, motion.q, motion.v, motion.a)
    across = np.append(_axis(rng)[:2], 0.0)
    turn = Rotation.from_rotvec(tilt * across / np.linalg.norm(across))
    g_W = np.einsum("kij,kj->ki", m.R_WF, m.gravity)
    moved = np.einsum("kji,kj->ki", m.R_WF, turn.apply(g_W) - g_W)
    return wrench_regressor(m.a - moved, m.omega, m.alpha) @ thing.pi


@dataclass(frozen=True, eq=False)
class Outcome:
    """Errors and standard deviations of one estimate: of mass, centre of mass and inertia, shape (10,)
    each, in percent of the scales of Nadeau et al. (2022), eqs. (10) to (12).

    `told` is the stated standard deviation of the inertia relative to the inertia (Frobenius
    norms).
    """

    row: str
    kind: str
    error: Array
    sd: Array
    told: float
    shape_noted: bool
    sensor_noted: bool

    @property
    def z(self) -> Array:
        """Errors in standard deviations, shape (10,)."""
        return self.error / self.sd


def outcome(row: str, kind: str, estimate: Estimate, thing: StudyObject) -> Outcome:
    """Compare an estimate with the true parameters."""
    payload, inertia = PayloadSummary.of(estimate), mass_com_inertia_from_pi(thing.pi)[2]
    told = float(np.linalg.norm(payload.inertia_sd) / np.linalg.norm(inertia))
    codes = {reason.code for reason in estimate.warnings}
    noted = ("shape-differs" in codes, bool(codes - {"shape-differs"}))
    return Outcome(row, kind, *payload_error(estimate, thing), told, *noted)


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
    """Estimate one object of each family with every assumed shape, and a random object with the right
    shape, with ideal and faulty sensor; the rows are the shapes, and the families.
    """
    found = []
    makers = FAMILIES | {"random": CHOICE_FAMILIES["weights"]}
    for family, make in makers.items():
        thing = make(np.random.default_rng([_SEED, number, *family.encode()]))
        for kind, faults, sensor in SENSORS:
            rng = np.random.default_rng([_SEED, number, 1])
            experiment = encoder_experiment(
                SPEED, SECONDS, thing, NOISE_LEVELS["moderate"], rng, faults=faults
            )
            for how in WRONG_SHAPES if family in FAMILIES else ("right",):
                shape = given_shape(thing, how, np.random.default_rng([_SEED, number, 2]))
                solve = _fits(shape, sensor, experiment)["running" if running else "MAP"]
                one = outcome(how, kind, solve(), thing)
                found += [one] if family in FAMILIES else []
                found += [replace(one, row=family)] if how == "right" else []
    return found


def tool_outcomes(folder: Path, runs: int) -> list[Outcome]:
    """Estimate every tool with its mesh in the grasp of the data set, with ideal and faulty sensor."""
    facts = yaml.safe_load((folder / "Inertia.yaml").read_text(encoding="utf-8"))["OBJECT"]
    X = np.linalg.inv(np.array(facts["GRASP_WRT_MESH"]))
    com, inertia = np.array(facts["COM_WRT_MESH"]), np.array(facts["INERTIA_WRT_COM"])
    shape = Shape.from_mesh(folder / "mesh.ply", scale=0.001).posed(X)
    pi = transform_pi(X, pi_from_mass_com_inertia(facts["MASS"], com, inertia))
    thing = StudyObject(folder.name, pi, shape, shape.size)
    found = []
    for run in range(runs):
        for kind, faults, sensor in SENSORS:
            rng = np.random.default_rng([_SEED, run, *folder.name.encode()])
            experiment = encoder_experiment(
                SPEED, SECONDS, thing, NOISE_LEVELS["moderate"], rng, faults=faults
            )
            found.append(outcome("tools", kind, _fits(shape, sensor, experiment)["MAP"](), thing))
    return found


def nuisance_outcomes(number: int) -> list[Outcome]:
    """Estimate random objects with each fault, offline and online."""
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


def show(title: str, outcomes: Sequence[Outcome]) -> None:
    """Print a table with a row for each case and kind of sensor or estimator."""
    print()
    print_head(
        *(*title.split(" | "), "mass / COM / inertia % (mean)", "z²", "inside 2 sd %"),
        *("interval score %", "useful", "noted: shape, sensor"),
    )
    for row, kind in dict.fromkeys((o.row, o.kind) for o in outcomes):
        some = [o for o in outcomes if (o.row, o.kind) == (row, kind)]
        error, sd = np.array([o.error for o in some]), np.array([o.sd for o in some])
        size = [np.mean(np.abs(error[:, g]), axis=1) for g in _GROUPS]
        z = error / sd
        score = (score_deviations(error[:, g], sd[:, g]).interval for g in _GROUPS)
        print_row(
            row,
            kind,
            f"{_three([np.median(x) for x in size], 2)} ({size[2].mean():.1f})",
            _three([np.mean(z[:, g] ** 2) for g in _GROUPS], 1),
            _three([100.0 * np.mean(np.abs(z[:, g]) < 2.0) for g in _GROUPS], 0),
            _three(list(score), 1),
            f"{np.mean([o.told < _USEFUL for o in some]):.0%}",
            f"{np.mean([o.shape_noted for o in some]):.0%}, {np.mean([o.sensor_noted for o in some]):.0%}",
        )


def _three(values: Sequence[float], digits: int) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in values)


def main(what: str, number: int, tools: Annotated[Path | None, typer.Argument()] = None) -> None:
    """Print the tables of given shapes and families, of faults, or of tools in two halves."""
    with Engine(0) as engine:

        def found(judge: Callable[[Any], list[Outcome]], cases: Iterable[object]) -> list[Outcome]:
            return [one for batch in engine.map(judge, cases) for one in batch.unwrap()]

        if what == "tools" and tools is not None:
            folders = sorted(path.parent for path in tools.glob("*/Inertia.yaml"))
            judge = partial(tool_outcomes, runs=number)
            chosen, judged = found(judge, folders[::2]), found(judge, folders[1::2])
            named = [replace(one, row="chosen on") for one in chosen]
            show("tools | sensor", [*named, *(replace(one, row="judged") for one in judged)])
        elif what == "faults":
            show("fault | estimator", found(nuisance_outcomes, range(number)))
        else:
            batch = found(shape_outcomes, range(number))
            running = found(partial(shape_outcomes, running=True), range(number))
            show("shape given | sensor", [one for one in batch if one.row in WRONG_SHAPES])
            show("object | sensor", [one for one in batch if one.row not in WRONG_SHAPES])
            show("shape given | sensor", [one for one in running if one.row in WRONG_SHAPES])


if __name__ == "__main__":
    typer.run(main)
