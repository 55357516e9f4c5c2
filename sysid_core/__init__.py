# SPDX-License-Identifier: Apache-2.0
"""Identification of robots and payloads: pure Python, no ROS.

Rooms, in the order in which data flow (a room imports only those before it):
robot, identifiability, excitation, signals, estimation, validation, report, studies, cli.
"""

__version__ = "0.1.0"
