# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from exported_arm import LOADED, identified, with_drives
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.errors import ModelError
from sysid_core.export import Target
from sysid_core.export.projection import projections
from sysid_core.export.sdf import SdfReader, sdf_of
from sysid_core.robot import RobotModel, example_robots


def largest_difference(model: RobotModel, rng: np.random.Generator, states: int) -> float:
    read = SdfReader(sdf_of(with_drives(model)), model.joint_names, model.gravity)
    q, v, a = 2.0 * rng.normal(size=(3, states, model.nv))
    return float(np.abs(read.torques(q, v, a) - model.inverse_dynamics(q, v, a)).max())


@pytest.mark.parametrize("name", [n for n in ("panda", "ur5") if n in example_robots()])
def test_sdf_has_our_torques(name, rng):
    model = with_consistent_bodies(RobotModel.from_urdf(name), rng)
    assert largest_difference(model, rng, 1000) < 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_sdf_has_our_torques_of_random_trees(seed):
    rng = np.random.default_rng(seed)
    assert largest_difference(RobotModel.from_urdf(random_urdf(rng)), rng, 20) < 1e-9


def test_fixed_links_are_frames_and_friction_is_kept(rng):
    result, fitted, _ = identified(LOADED, rng)
    robot = projections(result, fitted, Target.SDF).robot
    model = result.model
    read = SdfReader(sdf_of(robot), model.joint_names, model.gravity)
    assert read.dry_friction == pytest.approx(robot.of("F_c"))
    q, v, a = rng.normal(size=(3, 20, 2))
    assert read.torques(q, v, a) == pytest.approx(robot.torques(q, v, a), abs=1e-10)
    panda = with_consistent_bodies(RobotModel.from_urdf("panda"), rng)
    root = ET.fromstring(sdf_of(with_drives(panda)))
    frames = {f.get("name"): f.get("attached_to") for f in root.iter("frame")}
    assert frames["panda_hand"] == "panda_link7"


def test_a_joint_in_the_air_is_refused(rng):
    model = RobotModel.from_urdf(random_urdf(rng))
    text = sdf_of(with_drives(model)).replace(">world<", ">nowhere<")
    with pytest.raises(ModelError, match="not connected to the base"):
        SdfReader(text, model.joint_names, model.gravity)
