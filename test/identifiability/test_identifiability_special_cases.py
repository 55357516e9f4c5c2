# SPDX-License-Identifier: Apache-2.0
"""Mimic joints, rotors, rounded angles, scales."""

import numpy as np
import pinocchio as pin
import pytest
from special_robots import GEN3, chain_urdf, coupled_regressor, hand_urdf

from sysid_core.errors import IdentifiabilityError, ModelError
from sysid_core.identifiability import Excitation
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, Rotor
from sysid_core.robot.held_joints import exact_angle


@pytest.mark.parametrize("parent", ["palm", "one"])
def test_fingers_that_one_drive_moves_show_what_their_coupled_regressor_shows(parent, rng):
    model = RobotModel.from_urdf(hand_urdf(parent))
    answer = structural_identifiability(model, mimic="coupled")
    Y = coupled_regressor(model, rng)
    base = answer.base

    assert answer.n_base == np.linalg.matrix_rank(Y, tol=1e-8)
    assert answer.n_base <= structural_identifiability(model).n_base
    np.testing.assert_allclose(base.base_regressor(Y) @ base.regrouping, Y, atol=1e-8)
    assert any("leader" in warning for warning in answer.warnings)


def test_independent_analysis_of_a_mimic_joint_says_so():
    answer = structural_identifiability(RobotModel.from_urdf(hand_urdf()))
    assert any("follower" in w and "upper bound" in w for w in answer.warnings)


def test_mimic_joint_away_from_its_leader_is_refused_with_a_remedy():
    model = RobotModel.from_urdf(hand_urdf("arm"))
    with pytest.raises(IdentifiabilityError, match=r"follower.*mimic 'leader'.*independent"):
        structural_identifiability(model, mimic="coupled")


def with_rotor_bodies(model, rotors):
    """Every rotor as a body on a revolute joint of its own, and G with v = G qdot."""
    pin_model = model.pin_model.copy()
    for rotor in rotors:
        j = model.pin_model.getJointId(rotor.joint)
        z = np.array(rotor.axis if rotor.axis else (0.0, 0.0, 1.0))
        turn = pin.Quaternion.FromTwoVectors(np.array([0, 0, 1.0]), z).toRotationMatrix()
        placement = model.pin_model.jointPlacements[j] * pin.SE3(turn, np.array(rotor.position))
        pin_model.addJoint(
            model.pin_model.parents[j], pin.JointModelRZ(), placement, f"{rotor.joint}_rotor"
        )
    names = list(pin_model.names)[1:]
    G = np.zeros((len(names), model.nv))
    for row, name in enumerate(names):
        driven = name.removesuffix("_rotor")
        ratio = next((r.ratio for r in rotors if f"{r.joint}_rotor" == name), 1.0)
        G[row, model.joint_names.index(driven)] = ratio
    return RobotModel("with rotors", pin_model), G


@pytest.mark.parametrize("robot", ["puma560", "scara", "cheetah3-leg"])
def test_rotor_regressor_is_that_of_rotors_as_bodies(robot, rng):
    model = RobotModel.from_urdf(robot)
    rotors = [
        Rotor(r.joint, r.ratio, axis, r.position)
        for r, axis in zip(
            Rotor.of_reference(robot), [None, (1.0, 0, 0), (0.6, 0, 0.8)] * 2, strict=False
        )
    ]
    big, G = with_rotor_bodies(model, rotors)
    q, v, a = rng.normal(size=(3, 20, model.nv))
    Y = G.T @ big.torque_regressor(q @ G.T, v @ G.T, a @ G.T)
    columns = [10 * big.joint_names.index(f"{r.joint}_rotor") + 9 for r in rotors]

    np.testing.assert_allclose(Rotor.regressor(model, rotors, q, v, a), Y[..., columns], atol=1e-9)


def test_ratio_one_rotor_parallel_to_its_joint_adds_nothing_even_on_a_floating_base():
    model = RobotModel.from_urdf("cheetah3-leg", floating_base=True)
    n = structural_identifiability(model).n_base

    def count(ratio, axis):
        rotors = [Rotor("hip", ratio, axis)]
        return structural_identifiability(model, rotors=rotors).n_base_with_rotors

    assert count(1.0, None) == n
    assert count(1.0, (1.0, 0, 0)) == n + 1
    assert count(10.0, None) == n + 1


def test_rotor_of_a_prismatic_joint_on_a_floating_base_adds_one():
    model = RobotModel.from_urdf("scara", floating_base=True)
    answer = structural_identifiability(model, rotors=[Rotor("joint3", 300.0)])
    assert answer.n_base_with_rotors == answer.n_base + 1


def test_rotors_are_read_from_yaml_and_from_transmissions(tmp_path):
    path = tmp_path / "rotors.yaml"
    path.write_text("rotors:\n- {joint: joint1, ratio: 100, axis: [0, 0, 2]}\n")
    transmission = (
        '<transmission name="t"><type>transmission_interface/SimpleTransmission</type>'
        '<joint name="joint2"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>'
        '<actuator name="m"><mechanicalReduction>-48</mechanicalReduction></actuator></transmission>'
    )

    assert Rotor.load(path) == (Rotor("joint1", 100.0, (0.0, 0.0, 1.0)),)
    assert Rotor.in_urdf(chain_urdf(GEN3, extra=transmission)) == (Rotor("joint2", -48.0),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("motors: []", r"write `rotors`"),
        ("rotors: [{joint: joint1}]", r"`rotors\[0\].ratio` is missing"),
        ("rotors: [{joint: joint1, ratio: 0}]", "gear ratio 0"),
        ("rotors: [{joint: joint1, ratio: .nan}]", "finite"),
        ("rotors: [{joint: joint1, ratio: 1, axs: [0, 0, 1]}]", "axs"),
        ("rotors: [{joint: joint1, ratio: 1, axis: [0, 1]}]", "axis"),
        ("rotors: [joint1]", "expected a mapping"),
    ],
)
def test_bad_rotor_file_is_refused(tmp_path, text, message):
    path = tmp_path / "rotors.yaml"
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        Rotor.load(path)


def test_rotor_of_an_unknown_joint_is_refused():
    with pytest.raises(ModelError, match=r"'elbow' is not a moving joint.*joint1"):
        structural_identifiability(RobotModel.from_urdf("scara"), rotors=[Rotor("elbow", 5.0)])


def test_rounded_angles_are_analysed_both_ways():
    answer = structural_identifiability(RobotModel.from_urdf(chain_urdf(GEN3)))

    assert answer.n_base == 45
    assert answer.exact_angles.n_base == 43
    assert any("45" in w and "43" in w and "joint1" in w for w in answer.warnings)


def test_data_are_held_against_the_practical_answer(rng):
    model = RobotModel.from_urdf(chain_urdf(GEN3))
    answer = structural_identifiability(model)
    Y = model.torque_regressor(*model.random_states(60, rng))
    excitation = Excitation.measured(answer, Y)

    assert answer.practical is answer.exact_angles
    assert excitation.maximally_exciting
    assert excitation.structural_rank == 43
    assert excitation.condition_number < 1e3


def test_exactly_written_angles_need_no_second_answer():
    exact, changed = RobotModel.from_urdf(chain_urdf(GEN3)).with_exact_angles()
    answer = structural_identifiability(exact)

    assert changed == tuple(f"joint{i}" for i in range(1, 8))
    assert answer.n_base == 43
    assert answer.exact_angles is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3.1416", np.pi),
        ("-1.57", -np.pi / 2),
        ("1.5707", np.pi / 2),
        ("0.785398", np.pi / 4),
        ("2.0944", 2 * np.pi / 3),
        ("1.5", 1.5),
        ("1.5710", 1.5710),
        ("0.5", 0.5),
        ("0", 0.0),
        ("2.7629E-18", 2.7629e-18),
    ],
)
def test_only_angles_that_agree_to_their_last_digit_are_made_exact(text, meant):
    assert exact_angle(text) == meant


def test_decision_near_the_edge_is_reported_with_its_direction():
    rng = np.random.default_rng(3)
    model = pin.Model()
    for i in range(4):  # axes that are parallel but for a few 1e-9 rad
        tilt = pin.exp3(2e-9 * rng.normal(size=3))
        model.addJoint(i, pin.JointModelRZ(), pin.SE3(tilt, np.array([0.4, 0, 0])), f"joint{i}")
    answer = structural_identifiability(RobotModel("almost planar", model))

    assert any("near the threshold" in w and "Ixz" in w for w in answer.warnings)
    # One parameter of the first link and three of each other: as of exactly parallel axes.
    coarse = structural_identifiability(RobotModel("almost planar", model), tolerance=1e-6)
    assert coarse.n_base == 1 + 3 * 3


def test_clear_cut_robot_raises_no_doubts():
    assert structural_identifiability(RobotModel.from_urdf("puma560")).warnings == ()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_counts_dont_depend_on_the_size_of_the_robot(scale):
    model = RobotModel.from_urdf("puma560").pin_model.copy()
    for j in range(1, model.njoints):
        placement = model.jointPlacements[j]
        model.jointPlacements[j] = pin.SE3(placement.rotation, scale * placement.translation)
    assert structural_identifiability(RobotModel("scaled", model)).n_base == 36


def test_counts_dont_depend_on_where_the_robot_stands():
    model = RobotModel.from_urdf("puma560").pin_model.copy()
    model.jointPlacements[1] = pin.SE3(np.eye(3), np.array([1e5, -3e5, 10.0]))
    assert structural_identifiability(RobotModel("far away", model)).n_base == 36


@pytest.mark.parametrize("ratio", [0.01, 2.0, -100.0, 1e4])
def test_rotor_counts_dont_depend_on_the_gear_ratio(ratio):
    model = RobotModel.from_urdf("puma560")
    rotors = [Rotor(joint, ratio) for joint in model.joint_names]
    assert structural_identifiability(model, rotors=rotors).n_base_with_rotors == 40
