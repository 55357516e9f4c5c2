# SPDX-License-Identifier: Apache-2.0
"""Text about the limits of a motion, as watch and panel show it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from sysid_monitor.graph_view import NodeHealth, Snapshot, margins


def test_the_margins_of_an_aborted_motion_are_its_shares_of_the_limits():
    values = {"state": "aborted", "fault": "cancelled", "goal_lateness_s": "0.004"}
    shares = {"position": "0.66", "velocity": "0.9"}
    motion = NodeHealth("trajectory_executor: motion", "warn", "", values | shares, 0.1)
    assert margins(Snapshot((motion,))) == "of the limits: velocity 90%, position 66%"
