# SPDX-License-Identifier: Apache-2.0
"""An arm of two joints whose recordings are quickly made, and the command line called on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.robot import RobotModel

URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><mass value="3"/><origin xyz="0.1 0 0.02"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
<link name="b"><inertial><mass value="1"/><origin xyz="0.12 0.01 0"/>
<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.007"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.25 0 0"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="5"/></joint></robot>"""

Motion = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def swing(rng: np.random.Generator, seconds: float) -> Motion:
    """Times (K,) at 100 Hz and q, v, a (K, 2) of a random Fourier series."""
    t = np.arange(0.0, seconds, 0.01)
    w = 2 * np.pi * 0.15 * np.arange(1, 5)
    A, phase = rng.normal(size=(4, 2)) * 0.4, t[:, None] * w
    return t, np.sin(phase) @ A, (np.cos(phase) * w) @ A, -(np.sin(phase) * w**2) @ A


def columns(effort: str, **drives: Any) -> dict[str, Any]:
    """Column map of a table of times, positions, velocities and efforts of some kind."""
    return {
        "schema": "robot_sysid/columns/1",
        "joints": ["j1", "j2"],
        "time": {"column": 0},
        "position": {"columns": [1, 2]},
        "velocity": {"columns": [3, 4]},
        "effort": {"columns": [5, 6], "kind": effort},
        **({"drives": drives} if drives else {}),
    }


def write_arm(folder: Path) -> None:
    """Its files: robot.urdf, columns.yaml, and train.csv and validate.csv of an arm whose masses are
    10 % off the description's.
    """
    (folder / "robot.urdf").write_text(URDF)
    model = RobotModel.from_urdf(URDF)
    true = model.with_pi(model.pi * np.array([[0.9], [1.1]]))
    for seed, name in enumerate(("train", "validate")):
        rng = np.random.default_rng(seed)
        t, q, v, a = swing(rng, 20.0)
        tau = true.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v
        tau += 0.02 * rng.normal(size=tau.shape)
        table, names = np.column_stack([t, q, v, tau]), "t,q_1,q_2,v_1,v_2,tau_1,tau_2"
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=names, comments="")
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns("link_torque") | {"header": True}))


def call(*arguments: object) -> tuple[int, str]:
    """Exit status and output of `sysid` with some arguments; unexpected exceptions are raised."""
    result = CliRunner().invoke(app, [str(x) for x in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output
