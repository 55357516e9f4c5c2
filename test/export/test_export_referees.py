# SPDX-License-Identifier: Apache-2.0
"""Torques of exported bodies by readers that this project didn't write: pinocchio's and Drake's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from exported_arm import with_drives
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.export import Target
from sysid_core.export.files import write_target
from sysid_core.export.projection import Projection
from sysid_core.robot import RobotModel, example_robots

STAND = """<link name="world"/><joint name="stand" type="fixed"><parent link="world"/>
<child link="base"/><origin xyz="0 0.1 0.8" rpy="0.3 0 0"/></joint></robot>"""
ROBOTS = ["panda", *range(5)] if "panda" in example_robots() else [*range(5)]


def robot_of(name: str | int, rng: np.random.Generator) -> Projection:
    """An example robot or a random tree, without friction; fixed links have shapes, and every
    other tree stands on a table.
    """
    if isinstance(name, int):
        text = random_urdf(np.random.default_rng(name))
        shape = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
        text = text.replace("</robot>", STAND) if name % 2 else text
        name = text.replace('<link name="base"/>', f'<link name="base">{shape}</link>')
    model = with_consistent_bodies(RobotModel.from_urdf(name), rng)
    return with_drives(model)


def torques_in_pinocchio(path, target: Target, names, q, v, a) -> np.ndarray:
    build = pin.buildModelFromMJCF if target is Target.MJCF else pin.buildModelFromUrdf
    model = build(str(path))
    data, out = model.createData(), np.empty_like(q)
    joints = [model.joints[model.getJointId(name)] for name in names]
    at = [joint.idx_v for joint in joints]
    for k in range(len(q)):
        posture = pin.neutral(model)
        for joint, x in zip(joints, q[k], strict=True):
            turned = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            posture[joint.idx_q : joint.idx_q + joint.nq] = turned
        motion = np.zeros((2, model.nv))
        motion[:, at] = v[k], a[k]
        out[k] = pin.rnea(model, data, posture, *motion)[at]
    return out


def torques_in_drake(path, target: Target, names, q, v, a) -> np.ndarray:
    plants = pytest.importorskip("pydrake.multibody.plant", reason="drake isn't installed")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.tree import MultibodyForces

    plant = plants.MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    plant.Finalize()
    context, out = plant.CreateDefaultContext(), np.empty_like(q)
    at = [plant.GetJointByName(name).velocity_start() for name in names]
    for k in range(len(q)):
        x = np.zeros((3, plant.num_velocities()))
        x[:, at] = q[k], v[k], a[k]
        plant.SetPositions(context, x[0])
        plant.SetVelocities(context, x[1])
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        out[k] = plant.CalcInverseDynamics(context, x[2], forces)[at]
    return out


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(
    "reader, target",
    [
        (torques_in_pinocchio, Target.URDF),
        (torques_in_pinocchio, Target.MJCF),
        (torques_in_drake, Target.SDF),
        (torques_in_drake, Target.MJCF),
    ],
)
def test_others_have_our_torques(reader, target, name, rng, tmp_path):
    robot = robot_of(name, rng)
    file = write_target(target, robot, tmp_path).files[0]
    q, v, a = rng.normal(size=(3, 20, robot.model.nv))
    found = reader(file, target, robot.model.joint_names, q, v, a)
    assert found == pytest.approx(robot.torques(q, v, a), abs=1e-9)
