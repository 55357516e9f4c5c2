# SPDX-License-Identifier: Apache-2.0
"""The figures of Wensing, Niemeyer, Slotine 2023 (tables 2, 4, 5, section 4.5)."""

import pytest

from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, Rotor

# robot: dim V (without gravity), dim V (with), dim K (without), dim K (with), dim T, base, with rotors
PAPER = {
    "puma560": (
        [1, 3, 6, 6, 6, 6],
        [2, 5, 6, 6, 6, 6],
        [1, 6, 10, 10, 10, 10],
        [1, 8, 10, 10, 10, 10],
        [9, 3, 3, 3, 3, 3],
        36,
        40,
    ),
    "scara": (
        [1, 3, 4, 4],
        [2, 4, 4, 4],
        [1, 4, 4, 4],
        [1, 4, 4, 4],
        [9, 7, 9, 7],
        8,
        11,
    ),
    "cheetah3-leg": ([1, 3, 6], [3, 6, 6], [1, 6, 10], [3, 9, 10], [7, 3, 3], 17, 18),
}


@pytest.mark.parametrize("robot", PAPER)
def test_dimensions_and_counts_are_the_papers(robot):
    v0, v, k0, k, transfer, n_base, with_rotors = PAPER[robot]
    model, rotors = RobotModel.from_urdf(robot), Rotor.of_reference(robot)
    answer = structural_identifiability(model, rotors=rotors)
    weightless = structural_identifiability(model, gravity=[0, 0, 0])

    assert [body.dim_v for body in answer.bodies] == v
    assert [body.dim_v for body in weightless.bodies] == v0
    assert [body.dim_k for body in answer.bodies] == k
    assert [body.dim_k for body in weightless.bodies] == k0
    assert [body.dim_transfer for body in answer.bodies] == transfer
    assert (answer.n_base, answer.n_base_with_rotors) == (n_base, with_rotors)


def test_puma_without_gravity_has_34_base_parameters():
    assert (
        structural_identifiability(RobotModel.from_urdf("puma560"), gravity=[0, 0, 0]).n_base == 34
    )


def test_a_free_torso_lets_a_cheetah_leg_show_21_parameters_and_24_with_rotors():
    model, rotors = (
        RobotModel.from_urdf("cheetah3-leg", floating_base=True),
        Rotor.of_reference("cheetah3-leg"),
    )
    answer = structural_identifiability(model, rotors=rotors)

    assert answer.n_base - 10 == 21  # the torso's own ten are all identifiable
    assert answer.n_base_with_rotors - 10 == 24
    assert [b.dim_v for b in answer.bodies] == [6, 6, 6, 6]
    assert [b.dim_k for b in answer.bodies] == [10, 10, 10, 10]
    assert [b.dim_transfer for b in answer.bodies] == [0, 3, 3, 3]


def test_two_parallel_links_have_the_base_parameters_of_the_paper():
    answer = structural_identifiability(RobotModel.from_urdf("two-link-parallel"))

    assert answer.base.base_names == ("link1.Izz", "link2.mx", "link2.my", "link2.Izz")
    assert answer.base.combination(0) == pytest.approx({"link1.Izz": 1.0, "link2.m": 0.5**2})


def test_two_perpendicular_links_have_one_and_seven_base_parameters():
    answer = structural_identifiability(RobotModel.from_urdf("two-link-perpendicular"))
    names = answer.base.base_names

    assert len(names) == 8
    assert names[0] == "link1.Izz"
    assert set(names[1:]) == {f"link2.{n}" for n in ("mx", "my", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")}


@pytest.mark.parametrize(
    ("robot", "added"), [("two-link-parallel", 1), ("two-link-perpendicular", 0)]
)
def test_a_rotor_counts_only_if_it_is_felt_earlier_in_the_chain(robot, added):
    answer = structural_identifiability(
        RobotModel.from_urdf(robot), rotors=Rotor.of_reference(robot)
    )
    assert answer.n_base_with_rotors == answer.n_base + added


ROWS = ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy")
# Stars and crosses per row of the paper's tables 2 and 4 (its circles are lost in the text).
MARKS = {
    "puma560": ([0, 3, 2, 0, 0, 0, 1, 5, 4, 4], [2, 1, 1, 2, 1, 1, 0, 1, 1, 1]),
    "scara": ([0, 1, 1, 0, 0, 0, 1, 0, 0, 0], [1, 1, 1, 4, 4, 4, 0, 4, 4, 4]),
}


@pytest.mark.parametrize("robot", MARKS)
def test_single_parameters_carry_the_stars_and_crosses_of_the_papers_tables(robot):
    stars, crosses = MARKS[robot]
    answer = structural_identifiability(RobotModel.from_urdf(robot))
    rows = {row: [] for row in ROWS}
    for parameter in answer.parameters:
        rows[parameter.name.rpartition(".")[2]].append(parameter.verdict.symbol)

    assert [rows[row].count("★") for row in ROWS] == stars
    assert [rows[row].count("✕") for row in ROWS] == crosses
    assert sum(symbol in "★●" for row in ROWS for symbol in rows[row]) == answer.n_base
