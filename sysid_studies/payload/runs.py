# SPDX-License-Identifier: Apache-2.0
"""Runs of the payload study: all methods on one simulated case, with their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    PayloadSummary,
    rivals,
)
from sysid_core.estimation.payload_map import PayloadMAP, RunningMAP, SensorModel, WhiteMotion
from sysid_core.robot import Array, mass_com_inertia_from_pi
from sysid_fleet.batch import Engine
from sysid_studies.bench.measure import score_deviations
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    accelerometer_experiment,
    encoder_experiment,
    sensor_poses,
)

RIVALS = ("OLS", "RTLS", "GEO", "LMI", "PMD", "PMD c1=5", "PMD squared", "PMD reduced")
BASELINE, RUNNING, BEST = "homogeneous", "MAP running", "MAP"
PAYLOAD_METHODS = (BASELINE, *RIVALS, RUNNING, BEST)
FIGURE_METHODS = ("OLS", "RTLS", "GEO", "PMD", BASELINE, BEST)
SPEEDS = (1.0, 1.5, 2.0, 3.0, 4.0)  # [rad/s]


@dataclass(frozen=True)
class Case:
    """Settings of a simulated case.

    Attributes:
        thing: Name of one of the eight objects.
        speed: Mean angular speed [rad/s].
        noise: Name of a noise level.
        mode: "encoders" (table III) or "accelerations" (figures 6 and 7).
        seconds: Duration of the data [s].
        seed: Seed of all random numbers.
        faults: True if the sensor has bias, delay and crosstalk.
        paper: True if residuals are taken about the robot's base instead of the sensor.
    """

    thing: str
    speed: float
    noise: str
    mode: str
    seconds: float
    seed: int
    faults: bool = False
    paper: bool = False


@dataclass(frozen=True)
class Result:
    """Result of a method for a case.

    Attributes:
        case: Simulated case.
        method: Name of the method.
        mass, com, inertia: Errors [%]; the inertia is about the centre of mass.
        consistent: True if the result is physically consistent.
        nees: Mean normalised squared error of mass, centre of mass and inertia (10 numbers).
        inside: Share of these ten errors below two standard deviations.
        score: Mean interval score of the inertia [%].

    If a method gives no result, its errors are infinite.
    """

    case: Case
    method: str
    mass: float
    com: float
    inertia: float
    consistent: bool
    nees: float
    inside: float
    score: float


def simulate(case: Case) -> tuple[StudyObject, Experiment]:
    """Return the simulated data of a case; the same case always gives the same data."""
    thing = modular_objects()[case.thing]
    rng = np.random.default_rng([case.seed, *case.thing.encode()])
    noise = NOISE_LEVELS[case.noise]
    if case.mode == "accelerations":
        return thing, accelerometer_experiment(case.speed, case.seconds, thing, noise, rng)
    faults = GOAL_FAULTS if case.faults else None
    return thing, encoder_experiment(case.speed, case.seconds, thing, noise, rng, faults=faults)


def solvers(
    thing: StudyObject,
    experiment: Experiment,
    sensor: SensorModel,
    poses: Array | None,
) -> dict[str, Callable[[], Estimate]]:
    """Apply all methods, by name, to the same data.

    The other methods receive the filtered motion, as in the paper; the default method receives
    encoders and wrench.
    """
    shape, data = thing.shape, experiment.causal
    running = RunningMAP(
        shape, sensor=sensor, measured_motion=isinstance(experiment.belief, WhiteMotion)
    )

    made = rivals(shape)

    def rival(name: str, **options: float) -> Callable[[], Estimate]:
        return lambda: made[name](**options).fit(data, residual_frame=poses)

    return {
        BASELINE: rival("homogeneous"),
        "OLS": rival("ols"),
        "RTLS": rival("rtls"),
        "GEO": rival("geo"),
        "LMI": rival("lmi"),
        "PMD": rival("pmd"),
        "PMD c1=5": rival("pmd", dynamism_scale=5.0),
        "PMD squared": rival("pmd-squared"),
        "PMD reduced": rival("pmd", dynamism_scale=1e9),
        RUNNING: lambda: running.fit(data),
        BEST: lambda: PayloadMAP(shape, sensor=sensor).fit(experiment.smoothed, experiment.belief),
    }


def run_case(case: Case, methods: Sequence[str] = PAYLOAD_METHODS) -> list[Result]:
    """Simulate a case once, and estimate with every method."""
    thing, experiment = simulate(case)
    sensor = SensorModel() if case.faults else SensorModel.named("calibrated")
    poses = sensor_poses(case.speed, case.seconds) if case.paper else None
    available = solvers(thing, experiment, sensor, poses)
    return [judge(case, name, available[name], thing) for name in methods]


def judge(case: Case, method: str, solve: Callable[[], Estimate], thing: StudyObject) -> Result:
    """Estimate with one method and compare with the true parameters."""
    try:
        estimate = solve()
        error, sd = payload_error(estimate, thing)
    except SysIdError:
        inf = float("inf")
        return Result(case, method, inf, inf, inf, False, inf, 0.0, inf)
    errors = PayloadSummary.errors_percent(estimate.values, thing.pi, thing.size)
    z = error / sd
    told = np.mean(z**2), np.mean(np.abs(z) < 2.0), score_deviations(error[4:], sd[4:]).interval
    consistent = bool(estimate.physically_consistent)
    return Result(
        case,
        method,
        errors["mass"],
        errors["com"],
        errors["inertia"],
        consistent,
        *(float(x) for x in told),
    )


def payload_error(estimate: Estimate, thing: StudyObject) -> tuple[Array, Array]:
    """Return the errors of mass, centre of mass and inertia about it (Ixx, Ixy, Iyy, Ixz, Iyz,
    Izz), and their standard deviations, shape (10,) each, in percent of the scales of Nadeau et al.
    (2022), eqs. (10) to (12).
    """
    payload, size = PayloadSummary.of(estimate), thing.size
    mass, com, inertia = mass_com_inertia_from_pi(thing.pi)
    upper = ((0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2))
    scale = np.abs(mass / 12.0 * (np.eye(3) * (size @ size) - np.outer(size, size)))
    percent = 100.0 / np.r_[mass, size, scale[upper]]
    error = np.r_[payload.mass - mass, payload.com - com, (payload.inertia - inertia)[upper]]
    return percent * error, percent * np.sqrt(np.maximum(np.diag(payload.covariance), 1e-300))


def run_cases(
    cases: Sequence[Case], engine: Engine, methods: Sequence[str] = PAYLOAD_METHODS
) -> Iterator[list[Result]]:
    """Run all cases on an open engine, and yield the results as they finish."""
    for outcome in engine.map(partial(run_case, methods=tuple(methods)), cases):
        yield outcome.unwrap()


def table_cases(
    seeds: int,
    names: Sequence[str],
    mode: str = "encoders",
    *,
    faults: bool = False,
    paper: bool = False,
) -> list[Case]:
    """Return the cases of table III: 150 samples, moderate noise."""
    return [
        Case(thing, speed, "moderate", mode, 1.5, seed, faults, paper)
        for thing in names
        for speed in SPEEDS[:3]
        for seed in range(seeds)
    ]


def noise_cases(seconds: float, speeds: Sequence[float], names: Sequence[str]) -> list[Case]:
    """Return the cases of figure 6: noise on all signals, 8 objects, 5 speeds, 4 noise levels; 640
    runs in all.
    """
    return [
        Case(thing, speed, noise, "accelerations", seconds, 0)
        for thing in names
        for speed in speeds
        for noise in NOISE_LEVELS
    ]
