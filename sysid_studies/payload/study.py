# SPDX-License-Identifier: Apache-2.0
"""Complete payload study: tables III and IV, the runs of figure 6, and weighing at rest.

For table IV, MuJoCo simulates an xArm 7 with a position controller, and computes the wrench. The
estimators receive only encoder and wrench readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    PayloadData,
    PayloadSummary,
    PointMassDiscretization,
    rivals,
)
from sysid_core.estimation.payload_map import (
    JointSplines,
    PayloadMAP,
    RunningMAP,
    SensorModel,
    SplineMotion,
    filtered_motion_covariance,
)
from sysid_core.planning.payload import WristSwing
from sysid_core.report import Report
from sysid_core.robot import Array, RobotModel, wrench_regressor
from sysid_core.signals import JointStream
from sysid_core.signals.filters import JointFilter
from sysid_core.simulation import MujocoPlant
from sysid_fleet.batch import Engine
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.runs import (
    BASELINE,
    FIGURE_METHODS,
    PAYLOAD_METHODS,
    RIVALS,
    SPEEDS,
    Result,
    noise_cases,
    run_cases,
    table_cases,
)
from sysid_studies.payload.scene import GOAL_FAULTS, NOISE_LEVELS, NoiseLevel, disturbed
from sysid_studies.payload.tables import PAPER_TABLE_IV, as_printed, noise_table, short, table_iii
from sysid_studies.table import StudyTable, report_of_tables

POSTURE = (0.0, -0.4, 0.0, 1.2, 0.3, 0.9, 0.2)  # [rad]
SPEED = 1.1  # [rad/s]
ENCODER_SD = 1e-4  # [rad]
_STEP = 1e-3  # [s] of the simulation
_EVERY = 10  # steps per sample: 100 Hz
_LEAD = 1.0  # [s] before the data that are used, in which the filters settle
_SECONDS = 1.5  # of data that are used


@dataclass(frozen=True, eq=False)
class ArmRun:
    """Recording of a motion of 1.5 s, and the true parameters.

    Attributes:
        causal: Wrench, with the motion from causal filters.
        smoothed: Wrench, with the motion from smoothed encoder readings.
        belief: Uncertainty of the smoothed motion.
        true_wrench: Wrench without noise and sensor faults, shape (K, 6) [N, N m].
    """

    causal: PayloadData
    smoothed: PayloadData
    belief: SplineMotion
    true_wrench: Array


def record_arm(thing: StudyObject, rng: np.random.Generator) -> ArmRun:
    """Swing an object with the simulated arm and record encoders and wrench."""
    model, frame = RobotModel.from_urdf("xarm7"), "link7"
    time, q_true, wrench = _simulate(model, frame, thing, _LEAD + _SECONDS)
    faults = GOAL_FAULTS
    late = round(faults.delay / _STEP)
    rows = np.arange(late, len(time), _EVERY)
    q = q_true[rows] + ENCODER_SD * rng.normal(size=(len(rows), model.nv))
    stamps = time[rows]
    measured = disturbed(wrench[rows - late], NOISE_LEVELS["moderate"], faults, rng)

    filtered, _ = JointFilter.filter_stream(
        JointStream(model.joint_names, np.round(stamps * 1e9).astype(np.int64), q)
    )
    use = slice(round(_LEAD * 100), None)
    assert filtered.v is not None and filtered.a is not None
    motion = model.frame_motion(frame, filtered.q[use], filtered.v[use], filtered.a[use])
    covariance = filtered_motion_covariance(model, frame, filtered)[use]
    causal = replace(
        PayloadData.of(stamps[use], measured[use], motion, covariance=covariance), R_WS=None
    )
    belief = SplineMotion(model, frame, JointSplines.fit(stamps[use], q[use]), stamps[use])
    smooth = belief.frame_motion()
    smoothed = replace(
        causal, a=smooth.a, omega=smooth.omega, alpha=smooth.alpha, gravity=smooth.gravity
    )
    return ArmRun(causal, smoothed, belief, wrench[rows][use])


def _simulate(
    model: RobotModel, frame: str, thing: StudyObject, seconds: float
) -> tuple[Array, Array, Array]:
    """Time, joint positions and exact wrenches at every simulation step."""
    swing = WristSwing.of_speed(model, frame, POSTURE, SPEED)
    plant = MujocoPlant(model, sensor_frame=frame, payload=thing.pi, timestep=_STEP)
    plant.reset(*swing.at(0.0)[:2])
    steps = round(seconds / _STEP) + 2 * _EVERY
    time, q, wrench = np.empty(steps), np.empty((steps, model.nv)), np.empty((steps, 6))
    for k in range(steps):
        sample = plant.step(plant.servo_effort(*swing.at(plant.time)))
        time[k], q[k], wrench[k] = sample.time, sample.q, sample.wrench
    return time, q, wrench


def solve_arm(thing: StudyObject, run: ArmRun) -> dict[str, Estimate]:
    """Return the estimates of all methods of the paper and of this package from one recording."""
    shape = thing.shape
    made = rivals(shape)
    return {
        "homogeneous": made["homogeneous"]().fit(run.causal),
        "OLS": made["ols"]().fit(run.causal),
        "RTLS": made["rtls"]().fit(run.causal),
        "GEO": made["geo"]().fit(run.causal),
        "PMD c1=5000": made["pmd"](dynamism_scale=5e3).fit(run.causal),
        "PMD c1=25000": made["pmd"](dynamism_scale=25e3).fit(run.causal),
        "MAP running": RunningMAP(shape).fit(run.causal),
        "MAP": PayloadMAP(shape).fit(run.smoothed, run.belief),
    }


def table_iv(seeds: int, names: tuple[str, ...] | None = None) -> StudyTable:
    """Return the mean errors over the objects, compared with those of the paper."""
    errors: dict[str, list[tuple[float, float, float]]] = {}
    for name, thing in modular_objects().items():
        if names is not None and name not in names:
            continue
        for seed in range(seeds):
            run = record_arm(thing, np.random.default_rng([seed, *name.encode()]))
            for method, estimate in solve_arm(thing, run).items():
                found = PayloadSummary.errors_percent(estimate.values, thing.pi, thing.size)
                triple = found["mass"], found["com"], found["inertia"]
                errors.setdefault(method, []).append(triple)
    rows = []
    for method, values in errors.items():
        paper = PAPER_TABLE_IV.get(method)
        printed = [as_printed(x) for x in paper] if paper else ["–"] * 3
        rows.append((method, *(short(float(x)) for x in np.mean(values, axis=0)), *printed))
    return StudyTable(
        "Table IV: simulated xArm 7 with wrist sensor, 1.5 s at 1.1 rad/s",
        ("method", "mass %", "COM %", "inertia %", "paper: mass", "paper: COM", "paper: inertia"),
        tuple(rows),
        "MuJoCo arm; sensor noise 0.1 N / 5 mN m, bias 0.3 N / 15 mN m, delay 10 ms, crosstalk 1 %."
        " The paper's numbers are from its real arm.",
    )


_HERE = (
    "150 samples at 100 Hz, moderate noise, encoders with 0.1 mrad, filters from a cold start;"
    " means over eight objects. Rivals get the filtered motion, MAP the encoder readings."
)


def stop_and_go(
    thing: StudyObject,
    noise: NoiseLevel,
    rng: np.random.Generator,
) -> PayloadData:
    """Return the simulated wrenches at rest in twelve random orientations, with a hundred samples
    in each.
    """
    R = Rotation.random(12, rng=rng)
    gravity = np.repeat(R.inv().apply(RobotModel.STANDARD_GRAVITY), 100, axis=0)
    still = np.zeros_like(gravity)
    wrench = wrench_regressor(-gravity, still, still) @ thing.pi
    sd = np.repeat([noise.force, noise.torque], 3)
    wrench = wrench + sd * rng.normal(size=wrench.shape)
    stamps = np.arange(len(wrench)) / 100.0
    return PayloadData(stamps, wrench, -gravity, still, still, gravity)


def stop_and_go_table() -> StudyTable:
    """Return a table of the mass and centre-of-mass errors of PMD and MAP from static data, for all
    eight objects.
    """
    rows = []
    for noise in ("none", "moderate"):
        worst = {"PMD": [0.0, 0.0], "MAP": [0.0, 0.0]}
        for thing in modular_objects().values():
            data = stop_and_go(thing, NOISE_LEVELS[noise], np.random.default_rng(0))
            for name, estimator in (
                ("PMD", PointMassDiscretization(thing.shape)),
                ("MAP", PayloadMAP(thing.shape, sensor=SensorModel.named("calibrated"))),
            ):
                found = estimator.fit(data).values
                errors = PayloadSummary.errors_percent(found, thing.pi, thing.size)
                worst[name] = [
                    max(worst[name][0], errors["mass"]),
                    max(worst[name][1], errors["com"]),
                ]
        for name, (mass, com) in worst.items():
            rows.append((name, noise, mass, com))
    note = "12 postures of one second at 100 Hz; the worst of the eight objects. The paper asks for < 0.1 %."
    columns = ("method", "noise", "mass error %", "COM error %")
    return StudyTable("Stop and go", columns, tuple(rows), note)


@dataclass
class PayloadStudy:
    """Result of the payload study.

    Attributes:
        tables: Tables in the order of the report.
        runs: Number of simulated runs.
    """

    tables: Sequence[StudyTable]
    runs: int
    remarks = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "schema": "robot_sysid/payload_study/1",
            "runs": self.runs,
            "tables": [table.to_dict() for table in self.tables],
        }

    def report(self) -> Report:
        """Return a report with all tables and charts."""
        title = "Payload identification: the study of Nadeau, Giamou and Kelly (2022)"
        return report_of_tables(title, f"{self.runs} simulated runs", self)


def payload_study(
    *,
    full: bool = False,
    objects: Sequence[str] | None = None,
    workers: int = 1,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> PayloadStudy:
    """Run the complete payload study.

    Args:
        full: True for 4 seeds, 10 s of data and all speeds of figure 6; False for 1 seed and less
            data.
        objects: Names of the objects; None: all eight (three of them for figure 6 of the quick
            study).
        workers: Number of processes.
        progress: Function called with the completed part, its number, and the number of parts.

    Raises:
        EstimationError: An object is not one of the eight.
    """
    every = list(modular_objects())
    unknown = [name for name in objects or () if name not in every]
    if unknown:
        raise EstimationError(
            f"The study has no objects {unknown}.", remedy=f"Choose from: {', '.join(every)}."
        )
    chosen = every if objects is None else list(objects)
    names = ["Hammer", "Uniform", "Rod"] if objects is None and not full else chosen
    seeds = 4 if full else 1
    noisy = noise_cases(10.0, SPEEDS, names) if full else noise_cases(3.0, (1.0, 2.0, 4.0), names)
    plan = {
        "table III": (table_cases(seeds, chosen), PAYLOAD_METHODS),
        "table III, base convention": (
            table_cases(seeds, chosen, paper=True),
            (BASELINE, *RIVALS),
        ),
        "faulty sensor": (table_cases(seeds, chosen, faults=True), PAYLOAD_METHODS),
        "noisy accelerations": (table_cases(seeds, chosen, "accelerations"), PAYLOAD_METHODS),
        "figure 6": (noisy, FIGURE_METHODS),
    }
    results: dict[str, list[Result]] = {what: [] for what in plan}
    with Engine(workers) as engine:
        for what, (cases, methods) in plan.items():
            for done, batch in enumerate(run_cases(cases, engine, methods), start=1):
                results[what] += batch
                progress(what, done, len(cases))
    progress("table IV", 0, 1)
    arm = table_iv(seeds, tuple(names))
    progress("table IV", 1, 1)
    tables = (
        *_accuracy_tables(results),
        arm,
        noise_table(results["figure 6"], FIGURE_METHODS),
        stop_and_go_table(),
    )
    return PayloadStudy(tables, sum(len(cases) for cases, _ in plan.values()))


def _accuracy_tables(results: Mapping[str, list[Result]]) -> list[StudyTable]:
    """Table III of the paper, and the same under harder conditions."""
    return [
        table_iii(
            results["table III"], "Table III", _HERE + " Moments about the sensor.", PAYLOAD_METHODS
        ),
        table_iii(
            results["table III, base convention"],
            "Table III with residuals about the robot's base, as the paper's equation 7",
            _HERE + " Force noise then reaches the torques through the arm's length.",
            (BASELINE, *RIVALS),
        ),
        table_iii(
            results["faulty sensor"],
            "Faulty sensor: bias 0.3 N / 15 mN m, delay 10 ms, crosstalk 1 %",
            _HERE,
            PAYLOAD_METHODS,
            with_paper=False,
        ),
        table_iii(
            results["noisy accelerations"],
            "Independent noise on both accelerations, 150 samples",
            "As in the paper's figure 6: 0.5 rad/s² and 0.05 m/s².",
            PAYLOAD_METHODS,
            with_paper=False,
        ),
    ]
