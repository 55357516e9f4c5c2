# SPDX-License-Identifier: Apache-2.0
"""Fleets: time per recording, and parallel efficiency of two processes.

    python benchmarks/recordings/fleet.py [--bags N]

It uses copies of a UR10's bag of 27.5 s, which isn't shipped (SYSID_TEST_DATA).
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import typer
import yaml

from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_core.signals.bags import read_bag
from sysid_fleet import Fleet
from sysid_fleet.batch import Engine

DATA = Path(os.environ.get("SYSID_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
BAG = DATA / "ur10_panda_salerno_bags" / "ur10_exciting_trajectory.db3"


def calibrate(folder: Path) -> None:
    """Identify the UR10 and write the folder `calibrated/`."""
    from sysid_core.estimation.arm import Identification, Processing
    from sysid_core.estimation.fit import LeastSquares
    from sysid_core.robot import DriveTrain, FrictionModel

    model = RobotModel.from_urdf("ur10")
    friction = FrictionModel(DriveTrain.direct(model.joint_names))
    run = read_bag(BAG, effort_kind=EffortKind.LINK_TORQUE)
    found = Identification.of(model, [run], friction, LeastSquares("joint"), Processing())
    (folder / "calibrated").mkdir()
    found.save(folder / "calibrated")


def main(bags: int = 100) -> None:
    """Print times and efficiency."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calibrate(folder)
        (folder / "nights").mkdir()
        for k in range(bags):
            (folder / "nights" / f"2026-01-01_{k:05d}.db3").symlink_to(BAG)
        robot = {"description": "ur10", "calibration": "calibrated", "match": "*"}
        robot["effort_kind"] = "link_torque"
        registry = {"schema": "robot_sysid/fleet/1", "robots": {"r": robot}}
        file = folder / "fleet.yaml"
        file.write_text(yaml.safe_dump(registry))
        spent, work = {}, {}
        for workers in (1, 2):
            before = _processor_time()
            with Engine(workers) as engine:
                some = [str(p) for p in sorted((folder / "nights").iterdir())[: 4 * workers]]
                Fleet.open(file, folder / f"warm{workers}").identify(some, engine)  # imports
                begun = time.perf_counter()
                place = str(folder / "nights")
                state = Fleet.open(file, folder / f"rows{workers}").identify([place], engine)
                spent[workers] = time.perf_counter() - begun
            work[workers] = (_processor_time() - before) / (bags + 4 * workers)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{workers} workers: {state.done} bags of 27.5 s in {spent[workers]:.1f} s,"
                f" {1e3 * spent[workers] / bags:.0f} ms a bag; processor"
                f" {1e3 * work[workers]:.0f} ms a bag with starts; client at most {memory:.0f} MB"
            )
        efficiency = spent[1] / spent[2] / 2
        print(
            f"efficiency from 1 to 2: {efficiency:.2f}; by processor time, for machines that are busy"
            f" with other things: {work[1] / work[2]:.2f}"
        )
        print(f"3000 bags on 2 workers: {spent[2] / bags * 3000 / 60:.1f} min")


def _processor_time() -> float:
    """CPU time of this process and of its finished child processes [s]."""
    both = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


if __name__ == "__main__":
    typer.run(main)
