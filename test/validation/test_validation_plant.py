# SPDX-License-Identifier: Apache-2.0
"""MuJoCo against pinocchio, with equal parameters."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.simulation import MujocoPlant

PAYLOAD = pi_from_mass_com_inertia(1.1, [0.01, 0.04, 0.03], np.diag([0.012, 0.003, 0.014]))


@pytest.mark.parametrize("name", ["xarm7", "ur5", "ur10", "kinova"])
def test_mujoco_efforts_equal_inverse_dynamics(name: str, rng: np.random.Generator) -> None:
    model = RobotModel.from_urdf(name)
    plant = MujocoPlant(model)
    for _ in range(5):
        plant.reset(*rng.normal(size=(2, model.nv)))
        sample = plant.step(rng.normal(size=model.nv))
        tau = model.inverse_dynamics(sample.q[None], sample.v[None], sample.a[None])[0]
        np.testing.assert_allclose(tau, sample.effort, atol=1e-9)


def test_the_sensor_measures_what_newton_and_euler_say(rng: np.random.Generator) -> None:
    model = RobotModel.from_urdf("xarm7")
    plant = MujocoPlant(model, sensor_frame="link_eef", payload=PAYLOAD)
    for _ in range(5):
        plant.reset(*rng.normal(size=(2, 7)))
        s = plant.step(rng.normal(size=7))
        motion = model.frame_motion("link_eef", s.q[None], s.v[None], s.a[None])
        wrench = wrench_regressor(motion.a, motion.omega, motion.alpha)[0] @ PAYLOAD
        np.testing.assert_allclose(wrench, s.wrench, atol=1e-9)


def test_the_servo_follows_and_friction_is_felt(rng: np.random.Generator) -> None:
    model = RobotModel.from_urdf("ur5")
    plant = MujocoPlant(model, damping=np.full(6, 0.5), armature=np.full(6, 0.1))
    q = rng.normal(size=6)
    plant.reset(q)
    t = np.arange(0.0, 1.0, 1e-3)
    for tk in t:
        a = -0.1 * np.sin(tk) * np.ones(6)
        sample = plant.step(
            plant.servo_effort(
                q + 0.1 * np.sin(tk) - 0.1 * tk, 0.1 * (np.cos(tk) - 1) * np.ones(6), a
            )
        )
    np.testing.assert_allclose(plant.q, q + 0.1 * np.sin(1.0) - 0.1, atol=1e-4)
    rigid = model.inverse_dynamics(sample.q[None], sample.v[None], sample.a[None])[0]
    np.testing.assert_allclose(sample.effort - rigid, 0.5 * sample.v + 0.1 * sample.a, atol=1e-9)


def test_a_joint_that_cannot_be_simulated_is_named() -> None:
    with pytest.raises(ModelError, match="root_joint"):
        MujocoPlant(RobotModel.from_urdf("ur5", floating_base=True))
