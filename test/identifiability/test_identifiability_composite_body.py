# SPDX-License-Identifier: Apache-2.0
"""Minimal inertia constants of composite bodies against sampled rank, pinocchio and the paper."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import ExcitationError, IdentifiabilityError, ModelError
from sysid_core.identifiability import BaseParameters
from sysid_core.identifiability.composite_bodies import MinimalConstants
from sysid_core.identifiability.composite_bodies.driving_axes import DrivingAxisChain
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, example_robots
from sysid_studies.single_joint import (
    check_postures,
    composite_inverse_dynamics,
    inertia_matrix,
    single_joint_rows,
    visible_constants,
)

VERTICAL = (0.0, 0.0, -9.81)
X, Y, Z = np.eye(3)


def arm(rng, kinds, axes=None, gravity=VERTICAL, offsets=None) -> RobotModel:
    """A serial arm; axes and offsets at random where not given, with many zeros and right angles."""
    model, parent = pin.Model(), 0
    square = rng.random() < 0.6
    for i, kind in enumerate(kinds):
        if axes is not None:
            axis = np.asarray(axes[i], float)
        elif square:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        else:
            axis = rng.normal(size=3)
        if offsets is not None:
            p = np.asarray(offsets[i], float)
        else:
            p = rng.choice([0.0, 0.0, 0.3, -0.2], size=3) if square else rng.normal(size=3)
        rotation = np.eye(3)
        if axes is None and not square:
            rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            rotation *= np.sign(np.linalg.det(rotation))
        axis = axis / np.linalg.norm(axis)
        joint = (
            pin.JointModelRevoluteUnaligned(axis)
            if kind == "R"
            else pin.JointModelPrismaticUnaligned(axis)
        )
        parent = model.addJoint(parent, joint, pin.SE3(rotation, p), f"joint{i + 1}")
        A = rng.normal(size=(3, 3))
        inertia = pin.Inertia(rng.uniform(0.5, 5.0), rng.normal(size=3) * 0.2, A @ A.T * 0.1)
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    model.gravity.linear = np.asarray(gravity, float)
    return RobotModel("arm", model)


ODD_ARMS = {
    "P first, then R": ("PRR", [X, Z, Y], VERTICAL),
    "P first, vertical": ("PRR", [Z, Z, Z], VERTICAL),
    "P between parallel R, across": ("RPR", [Z, X, Z], VERTICAL),
    "P between parallel R, oblique": ("RPRR", [Z, X + Z, Z, Y], VERTICAL),
    "P between parallel R, along": ("RPR", [Z, Z, Z], VERTICAL),
    "two P between parallel R": ("RPPR", [Z, X, Y + Z, Z], VERTICAL),
    "all axes parallel, vertical": ("RRRR", [Z, Z, Z, Z], VERTICAL),
    "all axes parallel, horizontal": ("RRR", [Y, -Y, Y], VERTICAL),
    "all prismatic": ("PPP", [X, Y, X + Z], VERTICAL),
    "first axis not vertical": ("RRR", [X, Y, Z], VERTICAL),
    "first axis tilted": ("RRPR", [X + Z, X + Z, Y, Z], VERTICAL),
    "gravity along none of the axes": ("RRPR", [Z, Z, X, Z], (1.0, 2.0, -9.0)),
    "one joint": ("R", [Z], VERTICAL),
    "SCARA": ("RRPR", [Z, Z, Z, Z], VERTICAL),
}


def base_map(minimal, base) -> np.ndarray:
    """Matrix from the minimal inertia constants to base parameters; both span the same space."""
    M = base.regrouping @ minimal.right_inverse
    np.testing.assert_allclose(M @ minimal.matrix, base.regrouping, atol=1e-9)
    return M


@pytest.mark.parametrize("name", ODD_ARMS)
def test_map_to_base_parameters_is_exact_on_odd_arms(name, rng) -> None:
    kinds, axes, gravity = ODD_ARMS[name]
    for offsets in (None, np.zeros((len(kinds), 3))):
        model = arm(rng, kinds, axes, gravity, offsets)
        minimal = MinimalConstants.of(model)
        Y = model.torque_regressor(*model.random_states(10 * model.n_bodies + 20, rng))
        names = model.parameter_names
        sampled = BaseParameters.sampled(Y.reshape(-1, Y.shape[-1]), names)
        for base in (sampled, structural_identifiability(model).base):
            assert minimal.rank == base.rank, (minimal.names, base.base_names)
            M = base_map(minimal, base)
            np.testing.assert_allclose(
                M @ minimal.values(model.pi), base.base_values(model.pi.ravel()), atol=1e-10
            )


def test_map_to_exact_base_parameters_holds_on_random_arms(rng) -> None:
    for _ in range(150):
        kinds = "".join(rng.choice(list("RP"), size=rng.integers(1, 8), p=[0.65, 0.35]))
        model = arm(rng, kinds, gravity=[VERTICAL, (0, -9.81, 0), (1, 2, -9)][rng.integers(3)])
        minimal = MinimalConstants.of(model)
        base = structural_identifiability(model).base
        assert minimal.rank == base.rank, kinds
        assert np.linalg.matrix_rank(base_map(minimal, base)) == base.rank


def test_torques_from_the_constants_alone_equal_newton_euler(rng) -> None:
    for kinds in ("RRR", "PRPR", "RPPRR", "RRPRRR"):
        model = arm(rng, kinds)
        minimal = MinimalConstants.of(model)
        constants = minimal.all_constants(minimal.values(model.pi))
        q, v, a = rng.uniform(-2, 2, size=(3, model.nv))
        tau = model.inverse_dynamics([q], [v], [a])[0]
        alone = composite_inverse_dynamics(minimal.chain, constants, q, v, a)
        np.testing.assert_allclose(alone, tau, atol=1e-9 * np.abs(tau).max())
        M = pin.crba(model.pin_model, model.pin_model.createData(), model.configuration(q))
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(inertia_matrix(minimal.chain, constants, q), M, atol=1e-9)


def test_single_joint_equations_equal_the_full_regressor(rng) -> None:
    for _ in range(40):
        n = int(rng.integers(1, 6))
        model = arm(rng, "".join(rng.choice(list("RP"), size=n, p=[0.6, 0.4])))
        minimal = MinimalConstants.of(model)
        moving = int(rng.integers(n))
        observed = int(rng.integers(moving, n))
        posture, motion = rng.normal(size=n), rng.normal(size=(3, 4))
        q, v, a = np.tile(posture, (4, 1)), np.zeros((4, n)), np.zeros((4, n))
        q[:, moving], v[:, moving], a[:, moving] = motion
        expected = minimal.regressor(model.torque_regressor(q, v, a))[:, observed]
        rows = single_joint_rows(minimal, posture, moving, observed, *motion)
        np.testing.assert_allclose(rows, expected, atol=1e-10)
        # Properties 1 and 2 name no less than what the coefficients of this body show.
        shown = {
            minimal.names[i]
            for i in np.flatnonzero(np.abs(rows).max(axis=0) > 1e-9)
            if minimal.bodies[i] == observed
        }
        assert shown <= set(visible_constants(minimal.chain, moving, observed, posture).names)


def serial_arms() -> list[str]:
    """Arms of example-robot-data, one name per file, that are serial as they come."""
    names: dict[str, str] = {}
    for name, path in example_robots().items():
        names[str(path)] = name
    out = []
    for name in names.values():
        try:
            DrivingAxisChain.from_model(RobotModel.from_urdf(name))
        except ModelError:
            continue
        out.append(name)
    return out


def test_constants_of_every_serial_example_arm_map_to_its_exact_base_parameters() -> None:
    arms = serial_arms()
    assert len(arms) >= 15
    for name in arms:
        # Angles such as 1.5708 are read as what they stand for, by both analyses.
        model, _ = RobotModel.from_urdf(name).with_exact_angles()
        minimal, base = MinimalConstants.of(model), structural_identifiability(model).base
        assert minimal.rank == base.rank, name
        base_map(minimal, base)


def test_arms_with_grippers_are_serial_once_the_fingers_are_locked() -> None:
    model = RobotModel.from_urdf("panda")
    fingers = [name for name in model.joint_names if "finger" in name]
    arm_alone = model.with_locked(fingers)
    assert MinimalConstants.of(arm_alone).rank == structural_identifiability(arm_alone).base.rank


def test_driving_axes_reproduce_the_kinematics(rng) -> None:
    model = RobotModel.from_urdf("kinova")
    chain = DrivingAxisChain.from_model(model)
    q = rng.uniform(-2, 2, model.nv)
    data = model.pin_model.createData()
    pin.computeJointJacobians(model.pin_model, data, model.configuration(q))
    _, axes = chain.axis_lines(q)
    for i, axis in enumerate(axes):
        S = pin.getJointJacobian(
            model.pin_model, data, i + 1, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        np.testing.assert_allclose(chain.X_WE0[:3, :3] @ axis, S[3:, i], atol=1e-9)


def test_trees_and_weightless_worlds_are_refused(rng) -> None:
    with pytest.raises(ModelError, match="not a serial arm"):
        MinimalConstants.of(RobotModel.from_urdf("solo12"))
    with pytest.raises(IdentifiabilityError, match="gravity"):
        MinimalConstants.of(arm(rng, "RR", [Z, X], gravity=(0, 0, 0)))


def test_parallel_joint_is_refused_with_its_property(rng) -> None:
    model = arm(rng, "RR", [Z, Z], offsets=[[0, 0, 0], [0, 0, 0.3]])
    minimal = MinimalConstants.of(model)
    seen = visible_constants(minimal.chain, 0, 1, [0.0, 0.0])
    assert seen.names == ("U2_33",) and "1.1c" in seen.reason
    moved_straight = MinimalConstants.of(arm(rng, "PR", [Z, Z]))
    with pytest.raises(ExcitationError, match=r"property 2\.1b"):
        check_postures(moved_straight, 0, 1, [[0.0, 0.0]])


def test_too_few_postures_are_refused_and_name_what_stays_open() -> None:
    minimal = MinimalConstants.of(RobotModel.from_urdf("stanford"))
    posture = [0.7, 0.7, 0.0, 0.7, 0.7, 0.7]
    with pytest.raises(ExcitationError, match="remain undetermined") as caught:
        check_postures(minimal, 0, 5, [posture])
    assert caught.value.data["undetermined"]
    others = [[*posture[:5], value] for value in (-0.6, -0.7)]
    assert len(check_postures(minimal, 0, 5, [posture, *others])) == 7
