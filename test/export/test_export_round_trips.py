# SPDX-License-Identifier: Apache-2.0
"""Every file as it is written by `sysid export`, read back: all example robots, 200 random trees."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.errors import ModelError
from sysid_core.export import Target
from sysid_core.export.files import largest_differences, reader_of, write_target
from sysid_core.export.projection import Projection
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel, example_robots

TREES = [range(first, first + 50) for first in range(0, 200, 50)]  # seeds
FORMATS = [target for target in Target if target is not Target.ROS2_CONTROL]  # its code is C's
ROBOTS = 60  # of example-robot-data that are read, at least


def driven(model: RobotModel, target: Target, rng: np.random.Generator) -> Projection:
    """The robot with drives of all terms that a target holds."""
    names = model.joint_names
    waves = {
        term.value: {name: [1.0, 12.5] for name in names} for term in target.terms if term.waves
    }
    drives = DriveTrain(names, np.ones(len(names)), {}, waves)
    friction = FrictionModel(drives, target.terms)
    return Projection(model, friction, rng.uniform(0.1, 1.0, size=len(friction.names)))


@cache
def example_models() -> dict[str, RobotModel]:
    models = {}
    for name, path in example_robots().items():
        with suppress(ModelError):  # without joints
            models[name] = RobotModel.from_urdf(path)
    assert all(set(model.degrees_of_freedom) == {1} for model in models.values())
    return models


def excess(model: RobotModel, target: Target, rng: np.random.Generator, folder) -> float:
    """Largest difference of torques, divided by the tolerance for rounding errors."""
    robot = driven(with_consistent_bodies(model, rng), target, rng)
    written = write_target(target, robot, folder / model.urdf_hash)
    reader = reader_of(target, written.files[0], robot)
    differences, torque = largest_differences(reader, robot, states=20, seed=1)
    return max(differences.values()) / target.tolerance(torque)


def some(many, target: Target) -> list:
    """All; for C every fourth, whose compiler takes most of the time."""
    return list(many)[:: 4 if target is Target.C else 1]


def require(target: Target) -> None:
    if target is Target.USD:
        pytest.importorskip("pxr", reason="usd-core isn't installed")
    if target is Target.C and shutil.which("cc") is None:
        pytest.skip("no C compiler")


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
def test_all_example_robots_are_read_back(target, rng, tmp_path):
    require(target)
    found = {
        name: excess(model, target, rng, tmp_path)
        for name, model in some(example_models().items(), target)
    }
    assert {name for name, x in found.items() if x > 1.0} == set()
    assert len(found) >= ROBOTS // (4 if target is Target.C else 1)


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("seeds", TREES)
def test_two_hundred_random_trees_are_read_back(seeds, target, tmp_path):
    require(target)
    for seed in some(seeds, target):
        rng = np.random.default_rng(seed)
        model = RobotModel.from_urdf(random_urdf(rng))
        assert excess(model, target, rng, tmp_path) < 1.0, seed
