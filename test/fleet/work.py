# SPDX-License-Identifier: Apache-2.0
"""Functions that worker processes import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from sysid_core.errors import SignalError


def halves(number: int) -> list[dict[str, Any]]:
    """A row; odd numbers take a while, 13 is corrupt, 17 a bug."""
    if number == 13:
        raise SignalError("13 is corrupt.", remedy="Record it again.")
    if number == 17:
        raise ZeroDivisionError("17")
    time.sleep(0.002 * (number % 2))
    return [{"parameter": "half", "value": number / 2, "outcome": "pass"}]


class Unsendable(Exception):
    """An error that can't be unpickled in another process."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def itself(number: int) -> int:
    """13 is corrupt, 17 an error that can't be sent."""
    if number == 13:
        raise SignalError("13 is corrupt.", remedy="Record it again.")
    if number == 17:
        raise Unsendable(17, number)
    return number


def slowly(number: int) -> int:
    time.sleep(0.1)
    return number


def ends_its_worker_once(marker: str) -> str:
    """Kills the first process that calls it, as the system does when memory runs out."""
    path = Path(marker)
    if not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return path.read_text()


def threads(_: int) -> tuple[int, str]:
    return os.getpid(), os.environ.get("OMP_NUM_THREADS", "")


def takes_memory(gigabytes: float) -> int:
    block = bytearray(int(gigabytes * 2**30))
    for k in range(0, len(block), 4096):
        block[k] = 1
    time.sleep(20.0)
    return len(block)
