# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from exported_arm import LOADED, USUAL, identified, with_drives
from random_tree import random_urdf, with_consistent_bodies
from two_joint_arm import URDF

from sysid_core.errors import ModelError
from sysid_core.export import JointFields, PositionServo, Target, mjcf_of, write_mjcf
from sysid_core.export.files import (
    LossCode,
    largest_differences,
    losses_of,
    reader_of,
    require_target,
    write_target,
)
from sysid_core.export.geometry import MeshFolder
from sysid_core.export.joint_fields import chain_fields, joint_fields
from sysid_core.export.mjcf import MESH_FORMATS
from sysid_core.export.projection import Projection, projections
from sysid_core.export.readers import MjcfReader
from sysid_core.export.urdf import urdf_of
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    Spring,
    example_robots,
)
from sysid_core.robot.loops import DrivenRobot, JointDrive, load_closed_chain

ARMS = [name for name in ("panda", "ur5", "kinova", "xarm7") if name in example_robots()]
OFF = mujoco.mjtDisableBit


def torques_in_mujoco(text: str, joint_names, q, v, a) -> np.ndarray:
    """Rigid bodies, armature and damping by `mj_inverse`, constraints left out."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(OFF.mjDSBL_CONSTRAINT)
    data, out = mujoco.MjData(model), np.empty_like(q)
    at = [int(model.joint(name).dofadr[0]) for name in joint_names]
    for k in range(len(q)):
        data.qpos[at], data.qvel[at], data.qacc[at] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        out[k] = data.qfrc_inverse[at]
    return out


def largest_difference(model: RobotModel, rng: np.random.Generator, states: int) -> float:
    """Largest difference of torques by MuJoCo and by pinocchio with armature and damping [N m]."""
    armature, damping = rng.uniform(0.01, 0.5, size=(2, model.nv))
    fields = {
        name: JointFields(armature=i, damping=d, frictionloss=0.3)
        for name, i, d in zip(model.joint_names, armature, damping, strict=True)
    }
    q = rng.uniform(-2.0, 2.0, size=(states, model.nv))
    v, a = 2.0 * rng.normal(size=(2, states, model.nv))
    expected = model.inverse_dynamics(q, v, a) + armature * a + damping * v
    found = torques_in_mujoco(mjcf_of(model, fields), model.joint_names, q, v, a)
    return float(np.abs(found - expected).max())


@pytest.mark.parametrize("name", ARMS)
def test_mujoco_has_our_torques(name, rng):
    model = with_consistent_bodies(RobotModel.from_urdf(name), rng)
    assert largest_difference(model, rng, 1000) < 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_mujoco_has_our_torques_of_random_trees(seed):
    rng = np.random.default_rng(seed)
    assert largest_difference(RobotModel.from_urdf(random_urdf(rng)), rng, 20) < 1e-9


def test_the_order_of_joints_their_limits_and_fixed_links_are_kept(rng):
    robot = RobotModel.from_urdf("panda")
    model = mujoco.MjModel.from_xml_string(mjcf_of(with_consistent_bodies(robot, rng), {}))
    names = [model.joint(i).name for i in range(model.njnt)]
    assert (
        tuple(names) == robot.joint_names == tuple(model.actuator(i).name for i in range(model.nu))
    )
    assert model.jnt_range == pytest.approx(np.array(robot.position_limits).T)
    assert model.actuator_ctrlrange[:, 1] == pytest.approx(robot.effort_limits)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    motion = robot.frame_motion("panda_hand", *np.zeros((3, 1, 9)))
    assert data.body("panda_hand").xmat.reshape(3, 3) == pytest.approx(motion.R_WF[0], abs=1e-12)
    assert model.neq == 1  # the finger that mimics the other


def test_joints_stick_below_their_dry_friction(tmp_path):
    # Half of the friction pulls for two seconds: a real joint stands.
    model = RobotModel.from_urdf("ur5", gravity=(0.0, 0.0, 0.0))
    fields = {name: JointFields(frictionloss=2.0) for name in model.joint_names}
    path = write_mjcf(tmp_path / "arm.xml", mjcf_of(model, fields))
    plant = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(plant)
    data.ctrl[:] = 1.0
    for _ in range(1000):
        mujoco.mj_step(plant, data)
    assert np.abs(data.qpos).max() < 1e-3


def test_offsets_are_the_motors_bias_and_friction_is_read_back(rng, tmp_path):
    result, fitted, _ = identified(LOADED, rng)
    robot = projections(result, fitted, Target.MJCF).robot
    assert robot.lost == ("load", "smooth_sign")
    path = write_mjcf(tmp_path / "arm.xml", mjcf_of(robot.model, joint_fields(robot)))
    q, v, a = rng.normal(size=(3, 40, 2))
    v = np.sign(v) * (0.2 + np.abs(v))  # away from standstill, where MuJoCo looks a step ahead
    read = MjcfReader(path, robot.model.joint_names)
    assert read.torques(q, v, a) == pytest.approx(robot.torques(q, v, a), abs=1e-9)


def test_a_servo_pulls_towards_its_target(tmp_path):
    model = RobotModel.from_urdf("ur5", gravity=(0.0, 0.0, 0.0))
    servo = PositionServo(kp=20.0, kv=0.5, force=3.0)
    fields = {name: JointFields(servo=servo) for name in model.joint_names}
    plant = mujoco.MjModel.from_xml_string(mjcf_of(model, fields))
    data = mujoco.MjData(plant)
    data.ctrl[0] = 0.1
    mujoco.mj_forward(plant, data)
    assert data.actuator_force[0] == pytest.approx(2.0)
    data.ctrl[0] = 1.0
    mujoco.mj_forward(plant, data)
    assert data.actuator_force[0] == pytest.approx(3.0)


def test_loops_close_in_mujoco(rng):
    chain = load_closed_chain("own-leg")
    plant = mujoco.MjModel.from_xml_string(mjcf_of(chain.model, {}, chain=chain))
    assert plant.neq == len(chain.closures)
    data = mujoco.MjData(plant)
    data.qpos[:] = chain.assemble(chain.actuated_home)
    mujoco.mj_forward(plant, data)
    errors = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert len(errors) == chain.n_equations
    assert np.abs(errors).max() < 1e-8


def test_meshes_are_copied_and_missing_ones_named(tmp_path):
    path = Path(example_robots()["panda"])
    model = RobotModel.from_urdf(path)
    meshes = MeshFolder(tmp_path / "meshes", [path.parent], MESH_FORMATS)
    file = write_mjcf(tmp_path / "arm.xml", mjcf_of(model, {}, meshes=meshes))
    plant = mujoco.MjModel.from_xml_path(str(file))
    assert plant.nmesh > 5 and len(list((tmp_path / "meshes").iterdir())) == plant.nmesh
    assert not meshes.missing
    nowhere = MeshFolder(tmp_path / "none", [tmp_path], MESH_FORMATS)
    mjcf_of(
        RobotModel.from_urdf(path.read_text().replace("package://", "package://gone/")),
        {},
        meshes=nowhere,
    )
    losses = {loss.code: loss.names for loss in losses_of(model, Target.MJCF, nowhere)}
    assert losses[LossCode.MESH_MISSING] == tuple(nowhere.missing) != ()
    assert losses[LossCode.VELOCITY_LIMITS] == model.joint_names


def test_a_link_whose_pictures_are_lost_is_seen_by_its_shapes_for_contacts():
    box = "<geometry><box size='0.1 0.1 0.1'/></geometry>"
    lost = "<visual><geometry><mesh filename='a.dae'/></geometry></visual>"
    for picture, group in ((lost, {2}), (f"<visual>{box}</visual>", {2, 3})):
        shapes = f'<link name="a">{picture}<collision>{box}</collision>'
        model = RobotModel.from_urdf(URDF.replace('<link name="a">', shapes))
        assert set(mujoco.MjModel.from_xml_string(mjcf_of(model, {})).geom_group) == group


@pytest.mark.parametrize(
    "name, content",
    [
        ("cut.stl", bytes(80) + (2).to_bytes(4, "little") + bytes(50)),
        ("empty.STL", b""),
        ("text.stl", b"solid part\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n"),
        ("cut.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 3\n"),
        ("page.obj", b"<html>not found</html>"),
        ("cut.msh", np.array([4, 0, 0, 4], "<i4").tobytes() + bytes(20)),
        ("cut.dae", b"<COLLADA><library_geometries>"),
    ],
)
def test_a_broken_mesh_is_refused_by_its_name(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    meshes = MeshFolder(tmp_path / "out", [tmp_path], (*MESH_FORMATS, ".dae"))
    with pytest.raises(ModelError, match=name):
        meshes.copy(name)
    assert not (tmp_path / "out").exists()


def test_meshes_that_mujoco_refuses_are_a_stated_loss(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<f4")[[[0, 1, 2], [1, 3, 2]]]
    triangles = [bytes(12) + three.tobytes() + bytes(2) for three in corners]
    (tmp_path / "flat.stl").write_bytes(bytes(80) + (2).to_bytes(4, "little") + b"".join(triangles))
    lines = ["outer loop", *(["vertex 0 0 1"] * 3), "endloop", "endfacet"]
    (tmp_path / "text.stl").write_text(
        "\n".join(["solid a", "facet normal 0 0 1", *lines, "endsolid a"])
    )
    seen, met = (
        "".join(f"<{kind}><geometry><mesh filename='{n}.stl'/></geometry></{kind}>" for n in names)
        for kind, names in (("visual", ("flat", "text")), ("collision", ("flat",)))
    )
    model = RobotModel.from_urdf(URDF.replace('<link name="a">', f'<link name="a">{seen}{met}'))
    meshes = MeshFolder(tmp_path / "meshes", [tmp_path], MESH_FORMATS)
    file = write_mjcf(tmp_path / "arm.xml", mjcf_of(model, {}, meshes=meshes))
    plant = mujoco.MjModel.from_xml_path(str(file))
    assert plant.ngeom == plant.nmesh == 1 and plant.geom_conaffinity[0] == 0
    losses = {loss.code: loss.names for loss in losses_of(model, Target.MJCF, meshes)}
    assert losses[LossCode.MESH_FORMAT] == ("text.stl", "flat.stl")


def test_a_follower_of_no_joint_is_a_stated_loss():
    urdf = example_robots()["panda"].read_text()
    model = RobotModel.from_urdf(
        urdf.replace('mimic joint="panda_finger_joint1"', 'mimic joint="?"')
    )
    assert "<equality>" not in mjcf_of(model, {})
    losses = losses_of(model, Target.MJCF, None)
    assert ("panda_finger_joint2",) in [x.names for x in losses if x.code is LossCode.MIMIC]


@pytest.mark.parametrize("target", Target)
def test_locked_joints_are_a_stated_loss_of_every_file(target):
    model = RobotModel.from_urdf("panda").with_locked(
        {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.0}
    )
    losses = {loss.code: loss.names for loss in losses_of(model, target, None)}
    assert losses[LossCode.LOCKED] == ("panda_finger_joint1 at 0.02", "panda_finger_joint2 at 0")
    follower = RobotModel.from_urdf("panda").with_locked({"panda_finger_joint1": 0.02})
    losses = {loss.code: loss.names for loss in losses_of(follower, target, None)}
    assert losses[LossCode.MIMIC] == ("panda_finger_joint2",)
    if target is Target.URDF:
        assert "<mimic" not in urdf_of(with_drives(follower))


def test_what_mjcf_cannot_express_is_refused(rng, tmp_path):
    floating = RobotModel.from_urdf("ur5", floating_base=True)
    for refused in (lambda: mjcf_of(floating, {}), lambda: require_target(Target.URDF, floating)):
        with pytest.raises(ModelError, match="neither revolute nor prismatic"):
            refused()
    model = RobotModel.from_urdf("ur5")
    rod = [1.0, *np.zeros(3), 0.1, 0.0, 0.1, *np.zeros(3)]  # without inertia about its axis
    for of_no_body in (np.zeros(10), rod):
        pi = model.pi
        pi[2] = of_no_body
        with pytest.raises(ModelError, match=model.body_names[2]):
            mjcf_of(model.with_pi(pi), {})
    twice = mjcf_of(model, {}).replace(model.body_names[2], model.body_names[1])
    with pytest.raises(ModelError, match="MuJoCo refuses"):
        write_mjcf(tmp_path / "twice.xml", twice)


def test_springs_pull_in_mujoco_as_in_ours(rng, tmp_path):
    model = RobotModel.from_urdf("ur5")
    names = model.joint_names
    springs = (
        Spring(names[0], zero=0.3, identified=True),
        Spring(names[1], anchors=(0.4, 0.1), zero=-0.2, identified=True),
        Spring(names[4], anchors=(0.1, 0.3), zero=1.7, identified=True),
    )
    friction = FrictionModel(
        replace(DriveTrain.direct(names), springs=springs), (FrictionTerm.OFFSET,)
    )
    robot = Projection(model, friction, rng.uniform(5.0, 50.0, size=len(friction.names)))
    path = write_mjcf(tmp_path / "arm.xml", mjcf_of(model, joint_fields(robot)))
    q, v, a = rng.normal(size=(3, 50, 6))
    read = MjcfReader(path, names)
    assert read.torques(q, v, a) == pytest.approx(robot.torques(q, v, a), abs=1e-9)


def test_a_closed_chain_has_our_torques_in_mujoco(rng, tmp_path):
    chain = load_closed_chain("own-leg")
    drives = {joint: JointDrive(*rng.uniform(0.1, 1.0, size=4)) for joint in chain.actuated}
    chain = chain.with_drives(drives)
    text = mjcf_of(chain.model, chain_fields(chain), chain=chain)
    read = MjcfReader(write_mjcf(tmp_path / "leg.xml", text), chain.model.joint_names)
    q_a = chain.actuated_home + 0.02 * rng.normal(size=(20, chain.n_actuated))
    v_a, a_a = rng.normal(size=(2, 20, chain.n_actuated))
    motion = chain.motion(q_a, v_a, a_a, ordered=False)
    dry = np.array([chain.drive(joint).F_c for joint in chain.model.joint_names])
    tree = read.smooth_torques(motion.q, motion.v, motion.a)
    smooth = chain.with_drives({j: replace(d, F_c=0.0) for j, d in drives.items()})
    found = np.einsum("kij,ki->kj", motion.G, tree)
    assert found == pytest.approx(smooth.torques(motion), abs=1e-9)
    assert read.dry_friction == pytest.approx(dry)
    plant = mujoco.MjModel.from_xml_string(text)
    assert [plant.actuator(i).name for i in range(plant.nu)] == [
        joint for joint in chain.model.joint_names if joint in chain.actuated
    ]


def test_a_robot_with_loops_is_written_with_them_to_mjcf_alone(rng, tmp_path):
    chain = load_closed_chain("own-leg")
    passive = {joint: JointDrive(*rng.uniform(0.1, 1.0, size=4)) for joint in chain.passive}
    model = DrivenRobot.of(chain.with_drives(passive))
    robot = with_drives(model, (*USUAL, FrictionTerm.OFFSET), rng)
    file = write_target(Target.MJCF, robot, tmp_path).files[0]
    assert mujoco.MjModel.from_xml_path(str(file)).neq == len(chain.closures)
    read = reader_of(Target.MJCF, file, robot)
    worst, torque = largest_differences(read, robot, states=50, seed=1)
    assert max(worst.values()) < Target.MJCF.tolerance(torque)
    for target in set(Target) - {Target.MJCF}:
        with pytest.raises(ModelError, match="has loops"):
            write_target(target, robot, tmp_path / "none")
    assert not (tmp_path / "none").exists()
