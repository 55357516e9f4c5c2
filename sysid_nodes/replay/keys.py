# SPDX-License-Identifier: Apache-2.0
"""Keys that are pressed in a terminal while something runs."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def pressed_keys() -> Iterator[Callable[[], str]]:
    """A function that gives the key pressed since it was called last: space pauses, s steps."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)

    def pressed() -> str:  # one byte: what a buffer took along, select wouldn't see
        ready = select.select([sys.stdin], [], [], 0.0)[0]
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
