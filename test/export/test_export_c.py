# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from exported_arm import with_drives
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.errors import ModelError
from sysid_core.export.c_code import c_of, c_prefix, write_c
from sysid_core.export.projection import Projection
from sysid_core.export.readers import CReader
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    Spring,
    SpringLaw,
    example_robots,
)

pytestmark = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="no C compiler"
)
WAVES = ("ripple", "runout", "speed_ripple", "speed_runout")


def compiled(robot: Projection, folder) -> CReader:
    _, source = write_c(folder, robot, c_prefix(robot.model.name))
    return CReader(source, robot.model.nv, len(robot.friction.drives.axis_names))


def whole_robot(model: RobotModel, rng: np.random.Generator) -> Projection:
    """All friction terms on all joints, a coupling, and every kind of spring."""
    names = model.joint_names
    springs = (
        Spring(names[0], SpringLaw.LINEAR, preload=2.0, stiffness=5.0, zero=0.3),
        Spring(names[1], SpringLaw.LINEAR, 50.0, 200.0, anchors=(0.4, 0.1), zero=-0.2),
        Spring(names[2], SpringLaw.PNEUMATIC, 80.0, stroke=0.9, exponent=1.4, anchors=(0.5, 0.2)),
        Spring(names[3], SpringLaw.LINEAR, anchors=(0.3, 0.2), identified=True),
    )
    drives = DriveTrain(
        names,
        rng.uniform(1.0, 5.0, size=model.nv),
        {"both": {names[4]: 1.0, names[5]: -0.5}},
        {kind: {name: [1.0, 12.5] for name in (*names, "both")} for kind in WAVES},
        springs,
    )
    friction = FrictionModel(drives, tuple(FrictionTerm))
    return Projection(model, friction, rng.uniform(0.1, 1.0, size=len(friction.names)))


@pytest.mark.skipif("panda" not in example_robots(), reason="example-robot-data isn't installed")
def test_code_has_our_torques_with_all_terms(rng, tmp_path):
    model = RobotModel.from_urdf("panda").with_locked(
        ["panda_finger_joint1", "panda_finger_joint2"]
    )
    robot = whole_robot(with_consistent_bodies(model, rng), rng)
    code = compiled(robot, tmp_path)
    t = np.linspace(0.0, 5.0, 1000)[:, None]
    w = rng.uniform(0.5, 3.0, size=7)
    q, v, a = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    expected = robot.torques(q, v, a)
    assert code.torques(q, v, a) == pytest.approx(expected, abs=1e-9)
    assert code.torques(q, v, a) == pytest.approx(expected, abs=1e-9)  # reset forgets


@pytest.mark.parametrize("seed", range(8))
def test_code_of_random_trees_has_pinocchios_rigid_bodies(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = RobotModel.from_urdf(random_urdf(rng), gravity=rng.normal(size=3))
    code = compiled(with_drives(model), tmp_path)
    q, v, a = rng.normal(size=(3, 20, model.nv))
    still = np.zeros_like(q)
    rigid = model.inverse_dynamics(q, v, a)
    assert code.torques(q, v, a) == pytest.approx(rigid, abs=1e-9)
    assert code.along("rigid_torques", q, v, a) == pytest.approx(rigid, abs=1e-9)
    assert code.along("gravity", q) == pytest.approx(
        model.inverse_dynamics(q, still, still), abs=1e-9
    )
    Y = model.torque_regressor(q, v, a)
    rows = code.along("regressor", q, v, a, size=10 * model.nv**2)
    assert rows == pytest.approx(np.asarray(Y).reshape(20, -1), abs=1e-9)
    data = model.pin_model.createData()
    mass_matrices = code.along("mass_matrix", q, size=model.nv**2)
    for k, posture in enumerate(model.configuration(q)):
        M = pin.crba(model.pin_model, data, posture)
        M = np.triu(M) + np.triu(M, 1).T
        assert mass_matrices[k] == pytest.approx(M.ravel(), abs=1e-9)


def test_names_that_c_cannot_have_are_replaced_or_refused(rng, tmp_path):
    model = RobotModel.from_urdf(random_urdf(rng))
    robot = with_drives(replace(model, name='7 of "nine" */'))
    assert c_prefix(robot.model.name) == "robot_7_of_nine"
    compiled(robot, tmp_path)
    with pytest.raises(ModelError, match="can't begin the names"):
        c_of(robot, "7 of nine")


def test_code_that_no_compiler_takes_is_told(tmp_path):
    (tmp_path / "broken.c").write_text("int broken(")
    with pytest.raises(ModelError, match="refuses"):
        CReader(tmp_path / "broken.c", 1, 1)
