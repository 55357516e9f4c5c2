# SPDX-License-Identifier: Apache-2.0
"""Compiled C code of a robot, called from Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.robot import Array


def c_compiler() -> str:
    """Return the path of a C compiler.

    Raises:
        ModelError: No C compiler is found.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ModelError(
            "There is no C compiler: the code can't be compared.",
            remedy="Install gcc or clang, or leave the targets 'c' and 'ros2_control' out.",
        )
    return compiler


class CReader:
    """Compiled C code of a robot, called from Python.

    Args:
        source: Path of `PREFIX.c`, with the header in the same folder.
        n: Number of joints.
        axes: Number of axes with friction.

    Raises:
        ModelError: No compiler is found, or it rejects the code.
    """

    def __init__(self, source: Path, n: int, axes: int) -> None:
        compiler = c_compiler()
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name) / "robot.so"
        command = [compiler, "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        done = subprocess.run(
            [*command, str(source), "-o", str(library), "-lm"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode:
            raise ModelError(
                f"'{compiler}' refuses '{source}': {done.stderr.strip()[:500]}",
                remedy="Report this error together with the robot's description.",
            )
        self._library = ctypes.CDLL(str(library))
        self._prefix, self._n, self._axes = source.stem, n, axes

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion without gaps, from rest; shapes (K, n) to (K, n) [N m]."""
        state = (ctypes.c_double * (3 * self._axes))()
        return self.along("torques", q, v, a, state=state)

    def along(self, name: str, *motion: Array, size: int = 0, state: Any = None) -> Array:
        """Return the results of a function `PREFIX_name` along a motion, shape (K, n) or (K, size).

        Args:
            name: Name of the function without the prefix, such as `gravity`.
            *motion: Arguments of the function, shape (K, n) each.
            size: Number of results of one call; 0: one for each joint.
            state: State of the friction terms; None: the function has none.
        """
        function = getattr(self._library, f"{self._prefix}_{name}")
        function.restype = None
        rows = [np.ascontiguousarray(x, dtype=float) for x in motion]
        out = np.empty((len(rows[0]), size or self._n))
        if state is not None and len(out):
            reset = getattr(self._library, f"{self._prefix}_reset")
            reset.restype = None
            reset(state, _pointer(rows[0][0]))
        extra = [] if state is None else [state]
        for k in range(len(out)):
            function(*(_pointer(x[k]) for x in rows), *extra, _pointer(out[k]))
        return out


def _pointer(row: Array) -> Any:
    return row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
