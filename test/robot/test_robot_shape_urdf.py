# SPDX-License-Identifier: Apache-2.0
"""Collision geometry of a URDF link as a shape."""

import numpy as np
import pytest
import trimesh

from sysid_core.errors import ModelError
from sysid_core.robot.shapes import Shape, shape_from_urdf

URDF = """<robot name="r"><link name="base"/>
<link name="tool">
  <collision><origin xyz="0 0 0.1" rpy="0 0 0"/><geometry><box size="0.1 0.2 0.05"/></geometry></collision>
  <collision><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/>
    <geometry><cylinder radius="0.03" length="0.1"/></geometry></collision>
  <collision><geometry><mesh filename="package://parts/ball.stl" scale="0.001 0.001 0.001"/></geometry></collision>
</link></robot>"""


def test_boxes_cylinders_and_meshes_are_united(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=3, radius=40.0)
    (tmp_path / "parts").mkdir()
    ball.export(tmp_path / "parts" / "ball.stl")
    shape = shape_from_urdf(URDF, "tool", package_root=tmp_path, cells=300)
    expected = 1e-3 + np.pi * 0.03**2 * 0.1 + ball.volume * 1e-9
    assert shape.volume == pytest.approx(expected, rel=0.03)
    assert shape.upper[0] == pytest.approx(0.25, abs=1e-6)
    assert shape.upper[2] == pytest.approx(0.125, abs=1e-6)


def test_a_turned_box_is_the_posed_box():
    text = """<robot name="r"><link name="a"><collision><origin xyz="0.1 0 0" rpy="0.3 0.2 0.5"/>
    <geometry><box size="0.1 0.2 0.05"/></geometry></collision></link></robot>"""
    X = trimesh.transformations.euler_matrix(0.3, 0.2, 0.5, axes="sxyz")
    X[0, 3] = 0.1
    truth = Shape.box((0.1, 0.2, 0.05)).posed(X).homogeneous(2.0)
    found = shape_from_urdf(text, "a", cells=200).homogeneous(2.0)
    assert np.allclose(found, truth, atol=0.02 * np.abs(truth[4:]).max())


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ModelError, match="no link 'gripper'"):
        shape_from_urdf(URDF, "gripper")
    with pytest.raises(ModelError, match="parsed"):
        shape_from_urdf("<robot><link></robot>", "link")
    with pytest.raises(ModelError, match="no collision"):
        shape_from_urdf(URDF, "base")
    with pytest.raises(ModelError, match=r"ball\.stl"):
        shape_from_urdf(URDF, "tool", package_root=tmp_path)
