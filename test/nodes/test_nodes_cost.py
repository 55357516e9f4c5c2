# SPDX-License-Identifier: Apache-2.0
"""Imports of a node before it works: no solver, no simulator, no plots, no scipy."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

SCIPY = ("interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")
LIBRARIES = ("cvxpy", "clarabel", "osqp", "mujoco", "matplotlib", "trimesh", "plotly")
HEAVY = (*LIBRARIES, *(f"scipy.{part}" for part in SCIPY))
PROBE = """
import sys, rclpy.logging, {module}
rclpy.logging.get_logger("x").info("looks for its caller in all modules")
print([m for m in {heavy} if type(sys.modules.get(m)).__name__ not in ("NoneType", "_Unloaded")])
"""


@pytest.mark.parametrize(
    "node",
    ["trajectory_executor", "data_logger", "estimator", "payload_bridge"],
)
def test_a_node_starts_without_what_it_may_never_need(node: str) -> None:
    code = PROBE.format(module=f"sysid_nodes.{node}", heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
