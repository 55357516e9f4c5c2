# SPDX-License-Identifier: Apache-2.0
"""Names and shapes of descriptions that a format doesn't take: replaced and told, never a wrong file."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET

import pytest
import yaml
from exported_arm import with_drives
from two_joint_arm import URDF

from sysid_core.export import Target
from sysid_core.export.files import LossCode, largest_differences, reader_of, write_target
from sysid_core.export.projection import Projection
from sysid_core.robot import RobotModel

FLANGE = """<link name="flange"/><joint name="f" type="fixed"><origin xyz="0.1 0.2 0.3"
rpy="0.4 -0.5 0.6"/><parent link="b"/><child link="flange"/></joint></robot>"""


def frictionless(urdf: str) -> Projection:
    return with_drives(RobotModel.from_urdf(urdf))


@pytest.mark.parametrize(
    ("renamed", "lost"),
    [
        ({"j1": "a", "j2": "b"}, {"a", "b"}),  # joints as links
        ({"flange": "j1"}, {"j1"}),  # a frame as a joint
        ({"a": "arm::a", "j1": "__j1__", "base": "j2"}, {"arm::a", "__j1__"}),
        ({"a": "world", "base": "base"}, {"world"}),
        ({"base": "world", "a": "base"}, set()),  # the base's own name is nobody's matter
    ],
)
def test_names_share_one_scope_in_sdf(renamed, lost, tmp_path):
    urdf = URDF.replace("</robot>", FLANGE)
    for old in renamed:
        urdf = urdf.replace(f'"{old}"', f'"<{old}>"')
    for old, new in renamed.items():
        urdf = urdf.replace(f'"<{old}>"', f'"{new}"')
    robot = frictionless(urdf)
    written = write_target(Target.SDF, robot, tmp_path)
    model = ET.parse(written.files[0]).getroot().find("model")
    names = [e.get("name") for tag in ("link", "joint", "frame") for e in model.findall(tag)]
    assert len(set(names)) == len(names) == 7
    assert not any(n == "world" or "::" in n or n.startswith("__") for n in names)
    told = {loss.code: set(loss.names) for loss in written.losses}
    assert told.get(LossCode.NAMES, set()) == lost
    reader = reader_of(Target.SDF, written.files[0], robot)
    worst, _ = largest_differences(reader, robot, states=20, seed=1)
    assert max(worst.values()) < 1e-9


@pytest.mark.parametrize("target", [Target.MJCF, Target.SDF])
@pytest.mark.parametrize(
    "shape",
    [
        '<capsule radius="0.1" length="0.2"/>',
        '<box size="0.1, 0.1 0.1"/>',
        '<box size="0.1 0.1"/>',
        '<cylinder radius="0.1"/>',
        '<sphere radius="0"/>',
        '<mesh filename=""/>',
        '<mesh filename="a.stl" scale="1 0 1"/>',
        "",
    ],
)
def test_shapes_that_cannot_be_written_are_told(target, shape, tmp_path):
    seen = '<link name="a"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
    urdf = URDF.replace('<link name="a">', f"{seen}<visual><geometry>{shape}</geometry></visual>")
    written = write_target(target, frictionless(urdf), tmp_path)
    assert {loss.code: loss.names for loss in written.losses}[LossCode.SHAPES] == ("a",)
    text = written.files[0].read_text()
    assert text.count("<geom ") + text.count("<geometry>") == 1


def test_meshes_of_a_urdf_are_copied_kept_or_told(tmp_path):
    (tmp_path / "robot/parts").mkdir(parents=True)
    (tmp_path / "robot/parts/a.glb").write_bytes(b"glTF")
    names = ("parts/a.glb", "package://robot/parts/a.glb", "parts/b.stl", "package://gone/a.stl")
    shapes = (f'<visual><geometry><mesh filename="{n}"/></geometry></visual>' for n in names)
    urdf = URDF.replace('<link name="a">', f'<link name="a">{"".join(shapes)}')
    places = (tmp_path / "robot",)
    written = write_target(Target.URDF, frictionless(urdf), tmp_path / "out", places=places)
    found = ET.parse(written.files[0]).getroot().findall("link/visual/geometry/mesh")
    assert [mesh.get("filename") for mesh in found] == ["meshes/000_a.glb", *names[1:]]
    assert written.files[1].read_bytes() == b"glTF" and len(written.files) == 2
    losses = {loss.code: loss.names for loss in written.losses}
    assert losses == {LossCode.MESH_MISSING: names[2:]}


def test_any_name_of_a_joint_is_a_name_in_yaml_and_c(tmp_path):
    urdf = URDF.replace('"j1"', '"j {1} 😀 ??/"').replace('effort="50" velocity="5"', 'effort="0"')
    robot = frictionless(urdf.replace('effort="0"', 'effort="0" velocity="0"'))
    written = write_target(Target.ROS2_CONTROL, robot, tmp_path)
    raw = yaml.safe_load(written.files[-1].read_text(encoding="utf-8"))
    joints = raw["motion_guard"]["ros__parameters"]["joints"]
    assert joints == list(robot.model.joint_names)
    if shutil.which("cc"):
        reader = reader_of(Target.C, written.files[0], robot)
        worst, _ = largest_differences(reader, robot, states=20, seed=1)
        assert max(worst.values()) < 1e-9
