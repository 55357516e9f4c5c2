# SPDX-License-Identifier: Apache-2.0
"""Errors and standard deviations of masses and centres of mass from recordings of real wrist
sensors.

Run: python benchmarks/estimation/payload_real.py ../shared/data [SENSOR ...]

The payload is identified from every whole recording, and from halves and thirds cut at several
places. The noise models were chosen on the sensors `CHOSEN_ON` and are judged on the others.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.spatial.transform import Rotation

from sysid_core.errors import SysIdError
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_live import Weighing, weigh_motion
from sysid_core.reasons import Verdict
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import Recording, WrenchColumns
from sysid_core.signals.wrench import WrenchAxes
from sysid_core.signals.wrench_table import RotationFormat
from sysid_fleet.batch import Engine
from sysid_studies.bench.measure import score_deviations
from sysid_studies.table import print_head, print_row

CHOSEN_ON = ("Axia80", "Panda")
FEWEST = 4  # rows of a table of still postures
_POSE = ("tx", "ty", "tz", "qw", "qx", "qy", "qz")
HALVES, THIRDS = (0.0, 0.25, 0.5), (0.0, 1 / 6, 1 / 3, 0.5, 2 / 3)


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """A recording of a load whose mass is known.

    Attributes:
        sensor: Name of the sensor.
        run: Name of the recording.
        pose: Pose of the sensor, shape (K, 6) or (K, 7).
        wrench: Readings of the sensor, shape (K, 6) [N, N m].
        mass: Mass of the load [kg].
        columns: Column map of the recording.
        time: Times, shape (K,) [s]; None for still postures, or if `columns` give the rate.
        axes: Frame in which the wrench is expressed.
        com: Centre of mass in the sensor frame, shape (3,); NaN where unknown [m].
    """

    sensor: str
    run: str
    pose: Array
    wrench: Array
    mass: float
    columns: WrenchColumns
    time: Array | None = None
    axes: WrenchAxes = WrenchAxes.AUTO
    com: tuple[float, float, float] = (np.nan, np.nan, np.nan)

    def part(self, start: float, share: float, name: str) -> KnownLoad:
        """Return a part of the recording with a given share of its samples."""
        first = round(start * len(self.pose))
        rows = slice(first, first + round(share * len(self.pose)))
        time = None if self.time is None else self.time[rows]
        run = f"{self.run}, {name}"
        return replace(self, run=run, pose=self.pose[rows], wrench=self.wrench[rows], time=time)

    @property
    def parts(self) -> Iterator[KnownLoad]:
        """Yield the whole recording, its halves and its thirds."""
        yield self.part(0.0, 1.0, "whole")
        for name, share, starts in (("half", 1 / 2, HALVES), ("third", 1 / 3, THIRDS)):
            for start in starts:
                part = self.part(start, share, name)
                if len(part.pose) >= FEWEST:
                    yield part


@dataclass(frozen=True)
class Answer:
    """Errors and standard deviations of mass and centre of mass, four numbers each.

    They are given in percent of the mass and in millimetres. NaN: the true value is unknown, or the
    identification was refused.
    """

    sensor: str
    run: str
    truth: float
    mass: float
    error: Array
    sd: Array
    verdict: str

    @classmethod
    def refused(cls, load: KnownLoad) -> Answer:
        """Return the answer of a refused identification."""
        nothing = np.full(4, np.nan)
        return cls(load.sensor, load.run, load.mass, np.nan, nothing, nothing, "refused")

    @classmethod
    def of(cls, load: KnownLoad, payload: PayloadSummary, verdict: str) -> Answer:
        """Compare a result with the true values."""
        unit = np.array([0.01 * load.mass, 1e-3, 1e-3, 1e-3])
        found = np.append(payload.mass, payload.com)
        sd = np.append(payload.mass_sd, payload.com_sd) / unit
        error = (found - np.append(load.mass, load.com)) / unit
        return cls(load.sensor, load.run, load.mass, payload.mass, error, sd, verdict)

    @property
    def z(self) -> Array:
        """Errors in standard deviations, shape (4,)."""
        return self.error / self.sd


def lara8(folder: Path) -> Iterator[KnownLoad]:
    """The tool of the thesis; the mass of the other load is known from its mean force."""
    for run, mass in (
        ("jogging_joint_mass", 5.6),
        ("jogging_linear_mass", 5.6),
        ("validate", 34.1 / 9.81),
    ):
        path = folder / "lara8_ft_tool" / f"{run}.csv"
        table = np.genfromtxt(path, delimiter=",", names=True)
        pose = np.column_stack([table[f"pose_{k}"] for k in _POSE])
        wrench = np.column_stack([table[f"fts_reading_{k}"] for k in range(1, 7)])
        columns = WrenchColumns(time="time", pose=_names("pose", 7), rotation=RotationFormat.WXYZ)
        yield KnownLoad("LARA8", run, pose, wrench, mass, columns, table["Timestamp"])


def axia80(folder: Path) -> Iterator[KnownLoad]:
    """A tool whose owner states 1.24 kg: still postures, and a recording at 10 Hz.

    Seven more postures were recorded with another load: all three axes read 10 % too little there.
    """
    columns = WrenchColumns(still=True, pose=_names("pose", 7), rotation=RotationFormat.XYZW)
    pose, wrench = (
        np.loadtxt(folder / "ft_ati_axia80" / f"recorded_messages_{name}_100.txt", delimiter=",")
        for name in ("pose", "wrench")
    )
    yield KnownLoad("Axia80", f"{len(pose)} postures", pose, wrench, 1.24, columns)
    rows = np.loadtxt(folder / "ft_ati_axia80" / "GP2025-07-22-22-06-02.txt", delimiter=",")
    columns = WrenchColumns(time="time", pose=_names("pose", 7), rotation=RotationFormat.XYZW)
    pose = np.hstack([np.zeros((len(rows), 3)), rows[:, 7:11]])
    yield KnownLoad("Axia80", "moving", pose, rows[:, 1:7], 1.24, columns, rows[:, 0])


def panda(folder: Path) -> Iterator[KnownLoad]:
    """A tool of 1.13 kg, 103 mm from the sensor, as static fits of all recordings give it."""
    runs = np.load(folder / "panda_ft_imu_tum" / "runs.npz")
    columns = WrenchColumns(rate_hz=1000, pose=_names("pose", 7), rotation=RotationFormat.WXYZ)
    axes, com = WrenchAxes.SENSOR, (np.nan, np.nan, 0.103)
    for run in ("r113421", "r143059"):
        rows = runs[run].astype(float)
        pose = np.hstack([rows[:, :3], rows[:, 6:10]])
        yield KnownLoad("Panda", run, pose, rows[:, 13:19], 1.13, columns, axes=axes, com=com)


def guided(folder: Path) -> Iterator[KnownLoad]:
    """A weight of 0.9 kg in a gripper on a hand-guided robot, whose controller zeroed the sensor
    before.
    """
    runs = np.load(folder / "ur5e_sdu_demos_wrench" / "runs.npz")
    columns = WrenchColumns(time="time", pose=_names("pose", 6), rotation=RotationFormat.ROTVEC)
    for run in range(3, 8):
        rows = np.asarray(runs[f"training_data__task_up_weight__{run}"])
        yield KnownLoad(
            "UR5e", f"weight {run}", rows[:, :6], rows[:, 12:18], 0.9, columns, rows[:, 42]
        )


def printed(folder: Path) -> Iterator[KnownLoad]:
    """Raw channels, calibrated with every second posture; the other postures are identified."""
    static = np.load(folder / "fts_3dprinted_ur3e_known_mass" / "static.npz")
    raw, index = static["raw"].astype(float), static["pose_index"]
    sound = np.all((raw > 50) & (raw < 950), axis=1)  # counts; beyond, channels are saturated
    kept = [k for k in np.unique(index) if sound[index == k].mean() >= 0.9]
    channels = np.array([raw[(index == k) & sound].mean(axis=0) for k in kept])
    truth = np.array([static["wrench_expected"][index == k].mean(axis=0) for k in kept])
    poses = static["poses"][kept]
    turn = Rotation.from_euler("ZYX", poses[:, [3, 2, 1]]).as_quat()
    affine = np.column_stack([channels, np.ones(len(kept))])
    at = [np.flatnonzero(poses[:, 0] == place) for place in range(5)]
    columns = WrenchColumns(still=True, pose=_names("pose", 7), rotation=RotationFormat.XYZW)
    off, height = 0.02937, 0.05394  # [m], of the holder with its weights
    at_places = {
        place: (x * off, y * off, height)
        for place, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1)), start=1)
    }
    for half in (0, 1):
        taught = np.concatenate([rows[half::2] for rows in at])
        sensor = np.linalg.lstsq(affine[taught], truth[taught], rcond=None)[0]
        for place, all_rows in enumerate(at):
            rows = all_rows[1 - half :: 2]
            if len(rows) < FEWEST:
                continue
            pose = np.hstack([np.zeros((len(rows), 3)), turn[rows]])
            mass, com = (0.309, (0.0, 0.0, 0.045)) if place == 0 else (1.028, at_places[place])
            run = f"place {place}, half {half}"
            wrench = affine[rows] @ sensor
            yield KnownLoad("printed", run, pose, wrench, mass, columns, com=com)


def table(load: KnownLoad) -> tuple[Recording, bool]:
    """Return the recording as `sysid payload` reads it, and whether its rows are still postures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        stamps = {} if load.time is None else {"time": load.time}
        np.savez(path, pose=load.pose, wrench=load.wrench, **stamps)
        return load.columns.read(path)


def weighed(load: KnownLoad) -> Weighing:
    """Identify the payload as `sysid payload` does."""
    recording, still = table(load)
    model = RobotModel.from_urdf(recording.urdf_xml)
    return weigh_motion(recording, model, "sensor", axes=load.axes, still=still)


def answered(load: KnownLoad) -> Answer:
    """Return the mass and centre of mass that `sysid payload` prints."""
    try:
        weighing = weighed(load)
        payload = PayloadSummary.of(weighing.estimate)
    except SysIdError:
        return Answer.refused(load)
    verdict = Weighing.judge(weighing.estimate, None) + Verdict(weighing.doubts)
    return Answer.of(load, payload, verdict.outcome.value)


def show(answers: list[Answer]) -> None:
    """Print all answers, then a row for each sensor."""
    for one in answers:
        print(
            f"{one.sensor:8} {one.run:32} {one.truth:5.2f} {one.mass:6.3f} ± {one.sd[0]:4.1f} %"
            f"  z {' '.join(f'{z:+5.1f}' for z in one.z)}  {one.verdict}"
        )
    print()
    print_head(
        *("sensor", "answers (failed)", "mass: inside 2 sd", "beyond 3 sd", "z: mean, rms", "sd"),
        *("score", "COM: inside 2 sd", "beyond 3 sd", "sd", "score"),
    )
    sensors = list(dict.fromkeys(one.sensor for one in answers))
    groups = {name: [one for one in answers if one.sensor == name] for name in sensors}
    groups["chosen on"] = [one for one in answers if one.sensor in CHOSEN_ON]
    groups["judged"] = [one for one in answers if one.sensor not in CHOSEN_ON]
    for name, some in groups.items():
        good = [one for one in some if one.verdict not in ("refused", "fail")]
        if not good:
            print_row(name, f"0 ({len(some)})", *[""] * 9)
            continue
        error, sd = (np.array([getattr(one, key) for one in good]) for key in ("error", "sd"))
        z = error[:, 0] / sd[:, 0]
        inside, far, *width = _cells(error[:, 0], sd[:, 0], "%")
        mean = f"{z.mean():+.1f}, {np.sqrt(np.mean(z**2)):.1f}"
        of_com = _cells(error[:, 1:], sd[:, 1:], "mm")
        counts = f"{len(good)} ({len(some) - len(good)})"
        print_row(name, counts, inside, far, mean, *width, *of_com)


def _cells(error: Array, sd: Array, unit: str) -> tuple[str, ...]:
    """Share of errors within two standard deviations, number of those beyond three, median standard
    deviation, and interval score.
    """
    known = np.isfinite(error)
    if not known.any():
        return ("",) * 4
    error, sd = error[known], sd[known]
    z, score = np.abs(error / sd), score_deviations(error, sd).interval
    return (
        f"{100 * np.mean(z < 2):.0f} %",
        f"{np.sum(z > 3)}",
        f"{np.median(sd):.1f} {unit}",
        f"{score:.{0 if unit == '%' else 1}f} {unit}",
    )


def _names(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}.{k}" for k in range(count))


def main(
    folder: Path, sensors: Annotated[list[str] | None, typer.Argument(metavar="SENSOR")] = None
) -> None:
    """Identify all recordings, or those of some sensors."""
    loads = [load for read in (lara8, axia80, panda, guided, printed) for load in read(folder)]
    loads = [load for load in loads if not sensors or load.sensor in sensors]
    cut = [part for load in loads for part in (load.parts if load.sensor != "printed" else [load])]
    with Engine(0) as engine:
        show([found.unwrap() for found in engine.map(answered, cut)])


if __name__ == "__main__":
    typer.run(main)
