# SPDX-License-Identifier: Apache-2.0
"""Real robots with recordings for identification and for validation, which aren't shipped (see
`SYSID_TEST_DATA` in docs/CONTRIBUTING.md).
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.robot.loops import DrivenRobot, load_closed_chain
from sysid_core.signals import ColumnMap, Recording, read_table
from sysid_core.workflows import ArmData
from sysid_studies.bench.recipe import Split, load_recipes, read_split

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SYSID_TEST_DATA", ROOT.parent / "shared" / "data"))
COLUMNS = ROOT / "config" / "columns"


def part_of(run: Recording, first: float, last: float) -> Recording:
    """A part of a recording; its bounds are shares of the samples."""
    n = len(run.joints)
    return replace(run, joints=run.joints.select(slice(int(first * n), int(last * n))))


def _thirds(model: RobotModel, drives: DriveTrain, run: Recording) -> Split:
    return Split(model, drives, (part_of(run, 0.0, 2 / 3),), (part_of(run, 2 / 3, 1.0),))


def ur10e() -> Split:
    """Universal Robots UR10e, motor currents."""
    columns = ColumnMap.load(COLUMNS / "ur10e_csv.yaml")
    model = RobotModel.from_urdf(DATA / "ur10e" / "ur10e.urdf")
    fitted, judged = (
        (read_table(DATA / "ur10e" / "identification" / f"ur-20_{name}.csv", columns),)
        for name in ("02_05-20sec_8harm", "02_06-20sec_10harm")
    )
    return Split(model, columns.drives.ordered(model.joint_names), fitted, judged)


def ar5() -> Split:
    """Rokae AR5, mounted sideways; its direction of gravity is found from the data."""
    arm = _of_bench("rokae_ar5")
    return replace(arm, model=arm.model.with_gravity((9.808, -0.153, -0.138)))


def panda() -> Split:
    """Franka Emika Panda, link torques at 30 Hz (University of Salerno); without the URDF's hand."""
    root = ET.fromstring(RobotModel.from_urdf("panda").urdf_xml)
    for part in [x for x in root if re.search("hand|finger", x.get("name", ""))]:
        root.remove(part)
    model = RobotModel.from_urdf(ET.tostring(root, encoding="unicode"))
    return replace(_of_bench("panda_salerno"), model=model)


def tx40() -> Split:
    """Staubli TX40, motor currents times the gear ratios, with the waves of its gears."""
    arm = _of_bench("tx40")
    drives = ColumnMap.load(COLUMNS / "tx40_csv.yaml").drives
    return replace(arm, drives=drives.ordered(arm.model.joint_names))


def sawyer() -> Split:
    """Rethink Sawyer, link torques, 10 s."""
    return _table("sawyer", "sawyer.urdf", "columns.yaml", "sawyer.csv", ("head_pan",))


def xmate7() -> Split:
    """Rokae xMate 7, link torques at 1 kHz."""
    arm = _table("xmate7", "xmate7.urdf", "columns.yaml", ".")
    return replace(
        arm,
        fitted=tuple(_thinned(r, 5) for r in arm.fitted),
        judged=tuple(_thinned(r, 5) for r in arm.judged),
    )


def mit6() -> Split:
    """MIT's arm with belt-driven wrist. The first row of the recording is damaged, and the URDF
    lacks the arm's hand.
    """
    folder = DATA / "mit_arm6"
    with tempfile.TemporaryDirectory() as here:
        table = Path(here) / "log2.csv"
        table.write_bytes(gzip.decompress((folder / "log2.csv.gz").read_bytes()))
        model = RobotModel.from_urdf(folder / "arm.urdf")
        return _read(model, folder, "columns.yaml", str(table), first=5)


def psm() -> Split:
    """dVRK's instrument arm, a parallelogram."""
    folder = DATA / "dvrk_psm"
    model = DrivenRobot.of(load_closed_chain("mimic", str(folder / "psm_mimic.urdf")))
    return _read(model, folder, "psm.yaml", "one.csv")


def _of_bench(name: str) -> Split:
    """A robot of `sysid bench`, with the bench's division of its recordings."""
    return read_split({r.name: r for r in load_recipes()}[name], DATA)


def _table(folder: str, urdf: str, columns: str, path: str, lock: tuple[str, ...] = ()) -> Split:
    model = RobotModel.from_urdf(DATA / folder / urdf)
    model = model.with_locked([j for j in lock if j in model.joint_names])
    return _read(model, DATA / folder, columns, path)


def _read(model: RobotModel, folder: Path, columns: str, path: str, first: int = 0) -> Split:
    columns = ColumnMap.load(folder / columns)
    run = ArmData.recording(folder / path, columns, "", model)
    run = replace(run, joints=run.joints.select(slice(first, None)))
    return _thirds(model, ArmData.drives(model, columns), run)


def _thinned(run: Recording, step: int) -> Recording:
    return replace(run, joints=run.joints.select(slice(None, None, step)))


ARMS: dict[str, Callable[[], Split]] = {
    "ur10e": ur10e,
    "kr300": partial(_of_bench, "kuka_kr300"),
    "ar5": ar5,
    "ur10": partial(_of_bench, "ur10_salerno"),
    "panda": panda,
    "tx40": tx40,
    "kiwiwan": partial(_of_bench, "ur10_kiwiwan"),
    "sawyer": sawyer,
    "xmate7": xmate7,
    "mit6": mit6,
    "psm": psm,
    "mtm": partial(_of_bench, "dvrk_mtm"),
}
