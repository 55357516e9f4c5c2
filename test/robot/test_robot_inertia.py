# SPDX-License-Identifier: Apache-2.0
"""Rigid-body parameters against pinocchio, and the model of a robot."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import (
    RobotModel,
    example_robots,
    is_physically_consistent,
    mass_com_inertia_from_pi,
    parameter_transform,
    pi_from_mass_com_inertia,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
    transform_pi,
    wrench_regressor,
)
from sysid_core.robot.inertia import inertia_matrix_from_pi
from sysid_core.robot.shapes import load_shape


@pytest.fixture
def pi(rng: np.random.Generator) -> np.ndarray:
    return pin.LogCholeskyParameters(0.3 * rng.normal(size=10)).toDynamicParameters()


def test_parameters_are_in_pinocchios_order(pi: np.ndarray) -> None:
    inertia = pin.Inertia.FromDynamicParameters(pi)
    mass, com, I_C = mass_com_inertia_from_pi(pi)
    assert mass == pytest.approx(inertia.mass)
    np.testing.assert_allclose(com, inertia.lever, atol=1e-12)
    np.testing.assert_allclose(I_C, inertia.inertia, atol=1e-12)
    np.testing.assert_allclose(pi_from_mass_com_inertia(mass, com, I_C), pi, atol=1e-12)


def test_coordinates_of_a_body_go_there_and_back(pi: np.ndarray) -> None:
    np.testing.assert_allclose(pi_from_pseudo_inertia(pseudo_inertia_from_pi(pi)), pi, atol=1e-14)


def test_a_change_of_frame_is_pinocchios(pi: np.ndarray) -> None:
    X = pin.SE3.Random()
    moved = X.act(pin.Inertia.FromDynamicParameters(pi)).toDynamicParameters()
    np.testing.assert_allclose(transform_pi(X.homogeneous, pi), moved, atol=1e-12)
    np.testing.assert_allclose(parameter_transform(X.homogeneous) @ pi, moved, atol=1e-12)


def test_the_wrench_is_newtons_and_eulers(pi: np.ndarray, rng: np.random.Generator) -> None:
    a, omega, alpha = rng.normal(size=(3, 3))
    body = pin.Inertia.FromDynamicParameters(pi)
    # Spatial acceleration: the classical one without omega x v, and v = 0 at this instant.
    force = body.vxiv(pin.Motion(np.zeros(3), omega)) + body * pin.Motion(a, alpha)
    np.testing.assert_allclose(wrench_regressor(a, omega, alpha) @ pi, force.vector, atol=1e-12)


def test_the_torque_regressor_gives_inverse_dynamics(rng: np.random.Generator) -> None:
    model = RobotModel.from_urdf("ur5")
    q, v, a = rng.normal(size=(3, 20, model.nv))
    Y = model.torque_regressor(q, v, a)
    np.testing.assert_allclose(Y @ model.pi.ravel(), model.inverse_dynamics(q, v, a), atol=1e-10)


def test_consistency_is_the_sign_of_the_pseudo_inertia_in_any_unit(pi: np.ndarray) -> None:
    assert is_physically_consistent(pi)
    flat = pi_from_mass_com_inertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.0 - 1e-12]))
    assert is_physically_consistent(flat)  # a lamina: the limit case
    broken = pi_from_mass_com_inertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.1]))
    assert not is_physically_consistent(broken)  # triangle inequality
    millimetres = broken * np.array([1.0, *[1e3] * 3, *[1e6] * 6])
    assert not is_physically_consistent(millimetres)
    assert is_physically_consistent(np.zeros(10))
    assert not is_physically_consistent(-pi)


def test_an_infeasible_inertia_is_warned_of_and_used() -> None:
    urdf = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    model = RobotModel.from_urdf(urdf)
    assert len(model.warnings) == 1 and "arm" in model.warnings[0]
    assert inertia_matrix_from_pi(model.pi[0])[2, 2] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("no_such_robot", "example-robot-data"),
        ("<robot name='r'><link name='a'></robot>", "parsed"),
        ("<robot name='r'><link name='a'/></robot>", "no moving joint"),
    ],
)
def test_a_description_that_cannot_be_used_says_why(source: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        RobotModel.from_urdf(source)


def test_columns_are_found_by_name() -> None:
    model = RobotModel.from_urdf("ur5")
    shuffled = ["other", *reversed(model.joint_names)]
    assert [shuffled[k] for k in model.columns_from(shuffled)] == list(model.joint_names)
    with pytest.raises(ModelError, match="elbow_joint"):
        model.columns_from([n for n in model.joint_names if n != "elbow_joint"])


def test_continuous_joints_are_given_as_angles(rng: np.random.Generator) -> None:
    model = RobotModel.from_urdf(example_robots()["double_pendulum_continuous"])
    angle = rng.normal(size=(4, 2))
    q = model.configuration(angle)
    assert q.shape == (4, model.pin_model.nq)
    np.testing.assert_allclose(np.arctan2(q[:, 1::2], q[:, ::2]), angle)


@pytest.mark.parametrize(
    ("text", "volume"),
    [
        ("box 0.1 0.2 0.3", 0.006),
        ("cylinder 0.1 0.2", np.pi * 0.002),
        ("sphere 0.1", 4e-3 / 3 * np.pi),
    ],
)
def test_shapes_are_read_from_short_texts(text: str, volume: float) -> None:
    assert load_shape(text).volume == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize("text", ["box 1 2", "box a b c", "cone 1 2", "missing.stl"])
def test_a_shape_that_cannot_be_read_says_the_forms(text: str) -> None:
    with pytest.raises(ModelError):
        load_shape(text)
