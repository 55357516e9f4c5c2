# SPDX-License-Identifier: Apache-2.0
"""Identification of robots and payloads: pure Python, no ROS.

    import sysid_core as sysid

gives the names below, each with an example in its docstring: what most programs need. The packages
behind them, in the order in which data flow (each imports only those before it): reasons, files,
robot, controller_payload, identifiability, planning, execution, signals, estimation, diagnosis,
simulation, control, validation, export, report, servos, workflows. Names are imported when they are
used.
"""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.errors import SysIdError
    from sysid_core.estimation import Estimate
    from sysid_core.front import identifiable, identify, load, plan_motion, validate, weigh
    from sysid_core.planning import MotionLimits as Limits
    from sysid_core.planning import check_motion
    from sysid_core.robot import FrictionModel as Friction
    from sysid_core.robot import RobotModel as Robot
    from sysid_core.robot.shapes import Shape
    from sysid_core.signals import Recording

__version__ = "0.2.0"

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "Estimate",
    "Friction",
    "Limits",
    "Recording",
    "Robot",
    "Shape",
    "SysIdError",
    "check_motion",
    "identifiable",
    "identify",
    "load",
    "plan_motion",
    "validate",
    "weigh",
]


def __dir__() -> list[str]:  # what help() and completion list, although it isn't imported yet
    return sorted({*globals(), *__all__})
