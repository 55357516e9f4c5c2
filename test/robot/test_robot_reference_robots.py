# SPDX-License-Identifier: Apache-2.0
"""Reference robots against their Denavit-Hartenberg tables."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel, Rotor
from sysid_core.robot.urdf import reference_robots


def modified_dh(alpha, a, d, theta):
    """The transform as textbooks print it (Craig, eq. 3.6)."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array(
        [
            [ct, -st, 0, a],
            [st * ca, ct * ca, -sa, -d * sa],
            [st * sa, ct * sa, ca, d * ca],
            [0, 0, 0, 1],
        ]
    )


def end_pose(model, q):
    data = model.pin_model.createData()
    pin.forwardKinematics(model.pin_model, data, np.asarray(q, dtype=float))
    return data.oMi[model.pin_model.njoints - 1].homogeneous


def test_tx40_stands_as_its_table_says(rng):
    q = rng.uniform(-2, 2, 6)
    rows = [
        (0, 0, 0.32, 0),
        (-np.pi / 2, 0, 0, 0),
        (0, 0.225, 0.035, 0),
        (np.pi / 2, 0, 0.225, 0),
        (-np.pi / 2, 0, 0, 0),
        (np.pi / 2, 0, 0, np.pi),
    ]
    T = np.eye(4)
    for (alpha, a, d, theta), angle in zip(rows, q, strict=True):
        T = T @ modified_dh(alpha, a, d, theta + angle)
    np.testing.assert_allclose(end_pose(RobotModel.from_urdf("tx40"), q), T, atol=1e-12)


def test_prismatic_joints_slide_along_z(rng):
    q = rng.uniform(-1, 1, 4)
    T = (
        modified_dh(0, 0, 0, q[0])
        @ modified_dh(0, 0.4, 0, q[1])
        @ modified_dh(0, 0.3, q[2], 0)
        @ modified_dh(0, 0, 0, q[3])
    )
    np.testing.assert_allclose(end_pose(RobotModel.from_urdf("scara"), q), T, atol=1e-12)


@pytest.mark.parametrize("name", reference_robots())
def test_every_reference_robot_loads_fixed_and_floating(name):
    fixed, floating = RobotModel.from_urdf(name), RobotModel.from_urdf(name, floating_base=True)

    assert floating.nv == fixed.nv + 6
    assert {rotor.joint for rotor in Rotor.of_reference(name)} <= set(fixed.joint_names)


def test_unknown_robot_names_what_there_is():
    with pytest.raises(ModelError, match=r"Reference robots: .*puma560"):
        RobotModel.from_urdf("puma561")


def test_one_loader_takes_reference_and_example_names():
    assert RobotModel.from_urdf("puma560").nv == 6
    assert RobotModel.from_urdf("panda", gravity=(0, 0, 0)).gravity.tolist() == [0, 0, 0]
