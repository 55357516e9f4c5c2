# SPDX-License-Identifier: Apache-2.0
"""Closed chains: closure, dependent joints, G and its rate, regressors, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import (
    ClosedChain,
    JointDrive,
    Loop,
    LoopEnd,
    actuation_map,
    actuation_map_rate,
    assemble,
    assemble_along,
    closed_chain_from_mapping,
    closure_state,
    constrained_motion,
    constrained_torques,
    load_closed_chain,
    loop_jacobian,
    loop_jacobian_rate,
    loop_residual,
    project_positions,
    project_velocities,
    projected_regressor,
    require_determined,
    save_closed_chain,
    try_assemble,
)


@pytest.fixture(scope="module")
def leg() -> ClosedChain:
    return load_closed_chain("own-leg")


def states(chain: ClosedChain, rng: np.random.Generator, n: int = 40):
    q_a = chain.box.positions(rng.uniform(-1, 1, (n, chain.n_actuated)))
    v_a, a_a = rng.normal(size=(2, n, chain.n_actuated)) * np.array([1.5, 6.0])[:, None, None]
    return q_a, v_a, a_a


def four_bar(kind: str) -> ClosedChain:
    """A planar parallelogram of revolute joints, closed in one of three ways."""
    urdf = """<robot name='four_bar'><link name='base'/>
    <link name='crank'><inertial><origin xyz='0 0 .1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='coupler'><inertial><origin xyz='.2 0 0'/><mass value='1'/>
      <inertia ixx='.002' iyy='.02' izz='.02' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='rocker'><inertial><origin xyz='0 0 .1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <joint name='drive' type='revolute'><parent link='base'/><child link='crank'/>
      <axis xyz='0 1 0'/><limit lower='-2' upper='2' effort='50' velocity='10'/></joint>
    <joint name='middle' type='revolute'><parent link='crank'/><child link='coupler'/>
      <origin xyz='0 0 .2'/><axis xyz='0 1 0'/>
      <limit lower='-3' upper='3' effort='0' velocity='10'/></joint>
    <joint name='far' type='revolute'><parent link='base'/><child link='rocker'/>
      <origin xyz='.4 0 0'/><axis xyz='0 1 0'/>
      <limit lower='-3' upper='3' effort='0' velocity='10'/></joint></robot>"""
    model = RobotModel.from_urdf(urdf)
    if kind == "rod":  # the coupler's own joint stays free: it is driven, too
        loop = Loop(
            "bar", "rod", LoopEnd("crank", [0, 0, 0.2]), LoopEnd("rocker", [0, 0, 0.2]), 0.4
        )
        return ClosedChain(model, (loop,), ("drive", "middle"))
    if kind == "weld":  # coupler and rocker as one rigid piece: only the crank's circle is left
        loop = Loop("weld", "weld", LoopEnd("coupler", [0.4, 0, 0]), LoopEnd("base", [0.4, 0, 0.2]))
        return ClosedChain(model, (loop,), ("far",))
    loop = Loop("pin", "point", LoopEnd("coupler", [0.4, 0, 0]), LoopEnd("rocker", [0, 0, 0.2]))
    return ClosedChain(model, (loop,), ("drive",))


def test_random_postures_of_the_box_close_to_1e_12(leg, rng):
    q_a, _, _ = states(leg, rng, 300)
    q = assemble(leg, q_a)
    assert np.abs(loop_residual(leg, q)).max() <= 1e-12
    np.testing.assert_array_equal(q[:, leg.actuated_columns], q_a)


def test_points_and_jacobian_agree_with_pinocchio(leg, rng):
    q = rng.uniform(-1, 1, (5, leg.n))
    model = leg.model.pin_model
    data = model.createData()
    for q_k, c_k, J_k in zip(q, loop_residual(leg, q), loop_jacobian(leg, q), strict=True):
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
    q = assemble(leg, q_a)
    G, v = actuation_map(leg, q), closure_state(leg, q, v_a).v
    h = 1e-4

    def at(k: int) -> np.ndarray:
        return assemble(leg, q_a + k * h * v_a, q)

    def derivative(f) -> np.ndarray:
        return (f(at(-2)) - 8 * f(at(-1)) + 8 * f(at(1)) - f(at(2))) / (12 * h)

    np.testing.assert_allclose(derivative(lambda x: x), v, atol=1e-8)
    G_dot = actuation_map_rate(leg, q, v)
    assert np.abs(derivative(lambda x: actuation_map(leg, x)) - G_dot).max() <= 1e-8
    J_dot = loop_jacobian_rate(leg, q, v)
    assert np.abs(derivative(lambda x: loop_jacobian(leg, x)) - J_dot).max() <= 1e-8
    np.testing.assert_allclose(loop_jacobian(leg, q) @ G, 0.0, atol=1e-12)


def test_accelerations_agree_with_pinocchios_constraint_dynamics(leg, rng):
    q_a, v_a, _ = states(leg, rng, 20)
    q = assemble(leg, q_a)
    v = closure_state(leg, q, v_a).v
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
        ours = constrained_motion(
            rigid, q_a[[k]], v_a[[k]], a[None, leg.actuated_columns], q=q[[k]]
        )
        np.testing.assert_allclose(ours.a[0], a, rtol=1e-10, atol=1e-10 * np.abs(a).max())
        assert np.abs(constrained_torques(rigid, ours)[0] - u[k]).max() <= 1e-10 * 100


def test_projected_regressor_times_parameters_is_the_torque(leg, rng):
    motion = constrained_motion(leg, *states(leg, rng), ordered=False)
    names = leg.model.joint_names
    theta = np.concatenate([leg.model.pi.ravel(), *[leg.drive(j).values for j in names]])
    W = projected_regressor(leg, motion, names)
    np.testing.assert_allclose(W @ theta, constrained_torques(leg, motion), atol=1e-11)


def test_a_trajectory_is_assembled_as_single_postures_are(leg):
    t = np.linspace(0, 3, 700)
    q_a = leg.box.positions(np.sin(np.outer(t, [1, 2, 3, 1.5, 2.5, 3.5])) * 0.9)
    np.testing.assert_allclose(assemble_along(leg, q_a), assemble(leg, q_a), atol=1e-12)


@pytest.mark.parametrize("kind", ["point", "rod"])
def test_a_planar_four_bar_moves_as_a_parallelogram(kind, rng):
    """The point closure has a redundant equation: the plane already holds it."""
    chain = four_bar(kind)
    angle = rng.uniform(-1, 1, 10)
    q_a = angle[:, None] if kind == "point" else np.column_stack([angle, 0 * angle])
    q = assemble(chain, q_a)
    names = chain.model.joint_names
    np.testing.assert_allclose(q[:, names.index("far")], angle, atol=1e-10)
    if kind == "point":
        np.testing.assert_allclose(q[:, names.index("middle")], -angle, atol=1e-10)
        motion = constrained_motion(chain, q_a, np.ones_like(q_a), 0 * q_a, ordered=False)
        np.testing.assert_allclose(motion.v[:, names.index("middle")], -1.0, atol=1e-9)
        np.testing.assert_allclose(motion.a, 0.0, atol=1e-8)


def test_a_weld_holds_position_and_orientation(rng):
    chain = four_bar("weld")
    q = assemble(chain, rng.uniform(-1, 1, (4, 1)))
    others = [chain.model.joint_names.index(name) for name in ("drive", "middle")]
    np.testing.assert_allclose(q[:, others], 0.0, atol=1e-9)


def test_an_open_chain_is_a_closed_one_without_loops(rng):
    model = RobotModel.from_urdf("ur5")
    chain = ClosedChain(model)
    q, v, a = rng.normal(size=(3, 6, model.nv))
    motion = constrained_motion(chain, q, v, a)
    np.testing.assert_allclose(motion.G, np.broadcast_to(np.eye(6), (6, 6, 6)))
    np.testing.assert_allclose(
        constrained_torques(chain, motion), model.inverse_dynamics(q, v, a), atol=1e-12
    )


def test_a_tarsus_encoder_replaces_the_knees(leg, rng):
    q_a, v_a, _ = states(leg, rng, 50)
    order = np.argsort(q_a[:, 3])
    q_a, v_a = q_a[order], v_a[order]
    q = assemble(leg, q_a)
    v = closure_state(leg, q, v_a).v
    seen = [name for name in leg.actuated if name != "knee"] + ["tarsus"]
    k = [leg.model.joint_names.index(name) for name in seen]
    np.testing.assert_allclose(project_positions(leg, seen, q[:, k]), q, atol=1e-9)
    np.testing.assert_allclose(project_velocities(leg, q, seen, v[:, k]), v_a, atol=1e-9)


def test_a_further_encoder_reduces_noise(leg, rng):
    q_a, _, _ = states(leg, rng, 200)
    q = assemble(leg, q_a)
    seen = [*leg.actuated, "tarsus"]
    k = [leg.model.joint_names.index(name) for name in seen]
    noisy = q[:, k] + 1e-3 * rng.normal(size=(len(q), len(k)))
    knee = leg.actuated.index("knee")
    plain = np.std(noisy[:, knee] - q_a[:, knee])
    fused = np.std(
        project_positions(leg, seen, noisy)[:, leg.actuated_columns[knee]] - q_a[:, knee]
    )
    assert fused < 0.85 * plain


def test_missing_measurements_are_named(leg, rng):
    seen = [name for name in leg.actuated if name != "knee"]
    with pytest.raises(ModelError, match="knee"):
        project_positions(leg, seen, np.zeros((3, 5)))


def test_a_posture_out_of_reach_names_loop_and_posture(leg):
    q_a = np.zeros((2, 6))
    q_a[1, 4:] = 0.8, 0.8
    with pytest.raises(ModelError, match=r"toe_._loop.*toe_a = 0\.8000.*mm") as error:
        assemble(leg, q_a)
    assert error.value.data["samples"] == [1]
    assert error.value.data["posture"]["toe_b"] == pytest.approx(0.8)
    assert not try_assemble(leg, q_a).assembled[1]


def test_the_file_survives_a_round_trip(leg, tmp_path, rng):
    urdf = Path(tmp_path / "leg.urdf")
    urdf.write_text(leg.model.urdf_xml)
    save_closed_chain(leg, tmp_path / "leg.yaml", "leg.urdf", ["a copy"])
    again = load_closed_chain(tmp_path / "leg.yaml")
    q_a, _, _ = states(leg, rng, 10)
    np.testing.assert_array_equal(assemble(again, q_a), assemble(leg, q_a))
    assert {j: d.values for j, d in again.drives.items()} == {
        j: d.values for j, d in leg.drives.items()
    }
    np.testing.assert_allclose(again.box.half, leg.box.half)


PIN = {
    "name": "pin",
    "a": {"link": "coupler", "xyz": [0.4, 0, 0]},
    "b": {"link": "rocker", "xyz": [0, 0, 0.2]},
}


def entry(**changes):
    return {"actuated": ["drive"], "loops": [PIN], **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actuated": ["drivee"]}, "drivee"),
        ({"joints": {"crankk": {"friction": 1.0}}}, "crankk"),
        ({"joints": {"drive": {"friction": -1.0}}}, r"`joints.drive.friction` is -1"),
        ({"loops": [{"name": "x", "a": {"link": "coupler"}}]}, r"`loops\[0\].b` is missing"),
        (
            {
                "loops": [
                    {"name": "x", "type": "glue", "a": {"link": "crank"}, "b": {"link": "base"}}
                ]
            },
            "glue",
        ),
        ({"loops": [{"name": "x", "a": {"link": "nowhere"}, "b": {"link": "base"}}]}, "nowhere"),
        ({"loops": []}, "isn't fully actuated"),
        ({"home": {"elbow": 1.0}}, "elbow"),
        ({"home": {"drive": "up"}}, "'up'"),
        ({"home": [0.0]}, "`home`"),
        ({"passive": ["drive", "middle", "far"]}, "as actuated and as passive"),
        ({"passive": "middle"}, "expected a list"),
        ({"measured": ["drive"]}, "passive joints"),
        ({"joints": {"drive": 3}}, r"`joints.drive` is 3"),
        ({"joints": {"drive": {"friction": "much"}}}, "'much'"),
        ({"joints": {"drive": {"friction": float("nan")}}}, "nan"),
        ({"joints": {"drive": {"fricton": 1.0}}}, r"write `friction`"),
        ({"joints": {"drive": {"torque_limit": 0}}}, r"torque_limit` is 0"),
        ({"loops": [PIN, PIN]}, "same name"),
        (
            {"loops": [PIN | {"a": {"link": "coupler", "xyz": [0.4, "x", 0]}}]},
            r"`loops\[0\].a.xyz\[1\]`",
        ),
        ({"loops": [PIN | {"a": {"link": "coupler", "rpy": [0, 0]}}]}, r"`loops\[0\].a.rpy`"),
        ({"loops": [PIN | {"type": "rod", "length": "long"}]}, "'long'"),
        ({"loops": {"pin": PIN}}, "expected a list"),
        ({"excitation": [{"joints": {"drive": 1}, "half": 0.0}]}, r"`excitation\[0\].half`"),
        ({"excitation": [{"joints": "drive", "half": 0.2}]}, "joints` is 'drive'"),
        ({"excitation": [{"joints": {"middle": 1}, "half": 0.2}]}, "middle"),
    ],
)
def test_wrong_entries_are_named(changes, message):
    model = four_bar("point").model
    with pytest.raises(ModelError, match=message):
        closed_chain_from_mapping(entry(**changes), model)


def test_a_loop_that_holds_nothing_is_refused():
    """Both ends on the coupler: the rocker may swing as it likes."""
    loose = closed_chain_from_mapping(entry(loops=[PIN | {"b": PIN["a"]}]), four_bar("point").model)
    with pytest.raises(ModelError, match="don't decide the passive joints"):
        require_determined(loose, np.zeros((1, 3)))
    require_determined(four_bar("point"), np.zeros((1, 3)))


def test_a_file_without_actuated_joints_is_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({"loops": []}))
    with pytest.raises(ModelError, match="actuated"):
        load_closed_chain(path)


def test_drives_are_merged_by_joint(leg):
    other = leg.with_drives({"knee": JointDrive(F_c=9.0)})
    assert other.drive("knee").F_c == 9.0
    assert other.drive("toe_a") == leg.drive("toe_a")


def test_digits_left_leg_assembles(shared_data, rng):
    path = shared_data / "digit" / "digit_left_leg_loops.yaml"
    if not path.exists():
        pytest.skip("no Digit files")
    leg = load_closed_chain(path)
    assert (leg.n, leg.n_actuated, leg.n_equations) == (15, 6, 9)
    lower, upper = (x[leg.actuated_columns] for x in leg.model.position_limits)
    found = try_assemble(leg, rng.uniform(lower, upper, (300, 6)))
    assert 0.6 < found.assembled.mean() < 0.8  # an independent implementation found 211 of 300
    gap = np.abs(loop_residual(leg, np.zeros((1, 15)))).max()
    assert 1e-4 < gap < 2e-3  # the description itself misses closure by about 0.9 mm
    assert np.abs(loop_residual(leg, found.q[found.assembled])).max() <= 1e-12


@pytest.mark.parametrize("turned", [(np.pi, 0, 0), (0, np.pi, 0), (0, 0, np.pi)])
def test_a_weld_whose_frames_are_turned_by_180_degrees_does_not_assemble(turned):
    right = four_bar("weld")
    (loop,) = right.loops
    frame = LoopEnd("base", loop.b.xyz, pin.rpy.rpyToMatrix(*turned))
    wrong = ClosedChain(
        right.model, (Loop("weld", "weld", loop.a, frame),), right.actuated, home=right.home
    )
    assert try_assemble(right, [[0.3]]).assembled.all()
    assert not try_assemble(wrong, [[0.3]]).assembled.any()
    assert np.linalg.norm(loop_residual(wrong, right.home[None])[0, 3:]) == pytest.approx(np.pi)
