# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, Spring

JOINTS = ("j1", "j2")
GAS = Spring("j1", "pneumatic", preload=27e3, stroke=0.575, anchors=(0.8, 0.2), zero=-1.66)
KINDS = [
    Spring("j1", preload=3.0, stiffness=20.0, zero=0.3),
    Spring("j1", preload=300.0, stiffness=4000.0, anchors=(0.5, 0.1), zero=0.3),
    GAS,
]


@pytest.mark.parametrize("spring", KINDS)
def test_a_springs_torque_is_the_slope_of_its_energy(spring):
    q = np.linspace(-2.5, 2.5, 4001)
    x, _ = spring.extension(q)
    pull = (
        spring.preload / (1 - x / spring.stroke) ** spring.exponent
        if spring.stroke
        else spring.preload + spring.stiffness * x
    )
    energy = np.concatenate([[0], np.cumsum(0.5 * (pull[1:] + pull[:-1]) * np.diff(x))])
    slope = np.gradient(energy, q)
    size = np.max(np.abs(slope))
    assert spring.torque(q)[1:-1] == pytest.approx(-slope[1:-1], abs=2e-5 * size)


def test_a_gas_counterbalance_is_that_of_the_kr300():
    # Weigand et al., Robot_Identification, hydraulic_weight_counterbalance.m: pressure 164 bar at
    # 80 and 100 degrees, 170 bar at 70 and 120 degrees were read at the robot.
    area, volume = np.pi * (0.055**2 - 0.03**2) / 4, 2 * 0.00048
    pressure = 1.01 * 296.8 * 328 * 2 * 0.0795 / volume
    spring = Spring(
        "j1",
        "pneumatic",
        preload=pressure * area,
        stroke=volume / area,
        anchors=(0.8, 0.2),
        zero=np.radians(-95),
    )
    q = np.radians([-80.0, -40.0])
    _, lever = spring.extension(q)
    read = np.array([164e5, 200e5])
    assert -spring.torque(q) / lever / area == pytest.approx(read, rel=0.02)


def test_identified_springs_are_columns_that_give_the_same_torque():
    q = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    for spring in KINDS[1:]:
        given = DriveTrain(JOINTS, [2.0, 4.0], springs=(spring,))
        found = DriveTrain(
            JOINTS, [2.0, 4.0], springs=(Spring(**{**vars(spring), "identified": True}),)
        )
        friction = FrictionModel(found, (FrictionTerm.VISCOUS,))
        values = {"F_v": 0.0, "S_p": spring.preload, "S_k": spring.stiffness}
        x = [values[name.rsplit(".", 1)[1]] for name in friction.names]
        motors = friction.regressor(q, 0 * q, 0 * q) @ x
        assert motors == pytest.approx(given.efforts(np.zeros_like(q), q) * given.gains)
        assert given.torques(given.efforts(motors, q), q) == pytest.approx(motors)


def test_springs_that_cant_be_are_refused():
    with pytest.raises(ModelError, match="but extends by up to"):
        Spring("j1", "pneumatic", preload=1.0, stroke=0.3, anchors=(0.8, 0.2))
    with pytest.raises(ModelError, match="neither preload nor stiffness"):
        Spring("j1")
    with pytest.raises(ModelError, match="unknown axes"):
        DriveTrain(JOINTS, [1.0, 1.0], springs=(Spring("j3", stiffness=1.0),))
    with pytest.raises(ModelError, match="Several springs"):
        DriveTrain(JOINTS, [1.0, 1.0], springs=2 * (Spring("j1", identified=True),))


def test_units_of_joints_that_slide_are_forces():
    spring = Spring("j2", identified=True)
    friction = FrictionModel(DriveTrain(JOINTS, [1.0, 1.0], springs=(spring,)))
    assert friction.units_of(["j2"])[4:] == ("N", "N s/m", "kg", "N", "N/m")
    assert friction.units_of(["j2"])[:4] == friction.units[:4]


def test_the_kr300s_counterbalance_predicts_other_runs_better(shared_data: Path):
    from sysid_core.estimation.arm import Identification
    from sysid_core.estimation.fit import ConsistentLeastSquares
    from sysid_core.robot import RobotModel
    from sysid_core.signals import ColumnMap, read_table
    from sysid_core.validation import Prediction

    folder = shared_data / "kuka_kr300"
    columns = ColumnMap.load(Path(__file__).parents[2] / "config" / "columns" / "kr300_csv.yaml")
    model = RobotModel.from_urdf(folder / "kr300.urdf")
    a, b = (read_table(folder / f"{name}.csv", columns) for name in "AB")
    rms = []
    for springs in ((), columns.drives.springs):
        drives = DriveTrain(columns.joints, columns.drives.gains, springs=springs)
        found = Identification.of(
            model, [a], FrictionModel(drives), ConsistentLeastSquares("quadratic")
        )
        rms.append(Prediction.of(found, b).joints()["joint2"]["rms"])
    assert rms[1] < 0.87 * rms[0]
