# SPDX-License-Identifier: Apache-2.0
"""Nodes as child processes that end with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import yaml
from rich.console import Console

from sysid_core.errors import SysIdError
from sysid_core.files import write_text
from sysid_nodes.bringup.graph import NodeSpec
from sysid_nodes.client import LiveClient
from sysid_nodes.lifecycle import start_process
from sysid_nodes.runner import PATIENCE_S

Start = Callable[[list[str], IO[bytes], dict[str, str]], "subprocess.Popen[bytes]"]


class ProcessError(SysIdError):
    """Error of a node that did not start, or ended unexpectedly."""


def command_of(spec: NodeSpec, parameter_file: Path) -> list[str]:
    """Return the command line that starts a node."""
    arguments = [sys.executable, "-m", "sysid_nodes", spec.executable, "--ros-args"]
    arguments += ["-r", f"__node:={spec.name}"]
    if spec.namespace:
        arguments += ["-r", f"__ns:=/{spec.namespace.strip('/')}"]
    for source, target in spec.remappings.items():
        arguments += ["-r", f"{source}:={target}"]
    if spec.parameters:
        arguments += ["--params-file", str(parameter_file)]
    return arguments


def write_parameters(spec: NodeSpec, path: Path) -> None:
    """Write a ROS parameter file; empty lists are omitted, so that the node uses its default."""
    values: dict[str, Any] = {}
    for name, value in spec.parameters.items():
        plain = list(value) if isinstance(value, (tuple, list)) else value
        if plain != []:
            values[name] = plain
    write_text(path, yaml.safe_dump({"/**": {"ros__parameters": values}}))


class NodeProcesses:
    """Running nodes.

    Args:
        specs: Specifications of the nodes to start.
        log_directory: Folder for the output of each node, in `<name>.log`; if two nodes have the
            same name, the second one writes `<namespace>_<name>.log`.
        start: Function that starts a process, such as `start_process`.
    """

    def __init__(
        self,
        specs: Sequence[NodeSpec],
        log_directory: Path,
        start: Start = start_process,
    ) -> None:
        log_directory.mkdir(parents=True, exist_ok=True)
        self._scratch = tempfile.TemporaryDirectory(prefix="robot_sysid_")
        self.log_directory = log_directory
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for spec in specs:
            taken = spec.name in self.processes  # another robot's, in its own namespace
            name = f"{spec.namespace.replace('/', '_')}_{spec.name}" if taken else spec.name
            parameter_file = Path(self._scratch.name) / f"{name}.yaml"
            write_parameters(spec, parameter_file)
            with (log_directory / f"{name}.log").open("wb") as log:
                self.processes[name] = start(
                    command_of(spec, parameter_file), log, dict(os.environ)
                )

    def check(self) -> None:
        """Raise an error if a node has ended.

        Raises:
            ProcessError: A node has ended; the last lines of its output are in the message.
        """
        for name, process in self.processes.items():
            if process.poll() is not None:
                text = (self.log_directory / f"{name}.log").read_text(errors="replace")
                raise ProcessError(
                    f"The node '{name}' ended with status {process.returncode}:"
                    f" {' | '.join(text.strip().splitlines()[-3:])}",
                    remedy=f"Its complete output is in {self.log_directory / (name + '.log')}.",
                )

    def stop(self, timeout_s: float = 10.0) -> dict[str, int]:
        """Interrupt all nodes, wait for their end, then kill those that still run.

        Returns:
            Exit status per node.
        """
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        end = time.monotonic() + timeout_s
        for process in self.processes.values():
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._scratch.cleanup()
        return {name: process.returncode for name, process in self.processes.items()}


@contextlib.contextmanager
def running(
    specs: Sequence[NodeSpec], log_directory: Path, start: Start = start_process
) -> Iterator[NodeProcesses]:
    """Start nodes, and stop them at the end of the `with` block."""
    nodes = NodeProcesses(specs, log_directory, start)
    try:
        yield nodes
    finally:
        previous = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # a second Ctrl-C must not leave any
        try:
            nodes.stop()
        finally:
            signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def live(
    specs: Sequence[NodeSpec], out: Path, namespace: str, console: Console
) -> Iterator[tuple[NodeProcesses, LiveClient]]:
    """Provide nodes that run as processes, and their client, once all are active; their logs go to
    `out/logs`.
    """
    sim_time = any(spec.parameters.get("use_sim_time", False) for spec in specs)
    with (
        running(specs, out / "logs") as nodes,
        LiveClient.open(namespace, nodes.check, sim_time=sim_time) as client,
    ):
        client.say = lambda words: console.print(words, highlight=False)
        with console.status("Waiting for the nodes and the robot"):
            for spec in specs:
                client.wait_for_active(spec.name, PATIENCE_S)
        yield nodes, client
