# SPDX-License-Identifier: Apache-2.0
"""The core and the command line import where neither ROS nor POSIX modules exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMPORTS = """
import importlib, os, pkgutil, sys

class Missing:
    names = {"rclpy", "launch", "fcntl", "resource", "termios", "pwd", "grp", "syslog", "readline"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
for name in Missing.names:
    sys.modules.pop(name, None)
for package in ("sysid_core", "sysid_cli", "sysid_fleet"):
    paths = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(paths, package + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
"""


def test_every_module_imports_without_ros_and_without_posix() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-1500:]
