# SPDX-License-Identifier: Apache-2.0
"""Identification of robots and payloads: pure Python, no ROS.

Rooms, in the order in which data flow (a room imports only those before it):
files, batch, robot, controller_payload, identifiability, planning, execution, signals, estimation, diagnosis,
simulation, control, validation, export, report, workflows.
"""

__version__ = "0.1.0"
