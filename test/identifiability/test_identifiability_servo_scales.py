# SPDX-License-Identifier: Apache-2.0
"""Unknown gains of servos: the structural answer against ranks of sampled regressors."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability import NumericalRank
from sysid_core.robot import RobotModel
from sysid_core.servos.scales import servo_scales

JOINTS = (
    pin.JointModelRX,
    pin.JointModelRZ,
    pin.JointModelRZ,
    pin.JointModelPX,
    pin.JointModelPZ,
    lambda: pin.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
)
ROTATIONS = (
    np.eye(3),
    pin.utils.rotate("x", np.pi / 2).round(),
    pin.rpy.rpyToMatrix(0.4, -0.9, 1.3),
)
OFFSETS = ((0, 0, 0), (0, 0, 0), (0.5, 0, 0), (0, 0.3, 0), (0.2, -0.1, 0.3))
GRAVITIES = ((0, 0, -9.81), (9.81, 0, 0), (0, 0, 0), (1.0, -2.0, 8.0))
# Sensor sets: whether the robot moved, and whether zeros of the servos are known.
SETS = [(still, zeros) for still in (False, True) for zeros in (False, True)]


def tree(rng: np.random.Generator) -> RobotModel:
    model = pin.Model()
    for i in range(rng.integers(1, 5)):
        parent = int(rng.integers(max(0, i - 2), i + 1))
        rotation = ROTATIONS[rng.integers(len(ROTATIONS))]
        offset = np.array(OFFSETS[rng.integers(len(OFFSETS))], dtype=float)
        joint = JOINTS[rng.integers(len(JOINTS))]()
        model.addJoint(parent, joint, pin.SE3(rotation, offset), f"joint{i + 1}")
    model.gravity.linear = np.array(GRAVITIES[rng.integers(len(GRAVITIES))], dtype=float)
    return RobotModel("tree", model)


def added_nullity(
    model: RobotModel, still: bool, zeros: bool, known: int | None, rng: np.random.Generator
) -> int:
    """Directions that columns of unknown gains add to the nullspace, by ranks at random states."""
    n, count = model.nv, 10 * model.n_bodies + 20
    q = rng.uniform(-2, 2, (count, n))
    v, a = rng.normal(size=(2, count, n)) * (0.0 if still else 3.0)
    rigid = model.torque_regressor(q, v, a)
    more = [np.broadcast_to(np.eye(n), (count, n, n))] if zeros else []
    if not still:
        more += [x[:, :, None] * np.eye(n) for x in (v, np.sign(v), a)]
    W = np.concatenate([rigid, *more], axis=2)
    error = (W @ rng.uniform(0.5, 2.0, W.shape[2])) / rng.uniform(0.5, 2.0, n)
    gains = error[:, :, None] * np.eye(n)
    free = [j for j in range(n) if j != known]
    both = np.concatenate([W, gains[:, :, free]], axis=2)
    rank, with_gains = (NumericalRank.of(x.reshape(-1, x.shape[2])).rank for x in (W, both))
    return rank + len(free) - with_gains


def check(seed: int, still: bool, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    model = tree(rng)
    assert servo_scales(model, still=still).unknown == added_nullity(model, still, zeros, None, rng)
    known = int(rng.integers(model.nv))
    one = servo_scales(model, still=still, known=[model.joint_names[known]])
    assert one.unknown == added_nullity(model, still, zeros, known, rng)


@pytest.mark.parametrize(("still", "zeros"), SETS)
def test_gains_add_as_many_unknowns_as_there_are_groups_in_300_trees(
    still: bool, zeros: bool
) -> None:
    for seed in range(300):
        check(seed, still, zeros)


def test_an_arms_gains_share_one_factor_and_a_known_one_fixes_it() -> None:
    arm = RobotModel.from_urdf("so101")
    (sentence,) = servo_scales(arm).sentences
    assert "shoulder_pan" in sentence and "one known mass" in sentence
    assert servo_scales(arm, known=["elbow_flex"]).groups == ()


def test_at_rest_a_joint_without_gravity_shows_nothing_of_its_gain() -> None:
    assert ("joint1",) in servo_scales(RobotModel.from_urdf("puma560"), still=True).groups


def test_what_is_no_servo_is_refused() -> None:
    with pytest.raises(IdentifiabilityError, match="elbow"):
        servo_scales(RobotModel.from_urdf("puma560"), known=["elbow"])
