# SPDX-License-Identifier: Apache-2.0
"""Table IV of the payload study: a simulated xArm 7 in MuJoCo with a wrist sensor.

MuJoCo simulates the arm with a position controller, and computes the wrench. The estimators receive
only encoder and wrench readings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    PayloadData,
    PayloadSummary,
    rivals,
)
from sysid_core.estimation.payload_map import (
    JointSplines,
    PayloadMAP,
    RunningMAP,
    SplineMotion,
    filtered_motion_covariance,
)
from sysid_core.planning.payload import WristSwing
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import JointStream
from sysid_core.signals.filters import JointFilter
from sysid_core.simulation import MujocoPlant
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.scene import GOAL_FAULTS, NOISE_LEVELS, disturbed
from sysid_studies.payload.tables import PAPER_TABLE_IV, as_printed, short
from sysid_studies.table import StudyTable

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
