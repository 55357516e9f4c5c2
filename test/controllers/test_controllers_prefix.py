# SPDX-License-Identifier: Apache-2.0
"""The live tests of the controllers in the ROS 2 that SYSID_ROS_PREFIX names, where none is sourced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from real_ros import PREFIX, prefix_environment

MANAGER = Path(__file__).with_name("test_controllers_manager.py")
NEEDED = f"needs ros2_control and robot_sysid: source them, or set {PREFIX} to the folder of both"


@pytest.mark.ros
@pytest.mark.slow
def test_the_live_tests_pass_in_the_named_prefix():
    environment = prefix_environment()
    if environment is None:
        pytest.skip(NEEDED)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(MANAGER)], env=environment, capture_output=True, text=True)
    if done.returncode == 5 or (" passed" not in done.stdout and done.returncode == 0):
        pytest.skip(NEEDED)
    assert done.returncode == 0, done.stdout[-8000:]
