# SPDX-License-Identifier: Apache-2.0
"""Node that controls a robot by computed torques."""

from sysid_nodes.computed_torque_controller.config import ComputedTorqueControllerConfig

__all__ = ["ComputedTorqueControllerConfig"]
