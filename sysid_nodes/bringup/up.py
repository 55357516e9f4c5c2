# SPDX-License-Identifier: Apache-2.0
"""`sysid up --config`: the nodes on a real robot, until they are interrupted."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from sysid_core.errors import SysIdError
from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.find_config import find_config
from sysid_nodes.bringup.processes import running


def bring_up(config: Path | None, out: Path, *, namespace: str = "") -> int:
    """Start the nodes and stay until interrupted."""
    if config is None:
        raise SysIdError(
            "A bringup needs to know the robot.",
            remedy="Give --config; start from config/bringup_ur.yaml, _franka.yaml or _xarm.yaml.",
        )
    specs = read_config(find_config(config), namespace=namespace)
    console = Console()
    console.print(
        f"ROS_DOMAIN_ID={os.environ.get('ROS_DOMAIN_ID', '0')}: starting"
        f" {', '.join(spec.name for spec in specs)}. Nothing moves until a goal is sent to"
        " trajectory_executor/execute. Ctrl-C ends."
    )
    with running(specs, out / "logs") as nodes:
        try:
            while True:
                nodes.check()
                time.sleep(0.5)
        except KeyboardInterrupt:
            console.print("Stopping the nodes.")
    return 0
