# SPDX-License-Identifier: Apache-2.0
"""The command line: all commands, and the display of their errors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from typing import NoReturn

# Each of these modules registers its commands.
from sysid_cli import (  # noqa: F401
    bag,
    bag_check,
    bench,
    doctor,
    export,
    fleet,
    identifiability,
    identify,
    init,
    limits,
    live,
    loops,
    payload,
    payload_torques,
    report,
    reproduce,
    servos,
    tare,
)
from sysid_cli.base import app, errors, remark
from sysid_cli.plan import files, motions  # noqa: F401
from sysid_core.errors import SysIdError

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def run() -> None:
    """Run the command line; an error of this package is shown as one red message, with exit status
    2.
    """
    _give_memory_back()
    try:
        app()
        sys.stdout.flush()
    except BrokenPipeError:  # its reader, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except SysIdError as err:
        _explain(err.message, err.remedy)
    except KeyboardInterrupt:  # where typer doesn't see it
        errors.print("Stopped.")
        sys.exit(130)
    except OSError as err:  # a file or folder of the user's that can't be read or written
        if err.errno is None:
            raise
        name = "" if err.filename is None else f"'{os.fsdecode(err.filename)}': "
        _explain(
            f"{name}{err.strerror}.",
            "Free some space, or give another --out."
            if err.errno in (errno.ENOSPC, errno.EDQUOT)
            else "Check the path (file or folder as required) and your permissions.",
        )


def _give_memory_back() -> None:
    """Configure the allocator so that freed arrays of a megabyte or more are returned to the system
    immediately.

    By default glibc keeps freed blocks of up to 32 MB that lie between small arrays in use; with a
    long recording, these blocks amount to 100 MB.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        for parameter in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            libc.mallopt(parameter, 1 << 20)


def _explain(message: str, remedy: str) -> NoReturn:
    remark("error:", message, "bold red", to=errors)
    if remedy:
        remark("what to do:", remedy, "bold", to=errors)
    sys.exit(2)
