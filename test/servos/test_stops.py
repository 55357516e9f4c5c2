# SPDX-License-Identifier: Apache-2.0
"""Joints that stand at a mechanical stop."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import sysid_core
from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_core.servos import (
    JointServo,
    ServoMjcf,
    ServoModel,
    ServoRecording,
    Term,
    identify_servos,
    save_servos,
)
from sysid_core.servos.choose import joint_motions
from sysid_core.servos.examine import FREE, find_stops
from sysid_core.servos.ground import Ground, Surface
from sysid_core.workflows import ServoFiles, ServoSettings

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="0.15 0 0"/><mass value="0.3"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint></robot>"""
SERVO = {Term.COMPLIANCE: 0.1, Term.TIME_CONSTANT: 0.05, Term.FRICTION: 0.01, Term.DELAY: 0.02}
STOP = 0.4  # [rad]


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf(PENDULUM)


def arm(robot: RobotModel, stops: tuple[float, float]) -> ServoModel:
    return ServoModel(robot, (JointServo("lift", SERVO, stops=stops),))


def motion(model: ServoModel) -> ServoRecording:
    """Commands that swing further and further, to 0.8 rad, at 30 Hz, on a 12-bit encoder."""
    t = np.arange(0.0, 60.0, 1.0 / 30.0)
    target = (0.8 * t / t[-1] * np.sin(0.9 * t))[:, None]
    q = model.simulate(t, target, t, target[0])
    q = np.round(q * 4096 / (2 * np.pi)) * (2 * np.pi / 4096)
    return ServoRecording("swing", model.joints, t, q, t, target)


def test_a_joint_stands_at_its_stop_and_leaves_it_with_its_command(robot: RobotModel) -> None:
    r = motion(arm(robot, (-np.inf, STOP)))
    free = motion(arm(robot, FREE))
    assert r.q.max() == pytest.approx(STOP, abs=0.001)
    assert r.q.min() == free.q.min()
    below = free.q < STOP - 0.1
    assert np.abs(r.q - free.q)[below].max() < 0.01  # it is not held behind


def test_a_table_and_a_stop_hold_an_arm_alike(robot: RobotModel) -> None:
    never = Ground(-np.inf, Surface(np.zeros(1, dtype=np.int64), np.zeros((1, 3))))
    model = arm(robot, (-0.2, STOP))
    r = motion(model)
    above = ServoModel(robot, model.servos, never)
    q = above.simulate(r.t_target, r.target, r.t, r.q[0])
    np.testing.assert_allclose(q, model.simulate(r.t_target, r.target, r.t, r.q[0]), atol=1e-9)


def test_a_stop_is_found_where_a_joint_stood_at_it_and_none_where_it_didnt(
    robot: RobotModel,
) -> None:
    for stops in (FREE, (-np.inf, STOP), (-0.3, STOP)):
        model = arm(robot, stops)
        (motions,) = joint_motions([motion(model)], model.tree)
        found = find_stops(motions, model.servos[0].vector, (-2.0, 2.0))
        assert found == pytest.approx(stops, abs=0.003)


def test_a_found_stop_is_simulated_saved_and_exported(robot: RobotModel, tmp_path: Path) -> None:
    r = motion(arm(robot, (-np.inf, STOP)))
    result = identify_servos([r], robot)
    (servo,) = result.model.servos
    assert servo.stops == pytest.approx((-np.inf, STOP), abs=0.003)
    assert servo.values[Term.COMPLIANCE] == pytest.approx(0.1, rel=0.1)
    assert any("stop at 0.4" in note for note in result.notes)
    save_servos(result, tmp_path)
    loaded = sysid_core.load(tmp_path)
    assert loaded.servos[0].stops == servo.stops
    q = loaded.simulate(r.t_target, r.target, r.t, r.q[0])
    assert np.sqrt(np.mean((q - r.q) ** 2)) < 0.004
    joint = ET.fromstring(ServoMjcf.of(loaded).text).find(".//joint[@name='lift']")
    assert joint is not None
    low, high = map(float, joint.attrib["range"].split())
    assert (low, high) == (-2.0, pytest.approx(STOP, abs=0.003))


def test_told_stops_are_taken_and_what_states_none_is_refused(robot: RobotModel) -> None:
    def told(text: str) -> dict[str, tuple[float, float]]:
        return ServoSettings(files=ServoFiles(recordings=()), robot="", stops=(text,)).ends

    assert told("lift=-1.03:") == {"lift": (-1.03, np.inf)}
    for wrong in ("lift", "lift=1", "lift=2:1", "lift=a:b"):
        with pytest.raises(SysIdError, match="states no stops"):
            told(wrong)
