# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.signals import JointStream, require_sound_units
from sysid_core.signals.timing import velocity_ratio

URDF = """<robot name="two"><link name="base"/><link name="a"/><link name="b"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
<joint name="roll" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
</joint></robot>"""


def stream(
    position: float = 1.0, velocity: float = 1.0, rate_hz: float = 1000.0, noise: float = 1e-3
) -> JointStream:
    """Two joints, of which the second turns continuously; values are scaled as by wrong units."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 5.0, 1.0 / rate_hz)
    q = np.column_stack([2.5 * np.sin(2.0 * t), 20.0 * t])
    v = np.column_stack([5.0 * np.cos(2.0 * t), 20.0 + 0.0 * t])
    q, v = q + noise * rng.normal(size=q.shape), v + noise * rng.normal(size=v.shape)
    stamps = np.round(t * 1e9).astype(np.int64)
    return JointStream(("turn", "roll"), stamps, position * q, velocity * v)


@pytest.mark.parametrize("rate_hz", [30.0, 1000.0])
def test_sound_units_pass_however_noisy_and_far_a_joint_turns(rate_hz):
    robot = RobotModel.from_urdf(URDF)
    require_sound_units(stream(rate_hz=rate_hz, noise=0.01), robot, "run")
    assert velocity_ratio(stream(rate_hz=rate_hz)) == pytest.approx([1.0, 1.0], abs=0.02)


@pytest.mark.parametrize(
    ("position", "velocity", "message"),
    [
        (
            180 / np.pi,
            180 / np.pi,
            "'turn' of 'run' goes to .* In degrees, the positions of all joints",
        ),
        (3.0, 3.0, r"-3 to 3 \(rad or m\)\.(?! In degrees)"),  # so small no motion is in degrees
        (1000.0, 1000.0, r"-3 to 3 \(rad or m\)\.(?! In degrees)"),
        (1.0, 180 / np.pi, "57.3 times the derivative"),
        (0.01, 1.0, "100 times the derivative"),
        (0.001, 1.0, "1e[+]03 times the derivative"),  # hardly any motion, say the positions
        (1.0, -1.0, "-1 times the derivative"),  # another direction
    ],
)
def test_wrong_units_are_named(position, velocity, message):
    with pytest.raises(SignalError, match=message):
        require_sound_units(stream(position, velocity), RobotModel.from_urdf(URDF), "run")


def test_degrees_of_a_small_motion_are_told_by_all_joints_together():
    limit = '<limit lower="-3" upper="3" effort="50" velocity="5"/>'
    urdf = URDF.replace('type="continuous"', 'type="revolute"').replace(
        '<axis xyz="0 0 1"/>', f'<axis xyz="0 0 1"/>{limit}'
    )
    small = stream(0.08)
    small = JointStream(small.names, small.stamps_ns, np.degrees(small.q[:, [0, 0]]))
    with pytest.raises(SignalError, match="In degrees, the positions of all joints are inside"):
        require_sound_units(small, RobotModel.from_urdf(urdf), "run")


def test_a_joint_at_rest_has_no_ratio():
    still = stream()
    resting = JointStream(still.names, still.stamps_ns, 0.0 * still.q, still.v)
    assert np.all(np.isnan(velocity_ratio(resting)))
    assert np.all(np.isnan(velocity_ratio(JointStream(still.names, still.stamps_ns, still.q))))


def test_positions_beyond_the_limits_may_wait_for_their_cause():
    robot = RobotModel.from_urdf(
        URDF.replace('type="continuous"', 'type="revolute"').replace(
            '<axis xyz="0 0 1"/>',
            '<axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="5" velocity="9"/>',
        )
    )
    right = stream(0.1, 0.1)
    off = JointStream(right.names, right.stamps_ns, right.q + [7.0, 0.0], right.v)
    with pytest.raises(SignalError, match="'turn' of 'run' goes to 7"):
        require_sound_units(off, robot, "run")
    require_sound_units(off, robot, "run", near=False)
    with pytest.raises(SignalError, match="In degrees, the positions of all joints"):
        require_sound_units(stream(9 / np.pi, 9 / np.pi), robot, "run", near=False)
    with pytest.raises(SignalError, match=r"-9 to 9 \(rad or m\)"):  # larger than any range
        require_sound_units(stream(0.5, 0.5), robot, "run", near=False)


@pytest.mark.parametrize(
    ("motion", "speed", "message"),
    [
        ([1, 1], [2, 2], "stamps advance 2 times too fast"),
        ([1, 1], [-1, 1], "sign of either the position or the velocity is reversed: 'turn'"),
        ([1, 1], [180 / np.pi, 180 / np.pi], "velocities are in degrees: 'turn', 'roll'"),
        ([180 / np.pi, 1], [1, 1], "positions are in degrees: 'turn'"),
        ([1, 1], [3, 1], "3 times the derivative of its position. Check units"),
    ],
)
def test_velocities_that_are_no_derivatives_have_a_cause(motion, speed, message):
    robot = RobotModel.from_urdf(URDF.replace("-3", "-999").replace('"3"', '"999"'))
    right = stream()
    wrong = JointStream(right.names, right.stamps_ns, right.q * motion, right.v * speed)
    with pytest.raises(SignalError, match=message):
        require_sound_units(wrong, robot, "run")
    swapped = JointStream(right.names, right.stamps_ns, right.q, right.v[:, ::-1])
    with pytest.raises(SignalError, match="columns of 'turn' and 'roll' are interchanged"):
        require_sound_units(swapped, robot, "run")
