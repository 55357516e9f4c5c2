# SPDX-License-Identifier: Apache-2.0
"""Searches in processes of their own: progress, Ctrl-C, and a process that dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

import pytest

from sysid_core.errors import SolverError
from sysid_core.planning.design.search import run_searches


def count_until_told(start: float, said: Callable[[float], bool]) -> float:
    """Counts until it is told to end, for a minute at most."""
    count = 0
    while said((count + 1) / 1000.0) and count < 600:
        time.sleep(0.1)
        count += 1
    return start + count


def die(said: Callable[[float], bool]) -> None:
    os._exit(1)


def test_long_searches_say_how_far_they_are_and_ctrl_c_keeps_what_they_have() -> None:
    heard: list[tuple[float, bool]] = []

    def report(share: float, ended: bool) -> None:
        heard.append((share, ended))
        if share > 0.0 and not ended:
            raise KeyboardInterrupt  # as Ctrl-C in the waiting thread

    found = run_searches([partial(count_until_told, x) for x in (1000.0, 2000.0)], 2, report)
    assert [int(x) // 1000 for x in found] == [1, 2]
    assert all(x % 1000.0 < 600.0 for x in found)  # nobody counted to the end
    assert any(ended for _, ended in heard) and all(0.0 <= share < 1.0 for share, _ in heard)


def test_a_process_that_dies_is_an_error_with_a_remedy() -> None:
    with pytest.raises(SolverError, match="--workers 1"):
        run_searches([die, die], 2, lambda share, ended: None)
