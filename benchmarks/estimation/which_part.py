# SPDX-License-Identifier: Apache-2.0
"""Recognition of known loads by real wrist sensors: rate of wrong decisions from short
measurements.

Run: python benchmarks/estimation/which_part.py ../shared/data [SENSOR ...]

A short measurement is 0.3 s of a motion, or one still posture. Each recording is first identified
as by `sysid payload`, which gives the wrench's sign and frame. The load and the bias are learned
from one half, and decisions are made on short measurements of the other half. The printed sensor
really carried five loads and is calibrated on every second posture. The other sensors carried one
load each. For their other loads, the exact wrench of the difference is added to the readings: the
sensor's errors are real, the other loads are simulated. The sensor of the hand-guided UR5e was
zeroed by the controller; the robot carried a weight or nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from payload_real import KnownLoad as Run
from payload_real import axia80, guided, lara8, panda, printed, table, weighed

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import held_data
from sysid_core.estimation.payload_live.parts import KnownLoad, KnownLoads
from sysid_core.estimation.payload_map import PayloadMAP, SensorModel
from sysid_core.reasons import Severity
from sysid_core.robot import Array, RobotModel
from sysid_core.signals.wrench import SensorCalibration, WrenchAxes, WrenchConvention, WrenchSign
from sysid_studies.table import print_head, print_row

MOMENT_S = 0.3
MOST = 40  # moments of a recording
SHIFT = np.array([0.03, 0.0, 0.0])  # [m] of a load that has slipped
OF_CONTROLLER = WrenchConvention(WrenchSign.LOAD_ON_SENSOR, WrenchAxes.BASE)


@dataclass(frozen=True, eq=False)
class Moment:
    """Samples of one load.

    Attributes:
        sensor: Name of the sensor.
        truth: The load's name.
        data: Samples without the sensor's bias.
        tared: Model of the sensor's remaining errors.
        loads: Known loads.
        expected: Loads that are tested as the expected load, one after the other.
    """

    sensor: str
    truth: str
    data: PayloadData
    tared: SensorModel
    loads: KnownLoads
    expected: tuple[str, ...]


def as_read(run: Run) -> PayloadData:
    """Readings of a sensor with unknown bias, with the motion of each sample."""
    recording, still = table(run)
    model = RobotModel.from_urdf(recording.urdf_xml)
    unknown = SensorCalibration("sensor", np.zeros(6), np.zeros(4), np.zeros((10, 10)))
    return held_data(recording, model, "sensor", unknown, still=still)[0]


def moments(data: PayloadData) -> Iterator[PayloadData]:
    """Yield short measurements, evenly spread over the data."""
    if np.median(np.diff(data.time)) > MOMENT_S:
        parts = [data.select(slice(k, k + 1)) for k in range(len(data))]
    else:
        index = (data.time / MOMENT_S).astype(int)
        parts = [data.select(index == k) for k in np.unique(index)]
        parts = [part for part in parts if np.ptp(part.time) > 0.5 * MOMENT_S]
    yield from parts[:: -(-len(parts) // MOST)]


def tare(bias: Array, residual: Array, postures: int) -> SensorModel:
    """Sensor model after a tare."""
    sd = np.diag(np.append(np.zeros(4), residual**2 / postures))
    found = SensorCalibration(
        "sensor", bias, np.zeros(4), sd, residual_rms=residual, n_postures=postures
    )
    return SensorModel().in_a_moment(found)


def of_one_load(run: Run) -> Iterator[Moment]:
    """Yield short measurements of the second half, with the load and with added loads."""
    data = weighed(run).data
    first, second = (
        data.select(data.time < data.time[-1] / 2),
        data.select(data.time >= data.time[-1] / 2),
    )
    taught = PayloadMAP(sensor=SensorModel().untared).fit(first)
    part = on_a_scale(taught, run.mass)
    pi = part.mean
    print(f"{run.sensor}, {run.run}: {taught.values[0]:.2f} kg, true {run.mass:.2f} kg")
    left = first.wrench - first.regressor @ pi
    bias, residual = left.mean(axis=0), left.std(axis=0)
    heavier, double = (KnownLoad(k * pi, k**2 * part.covariance) for k in (1.15, 2.0))
    loads = KnownLoads({"part": part, "heavier": heavier, "two": double.lying(0.02)})
    slipped = KnownLoad.measured(pi[0], 0.0, pi[1:4] / pi[0] + SHIFT, 0.0, 0.15)
    truths = {
        "part": np.zeros(10),
        "heavier": heavier.mean - part.mean,
        "two": part.mean,
        "part, moved": slipped.mean - part.mean,
        "empty": -part.mean,
        "unknown": 0.5 * part.mean,
    }
    tared = tare(bias, residual, 10)
    for moment in moments(second):
        for truth, more in truths.items():
            wrench = moment.wrench - bias + moment.regressor @ more
            yield Moment(run.sensor, truth, replace(moment, wrench=wrench), tared, loads, ("part",))


def on_a_scale(taught: Estimate, mass: float) -> KnownLoad:
    """The learned load with its mass known to 1 %."""
    C = taught.covariance
    gain = C[0] / C[0, 0]
    mean = taught.values + gain * (mass - taught.values[0])
    left = C - np.outer(gain, C[0]) + (0.01 * mass) ** 2 * np.outer(gain, gain)
    return KnownLoad(mean, left).lying(0.005)


def hand(folder: Path) -> Iterator[Moment]:
    """Yield measurements of the hand-guided robot with the weight and without, zeroed by the
    controller.
    """
    loads = KnownLoads({"part": KnownLoad.measured(0.9, 0.05, np.zeros(3), 0.1, 0.1)})
    still = next(iter(guided(folder)))
    runs = np.load(folder / "ur5e_sdu_demos_wrench" / "runs.npz")
    for name, truth in (("weight", "part"), ("no_weight", "empty")):
        for key in sorted(key for key in runs if key.startswith(f"training_data__task_up_{name}")):
            rows = np.asarray(runs[key])
            run = replace(still, pose=rows[:, :6], wrench=rows[:, 12:18], time=rows[:, 42])
            data = as_read(run)
            assert data.R_WS is not None
            data = replace(data, wrench=OF_CONTROLLER.apply(data.wrench, data.R_WS))
            for moment in moments(data):
                yield Moment("UR5e, guided", truth, moment, SensorModel(), loads, ("part",))


def of_printed(folder: Path) -> Iterator[Moment]:
    """Yield measurements of the five real loads; the calibration's residual errors are known from
    the other half.
    """
    runs = list(printed(folder))
    for half in (0, 1):
        mine, others = (
            [run for run in runs if run.run.endswith(f"half {k}")] for k in (half, 1 - half)
        )
        left = np.concatenate([residual_of(run) for run in others])
        tared = tare(np.zeros(6), np.sqrt(np.mean(left**2, axis=0)), len(left))
        parts = {
            run.run.split(",")[0]: KnownLoad.measured(
                run.mass, 0.005, np.array(run.com), 0.001, 0.05
            )
            for run in runs
        }
        for run in mine:
            truth = run.run.split(",")[0]
            for moment in moments(signed(run)):
                yield Moment("printed", truth, moment, tared, KnownLoads(parts), tuple(parts))


def signed(run: Run) -> PayloadData:
    """Still postures of the printed sensor, which measures the force of the load on the sensor."""
    data = as_read(run)
    return replace(data, wrench=-data.wrench)


def residual_of(run: Run) -> Array:
    """Readings minus the known load's wrench, shape (K, 6) [N, N m]."""
    data = signed(run)
    pi = KnownLoad.measured(run.mass, 0.0, np.array(run.com), 0.0, 0.05).mean
    return data.wrench - data.regressor @ pi


def decided(moment: Moment) -> tuple[dict[str, str], str]:
    """Return the verdict for each expected load, and the most likely load."""
    found = moment.loads.probabilities(moment.data, moment.tared)
    names = {Severity.HELD: "OK", Severity.FAILURE: "NOK"}
    verdicts = {
        one: names.get(KnownLoads.judge(found, one).severity, "open") for one in moment.expected
    }
    return verdicts, next(iter(found))


def show(found: Sequence[tuple[Moment, dict[str, str], str]]) -> None:
    """Print the confusion matrix of each sensor, and the rates."""
    for sensor in dict.fromkeys(one.sensor for one, _, _ in found):
        some = [one for one in found if one[0].sensor == sensor]
        print(f"\n{sensor}: truth -> likeliest")
        for truth in dict.fromkeys(one.truth for one, _, _ in some):
            names = Counter(name for one, _, name in some if one.truth == truth)
            print(f"  {truth:12} {dict(names.most_common())}")
    print()
    print_head(
        *("sensor", "right part: OK", "false NOK", "open"),
        *("wrong load: NOK", "missed", "open", "named"),
    )
    for sensor in dict.fromkeys(one.sensor for one, _, _ in found):
        some = [one for one in found if one[0].sensor == sensor]
        cells = [sensor]
        for right, order in ((True, ("OK", "NOK", "open")), (False, ("NOK", "OK", "open"))):
            verdicts = Counter(
                verdict
                for one, all_of_one, _ in some
                for expected, verdict in all_of_one.items()
                if (one.truth == expected) == right
            )
            n = verdicts.total()
            cells += [f"{verdicts[order[0]]} of {n}"]
            cells += [f"{100 * verdicts[v] / max(n, 1):.0f} %" for v in order[1:]]
        named = np.mean([one.truth == name for one, _, name in some])
        print_row(*cells, f"{100 * named:.0f} %")


def main(
    folder: Path, sensors: Annotated[list[str] | None, typer.Argument(metavar="SENSOR")] = None
) -> None:
    """Decide for all recordings, or for those of some sensors."""
    found = []
    for read in (axia80, panda, lara8):
        for run in read(folder):
            if not sensors or run.sensor in sensors:
                found += list(of_one_load(run))
    if not sensors or "printed" in sensors:
        found += list(of_printed(folder))
    if not sensors or "UR5e" in sensors:
        found += list(hand(folder))
    show([(one, *decided(one)) for one in found])


if __name__ == "__main__":
    typer.run(main)
