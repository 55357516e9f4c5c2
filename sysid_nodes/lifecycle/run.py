# SPDX-License-Identifier: Apache-2.0
"""Process of one node, which ends on a signal or with its parent process."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode


_PR_SET_PDEATHSIG = 1
_ENDING_S = 10.0  # that ROS may take to give back what it holds


def die_with_parent(parent: int) -> None:
    """Make this child process terminate when its parent ends for any reason.

    A signal that arrives before Python installs its handlers also ends a process; an interrupt may
    be lost in the middle of an import. A parent that was started in the background of a script
    ignores SIGINT, and child processes inherit this.

    Args:
        parent: Parent process; it may have ended after the fork, before its end could be detected.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)


def start_process(
    command: Sequence[str],
    stdout: IO[bytes],
    env: Mapping[str, str] | None = None,
    stderr: int | IO[bytes] = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a child process that ends with this one, even if this one is killed."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C reaches this process, which stops its children in order
        preexec_fn=partial(die_with_parent, os.getpid()),
        env=env,
    )


@contextlib.contextmanager
def stop_flag() -> Iterator[Callable[[], bool]]:
    """Provide a function that returns True once SIGINT or SIGTERM was received; in this context the
    signals have no other effect.

    A handler that shuts down rclpy's context, as the handlers of rclpy do, would invalidate handles
    while they are in use.
    """
    stop = False

    def set_flag(number: int, frame: object) -> None:
        nonlocal stop
        stop = True

    before = {s: signal.signal(s, set_flag) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _executor() -> Any:
    """Events executor of rclpy, which needs a third of the processor time of the default executor;
    only `spin_once` is used, because `spin` hangs.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:  # before ROS 2 Jazzy
        return SingleThreadedExecutor()
    return EventsExecutor()


def class_of(node: str, kind: str) -> Any:
    """Return a class of a node, such as DataLoggerNode in `data_logger/node.py`, or the class of
    its parameters, such as DataLoggerConfig in `data_logger/config.py`.

    Args:
        node: Name of the package and executable, such as data_logger.
        kind: "Node" or "Config".
    """
    module = importlib.import_module(f"sysid_nodes.{node}.{kind.lower()}")
    return getattr(module, node.title().replace("_", "") + kind)


def run_node(node_class: type[ManagedNode]) -> int:
    """Run one node until a stop is requested; open files are closed on any signal.

    If the process does not end within ten seconds after the node's clean-up, it is ended with exit
    status 1.

    Returns:
        Exit status: 0 after an orderly end.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    with stop_flag() as stopped:
        node = node_class()
        executor = _executor()
        executor.add_node(node)
        try:
            while rclpy.ok() and not stopped():
                executor.spin_once(timeout_sec=0.1)
            while rclpy.ok() and node.winding_down():
                executor.spin_once(timeout_sec=0.05)
        except ExternalShutdownException:
            pass
        finally:  # another signal doesn't interrupt the closing of files
            try:
                node.clean_up()
            finally:
                # Fast DDS 3.2 now and then spins for ever in `set_listener` of its participant, with
                # Python's lock, when another one leaves meanwhile: this ends the process all the same.
                faulthandler.dump_traceback_later(_ENDING_S, exit=True)
                node.destroy_node()
                rclpy.try_shutdown()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return 0
