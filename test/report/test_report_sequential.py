# SPDX-License-Identifier: Apache-2.0
"""The page of a sequential identification, from simulation to HTML, with MuJoCo as the robot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.sequential import SequentialPlan
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.report.sequential import error_growth_figure
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.simulation import MujocoPlant, SensorNoise, SimulatedRobot
from sysid_core.workflows import ArmData, IdentifiedArm

TERMS = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.OFFSET)


@pytest.fixture(scope="module")
def run():
    """Plan, play on a MuJoCo arm with friction, record, identify, predict another motion."""
    rng = np.random.default_rng(11)
    arm = RobotModel.from_urdf("ur5")
    model = arm.with_locked([name for name in arm.joint_names if "wrist" in name])
    true = model.with_pi(model.pi * rng.uniform(0.8, 1.25, size=(model.nv, 1)))
    limits = MotionLimits.from_model(model, tcp_speed=2.0, self_collision=False, velocity_share=0.7)
    friction = FrictionModel(DriveTrain.direct(model.joint_names), TERMS)
    plan = SequentialPlan.of(model, limits, friction, rng, candidates=8, n_moves=12)
    plant = MujocoPlant(true, friction=[5.0] * 3, damping=[3.0] * 3, timestep=2e-3)
    noise = SensorNoise(effort=0.1)

    def all_joints():
        builder = MotionBuilder(MotionChecker(model, limits), plan.trajectory.q[0])
        for _ in range(6):
            builder.move_to(rng.uniform(-1.0, 1.0, model.nv), "all joints")
        return builder.build()

    def play(trajectory):
        robot = SimulatedRobot(plant, trajectory.q[0], noise, rng)
        return robot.record(trajectory, rate_hz=125.0)

    sequential, other = play(plan.trajectory), play(all_joints())
    settings = FitSettings(method="sequential", friction="coulomb,viscous,offset")
    drives = friction.drives
    data = ArmData.of(model, [sequential], drives, settings, others=[other], plan=plan.trajectory)
    return IdentifiedArm.of(data, settings)


@pytest.mark.slow
def test_sequential_estimate_predicts_a_motion_of_all_joints(run) -> None:
    assert run.estimate.maximally_exciting
    (prediction,) = run.validation
    for stats in prediction.joints().values():
        assert stats["r2"] > 0.95


@pytest.mark.slow
def test_page_shows_steps_and_growth(run, tmp_path, clicks) -> None:
    run.write(tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for heading in ("Steps, from the last joint", "Segments"):
        assert heading in page
    assert "Growth of the error" in page
    clicks(tmp_path / "report.html")
    figure = error_growth_figure(run.fit)
    assert len(figure.data) == 2 + len(run.fit.fit.solution.steps) + 1
    assert [row["joint"] for row in run.fit.fit.step_rows()] == list(
        reversed(run.identification.model.joint_names)
    )
    json.dumps(run.to_dict())


@pytest.mark.slow
def test_torques_at_the_motor_hide_what_joints_at_standstill_feel(run) -> None:
    assert run.fit.fit.estimate.method == "sequential"
