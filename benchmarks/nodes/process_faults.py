# SPDX-License-Identifier: Apache-2.0
"""Results of motions during which a node is killed, stopped, disconnected or out of disk space.

    python benchmarks/nodes/process_faults.py [--fault kill] [--node NAME] ...

All nodes run with an emulated UR driver in simulated time. In the middle of a motion that the
logger records, one of the nodes is killed (SIGKILL) and later started again, stopped for seconds
(SIGSTOP), or disconnected from the network (each process has its own network namespace, which needs
root), or the folder of all nodes is full. It prints the result of the motion, the ratio of the
robot's peak acceleration to its limit, the nodes that are not active afterwards, and, if the
executor was affected, the result of the next motion.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parents[2]
for folder in ("test", "test/drivers", "test/nodes", "test/nodes/drivers"):
    sys.path.insert(0, str(ROOT / folder))

VENDOR, BRIDGE, DISK_MB = "ur", "sysidbr", 16
FAULTS = ("kill", "stop", "network", "disk")
NODES = (
    *("trajectory_executor", "data_logger", "estimator"),
    *("payload_bridge", "runner", "explorer"),
)
# That a node is stopped or cut off, in simulated time; the driver's clock waits so long for an executor.
GONE_S, WAITS_S = 2.0, 3.0
GONE_GOAL_S = 30.0  # within which the motion of a killed executor is over
ACTIVE, PATIENCE_S = 3, 60.0  # lifecycle_msgs/State.PRIMARY_STATE_ACTIVE
DRIVER, ALL = "driver", "all"
MOVES = ("trajectory_executor", ALL)  # where the next motion is played, too


def sh(*words: str) -> None:
    """Run a command; raise an error if it fails."""
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def networks(names: list[str]) -> Iterator[None]:
    """Create a network namespace for each name, connected by one bridge, to which this process is
    connected as well.
    """
    with ExitStack() as stack:
        sh("ip", "link", "add", BRIDGE, "type", "bridge", "mcast_snooping", "0")
        stack.callback(sh, "ip", "link", "del", BRIDGE)
        sh("ip", "addr", "add", "10.77.0.1/24", "dev", BRIDGE)
        sh("ip", "link", "set", BRIDGE, "up", "multicast", "on")
        for k, name in enumerate(names):
            sh("ip", "netns", "add", name)
            stack.callback(sh, "ip", "netns", "del", name)
            sh("ip", "link", "add", f"sy{k}", "type", "veth", "peer", "name", "eth0", "netns", name)
            sh("ip", "link", "set", f"sy{k}", "master", BRIDGE, "up")
            inside = ("ip", "-n", name)
            sh(*inside, "addr", "add", f"10.77.0.{k + 2}/24", "dev", "eth0")
            sh(*inside, "link", "set", "eth0", "up")
            sh(*inside, "link", "set", "lo", "up")
            sh(*inside, "route", "add", "default", "dev", "eth0")  # for multicast
        yield


def specs() -> dict[str, Any]:
    """Return the nodes of a cell with a UR."""
    import emulated

    from sysid_nodes.bringup import NodeSpec

    topics, robot = emulated.remappings(VENDOR), {"robot": emulated.ROBOTS[VENDOR]}
    patient = {"stale_s": 0.5, "wrench_stale_s": 1.0, "max_step_s": 0.5}
    payload = {"sensor_frame": "tool0", "shape": "box 0.1 0.1 0.1"}
    vendor = {"service_type": "std_srvs/srv/Trigger", "service_name": "vendor/set_payload"}
    parameters: dict[str, dict[str, Any]] = {
        "trajectory_executor": emulated.executor_of(VENDOR, **patient),
        "data_logger": robot | {"effort_kind": "motor_current"},
        "estimator": robot | payload,
        "payload_bridge": vendor,
        "runner": {},
        "explorer": robot,
    }
    clock = {"use_sim_time": True}
    return {
        name: NodeSpec(name, name, parameters=values | clock, remappings=topics)
        for name, values in parameters.items()
    }


@dataclass
class Cell:
    """The processes of a cell, each in its network namespace."""

    folder: Path
    apart: bool
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, command: list[str]) -> None:
        """Start a process, or start it again; its output is kept."""
        inside = ["ip", "netns", "exec", name] if self.apart else []
        with (self.folder.parent / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*inside, *command], stdout=log, stderr=log, start_new_session=True
            )

    def launch(self, spec: Any) -> None:
        """Start a node."""
        from sysid_nodes.bringup.processes import command_of, write_parameters

        parameters = self.folder.parent / f"{spec.name}.yaml"
        write_parameters(spec, parameters)
        self.start(spec.name, command_of(spec, parameters))

    def tracebacks(self) -> str:
        """Return the logs that have a traceback."""
        logs = [p for p in self.folder.parent.glob("*.log") if "Traceback" in p.read_text()]
        return ", ".join(p.stem for p in logs)

    def end(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def inactive(client: Any, names: list[str]) -> list[str]:
    """Return the nodes that don't report that they are active."""
    from lifecycle_msgs.srv import GetState

    from sysid_nodes.client import LiveError

    out = []
    for name in names:
        try:
            answer = client.call(GetState, f"{name}/get_state", GetState.Request())
            if answer.current_state.id != ACTIVE:
                out.append(f"{name}: {answer.current_state.label}")
        except LiveError:
            out.append(f"{name}: no answer")
    return out


def one_case(fault: str, node: str, cell: Cell, client: Any, file: str) -> dict[str, str]:
    """Run a motion with a fault, and the next motion."""
    import emulated
    from busy_machine import pace
    from robot_sysid.srv import StartRecording, StopRecording

    from sysid_nodes.client import LiveError

    names = list(cell.processes)
    nodes, log = [n for n in names if n != DRIVER], cell.folder.parent / "truth.npz"
    with suppress(LiveError):
        client.call(StartRecording, "data_logger/start", StartRecording.Request())
    veth = f"sy{names.index(node)}" if node in names else ""
    filler = cell.folder / "filler"

    def end_of_fault() -> None:
        if fault == "stop":
            cell.processes[node].send_signal(signal.SIGCONT)
        elif fault == "network":
            sh("ip", "link", "set", veth, "up")

    later = threading.Timer((WAITS_S + GONE_S) / pace(), end_of_fault)

    def happen() -> None:
        if fault == "kill":
            os.killpg(cell.processes[node].pid, signal.SIGKILL)
        elif fault == "stop":
            os.killpg(cell.processes[node].pid, signal.SIGSTOP)
        elif fault == "network":
            sh("ip", "link", "set", veth, "down")
        else:
            with suppress(OSError), filler.open("wb") as full:
                while True:
                    full.write(bytes(4096))
        later.start()

    gone = node == "trajectory_executor" and fault == "kill"  # its goal has no result
    until = time.monotonic() + GONE_GOAL_S
    result, when = emulated.play(
        client, file, happen, 0.3, lambda: gone and time.monotonic() > until
    )
    if later.ident is None:
        return {"motion": f"ended before the fault: {'' if result is None else result.message}"}
    later.join()
    if fault == "stop":
        os.killpg(cell.processes[node].pid, signal.SIGCONT)
    filler.unlink(missing_ok=True)
    emulated.pause(client, 3.0)
    row = {"motion": "no answer" if result is None else result.message or result.final_state}
    truth = emulated.truth(client, log)
    row["peak"] = f"{truth.acceleration.max() / emulated.ACCELERATION:.2f}"
    row["stands"] = f"{truth.since(when).standstill[0]:.2f}" if when else "–"
    if fault == "kill" and node != DRIVER:
        cell.processes[node].wait()
        began = time.monotonic()
        spec = specs()[node].below(cell.folder)
        cell.launch(spec)
        client.wait_for_active(node, PATIENCE_S)
        row["again"] = f"active {time.monotonic() - began:.0f} s after its start"
    row["inactive"] = "; ".join(inactive(client, nodes)) or "none"
    with suppress(LiveError):
        client.call(StopRecording, "data_logger/stop", StopRecording.Request())
    if node in MOVES:
        answer, _ = emulated.play(client, file)
        row["next"] = "no answer" if answer is None else answer.message or answer.final_state
    row["tracebacks"] = cell.tracebacks() or "none"
    return row


def session(fault: str, nodes: list[str]) -> None:
    """Start a cell, and test one kind of fault with each of its nodes."""
    import emulated
    from busy_machine import patience

    from sysid_nodes.client import LiveClient, own_domain

    apart = fault == "network"
    all_of = specs()
    with ExitStack() as stack:
        here = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = here / "work"
        folder.mkdir()
        if fault == "disk":
            sh("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder))
            stack.callback(sh, "umount", "-l", str(folder))
        if apart:
            stack.enter_context(networks([*all_of, DRIVER]))
            over = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_DOMAIN_ID": "77"}
            os.environ |= over | {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
            os.environ.pop("FASTDDS_DEFAULT_PROFILES_FILE", None)
        else:
            os.environ.update(stack.enter_context(own_domain()))
        file = emulated.lively(VENDOR, folder / "motion.npz")
        cell = Cell(folder, apart)
        stack.callback(cell.end)
        for spec in all_of.values():
            cell.launch(spec.below(folder))
        log = here / "truth.npz"
        program = str(ROOT / "test" / "drivers" / "driver.py")
        command = [sys.executable, program, VENDOR, emulated.ROBOTS[VENDOR], str(log)]
        cell.start(DRIVER, [*command, str(emulated.pace())])
        client = stack.enter_context(LiveClient.open(""))
        client.patience = patience()
        for name in all_of:
            client.wait_for_active(name, PATIENCE_S)
        for node in nodes if fault != "disk" else [ALL]:
            try:
                row = one_case(fault, node, cell, client, file)
            except Exception as err:
                row = {"failed": f"{type(err).__name__}: {err}"}
            cells = "; ".join(f"{key}: {value}" for key, value in row.items())
            print(f"{fault} | {node} | {cells}", flush=True)


def main(fault: list[str] | None = None, node: list[str] | None = None) -> None:
    """Test kinds of faults with some nodes, or all with all."""
    from real_ros import with_driver_messages

    os.environ.update(with_driver_messages(dict(os.environ)))
    for one in fault or FAULTS:
        session(one, node or list(NODES))


if __name__ == "__main__":
    typer.run(main)
