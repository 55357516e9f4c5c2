# SPDX-License-Identifier: Apache-2.0
"""Online payload estimation in simulation: errors over time, and detection of changes of the load.

Run: python benchmarks/estimation/payload_live.py moments 30   when mass, centre and inertia are known, and
                                                    how often they lie beyond two deviations
     python benchmarks/estimation/payload_live.py swings 10    the inertia after smaller and faster swings, and longer ones
     python benchmarks/estimation/payload_live.py changes 30   false alarms an hour; attached, detached, slipped
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_live import OnlinePayload
from sysid_core.estimation.payload_map import CALIBRATED_SENSOR, SensorModel
from sysid_core.robot import Array, mass_com_inertia_from_pi, transform_pi
from sysid_studies.payload.families import FAMILIES
from sysid_studies.payload.objects import StudyObject, random_objects
from sysid_studies.payload.runs import payload_error
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    encoder_experiment,
    swing,
)

MOMENTS = np.arange(0.2, 3.01, 0.1)  # [s]
NEEDED = (0.05, 0.10, 0.20)  # of the mass, of the size, of the inertia's size: two deviations
SPEEDS = (1.0, 1.5, 2.0)  # [rad/s]
ALARM_SECONDS = 60.0
SWINGS = ((45.0, 1.5), (20.0, 1.5), (10.0, 1.5), (5.0, 1.5), (20.0, 4.0), (10.0, 4.0), (45.0, 8.0))


def thing_number(number: int) -> StudyObject:
    """Object of this number: weights on a board, or an object of the families of
    `payload_robustness.py`.
    """
    rng = np.random.default_rng([31, number])
    makers = [lambda rng: random_objects(2, rng)[rng.integers(2)], *FAMILIES.values()]
    return makers[number % len(makers)](rng)


def moments(count: int) -> None:
    """Print the coverage at every moment, and the time at which enough is known (and correct)."""
    print(f"{count} objects; beyond 2 sd: share of moments and components, and at the worst moment")
    for speed in SPEEDS:
        for kind, faults, sensor in (
            ("clean", None, CALIBRATED_SENSOR),
            ("faulty", GOAL_FAULTS, SensorModel()),
        ):
            z, known = np.full((count, len(MOMENTS), 10), np.nan), np.full((count, 3), np.inf)
            for number in range(count):
                thing = thing_number(number)
                rng = np.random.default_rng([32, number])
                run = encoder_experiment(
                    speed, MOMENTS[-1] + 0.02, thing, NOISE_LEVELS["moderate"], rng, faults=faults
                )
                mass, com, inertia = mass_com_inertia_from_pi(thing.pi)
                online = OnlinePayload(thing.shape, sensor=sensor)
                for k, t in enumerate(run.causal.time):
                    online.update(run.causal.select([k]))
                    i = int(np.argmin(np.abs(MOMENTS - t)))
                    if abs(MOMENTS[i] - t) > 1e-6:
                        continue
                    estimate = online.estimate()
                    p, (error, variance) = (
                        PayloadSummary.of(estimate),
                        payload_error(estimate, thing.pi),
                    )
                    z[number, i] = error / np.sqrt(variance)
                    relative = online.knowledge.uncertainty
                    off = np.abs(np.diag(p.inertia) - np.diag(inertia))
                    scale = np.diag(p.inertia_sd) / np.maximum(relative[2], 1e-12)
                    errors = (
                        abs(p.mass / mass - 1.0),
                        float(np.max(np.abs(p.com - com))) / float(np.max(thing.size)),
                        float(np.max(off / scale)),
                    )
                    for j, limit in enumerate(NEEDED):
                        reported = 2.0 * float(np.max(relative[j])) < limit
                        if reported and errors[j] < limit:
                            known[number, j] = min(known[number, j], t)
            beyond = np.abs(z) > 2.0
            shares = [
                (100 * float(beyond[..., s].mean()), 100 * float(beyond[..., s].mean((0, 2)).max()))
                for s in (slice(0, 1), slice(1, 4), slice(4, 10))
            ]
            text = ", ".join(
                f"{name} {share:.0f} ({worst:.0f})"
                for name, (share, worst) in zip(("mass", "COM", "J"), shares, strict=True)
            )
            within = [100 * float(np.mean(known[:, j] <= 1.5)) for j in range(3)]
            middle = [float(np.median(known[:, j])) for j in range(3)]
            print(
                f"{speed:.1f} rad/s {kind:6}: {text} %; known (median {middle[0]:.1f}"
                f" {middle[1]:.1f} {middle[2]:.1f} s) within 1.5 s: {within[0]:.0f}"
                f" {within[1]:.0f} {within[2]:.0f} %",
                flush=True,
            )


def swings(count: int) -> None:
    """Print the error of the inertia after swings with smaller amplitude and larger acceleration,
    and after longer swings, at 2 rad/s.
    """
    for degrees, seconds in SWINGS:
        amplitude = float(np.deg2rad(degrees))
        peak = float(np.abs(swing(2.0, 4.0, amplitude=amplitude).a).max())
        for kind, faults, sensor in (
            ("clean", None, CALIBRATED_SENSOR),
            ("faulty", GOAL_FAULTS, SensorModel()),
        ):
            reported, errors = np.zeros(count), np.zeros(count)
            for number in range(count):
                thing = thing_number(number)
                run = encoder_experiment(
                    2.0, seconds, thing, NOISE_LEVELS["moderate"], np.random.default_rng([32, number]),
                    faults=faults, amplitude=amplitude,
                )  # fmt: skip
                online = OnlinePayload(thing.shape, sensor=sensor)
                online.update(run.causal)
                p = PayloadSummary.of(online.estimate())
                sd = online.knowledge.uncertainty[2]
                off = np.diag(p.inertia - mass_com_inertia_from_pi(thing.pi)[2])
                reported[number] = 2.0 * float(sd.max())
                errors[number] = float(np.max(np.abs(off) / np.diag(p.inertia_sd) * sd))
            known = (reported < NEEDED[2]) & (errors < NEEDED[2])
            print(
                f"{degrees:.0f} deg, {peak:.0f} rad/s^2, {seconds:.1f} s, {kind:6}: worst axis 2 sd"
                f" {100 * np.median(reported):.0f} %, error {100 * np.median(errors):.0f} %"
                f" (medians); to 20 % known and true {100 * known.mean():.0f} %",
                flush=True,
            )


def changes(count: int) -> None:
    """Print false alarms with a constant load, and detections of a load that is picked up, put down
    or slips by 5 cm after 3 s.
    """
    alarms, kinds = 0, ("attached", "detached", "slipped")
    for number in range(count):
        run, wrench, _ = _loaded(number, ALARM_SECONDS)
        found = _stamps_of_changes(run, wrench)
        alarms += len(found)
    hours = count * ALARM_SECONDS / 3600.0
    print(f"{alarms} false alarms in {hours:.2f} h of motion", flush=True)
    for kind in kinds:
        delays, extra = [], 0
        for number in range(count):
            run, wrench, thing = _loaded(number, 6.0)
            # The same noise and the same faulty sensor with what is held later.
            _, later, _ = _loaded(number, 6.0, _changed(kind, thing.pi))
            found = _stamps_of_changes(
                run, np.where(run.causal.time[:, None] >= 3.0, later, wrench)
            )
            seen = [t - 3.0 for t in found if t >= 3.0]
            delays.append(seen[0] if seen else np.inf)
            extra += len(found) - min(len(seen), 1)
        delays = np.array(delays)
        print(
            f"{kind}: {100 * np.mean(delays <= 0.5):.0f} % within .5 s, median"
            f" {np.median(delays):.2f} s, {np.isinf(delays).sum()} of {count} never, {extra} extra",
            flush=True,
        )


def _changed(kind: str, pi: Array) -> Array:
    if kind == "slipped":
        X = np.eye(4)
        X[0, 3] = 0.05
        return transform_pi(X, pi)
    return pi * (2.0 if kind == "attached" else 0.05)


def _loaded(
    number: int, seconds: float, pi: Array | None = None
) -> tuple[Experiment, Array, StudyObject]:
    thing = thing_number(number)
    rng = np.random.default_rng([33, number])
    speed = float(rng.uniform(0.6, 2.0))
    held = thing if pi is None else replace(thing, pi=pi)
    run = encoder_experiment(
        speed, seconds, held, NOISE_LEVELS["moderate"], rng, faults=GOAL_FAULTS
    )
    return run, run.causal.wrench, thing


def _stamps_of_changes(run: Experiment, wrench: Array) -> list[float]:
    online, found, before = OnlinePayload(sensor=SensorModel()), [], None
    data = replace(run.causal, wrench=wrench)
    for k in range(len(data)):
        online.update(data.select([k]))
        if online.change is not before:
            before = online.change
            assert before is not None
            found.append(before.stamp_s)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    what: dict[str, Callable[[int], None]] = {
        "moments": moments,
        "swings": swings,
        "changes": changes,
    }
    parser.add_argument("what", choices=tuple(what))
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    what[arguments.what](arguments.count)
