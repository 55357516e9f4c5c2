# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from exported_arm import LOADED, USUAL, identified, with_drives
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.errors import ModelError
from sysid_core.export import Target
from sysid_core.export.files import (
    LossCode,
    largest_differences,
    losses_of,
    reader_of,
    write_target,
)
from sysid_core.export.projection import projections
from sysid_core.export.usd import UsdReader, prim_names, usd_of
from sysid_core.robot import RobotModel


def test_usd_has_our_torques_within_single_precision(rng, tmp_path):
    pytest.importorskip("pxr", reason="usd-core isn't installed")
    arms = [RobotModel.from_urdf(random_urdf(np.random.default_rng(k))) for k in range(5)]
    for model in (with_consistent_bodies(RobotModel.from_urdf("panda"), rng), *arms):
        robot = with_drives(model, USUAL, rng)
        written = write_target(Target.USD, robot, tmp_path)
        read = reader_of(Target.USD, written.files[0], robot)
        worst, torque = largest_differences(read, robot, states=100, seed=1)
        assert 1e-9 < max(worst.values()) < Target.USD.tolerance(torque)


def test_a_real_result_is_read_back(rng, tmp_path):
    pytest.importorskip("pxr", reason="usd-core isn't installed")
    result, fitted, _ = identified(LOADED, rng)
    robot = projections(result, fitted, Target.USD).robot
    path = tmp_path / "arm.usda"
    path.write_text(usd_of(robot))
    read = UsdReader(str(path), robot.model.joint_names, robot.model.gravity)
    assert read.dry_friction == pytest.approx(robot.of("F_c"), rel=1e-6)
    with pytest.raises(ModelError, match="expected"):
        UsdReader(str(path), ("j1", "elbow9"), robot.model.gravity)


def test_names_that_usd_cannot_have_are_replaced_and_told(rng):
    model = RobotModel.from_urdf(random_urdf(rng))
    names = prim_names(model)
    assert len(set(names.values())) == len(names)
    assert all(name.isidentifier() for name in names.values())
    losses = {loss.code: loss.names for loss in losses_of(model, Target.USD, None)}
    assert set(model.joint_names) <= set(losses[LossCode.NAMES])  # they have blanks
    assert losses[LossCode.SHAPES] == model.body_names
    assert 'string robot_sysid:name = "joint 0"' in usd_of(with_drives(model, USUAL, rng))


def test_reading_without_the_library_is_an_error_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pxr", None)
    with pytest.raises(ModelError, match=r"robot_sysid\[usd\]"):
        UsdReader(str(tmp_path / "arm.usda"), ("a",), np.zeros(3))
