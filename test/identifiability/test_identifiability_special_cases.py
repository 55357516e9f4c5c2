# SPDX-License-Identifier: Apache-2.0
"""Rotors, mimic joints, rounded angles, doubts, certificates, and the maps of base parameters."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import IdentifiabilityError, ModelError
from sysid_core.identifiability import BaseParameters, measure_excitation, random_states
from sysid_core.identifiability.rpna import (
    StructuralVerdict,
    combination_text,
    coupling_matrix,
    exact_angle,
    mimic_joints,
    structural_identifiability,
    with_exact_angles,
)
from sysid_core.robot import (
    RobotModel,
    Rotor,
    joint_torque_regressor,
    load_rotors,
    reference_robot,
    reference_rotors,
    rotor_regressor,
    rotors_from_urdf,
)

# The Kinova Gen3's joint origins as its URDF writes them: right angles with four decimals.
GEN3 = [
    ("0 0 0.15643", "-3.1416 2.7629E-18 -4.9305E-36"),
    ("0 0.005375 -0.12838", "1.5708 2.1343E-17 -1.1102E-16"),
    ("0 -0.21038 -0.006375", "-1.5708 1.2326E-32 -2.9122E-16"),
    ("0 0.006375 -0.21038", "1.5708 -6.6954E-17 -1.6653E-16"),
    ("0 -0.20843 -0.006375", "-1.5708 2.2204E-16 -6.373E-17"),
    ("0 0.00017505 -0.10593", "1.5708 9.2076E-28 -8.2157E-15"),
    ("0 -0.10593 -0.00017505", "-1.5708 -5.5511E-17 9.6396E-17"),
]


def chain_urdf(origins, kind="continuous", extra=""):
    parts = ['<robot name="chain"><link name="link0"/>']
    for i, (xyz, rpy) in enumerate(origins, start=1):
        parts.append(
            f'<link name="link{i}"/><joint name="joint{i}" type="{kind}">'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><parent link="link{i - 1}"/><child link="link{i}"/>'
            '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        )
    return "".join(parts) + extra + "</robot>"


def hand_urdf(follower_parent="palm", offset="0.2"):
    """A turning wrist with two sliding or turning fingers, the second follows the first."""
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
    return f"""<robot name="hand"><link name="base"/><link name="arm"/><link name="palm"/>
    <link name="one"/><link name="two"/>
    <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
      <origin xyz="0 0 0.3" rpy="0.3 0 0"/><axis xyz="0 1 0"/>{limit}</joint>
    <joint name="wrist" type="revolute"><parent link="arm"/><child link="palm"/>
      <origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>{limit}</joint>
    <joint name="leader" type="revolute"><parent link="palm"/><child link="one"/>
      <origin xyz="0.1 0.03 0"/><axis xyz="0 0 1"/>{limit}</joint>
    <joint name="follower" type="revolute"><parent link="{follower_parent}"/><child link="two"/>
      <origin xyz="0.1 -0.03 0"/><axis xyz="0 0 1"/>{limit}
      <mimic joint="leader" multiplier="-1.5" offset="{offset}"/></joint></robot>"""


def coupled_regressor(model, rng, K=60):
    G = coupling_matrix(model)
    q, v, a = (rng.uniform(-2, 2, (K, G.shape[1])) @ G.T for _ in range(3))
    for mimic in mimic_joints(model):
        q[:, model.joint_names.index(mimic.joint)] += mimic.offset
    return (G.T @ joint_torque_regressor(model, q, v, a)).reshape(-1, 10 * model.n_bodies)


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
    model = reference_robot(robot)
    rotors = [
        Rotor(r.joint, r.ratio, axis, r.position)
        for r, axis in zip(
            reference_rotors(robot), [None, (1.0, 0, 0), (0.6, 0, 0.8)] * 2, strict=False
        )
    ]
    big, G = with_rotor_bodies(model, rotors)
    q, v, a = rng.normal(size=(3, 20, model.nv))
    Y = G.T @ joint_torque_regressor(big, q @ G.T, v @ G.T, a @ G.T)
    columns = [10 * big.joint_names.index(f"{r.joint}_rotor") + 9 for r in rotors]

    np.testing.assert_allclose(rotor_regressor(model, rotors, q, v, a), Y[..., columns], atol=1e-9)


def test_ratio_one_rotor_parallel_to_its_joint_adds_nothing_even_on_a_floating_base():
    model = reference_robot("cheetah3-leg", floating_base=True)
    n = structural_identifiability(model).n_base

    def count(ratio, axis):
        rotors = [Rotor("hip", ratio, axis)]
        return structural_identifiability(model, rotors=rotors).n_base_with_rotors

    assert count(1.0, None) == n
    assert count(1.0, (1.0, 0, 0)) == n + 1
    assert count(10.0, None) == n + 1


def test_rotor_of_a_prismatic_joint_on_a_floating_base_adds_one():
    model = reference_robot("scara", floating_base=True)
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

    assert load_rotors(path) == (Rotor("joint1", 100.0, (0.0, 0.0, 1.0)),)
    assert rotors_from_urdf(chain_urdf(GEN3, extra=transmission)) == (Rotor("joint2", -48.0),)


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
        load_rotors(path)


def test_rotor_of_an_unknown_joint_is_refused():
    with pytest.raises(ModelError, match=r"'elbow' is not a moving joint.*joint1"):
        structural_identifiability(reference_robot("scara"), rotors=[Rotor("elbow", 5.0)])


def test_rounded_angles_are_analysed_both_ways():
    answer = structural_identifiability(RobotModel.from_urdf(chain_urdf(GEN3)))

    assert answer.n_base == 45
    assert answer.exact_angles.n_base == 43
    assert any("45" in w and "43" in w and "joint1" in w for w in answer.warnings)


def test_data_are_held_against_the_practical_answer(rng):
    model = RobotModel.from_urdf(chain_urdf(GEN3))
    answer = structural_identifiability(model)
    Y = joint_torque_regressor(model, *random_states(model, 60, rng))
    excitation = measure_excitation(answer, Y)

    assert answer.practical is answer.exact_angles
    assert excitation.maximally_exciting
    assert excitation.structural_rank == 43
    assert excitation.condition_number < 1e3


def test_exactly_written_angles_need_no_second_answer():
    exact, changed = with_exact_angles(RobotModel.from_urdf(chain_urdf(GEN3)))
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

    assert any("near the edge" in w and "Ixz" in w for w in answer.warnings)
    # One parameter of the first link and three of each other: as of exactly parallel axes.
    coarse = structural_identifiability(RobotModel("almost planar", model), tolerance=1e-6)
    assert coarse.n_base == 1 + 3 * 3


def test_clear_cut_robot_raises_no_doubts():
    assert structural_identifiability(reference_robot("puma560")).warnings == ()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_counts_dont_depend_on_the_size_of_the_robot(scale):
    model = reference_robot("puma560").pin_model.copy()
    for j in range(1, model.njoints):
        placement = model.jointPlacements[j]
        model.jointPlacements[j] = pin.SE3(placement.rotation, scale * placement.translation)
    assert structural_identifiability(RobotModel("scaled", model)).n_base == 36


def test_counts_dont_depend_on_where_the_robot_stands():
    model = reference_robot("puma560").pin_model.copy()
    model.jointPlacements[1] = pin.SE3(np.eye(3), np.array([1e5, -3e5, 10.0]))
    assert structural_identifiability(RobotModel("far away", model)).n_base == 36


@pytest.mark.parametrize("ratio", [0.01, 2.0, -100.0, 1e4])
def test_rotor_counts_dont_depend_on_the_gear_ratio(ratio):
    model = reference_robot("puma560")
    rotors = [Rotor(joint, ratio) for joint in model.joint_names]
    assert structural_identifiability(model, rotors=rotors).n_base_with_rotors == 40


def test_certificate_of_full_motion_is_maximal(rng):
    model = reference_robot("puma560")
    Y = joint_torque_regressor(model, *random_states(model, 60, rng))
    excitation = measure_excitation(structural_identifiability(model), Y)

    assert excitation.maximally_exciting
    assert excitation.missing == ()
    assert 1 < excitation.condition_number <= excitation.condition_number_si < 1e3


def test_certificate_names_what_a_poor_motion_doesnt_show(rng):
    model = reference_robot("two-link-parallel")
    q, v, a = rng.normal(size=(3, 60, 2))
    q[:, 1] = v[:, 1] = a[:, 1] = 0.0  # the elbow is held straight
    Y = joint_torque_regressor(model, q, v, a)
    excitation = measure_excitation(structural_identifiability(model), Y)

    # tau1 = (Izz1 + Izz2 + 2 l mx2) a, tau2 = (Izz2 + l mx2) a + l my2 v^2: 3 of 4.
    assert (excitation.rank, excitation.structural_rank) == (3, 4)
    assert not excitation.maximally_exciting
    assert np.isinf(excitation.condition_number)
    (missing,) = excitation.missing
    assert set(missing) == {"link1.Izz", "link2.mx", "link2.Izz"}
    direction = np.zeros(20)
    names = [p.name for p in structural_identifiability(model).parameters]
    for name, value in missing.items():
        direction[names.index(name)] = value
    assert np.abs(Y @ direction).max() < 1e-9
    assert "don't show" in str(excitation)


def test_certificate_refuses_a_regressor_of_another_robot():
    answer = structural_identifiability(reference_robot("puma560"))
    with pytest.raises(IdentifiabilityError, match="60 parameters"):
        measure_excitation(answer, np.ones((10, 50)))


def test_parameters_come_back_from_base_values_with_and_without_a_prior(rng):
    base = structural_identifiability(reference_robot("puma560")).base
    pi, prior = rng.normal(size=(2, 60))
    pi_b = base.base_values(pi)
    plain, near = base.full_values(pi_b), base.full_values(pi_b, prior)

    np.testing.assert_allclose(base.base_values(plain), pi_b, atol=1e-10)
    np.testing.assert_allclose(base.base_values(near), pi_b, atol=1e-10)
    assert np.linalg.norm(near - prior) <= np.linalg.norm(pi - prior)
    assert np.linalg.norm(plain) <= np.linalg.norm(pi)
    assert isinstance(base, BaseParameters)


def test_regroupings_say_in_words_what_they_mean():
    answer = structural_identifiability(reference_robot("puma560"))
    by_name = {r.base: r for r in answer.regroupings}

    assert by_name["link6.Izz"].meaning == "identifiable alone"
    assert (
        "inertia transfer of link3, link4, link5, link6 into link2" in by_name["link2.mx"].meaning
    )
    assert by_name["link2.mx"].terms["link3.m"] == pytest.approx(0.4318)
    assert "Iyy of link6 itself" in by_name["link6.Ixx"].meaning
    assert str(answer.transfers[5]) == "link6 into link5 across joint6: m; mz; Ixx + Iyy"


def test_a_combination_has_no_ones_in_it():
    terms = {"a.Ixx": 1.0, "b.Iyy": 1.0 - 1e-9, "b.mz": -0.5, "c.m": -1.0 - 1e-9}
    assert combination_text(terms) == "a.Ixx + b.Iyy - 0.5 b.mz - c.m"


def test_verdicts_are_asked_by_name():
    answer = structural_identifiability(reference_robot("puma560"))
    assert answer.verdict("link1.m") is StructuralVerdict.UNIDENTIFIABLE
    with pytest.raises(IdentifiabilityError, match=r"no parameter 'm1'.*link1\.m"):
        answer.verdict("m1")


def test_bad_gravity_is_refused():
    with pytest.raises(IdentifiabilityError, match="three numbers"):
        structural_identifiability(reference_robot("scara"), gravity=[0, -9.81])
