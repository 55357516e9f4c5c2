# SPDX-License-Identifier: Apache-2.0
"""Bias and gain of a force-torque sensor over nights."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.robot import RobotModel
from sysid_core.signals import JointStream, Recording, WrenchStream
from sysid_fleet.analysis import analyse
from sysid_fleet.recording import sensor_values
from sysid_fleet.registry import Registry

FRAME, MASS, LEVER = "tool0", 1.24, np.array([0.01, -0.02, 0.06])
NIGHTS, CHANGED = 24, 15
BIAS = np.array([3.0, -1.0, 8.0, 0.1, 0.05, -0.2])


def night(model: RobotModel, rng: np.random.Generator, gain: float, bias: np.ndarray) -> Recording:
    """Ten postures, held for three seconds each, with a tool of known mass on the sensor."""
    q = np.repeat(rng.uniform(-1.5, 1.5, size=(10, model.nv)), 30, axis=0)
    stamps = np.arange(len(q)) * 100_000_000
    data, frame = model.pin_model.createData(), model.frame_id(FRAME)
    wrench = np.empty((len(q), 6))
    for k, posture in enumerate(q):
        pin.framesForwardKinematics(model.pin_model, data, posture)
        force = -MASS * data.oMf[frame].rotation.T @ model.gravity
        wrench[k] = gain * np.concatenate([force, np.cross(LEVER, force)]) + bias
    wrench += rng.normal(size=wrench.shape) * [0.1, 0.1, 0.1, 0.005, 0.005, 0.005]
    joints = JointStream(model.joint_names, stamps, q, np.zeros_like(q))
    return Recording(joints, wrench=WrenchStream(FRAME, stamps, wrench))


def rows(model: RobotModel, robot: str, gain: float, jump: float) -> list[Mapping[str, Any]]:
    """A sensor whose bias scatters by 0.1 N between nights, and that changes for good."""
    rng, out = np.random.default_rng(sum(map(ord, robot))), []
    for k in range(NIGHTS):
        late = k >= CHANGED
        bias = BIAS + rng.normal(size=6) * [0.1, 0.1, 0.1, 0.004, 0.004, 0.004]
        bias[0] += jump * late
        run = night(model, rng, gain if late else 1.0, bias)
        for name, (value, sd, unit, _) in sensor_values(model, run, MASS).items():
            when = datetime(2026, 3, 1, 2, tzinfo=timezone.utc) + timedelta(days=k)
            row = {"robot": robot, "tool": "gripper", "parameter": name, "value": value}
            row |= {"deviation": sd, "unit": unit, "time": when, "recording": f"{robot}/{k}"}
            out.append({**row, "temperature": None, "warm_up": None, "reason": None})
    return out


@pytest.mark.parametrize(
    ("gain", "jump", "named"),
    [(1.0, 0.8, "sensor.bias_fx"), (1.05, 0.0, "sensor.gain"), (1.0, 0.0, "")],
)
def test_a_sensor_that_changes_is_named_and_no_other(gain: float, jump: float, named: str) -> None:
    model = RobotModel.from_urdf("ur5")
    found = [*rows(model, "good", 1.0, 0.0), *rows(model, "worn", gain, jump)]
    robot = {"description": "ur5", "calibration": "none", "match": "*"}
    registry = Registry.model_validate(
        {"schema": "robot_sysid/fleet/1", "robots": {"good": robot, "worn": robot}}
    )
    alarms = analyse(found, registry).alarms()
    assert [(a["robot"], a["parameter"]) for a in alarms] == ([("worn", named)] if named else [])
    for alarm in alarms:
        assert CHANGED <= alarm["noticed"].day - 1 < CHANGED + 3
        expected = jump if jump else gain - 1.0
        assert alarm["change"] == pytest.approx(expected, rel=0.25)
