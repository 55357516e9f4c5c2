# SPDX-License-Identifier: Apache-2.0
"""Export of parameters for the ros2_control controllers of this package, which load the C code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sysid_core.export.projection import Projection
from sysid_core.export.tree import exact
from sysid_core.robot import Array, RobotModel

_TEXT = """\
# Parameters of robot_sysid_controllers for the identified robot {robot}, in SI units.
# Compile the library in this folder: gcc -O3 -shared -fPIC {name}.c -o lib{name}.so -lm
# Complete the commented entries; commented numbers are the defaults.
controller_manager:
  ros__parameters:
    torque_controller: {{type: robot_sysid_controllers/TorqueController}}
    motion_guard: {{type: robot_sysid_controllers/MotionGuard}}
torque_controller:
  ros__parameters:
    model_library: {library}
    model_prefix: {name}
    urdf_hash: {urdf_hash}
    {efforts}
    {speeds}
    # bandwidth: 10.0       # of the feedback [rad/s]
    # feedback_limit: 50.0  # largest acceleration due to the tracking error [rad/s^2]
    # largest_step: 0.05    # distance within which a reference is followed again after an interruption [rad or m]
    # damping: 0.0          # while there is no reference [N m s/rad]
    # torque_change: 5.0    # largest rate of torque change after new parameters [N m/s]
    # gravity_factor: 3.0   # largest accepted ratio of new to exported gravity torques
    # payload_body: {last}
    # payload_age: 60.0     # largest age of a payload when it is applied [s]
    # payload_position: [0.0, 0.0, 0.0]  # origin of the sensor frame in payload_body [m]
    # payload_rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1]  # of the sensor frame, by rows
motion_guard:
  ros__parameters:
    joints: {joints}
    command_interfaces: [position]  # with downstream: position, velocity, acceleration
    # downstream: ""         # controller that receives the commands, such as torque_controller
    # deviation: 0.1         # largest tracking error [rad]
    # executor_timeout: 0.2  # longest time without ~/heartbeat [s]
    # wrench_topic: ""       # if given: brake when it is silent for wrench_timeout (0.1 s)
    limits:
      lower: {lower}
      upper: {upper}
      {velocities}
      # acceleration:  # required, one value for each joint [rad/s^2]; a URDF has none
"""


def controllers_of(robot: Projection, name: str, folder: Path) -> str:
    """Return the parameter file for the controller_manager.

    Args:
        robot: Exported robot.
        name: Prefix of the names in the C code.
        folder: Folder of the C code.
    """
    model = robot.model
    lower, upper = model.position_limits
    return _TEXT.format(
        robot=_quoted(model.name),
        name=name,
        library=_quoted(str(folder.resolve() / f"lib{name}.so")),
        urdf_hash=_quoted(model.urdf_hash),
        efforts=_limits(model, "effort_limit", model.effort_limits),
        speeds=_limits(model, "velocity_limit", model.velocity_limits),
        last=model.body_names[-1],
        joints=_quoted(list(model.joint_names)),
        lower=_row(lower),
        upper=_row(upper),
        velocities=_limits(model, "velocity", model.velocity_limits),
    )


def without(model: RobotModel, limits: Array) -> list[str]:
    """Return the joints whose limit the description omits or sets to zero."""
    known = (limits > 0.0) & (limits < np.finfo(float).max)
    return [name for name, has in zip(model.joint_names, known, strict=True) if not has]


def _limits(model: RobotModel, key: str, limits: Array) -> str:
    missing = without(model, limits)
    if missing:
        return f"# {key}: the description lacks those of {_quoted(missing)}"
    return f"{key}: {_row(limits)}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # YAML reads pairs of escapes as two characters


def _row(values: Array) -> str:
    return f"[{exact(values, ', ').replace('inf', '.inf')}]"
