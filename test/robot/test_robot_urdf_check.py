# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions that no robot can have are refused in a sentence, before any parser guesses."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import RobotModel, example_robots

LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="1"/>'


def link(name: str, mass: str = "1") -> str:
    moments = 'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 0"/><mass value="{mass}"/>'
        f"<inertia {moments}/></inertial></link>"
    )


def joint(name: str, parent: str, child: str, *, xyz: str = "0 0 1", limit: str = LIMIT) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="0 0 0"/><axis xyz="0 0 1"/>{limit}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<robot name="arm"><link name="base"/>{"".join(parts)}</robot>'


ARM = robot(link("upper"), link("fore"), joint("j1", "base", "upper"), joint("j2", "upper", "fore"))


def test_a_sound_arm_has_no_warnings() -> None:
    assert RobotModel.from_urdf(ARM).warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('mass value="1"', 'mass value="heavy"', "isn't a finite number"),
        ('mass value="1"', 'mass value="4,0"', "isn't a finite number"),
        ('mass value="1"', 'mass value="4.0kg"', "isn't a finite number"),
        ('mass value="1"', 'mass value="nan"', "isn't a finite number"),
        ('mass value="1"', 'mass value=""', "isn't a finite number"),
        ('mass value="1"', 'mass value="1_0"', "isn't a finite number"),
        ('mass value="1"', 'mass value="١"', "isn't a finite number"),
        ('mass value="1"', 'mass value="-5"', "can't be a mass"),
        ('mass value="1"', 'mass value="1e30"', "can't be a mass"),
        ('ixx="0.1"', 'ixx="x"', "isn't a finite number"),
        ('ixx="0.1"', 'ixx="1e9"', "can't be an inertia"),
        ('xyz="0 0 1" rpy', 'xyz="0,0,1" rpy', "isn't 3 finite numbers"),
        ('xyz="0 0 1" rpy', 'xyz="0 1" rpy', "isn't 3 finite numbers"),
        ('xyz="0 0 1" rpy', 'xyz="1e30 0 0" rpy', "far outside"),
        ('rpy="0 0 0"', 'rpy="a b c"', "isn't 3 finite numbers"),
        ('<axis xyz="0 0 1"', '<axis xyz="0 0 0"', "not a direction"),
        ('<axis xyz="0 0 1"', '<axis xyz="nan 0 0"', "isn't 3 finite numbers"),
        ('upper="1"', 'upper="nan"', "isn't a finite number"),
        ('type="revolute"', 'type="screw"', "type 'screw'"),
        ('name="j2"', 'name="universe"', "'universe'"),
        ('name="j2"', 'name=""', "no name"),
        ('name="j2"', 'name="j1"', "called 'j1'"),
        ('<parent link="upper"/>', '<parent link="fore"/>', "its own parent by joint 'j2'"),
        ('<parent link="upper"/>', '<parent link="uper"/>', "Write 'upper'"),
        ('<parent link="upper"/>', "", "which does not exist"),
        ("</robot>", '<link name="alone"/></robot>', "2 links without a parent"),
        ("</robot>", joint("j3", "base", "fore") + "</robot>", "two parents, by joints 'j2' and"),
        ("</robot>", "", "can't be parsed"),
        ("<robot", '<!DOCTYPE x [<!ENTITY a "b">]><robot', "entities"),
        ("<robot", "<sdf><robot", "can't be parsed"),
    ],
)
def test_what_no_robot_can_have_is_refused(old: str, new: str, words: str) -> None:
    text = ARM.replace(old, new, 1)
    assert text != ARM
    with pytest.raises(ModelError, match=re.escape(words)) as err:
        RobotModel.from_urdf(text)
    assert err.value.remedy


def test_links_in_a_circle_and_endless_chains_are_refused() -> None:
    circle = robot(
        link("a"), link("b"), link("c"), joint("j1", "b", "a"), joint("j2", "a", "b"),
        joint("j3", "base", "c"),
    )  # fmt: skip
    links = [link(f"l{i}") for i in range(3000)]
    joints = [joint(f"j{i}", f"l{i - 1}" if i else "base", f"l{i}") for i in range(3000)]
    for text in (circle, robot(*links, *joints)):
        with pytest.raises(ModelError, match="form a circle"):
            RobotModel.from_urdf(text)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('mass value="1"', 'mass value="7778"', "grams"),
        ('xyz="0 0 1" rpy', 'xyz="0 0 90" rpy', "millimetres"),
        ('lower="-1" upper="1"', 'lower="-180" upper="180"', "degrees"),
        ('lower="-1" upper="1"', 'lower="1" upper="-1"', "above its upper"),
        ('velocity="1"', 'velocity="0"', "No velocity limit for joints j1"),
        ('effort="10"', 'effort="0"', "No effort limit for joints j1"),
        ('<mass value="1"/>', "", "link 'upper' has no value in a <mass>"),
        (' ixy="0"', "", "link 'upper' has no ixy in a <inertia>"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><axis xyz="1 0 0"/>', "several <axis>"),
    ],
)
def test_other_units_and_incomplete_or_repeated_elements_are_warned_of(
    old: str, new: str, words: str
) -> None:
    assert any(words in w for w in RobotModel.from_urdf(ARM.replace(old, new, 1)).warnings)


def test_names_may_hold_anything_that_xml_holds() -> None:
    text = ARM.replace('"fore"', '"fore[/red]&lt;b&gt; ü"')
    assert RobotModel.from_urdf(text).body_names[1] == "fore[/red]<b> ü"


def test_thousands_of_comments_cost_no_time() -> None:
    start = time.process_time()
    with pytest.raises(ModelError):
        RobotModel.from_urdf(ARM.replace("</robot>", "<!--" * 200_000 + "</robot>"))
    assert time.process_time() - start < 2.0


def test_a_folder_of_a_robots_name_does_not_hide_the_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ur5").mkdir()
    monkeypatch.chdir(tmp_path)
    assert RobotModel.from_urdf("ur5").nv == 6


def test_a_misspelt_robot_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Did you mean 'panda'"):
        RobotModel.from_urdf("pandaa")
    with pytest.raises(ModelError, match="folder"):
        RobotModel.from_urdf(tmp_path)


@pytest.mark.parametrize("name", ["xarm7", "panda", "talos_arm", "go2", "tiago", "icub"])
def test_real_descriptions_pass_the_check(name: str) -> None:
    RobotModel.from_urdf(str(example_robots().get(name, example_robots()["ur5"])))
