# SPDX-License-Identifier: Apache-2.0
"""Real robots: what issue and papers promise, on runs that were not used for fitting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_core.estimation.arm import ArmEquations, Identification, Processing
from sysid_core.estimation.arm.choices import choose_terms
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.estimation.loaded_arm import DriveGains, KnownLoad
from sysid_core.estimation.loaded_arm.identify import identify_with_load
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.robot import FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.friction import GEARED_ARM_TERMS, USUAL_TERMS
from sysid_core.signals import ColumnMap, read_table
from sysid_core.validation import Prediction

CONFIG = Path(__file__).resolve().parents[2] / "config" / "columns"


class Ur10e:
    def __init__(self, data: Path) -> None:
        self.folder = data / "ur10e" / "identification"
        self.columns = ColumnMap.load(CONFIG / "ur10e_csv.yaml")
        self.model = RobotModel.from_urdf(data / "ur10e" / "ur10e.urdf")

    def run(self, name: str):
        return read_table(self.folder / f"ur-20_{name}.csv", self.columns)

    def friction(self, *terms: FrictionTerm) -> FrictionModel:
        drives = self.columns.drives.ordered(self.model.joint_names)
        return FrictionModel(drives, terms) if terms else FrictionModel(drives)


@pytest.fixture(scope="module")
def ur10e(shared_data: Path) -> Ur10e:
    return Ur10e(shared_data)


def test_least_squares_explains_a_held_out_run_of_the_ur10e(ur10e):
    result = Identification.of(
        ur10e.model, [ur10e.run("02_12-40sec_12harm")], ur10e.friction(), LeastSquares("none")
    )
    assert result.estimate.rank == result.estimate.structural_rank
    joints = Prediction.of(result, ur10e.run("02_06-20sec_10harm")).joints()
    assert all(joints[name]["r2"] >= 0.95 for name in ur10e.model.joint_names[:4])


@pytest.mark.slow
def test_a_consistent_ur10e_predicts_raw_currents_of_other_runs(ur10e):
    result = Identification.of(
        ur10e.model,
        [ur10e.run("02_12-40sec_12harm")],
        ur10e.friction(*GEARED_ARM_TERMS),
        ConsistentLeastSquares(),
    )
    assert result.physically_consistent
    assert Prediction.of(result, ur10e.run("02_05-20sec_8harm")).relative_error() <= 0.054
    assert Prediction.of(result, ur10e.run("02_19_14harm50sec")).relative_error() <= 0.039


@pytest.mark.slow
def test_held_out_blocks_choose_load_dependent_friction_and_play(ur10e):
    equations = ArmEquations.build(
        ur10e.model, [ur10e.run("02_12-40sec_12harm")], ur10e.friction(), Processing()
    )
    candidates = [FrictionTerm.LOAD, FrictionTerm.PLAY, FrictionTerm.ASYMMETRY]
    chosen, _ = choose_terms(equations, candidates)
    assert FrictionTerm.LOAD in chosen.terms_of("shoulder_lift_joint")
    for joint in ("wrist_1_joint", "wrist_2_joint", "wrist_3_joint"):
        assert FrictionTerm.PLAY in chosen.terms_of(joint)


@pytest.mark.slow
def test_the_known_load_gives_the_gains_that_the_controller_uses(ur10e):
    runs = [ur10e.run("02_19_14harm50sec"), ur10e.run("02_19_14harm50secLoad")]
    friction = ur10e.friction(*USUAL_TERMS, FrictionTerm.LOAD, FrictionTerm.PLAY)
    start = FrictionModel(friction.drives.with_gains(np.ones(6)), friction.terms)
    unloaded, loaded = (ArmEquations.build(ur10e.model, [run], start, Processing()) for run in runs)
    found = identify_with_load(
        unloaded, loaded, KnownLoad(2.805, "tool0"), ConsistentLeastSquares()
    )
    assert found.identification.physically_consistent
    # Not used above: desired currents and the controller's own model torques of the same run.
    table = np.loadtxt(ur10e.folder / "ur-20_02_19_14harm50sec.csv", delimiter=",")
    controller = DriveGains.from_targets(table[:, 19:25], table[:, 25:31], table[:, 7:13]).gains
    # The first joint's axis is vertical: it feels the load's inertia only.
    off = np.abs(found.gains.gains - controller)
    assert np.all(off < 0.1 * controller + [2.0 * found.gains.sd[0], 0, 0, 0, 0, 0])
    # UR10E_parameters.txt: what the recordings' authors found, lower at the big joints.
    assert found.gains.gains == pytest.approx([10.0, 10.70, 8.46, 9.00, 9.48, 10.12], rel=0.25)
    com = PayloadSummary.of(found.payload)
    assert np.all(com.com_sd < 0.01) and np.linalg.norm(com.com) < 0.25
    assert Prediction.of(found.identification, runs[0]).relative_error() < 0.05
    assert Prediction.of(found.loaded, runs[1]).relative_error() < 0.05


class Tx40:
    def __init__(self, data: Path) -> None:
        columns = ColumnMap.load(CONFIG / "tx40_csv.yaml")
        self.model = RobotModel.from_urdf(data / "tx40" / "tx40_mdh_modified.urdf")
        self.drives = columns.drives.ordered(self.model.joint_names)
        run = read_table(data / "tx40", columns)
        end = int(run.joints.stamps_ns[-1])
        self.first, self.last = run.window(0, 2 * end // 3), run.window(2 * end // 3, end)

    def identified(self, *terms: FrictionTerm, processing: Processing | None = None):
        friction = FrictionModel(self.drives, (*USUAL_TERMS, *terms))
        slow = Processing(rate_hz=500.0, motion_cutoff_hz=30.0, torque_cutoff_hz=20.0)
        processing = processing or slow
        return Identification.of(
            self.model, [self.first], friction, ConsistentLeastSquares(), processing
        )


@pytest.fixture(scope="module")
def tx40(shared_data: Path) -> Tx40:
    return Tx40(shared_data)


def test_tx40_wrist_friction_agrees_with_the_published_values(tx40):
    result = tx40.identified()
    values = result.friction_parameters
    # TX40_config.yaml: fsm6, fvm6, Iam6 of the coupled motor, fs of the big joints.
    assert values["motor_6.F_c"] == pytest.approx(1.95, rel=0.25)
    assert values["motor_6.F_v"] == pytest.approx(0.616, rel=0.25)
    assert values["motor_6.I_a"] == pytest.approx(0.00964, rel=0.25)
    assert values["joint_1.F_c"] == pytest.approx(7.14, rel=0.25)
    held_out = Prediction.of(result, tx40.last).joints(whole=False)
    assert all(held_out[f"joint_{j}"]["r2"] >= 0.9 for j in (1, 2, 3, 4, 6))


@pytest.mark.slow
def test_tx40_torque_waves_of_its_wrist_motors_predict_the_fifth_joint(tx40):
    terms = (
        FrictionTerm.STRIBECK,
        FrictionTerm.THINNING,
        FrictionTerm.BREAKAWAY,
        FrictionTerm.RIPPLE,
        FrictionTerm.RUNOUT,
        FrictionTerm.SPEED_RIPPLE,
        FrictionTerm.SPEED_RUNOUT,
    )
    fast = Processing(rate_hz=5000.0, motion_cutoff_hz=60.0, torque_cutoff_hz=2500.0, delay=3e-4)
    result = tx40.identified(*terms, processing=fast)
    assert result.physically_consistent
    values = result.friction_parameters
    for axis, turns in (("joint_5", 45), ("motor_6", 32)):
        varies = np.hypot(values[f"{axis}.F_oc_{turns}"], values[f"{axis}.F_os_{turns}"])
        at_one_rad_per_s = sum(values[f"{axis}.{symbol}"] for symbol in ("F_c", "F_v", "F_t"))
        assert 0.1 < varies / at_one_rad_per_s < 1.0  # rubs more, never drives
    held_out = Prediction.of(result, tx40.last)
    raw, band = held_out.joints(), held_out.joints_below(20.0)
    assert all(raw[f"joint_{j}"]["r2"] >= 0.95 for j in (1, 2, 3, 4, 6))
    usual = Prediction.of(tx40.identified(), tx40.last).joints()
    # The torques of motors 5 and 6 nearly cancel at joint 5 there: little is left to explain.
    assert raw["joint_5"]["rms"] < 0.55 * usual["joint_5"]["rms"]
    assert raw["joint_5"]["r2"] >= 0.87
    assert band["joint_5"]["r2"] >= 0.88
    measured, predicted = (
        np.subtract(*pair)
        for pair in zip(held_out.columns("joint_5"), held_out.columns("joint_6"), strict=True)
    )
    motor_5 = 1.0 - np.sum((measured - predicted) ** 2) / np.sum((measured - measured.mean()) ** 2)
    assert motor_5 >= 0.98
