# SPDX-License-Identifier: Apache-2.0
"""Closed chains: kinematics, projected dynamics, encoders."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from loop_mechanisms import four_bar, states

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot
from sysid_core.robot.loops.constraints import loop_drift


def test_random_postures_of_the_box_close_to_1e_12(leg, rng):
    q_a, _, _ = states(leg, rng, 300)
    q = leg.assemble(q_a)
    assert np.abs(leg.loop_residual(q)).max() <= 1e-12
    np.testing.assert_array_equal(q[:, leg.actuated_columns], q_a)


def test_points_and_jacobian_agree_with_pinocchio(leg, rng):
    q = rng.uniform(-1, 1, (5, leg.n))
    model = leg.model.pin_model
    data = model.createData()
    for q_k, c_k, J_k in zip(q, leg.loop_residual(q), leg.loop_jacobian(q), strict=True):
        pin.computeJointJacobians(model, data, q_k)
        pin.updateFramePlacements(model, data)
        for i, loop in enumerate(leg.loops):
            ends = []
            for end in (loop.a, loop.b):
                frame = leg.model.frame_id(end.link)
                X = data.oMf[frame]
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
                arm = X.rotation @ end.xyz
                ends.append((X.translation + arm, J[:3] - pin.skew(arm) @ J[3:]))
            rows = slice(3 * i, 3 * i + 3)
            np.testing.assert_allclose(c_k[rows], ends[0][0] - ends[1][0], atol=1e-14)
            np.testing.assert_allclose(J_k[rows], ends[0][1] - ends[1][1], atol=1e-14)


def test_g_and_its_rate_agree_with_finite_differences(leg, rng):
    q_a, v_a, _ = states(leg, rng)
    q = leg.assemble(q_a)
    G, v = leg.actuation_map(q), leg.closure_state(q, v_a).v
    h = 1e-4

    def at(k: int) -> np.ndarray:
        return leg.assemble(q_a + k * h * v_a, q)

    def derivative(f) -> np.ndarray:
        return (f(at(-2)) - 8 * f(at(-1)) + 8 * f(at(1)) - f(at(2))) / (12 * h)

    np.testing.assert_allclose(derivative(lambda x: x), v, atol=1e-8)
    G_dot = derivative(lambda x: leg.actuation_map(x))
    drift = leg.closure_state(q, v_a).drift
    np.testing.assert_allclose(np.einsum("kij,kj->ki", G_dot, v_a), drift, atol=1e-8)
    J_dot = derivative(lambda x: leg.loop_jacobian(x))
    drift = loop_drift(leg, leg.ends.jacobians(q), v)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", J_dot, v), drift, atol=1e-8)
    np.testing.assert_allclose(leg.loop_jacobian(q) @ G, 0.0, atol=1e-12)


def test_accelerations_agree_with_pinocchios_constraint_dynamics(leg, rng):
    q_a, v_a, _ = states(leg, rng, 20)
    q = leg.assemble(q_a)
    v = leg.closure_state(q, v_a).v
    u = rng.normal(size=q_a.shape) * 20.0
    rigid = ClosedChain(leg.model, leg.loops, leg.actuated, box=leg.box)  # without friction
    model = leg.model.pin_model.copy()
    model.armature[:] = 0.0
    constraints = []
    for loop, (a, b) in zip(leg.loops, leg.attachments, strict=True):
        constraint = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            model,
            a.joint + 1,
            pin.SE3(a.R_BF, a.p_BF),
            b.joint + 1,
            pin.SE3(b.R_BF, b.p_BF),
            pin.LOCAL,
        )
        constraint.name = loop.name
        constraints.append(constraint)
    data = model.createData()
    settings = pin.ProximalSettings(1e-14, 1e-14, 0.0, 50)
    for k in range(len(q)):
        datas = [c.createData() for c in constraints]
        pin.initConstraintDynamics(model, data, constraints, datas)
        tau = np.zeros(leg.n)
        tau[leg.actuated_columns] = u[k]
        a = pin.constraintDynamics(model, data, q[k], v[k], tau, constraints, datas, settings)
        ours = rigid.motion(q_a[[k]], v_a[[k]], a[None, leg.actuated_columns], q=q[[k]])
        np.testing.assert_allclose(ours.a[0], a, rtol=1e-10, atol=1e-10 * np.abs(a).max())
        assert np.abs(rigid.torques(ours)[0] - u[k]).max() <= 1e-10 * 100


def test_projected_regressor_times_parameters_is_the_torque(leg, rng):
    motion = leg.motion(*states(leg, rng), ordered=False)
    names = leg.model.joint_names
    theta = np.concatenate([leg.model.pi.ravel(), *[leg.drive(j).values for j in names]])
    W = leg.regressor(motion, names)
    np.testing.assert_allclose(W @ theta, leg.torques(motion), atol=1e-11)


def test_a_trajectory_is_assembled_as_single_postures_are(leg):
    t = np.linspace(0, 3, 700)
    q_a = leg.box.positions(np.sin(np.outer(t, [1, 2, 3, 1.5, 2.5, 3.5])) * 0.9)
    np.testing.assert_allclose(leg.assemble_along(q_a), leg.assemble(q_a), atol=1e-12)


@pytest.mark.parametrize("kind", ["point", "rod"])
def test_a_planar_four_bar_moves_as_a_parallelogram(kind, rng):
    """The point closure has a redundant equation, which the planar motion already satisfies."""
    chain = four_bar(kind)
    angle = rng.uniform(-1, 1, 10)
    q_a = angle[:, None] if kind == "point" else np.column_stack([angle, 0 * angle])
    q = chain.assemble(q_a)
    names = chain.model.joint_names
    np.testing.assert_allclose(q[:, names.index("far")], angle, atol=1e-10)
    if kind == "point":
        np.testing.assert_allclose(q[:, names.index("middle")], -angle, atol=1e-10)
        motion = chain.motion(q_a, np.ones_like(q_a), 0 * q_a, ordered=False)
        np.testing.assert_allclose(motion.v[:, names.index("middle")], -1.0, atol=1e-9)
        np.testing.assert_allclose(motion.a, 0.0, atol=1e-8)


def test_a_weld_holds_position_and_orientation(rng):
    chain = four_bar("weld")
    q = chain.assemble(rng.uniform(-1, 1, (4, 1)))
    others = [chain.model.joint_names.index(name) for name in ("drive", "middle")]
    np.testing.assert_allclose(q[:, others], 0.0, atol=1e-9)


def test_an_open_chain_is_a_closed_one_without_loops(rng):
    model = RobotModel.from_urdf("ur5")
    chain = ClosedChain(model)
    q, v, a = rng.normal(size=(3, 6, model.nv))
    motion = chain.motion(q, v, a)
    np.testing.assert_allclose(motion.G, np.broadcast_to(np.eye(6), (6, 6, 6)))
    np.testing.assert_allclose(chain.torques(motion), model.inverse_dynamics(q, v, a), atol=1e-12)


def test_a_tarsus_encoder_replaces_the_knees(leg, rng):
    q_a, v_a, _ = states(leg, rng, 50)
    order = np.argsort(q_a[:, 3])
    q_a, v_a = q_a[order], v_a[order]
    q = leg.assemble(q_a)
    v = leg.closure_state(q, v_a).v
    seen = [name for name in leg.actuated if name != "knee"] + ["tarsus"]
    k = [leg.model.joint_names.index(name) for name in seen]
    np.testing.assert_allclose(DrivenRobot.of(leg).postures_of(seen, q[:, k]), q, atol=1e-9)
    np.testing.assert_allclose(DrivenRobot.of(leg).velocities_of(q, seen, v[:, k]), v_a, atol=1e-9)


def test_a_further_encoder_reduces_noise(leg, rng):
    q_a, _, _ = states(leg, rng, 200)
    q = leg.assemble(q_a)
    seen = [*leg.actuated, "tarsus"]
    k = [leg.model.joint_names.index(name) for name in seen]
    noisy = q[:, k] + 1e-3 * rng.normal(size=(len(q), len(k)))
    knee = leg.actuated.index("knee")
    plain = np.std(noisy[:, knee] - q_a[:, knee])
    fused = np.std(
        DrivenRobot.of(leg).postures_of(seen, noisy)[:, leg.actuated_columns[knee]] - q_a[:, knee]
    )
    assert fused < 0.85 * plain


def test_missing_measurements_are_named(leg, rng):
    seen = [name for name in leg.actuated if name != "knee"]
    with pytest.raises(ModelError, match="knee"):
        DrivenRobot.of(leg).postures_of(seen, np.zeros((3, 5)))


def test_a_posture_out_of_reach_names_loop_and_posture(leg):
    q_a = np.zeros((2, 6))
    q_a[1, 4:] = 0.8, 0.8
    with pytest.raises(ModelError, match=r"toe_._loop.*toe_a = 0\.8000.*mm") as error:
        leg.assemble(q_a)
    assert error.value.data["samples"] == [1]
    assert error.value.data["posture"]["toe_b"] == pytest.approx(0.8)
    assert not leg.try_assemble(q_a).assembled[1]
