# SPDX-License-Identifier: Apache-2.0
"""Python processes without their imports: forks of a process that has imported what nodes need.

A node's imports take a second of processor time, and a live test starts half a dozen of them. In
all other respects a fork is like a process of `subprocess.Popen`: a child of the caller, with its
own arguments, environment, output, signals and exit status. What a node loads at its start is the
subject of `test_nodes_cost`.
"""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import gc
import inspect
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

NODES = (
    "data_logger",
    "estimator",
    "payload_bridge",
    "runner",
    "simulated_robot",
    "trajectory_executor",
)
SCIPY = ("interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")
IMPORTED = (
    *(f"sysid_nodes.{name}.node" for name in NODES),
    *(f"scipy.{name}" for name in SCIPY),
    *("mujoco", "rosidl_generator_py", "yaml"),
)
# Where a process looks for modules and libraries: fixed when it begins.
_FIXED = ("LD_LIBRARY_PATH", "PYTHONPATH")
_FORK = ("before_fork", "after_fork_parent", "after_fork_child")
_LONGEST_S = 200.0  # of its imports, on any machine
_MOST = 200_000  # [bytes] of one request
_PR_SET_CHILD_SUBREAPER = 36


class Forked(subprocess.Popen[bytes]):
    """A Python process, started as by `subprocess.Popen` with `start_new_session`.

    Args:
        command: `[sys.executable, "-m", MODULE, ...]` or `[sys.executable, SCRIPT, ...]`.
        stdout: File for its output, standard error included.
        env: Its environment.
    """

    def __init__(self, command: Sequence[str], stdout: IO[bytes], env: Mapping[str, str]) -> None:
        self.args, self.returncode = list(command), None
        self.stdin = self.stdout = self.stderr = None
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        request = [self.args[1:], os.getcwd(), dict(env), limits, os.getpid()]
        server = _server(*(env.get(name, "") for name in _FIXED))
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # the fork's parent ends: the fork is this process's then
        try:
            socket.send_fds(server, [json.dumps(request).encode()], [stdout.fileno()])
            self.pid = int(server.recv(_MOST))
        except (OSError, ValueError):
            _server.cache_clear()  # a late answer would be taken for that of the next
            raise
        finally:
            prctl(_PR_SET_CHILD_SUBREAPER, 0)
        self._child_created = True
        self._waitpid_lock = threading.Lock()


@functools.cache
def _server(*fixed: str) -> socket.socket:
    """Connection to the process that forks; it ends with this one."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = os.environ | dict(zip(_FIXED, fixed, strict=True))
    command = [sys.executable, __file__, str(there.fileno())]
    subprocess.Popen(
        command, env=environment, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    there.close()
    here.settimeout(_LONGEST_S)
    return here


def _serve(requests: socket.socket) -> list[str]:
    """Fork for each request; in a fork, the arguments of the new Python."""
    for name in IMPORTED:
        vars(import_module(name))  # loads what waits for its first use
    from sysid_nodes.data_logger.live_filtering import warm_up
    from sysid_nodes.data_logger.serialised import message_types

    warm_up()
    message_types()
    inspect.getmodule(inspect.currentframe())  # which ROS's first message in a log asks for
    gc.freeze()
    while True:
        text, files, _, _ = socket.recv_fds(requests, _MOST, 1)
        if not text:
            return []
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if _fork_traced():
                os._exit(0)
            return _become(requests, files[0], between, *json.loads(text))
        os.close(files[0])
        os.waitpid(between, 0)


def _fork_traced() -> int:
    """`os.fork` as LTTng's own library does it: ROS may be linked with LTTng, which has threads."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    libraries = [ctypes.CDLL(path) for path in {m.split()[-1] for m in maps if "/liblttng" in m}]
    calls = [
        [getattr(library, f"{prefix}ust_{when}", None) for when in _FORK]
        for library in libraries
        for prefix in ("", "lttng_")  # before version 2.13, and since
    ]
    before, parent, child = next(filter(all, calls), [lambda _: None] * 3)
    blocked = ctypes.create_string_buffer(128)  # a sigset_t
    before(blocked)
    pid = os.fork()
    (parent if pid else child)(blocked)
    return pid


def _become(
    requests: socket.socket,
    output: int,
    between: int,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    limits: tuple[int, int],
    parent: int,
) -> list[str]:
    from sysid_nodes.lifecycle.run import die_with_parent

    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    faulthandler.enable()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    while os.getppid() == between:  # the end of which makes this the test's child
        time.sleep(1e-3)
    die_with_parent(parent)
    requests.send(str(os.getpid()).encode())
    requests.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return arguments


def main() -> None:
    """Serve requests; in a fork, continue as the requested Python process."""
    arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments[:1] == ["-m"]:
        sys.argv, sys.path[0] = arguments[1:], os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif arguments:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
