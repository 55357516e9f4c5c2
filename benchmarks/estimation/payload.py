# SPDX-License-Identifier: Apache-2.0
"""CPU times of the payload estimators, and how their settings were chosen on random objects.

Run: python benchmarks/estimation/payload.py            times
     python benchmarks/estimation/payload.py --choose N  errors on N random objects, setting by setting
"""

from __future__ import annotations

import argparse
import copy
import os
import time
import timeit
from collections import defaultdict
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time is that of one core
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    CompressedWrenches,
    EntropicRegression,
    PointMassDiscretization,
)
from sysid_core.estimation.payload_live import OnlinePayload
from sysid_core.estimation.payload_map import (
    CALIBRATED_SENSOR,
    JointSplines,
    PayloadMAP,
    RunningMAP,
    SensorModel,
    SplineMotion,
)
from sysid_core.validation import payload_errors
from sysid_studies.payload import modular_objects
from sysid_studies.payload.objects import random_objects
from sysid_studies.payload.runs import Case, normalised_squared_error, simulate
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    accelerometer_experiment,
    encoder_experiment,
    robot,
    swing,
)


def best_ms(call: Callable[[], object], repeats: int) -> float:
    """Least CPU time of several runs [ms]: other load on the machine only ever adds."""
    return 1e3 * min(timeit.repeat(call, timer=time.process_time, repeat=repeats, number=1))


def show_times(repeats: int) -> None:
    thing = modular_objects()["Hammer"]
    print(
        f"{'samples':>8}{'decision [ms]':>16}{'PMD SOCP':>12}{'PMD QP':>10}{'update':>10}{'answer':>10}"
    )
    for samples in (150, 500, 1500, 3500):
        seconds = samples / 100.0
        _, experiment = simulate(Case("Hammer", 1.5, "moderate", "encoders", seconds, 0))
        motion = swing(1.5, seconds)
        q = motion.q + 1e-4 * np.random.default_rng(0).normal(size=motion.q.shape)

        def decide(motion=motion, q=q, experiment=experiment) -> Estimate:
            splines = JointSplines.fit(motion.time, q)
            belief = SplineMotion(robot(), motion.frame, splines, motion.time)
            return PayloadMAP(thing.shape).fit(experiment.smoothed, belief)

        data = experiment.causal
        information = CompressedWrenches.from_data(data, 300.0)
        socp = PointMassDiscretization(thing.shape)
        qp = PointMassDiscretization(thing.shape, squared=True)
        online = OnlinePayload(thing.shape)

        def stream(online=online, data=data) -> None:
            online.reset()
            for k in range(150):
                online.update(data.select([k]))

        running = RunningMAP(thing.shape)
        running.fit(data.select(slice(0, 150)))
        print(
            f"{samples:8d}{best_ms(decide, repeats):16.1f}"
            f"{best_ms(partial(socp.masses, information), repeats):12.2f}"
            f"{best_ms(partial(qp.masses, information), repeats):10.2f}"
            f"{best_ms(stream, repeats) / 150:10.3f}"
            f"{best_ms(running.estimate, repeats):10.2f}"
        )
    print("goals: decision <= 150 ms at 150 samples, PMD SOCP <= 5 ms at any, update <= 0.5 ms")


def choose(count: int) -> None:
    """Errors of the candidates for each setting; the eight objects of the study play no part."""
    candidates: dict[str, Callable] = {}
    for contrasts in ((0.5,), (1.0,), (0.5, 0.7, 1.0, 1.4), (0.25, 0.5, 1.0, 2.0)):
        candidates[f"MAP contrast {contrasts}"] = lambda o, e, s, c=contrasts: PayloadMAP(
            o.shape, sensor=s, contrasts=c
        ).fit(e.smoothed, copy.copy(e.belief))
    for correlation in (0.0, 0.02, 0.05):
        candidates[f"running, correlation {correlation}"] = lambda o, e, s, c=correlation: (
            RunningMAP(o.shape, sensor=s, motion_correlation=c).fit(e.causal)
        )
    candidates["running, measured motion"] = lambda o, e, s: RunningMAP(
        o.shape, sensor=s, measured_motion=True
    ).fit(e.causal)
    for weight in (0.1, 1.0, 10.0):
        candidates[f"GEO weight {weight}"] = lambda o, e, s, w=weight: EntropicRegression(
            o.shape, weight=w
        ).fit(e.causal)
    for squared in (False, True):
        for scale in (5.0, 300.0, 3000.0):
            candidates[f"PMD c1={scale:g} {'QP' if squared else 'SOCP'}"] = (
                lambda o, e, s, c=scale, q=squared: PointMassDiscretization(
                    o.shape, dynamism_scale=c, squared=q
                ).fit(e.causal)
            )
    noise = NOISE_LEVELS["moderate"]
    table: dict[tuple[str, str, float], list[tuple[float, ...]]] = defaultdict(list)
    for i, thing in enumerate(random_objects(count, np.random.default_rng(77))):
        for speed in (1.0, 2.0):
            for kind in ("clean", "faulty", "noisy"):
                rng = np.random.default_rng(1000 + i)
                if kind == "noisy":
                    run = accelerometer_experiment(speed, 1.5, thing, noise, rng)
                else:
                    faults = GOAL_FAULTS if kind == "faulty" else None
                    run = encoder_experiment(speed, 1.5, thing, noise, rng, faults=faults)
                sensor = SensorModel() if kind == "faulty" else CALIBRATED_SENSOR
                for name, solve in candidates.items():
                    estimate = solve(thing, run, sensor)
                    errors = payload_errors(estimate.values, thing.pi, thing.size)
                    square = normalised_squared_error(estimate, thing.pi)
                    table[name, kind, speed].append((*errors, square))
    print(
        f"{'setting':38}{'case':8}{'rad/s':>6}{'mass %':>9}{'COM %':>9}{'inertia %':>11}{'(e/sd)^2':>10}"
    )
    for (name, kind, speed), rows in sorted(table.items()):
        mass, com, inertia, square = np.mean(rows, axis=0)
        print(f"{name:38}{kind:8}{speed:6g}{mass:9.3f}{com:9.3f}{inertia:11.2f}{square:10.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", type=int, default=0, metavar="N")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.choose:
        choose(arguments.choose)
    else:
        show_times(arguments.repeats)
