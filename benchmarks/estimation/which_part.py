# SPDX-License-Identifier: Apache-2.0
"""Recognition of known loads by real wrist sensors: decisions from a moment, and how often wrong.

Run: python benchmarks/estimation/which_part.py ../shared/data [SENSOR ...]

A moment is 0.3 s of a motion, or one still posture. Each sensor is tared on one half of a recording, by least
squares with all ten parameters and a bias, and decides on moments of the other half. The printed sensor carried
five loads in truth, calibrated on every other posture. The other sensors carried one load each; to their
readings the exact wrench of a difference is added: errors are real, other loads are not. The UR5e in a guided
hand was zeroed by its controller, and carried a weight or nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from payload_real import KnownLoad as Run
from payload_real import axia80, guided, lara8, panda, printed
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import (
    KnownLoad,
    KnownLoads,
    judge_part,
    part_probabilities,
)
from sysid_core.estimation.payload_map import SensorModel, smoothed_payload_data
from sysid_core.reasons import Severity
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import read_wrench_table
from sysid_core.signals.wrench import SensorCalibration

MOMENT_S = 0.3
MOST = 40  # moments of a recording
SHIFT = np.array([0.03, 0.0, 0.0])  # [m] of a load that has slipped


@dataclass(frozen=True, eq=False)
class Moment:
    """Samples of one load.

    Attributes:
        sensor: Its name.
        truth: The load's name.
        data: Samples, bias taken out.
        tared: What may be left of the sensor's errors.
        loads: Known loads.
        expected: The loads of which each should be held in turn.
    """

    sensor: str
    truth: str
    data: PayloadData
    tared: SensorModel
    loads: KnownLoads
    expected: tuple[str, ...]


def samples(run: Run) -> PayloadData:
    """Motion and readings in sensor axes, with the sign and axes that a rigid body explains best."""
    data = motion(run)
    found = [replace(data, wrench=sign * data.wrench) for sign in (1.0, -1.0)]
    found += [in_sensor_axes(data, sign) for sign in (1.0, -1.0)]
    return min(found, key=lambda one: (fitted(one)[0][0] < 0, float(fitted(one)[2].sum())))


def in_sensor_axes(data: PayloadData, sign: float) -> PayloadData:
    """Readings that are given in base axes."""
    assert data.R_WS is not None
    turned = np.einsum("kji,kbj->kbi", data.R_WS, data.wrench.reshape(-1, 2, 3))
    return replace(data, wrench=sign * turned.reshape(-1, 6))


def motion(run: Run) -> PayloadData:
    """Readings as they are, each with its motion."""
    if run.time is None and run.columns.still:
        turn = Rotation.from_quat(run.pose[:, -4:]).as_matrix()
        g = turn.transpose(0, 2, 1) @ np.array([0.0, 0.0, -9.81])
        rest, time = np.zeros_like(g), np.arange(len(g), dtype=float)
        data = PayloadData(time, run.wrench, -g, rest, rest, g, R_WS=turn)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.npz"
            stamps = {} if run.time is None else {"time": run.time}
            np.savez(path, pose=run.pose, wrench=run.wrench, **stamps)
            recording, _ = read_wrench_table(path, run.columns)
        model = RobotModel.from_urdf(recording.urdf_xml)
        assert recording.wrench is not None
        at, joints = recording.wrench.stamps_ns, recording.joints.stamps_ns
        inside = (at > joints[0] + 300_000_000) & (at < joints[-1] - 300_000_000)
        new = np.append(True, np.any(np.diff(recording.wrench.wrench, axis=0) != 0.0, axis=1))
        rows = np.flatnonzero(inside & new)
        data, _ = smoothed_payload_data(
            model, "sensor", recording.joints, at[rows], recording.wrench.wrench[rows]
        )
    return data


def fitted(data: PayloadData) -> tuple[Array, Array, Array]:
    """Payload (10,), bias (6,) and RMS residual (6,) by least squares, with the accelerations or with
    gravity alone, whichever leaves less.
    """
    rest = np.zeros_like(data.a)
    still = replace(data, a=-data.gravity, omega=rest, alpha=rest)
    return min(map(least_squares, (data, still)), key=lambda one: float(one[2].sum()))


def least_squares(data: PayloadData) -> tuple[Array, Array, Array]:
    """`fitted` with the motion as it is."""
    X = np.concatenate([data.regressor, np.tile(np.eye(6), (len(data), 1, 1))], axis=2)
    X, b = X.reshape(-1, 16), data.wrench.ravel()
    weigh = np.tile(np.repeat([1.0, 20.0], 3), len(data))  # 0.1 N and 0.005 N m are as likely
    scale = np.maximum(np.linalg.norm(X, axis=0), 1e-12)
    y = np.linalg.lstsq(X / scale * weigh[:, None], b * weigh, rcond=1e-9)[0] / scale
    left = (b - X @ y).reshape(-1, 6)
    return y[:10], y[10:], np.sqrt(np.mean(left**2, axis=0))


def moments(data: PayloadData) -> Iterator[PayloadData]:
    """Some moments, evenly spread."""
    if np.median(np.diff(data.time)) > MOMENT_S:
        parts = [data.select(slice(k, k + 1)) for k in range(len(data))]
    else:
        index = (data.time / MOMENT_S).astype(int)
        parts = [data.select(index == k) for k in np.unique(index)]
        parts = [part for part in parts if np.ptp(part.time) > 0.5 * MOMENT_S]
    yield from parts[:: -(-len(parts) // MOST)]


def tare(bias: Array, residual: Array, postures: int) -> SensorModel:
    """Sensor model of a tare."""
    sd = np.diag(np.append(np.zeros(4), residual**2 / postures))
    found = SensorCalibration(
        "sensor", bias, np.zeros(4), sd, residual_rms=residual, n_postures=postures
    )
    return SensorModel().in_a_moment(found)


def of_one_load(run: Run) -> Iterator[Moment]:
    """Moments of the second half, with the load, and with what is added to it."""
    data = samples(run)
    first, second = (
        data.select(data.time < data.time[-1] / 2),
        data.select(data.time >= data.time[-1] / 2),
    )
    pi, bias, residual = fitted(first)
    com = pi[1:4] / pi[0]
    part = KnownLoad.measured(pi[0], 0.01 * pi[0], com, 0.005, 0.15)
    heavier = KnownLoad.measured(1.15 * pi[0], 0.01 * pi[0], com, 0.005, 0.15)
    double = KnownLoad(2.0 * part.mean, 2.0 * part.covariance).lying(0.02)
    loads = KnownLoads({"part": part, "heavier": heavier, "two": double})
    slipped = KnownLoad.measured(pi[0], 0.0, com + SHIFT, 0.0, 0.15)
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


def hand(folder: Path) -> Iterator[Moment]:
    """The weight and nothing, in a guided hand, as the controller zeroed it."""
    loads = KnownLoads({"part": KnownLoad.measured(0.9, 0.05, np.zeros(3), 0.1, 0.1)})
    still = next(iter(guided(folder)))
    runs = np.load(folder / "ur5e_sdu_demos_wrench" / "runs.npz")
    for name, truth in (("weight", "part"), ("no_weight", "empty")):
        for key in sorted(key for key in runs if key.startswith(f"training_data__task_up_{name}")):
            rows = np.asarray(runs[key])
            run = replace(still, pose=rows[:, :6], wrench=rows[:, 12:18], time=rows[:, 42])
            for moment in moments(in_sensor_axes(motion(run), -1.0)):
                yield Moment("UR5e, guided", truth, moment, SensorModel(), loads, ("part",))


def of_printed(folder: Path) -> Iterator[Moment]:
    """Five loads in truth; what the calibration leaves is known from the other half."""
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
    """Still postures of the printed sensor, which reads the load's force on it."""
    data = motion(run)
    return replace(data, wrench=-data.wrench)


def residual_of(run: Run) -> Array:
    """Readings minus the known load's wrench, shape (K, 6)."""
    data = signed(run)
    pi = KnownLoad.measured(run.mass, 0.0, np.array(run.com), 0.0, 0.05).mean
    return data.wrench - data.regressor @ pi


def decided(moment: Moment) -> tuple[dict[str, str], str]:
    """Verdict for each load that may be expected, and the likeliest load."""
    found = part_probabilities(moment.data, moment.loads, moment.tared)
    names = {Severity.HELD: "OK", Severity.FAILURE: "NOK"}
    verdicts = {one: names.get(judge_part(found, one).severity, "open") for one in moment.expected}
    return verdicts, next(iter(found))


def show(found: Sequence[tuple[Moment, dict[str, str], str]]) -> None:
    """Confusion of each sensor, and the rates."""
    for sensor in dict.fromkeys(one.sensor for one, _, _ in found):
        some = [one for one in found if one[0].sensor == sensor]
        print(f"\n{sensor}: truth -> likeliest")
        for truth in dict.fromkeys(one.truth for one, _, _ in some):
            names = Counter(name for one, _, name in some if one.truth == truth)
            print(f"  {truth:12} {dict(names.most_common())}")
    print(
        "\n| sensor | right part: OK | false NOK | open | wrong load: NOK | missed | open | named |"
    )
    print("|---|---|---|---|---|---|---|---|")
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
        print(f"| {' | '.join(cells)} | {100 * named:.0f} % |")


def main(folder: Path, sensors: Sequence[str] = ()) -> None:
    """All recordings, or those of some sensors."""
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
    main(Path(sys.argv[1]), sys.argv[2:])
