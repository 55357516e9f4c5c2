# SPDX-License-Identifier: Apache-2.0
"""Waiting times of tests on a slow or busy machine."""

from __future__ import annotations

import functools
import subprocess
import sys
import time

_QUIET_S = (
    0.8  # that a node's imports took on a quiet machine, the one that limits were chosen on [s]
)
_SLOWEST = 0.6  # slower, tests take too long; each node needs a fifth of a processor at full speed
_LONGEST = 8.0  # more is no busy machine but a fault


def pace() -> float:
    """Simulated seconds per second of the wall clock.

    A stall of the whole machine takes no simulated time in any case; a slower pace is for stalls of
    a single process.
    """
    return max(1.0 / patience(), _SLOWEST)


@functools.cache
def patience() -> float:
    """Factor by which this machine is slower than a quiet one, at least 1; measured once.

    Measured by what live tests wait for most, the start of a node. Without ROS 2 its imports fail
    early, which gives 1.
    """
    began = time.monotonic()
    command = [sys.executable, "-c", "import sysid_nodes.trajectory_executor"]
    subprocess.run(command, check=False, capture_output=True)
    return min(max((time.monotonic() - began) / _QUIET_S, 1.0), _LONGEST)
