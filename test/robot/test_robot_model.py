# SPDX-License-Identifier: Apache-2.0
"""The robot model refuses data that belong to another one."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf("ur5")


@pytest.mark.parametrize("shape", [(2, 10), (6, 9), (20,), (7, 10)])
def test_parameters_of_some_of_the_bodies_are_refused(model, shape):
    with pytest.raises(ModelError, match=r"\(6, 10\): ten parameters of every body"):
        model.with_pi(np.ones(shape))


def test_parameters_of_all_bodies_are_taken_in_either_shape(model):
    doubled = 2.0 * model.pi
    np.testing.assert_allclose(model.with_pi(doubled).pi, doubled)
    np.testing.assert_allclose(model.with_pi(doubled.ravel()).pi, doubled)


def test_a_link_without_mass_keeps_its_moments(model):
    pi = model.pi.copy()
    pi[1], pi[2] = 0.0, [0, 0, 0, 0, 0.1, 0.01, 0.2, 0.02, 0.03, 0.25]
    np.testing.assert_allclose(model.with_pi(pi).pi, pi, atol=1e-15)


def test_a_joint_that_stands_twice_among_the_data_is_refused(model):
    with pytest.raises(ModelError, match="more than once"):
        model.columns_from([*model.joint_names, model.joint_names[0]])


_ARM = """<robot name="r"{namespace}><link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0" effort="0" velocity="0"/></joint></robot>"""


def test_limits_of_zero_and_zero_are_none() -> None:
    lower, upper = RobotModel.from_urdf(_ARM.format(namespace="")).position_limits
    assert lower[0] == -np.inf and upper[0] == np.inf


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_namespace_of_another_program_is_read_past(quote: str) -> None:
    namespace = f" xmlns={quote}https://drake.mit.edu{quote}"
    robot = RobotModel.from_urdf(_ARM.format(namespace=namespace))
    plain = RobotModel.from_urdf(_ARM.format(namespace=""))
    assert robot.urdf_hash == plain.urdf_hash
