from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import (
    RobotModel,
    example_robots,
    identified_urdf,
    pi_from_log_cholesky,
    write_urdf,
)

ROBOTS = [name for name in ("xarm7", "panda", "ur5", "kinova") if name in example_robots()]


def other_pi(model: RobotModel, rng: np.random.Generator) -> np.ndarray:
    return np.array([pi_from_log_cholesky(0.4 * rng.normal(size=10)) for _ in model.body_names])


@pytest.mark.parametrize("name", ROBOTS)
def test_a_written_urdf_gives_the_same_torques(name, rng, tmp_path):
    model = RobotModel.from_urdf(name)
    pi = other_pi(model, rng)
    path = write_urdf(tmp_path / "new" / "robot.urdf", identified_urdf(model, pi))
    again = RobotModel.from_urdf(path)
    q, v, a = rng.normal(size=(3, 20, model.nv))
    tau = model.with_pi(pi).inverse_dynamics(q, v, a)
    assert again.joint_names == model.joint_names
    assert again.inverse_dynamics(q, v, a) == pytest.approx(tau, rel=1e-9, abs=1e-9)


def test_friction_goes_to_the_joints_dynamics(rng):
    model = RobotModel.from_urdf(ROBOTS[0])
    joint = model.joint_names[1]
    xml = identified_urdf(model, other_pi(model, rng), coulomb={joint: 1.5}, viscous={joint: 2.5})
    again = RobotModel.from_urdf(xml)
    assert again.pin_model.damping[1] == pytest.approx(2.5)
    assert again.pin_model.friction[1] == pytest.approx(1.5)
    with pytest.raises(ModelError, match="no joint 'elbow9'"):
        identified_urdf(model, other_pi(model, rng), coulomb={"elbow9": 1.0})


def test_what_no_body_can_have_is_not_written(rng):
    model = RobotModel.from_urdf(ROBOTS[0])
    pi = other_pi(model, rng)
    pi[2, 0] = -1.0
    with pytest.raises(ModelError, match=model.body_names[2]):
        identified_urdf(model, pi)
    with pytest.raises(ModelError, match="bodies were given"):
        identified_urdf(model, pi[:2])
