# SPDX-License-Identifier: Apache-2.0
"""The delay of a UR10e's currents in six recordings, with two friction models, and what its correction buys.

python benchmarks/recordings/delays.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from real_arms import COLUMNS, DATA

from sysid_core.estimation.arm import ArmEquations, Processing, torque_delay
from sysid_core.estimation.arm.choices import held_out_error
from sysid_core.robot import FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import ColumnMap, read_table

RUNS = (
    "01_31-unload",
    "02_05-20sec_8harm",
    "02_06-20sec_10harm",
    "02_12-40sec_12harm",
    "02_19_14harm50sec",
    "02_19_14harm50secLoad",
)


def main() -> None:
    """Print a table: delay and deviation [ms], held-out error [%] without and with its correction."""
    columns = ColumnMap.load(COLUMNS / "ur10e_csv.yaml")
    model = RobotModel.from_urdf(DATA / "ur10e" / "ur10e.urdf")
    drives = columns.drives.ordered(model.joint_names)
    for name in RUNS:
        run = read_table(DATA / "ur10e" / "identification" / f"ur-20_{name}.csv", columns)
        for terms in ("usual", "geared"):
            friction = FrictionModel(drives, FrictionTerm.listed(terms))
            equations = ArmEquations.build(model, [run], friction, Processing())
            lag = torque_delay(equations)
            here = held_out_error(equations)
            there = held_out_error(equations.with_delay(lag.seconds))
            print(
                f"| {name} | {terms} | {1e3 * lag.seconds:.2f} ± {1e3 * lag.sd:.2f}"
                f" | {100 * here:.3f} | {100 * there:.3f} | {'yes' if lag.worth_correcting else 'no'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
