# SPDX-License-Identifier: Apache-2.0
"""The way from the command line to the nodes."""

from __future__ import annotations

import importlib
import signal
import threading
from typing import Any

from sysid_core.errors import SysIdError


def ros_module(name: str) -> Any:
    """A module of the ROS layer, only when it is called for: everything offline works without ROS.

    SIGINT ends what it does, as with `ros2 launch`: also where the shell started it with SIGINT ignored
    (`nohup`, the background of a script).

    Raises:
        SysIdError: ROS or the built interfaces aren't there.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise SysIdError(
            f"The live commands need ROS 2 and the built interfaces ({err}).",
            remedy="Run `make setup` and `source scripts/env.sh`, or source your ROS 2 workspace;"
            " `sysid doctor` says what is missing.",
        ) from err
