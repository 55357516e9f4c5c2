# SPDX-License-Identifier: Apache-2.0
"""Readers of exported MJCF files and C code, which give their torques."""

from __future__ import annotations

import copy
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array
from sysid_core.robot.loops import DrivenRobot

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")


class MjcfReader:
    """Drive torques by MuJoCo's inverse dynamics, without contacts, limits and loops.

    Args:
        path: Path of the MJCF file.
        joint_names: Names of the n joints, in the order of the arrays; other joints are held at
            zero.
    """

    def __init__(self, path: Path, joint_names: tuple[str, ...]) -> None:
        self._model: Any = mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self._model.opt.disableflags |= int(
            off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_EQUALITY
        )
        self._joints = [int(self._model.joint(name).dofadr[0]) for name in joint_names]
        self._positions = [int(self._model.joint(name).qposadr[0]) for name in joint_names]

    @property
    def dry_friction(self) -> Array:
        """Attribute `frictionloss` of the joints, shape (n,) [N m]."""
        return np.array(self._model.dof_frictionloss[self._joints])

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion, shapes (K, n) to (K, n) [N m]."""
        return self._torques(self._model, q, v, a)

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction, shape (K, n) [N m or N].

        Args:
            q: Positions, shape (K, n) [rad or m].
            v: Velocities, shape (K, n) [rad/s or m/s].
            a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
        """
        frictionless = copy.copy(self._model)
        frictionless.dof_frictionloss[:] = 0.0
        return self._torques(frictionless, q, v, a)

    def _torques(self, model: Any, q: Array, v: Array, a: Array) -> Array:
        data, out = mujoco.MjData(model), np.empty_like(np.asarray(q, dtype=float))
        for k in range(len(out)):
            data.qpos[self._positions] = q[k]
            data.qvel[self._joints] = v[k]
            data.qacc[self._joints] = a[k]
            mujoco.mj_inverse(model, data)
            mujoco.mj_fwdActuation(model, data)  # biases: there is no control
            out[k] = (data.qfrc_inverse - data.qfrc_actuator)[self._joints]
        return out


class ChainReader:
    """Drive torques of a closed chain: MuJoCo's torques of all joints, projected by virtual work.

    Args:
        path: Path of the MJCF file.
        robot: Robot whose loops determine the motion of the passive joints.
    """

    def __init__(self, path: Path, robot: DrivenRobot) -> None:
        self._robot, self._tree = robot, MjcfReader(path, robot.tree.joint_names)

    @property
    def dry_friction(self) -> Array:
        """Attribute `frictionloss` of the driven joints, shape (n_a,) [N m]."""
        return np.array(self._tree.dry_friction[self._robot.chain.actuated_columns])

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion of the driven joints, shapes (K, n_a) to (K, n_a) [N
        m].
        """
        return self._driven(self._tree.torques, q, v, a)

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction, shape (K, n_a) [N m or N].

        Args:
            q: Positions of the driven joints, shape (K, n_a) [rad or m].
            v: Velocities of the driven joints, shape (K, n_a) [rad/s or m/s].
            a: Accelerations of the driven joints, shape (K, n_a) [rad/s^2 or m/s^2].
        """
        return self._driven(self._tree.smooth_torques, q, v, a)

    def _driven(
        self, torques: Callable[[Array, Array, Array], Array], q: Array, v: Array, a: Array
    ) -> Array:
        moved = self._robot.motion(q, v, a)
        return np.asarray(np.einsum("kij,ki->kj", moved.G, torques(moved.q, moved.v, moved.a)))


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
        self._function("torques")  # so that code without it is refused before it is called

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
        function = self._function(name)
        rows = [np.ascontiguousarray(x, dtype=float) for x in motion]
        out = np.empty((len(rows[0]), size or self._n))
        if state is not None and len(out):
            self._function("reset")(state, _pointer(rows[0][0]))
        extra = [] if state is None else [state]
        for k in range(len(out)):
            function(*(_pointer(x[k]) for x in rows), *extra, _pointer(out[k]))
        return out

    def _function(self, name: str) -> Any:
        function = getattr(self._library, f"{self._prefix}_{name}")
        function.restype = None
        return function


def _pointer(row: Array) -> Any:
    return row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
