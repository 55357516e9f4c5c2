# SPDX-License-Identifier: Apache-2.0
"""The simulated robot of ros2_control, compiled without ROS."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest
from two_joint_arm import URDF

from sysid_core.export import JointFields, mjcf_of, write_mjcf
from sysid_core.robot import RobotModel

INCLUDE = Path(__file__).resolve().parents[2] / "robot_sysid_controllers" / "include"
PACKAGE = Path(mujoco.__file__).parent
LIBRARY = next(iter(sorted(PACKAGE.glob("libmujoco.so*"))), None)
pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or LIBRARY is None, reason="needs g++ and MuJoCo's C library"
)
HOLD, EFFORT, POSITION, VELOCITY = range(4)
JOINTS = ("j1", "j2")
DT = 0.004


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The compiled robot, and an MJCF with armature and friction."""
    folder = tmp_path_factory.mktemp("mujoco")
    done = subprocess.run(
        ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared"]
        + ["-fPIC", f"-I{INCLUDE}", "-isystem", str(PACKAGE / "include")]
        + [str(Path(__file__).with_name("mujoco_robot.cpp")), str(LIBRARY)]
        + [f"-Wl,-rpath,{PACKAGE}", "-o", str(folder / "robot.so")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    model = RobotModel.from_urdf(URDF)
    fields = {joint: JointFields(0.05, 0.2, 0.3) for joint in JOINTS}
    return ctypes.CDLL(str(folder / "robot.so")), write_mjcf(
        folder / "two.xml", mjcf_of(model, fields)
    )


def run(files, mode, commands, start=(0.3, -0.4), joints=JOINTS):
    """Rows of q, v and effort (K, n, 3), or why the file is refused."""
    library, file = files
    commands = np.ascontiguousarray(commands, dtype=float)
    rows, text = np.empty_like(commands), ctypes.create_string_buffer(300)
    names = (ctypes.c_char_p * len(joints))(*[name.encode() for name in joints])
    pointer = ctypes.POINTER(ctypes.c_double)
    failed = library.simulate(
        str(file).encode(),
        *(len(joints), names, ctypes.c_double(100.0)),
        np.array(start, dtype=float).ctypes.data_as(pointer),
        *(mode, len(commands), ctypes.c_double(DT)),
        commands.ctypes.data_as(pointer),
        rows.ctypes.data_as(pointer),
        text,
    )
    return text.value.decode() if failed else rows


def test_a_robot_that_nobody_commands_stays_where_it_is(files):
    rows = run(files, HOLD, np.zeros((250, 2, 3)))
    assert np.abs(rows[:, :, 0] - [0.3, -0.4]).max() < 1e-4
    assert np.abs(rows[-1, :, 2]).max() > 0.1  # against gravity


def test_drives_follow_positions_and_velocities(files):
    t = DT * np.arange(1, 501)
    q = np.stack([0.3 + 0.3 * np.sin(3 * t), -0.4 + 0.2 * np.sin(2 * t)], axis=1)
    v = np.stack([0.9 * np.cos(3 * t), 0.4 * np.cos(2 * t)], axis=1)
    rows = run(files, POSITION, np.stack([q, v, 0 * q], axis=2))
    assert np.abs(rows[125:, :, 0] - q[125:]).max() < 0.01
    rows = run(files, VELOCITY, np.stack([0 * q, v, 0 * q], axis=2))
    assert np.abs(rows[125:, :, 1] - v[125:]).max() < 0.05


def test_efforts_move_it_as_mujoco_in_python_does(files):
    rng = np.random.default_rng(5)
    commands = np.zeros((200, 2, 3))
    commands[:, :, 2] = 2.0 * rng.normal(size=(200, 2))
    rows = run(files, EFFORT, commands)
    model = mujoco.MjModel.from_xml_path(str(files[1]))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3, -0.4
    for command, row in zip(commands, rows, strict=True):
        data.ctrl[:] = command[:, 2]
        for _ in range(round(DT / model.opt.timestep)):
            mujoco.mj_step(model, data)
        assert row[:, 0] == pytest.approx(data.qpos, abs=1e-9)


def test_what_is_no_number_is_no_effort_and_a_joint_without_motor_is_refused(files):
    rows = run(files, EFFORT, np.full((5, 2, 3), np.nan))
    assert np.all(np.isfinite(rows)) and np.all(rows[:, :, 2] == 0.0)
    assert "'elbow'" in run(files, EFFORT, np.zeros((1, 1, 3)), (0.0,), ("elbow",))
