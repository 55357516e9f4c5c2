# SPDX-License-Identifier: Apache-2.0
"""A driver, a payload bridge and a person at the keyboard, each a process or node of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from busy_machine import patience
from forked_python import Forked
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot_sysid.srv import ConfirmPayload, ProposePayload
from std_srvs.srv import Trigger

from sysid_core.controller_payload import ControllerPayload


class Bench:
    """A driver, a bridge and a person at the keyboard."""

    def __init__(self, environment: dict[str, str], folder: Path, domain: int) -> None:
        self.environment = environment | {"ROS_DOMAIN_ID": str(domain), "PYTHONFAULTHANDLER": "1"}
        self.folder = folder
        self.proposal = ""
        self.processes: list[subprocess.Popen[bytes]] = []
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("person", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.payload = self.node.create_publisher(InertiaStamped, "estimator/payload", latched)
        self.clients = {
            name: self.node.create_client(kind, f"payload_bridge/{name}")
            for name, kind in (
                ("set_parameters", SetParameters),
                ("confirm", ConfirmPayload),
                ("rollback", Trigger),
                ("propose", ProposePayload),
            )
        }

    def start(self, driver: str, **parameters: Any) -> None:
        """Start the driver and the bridge."""
        servers = Path(__file__).with_name("payload_servers.py")
        self._start("driver", [str(servers)], {"behaviour": driver})
        module = ["-m", "sysid_nodes", "payload_bridge"]
        self._start("bridge", module, {"robot": "ur5", "timeout_s": 3.0} | parameters)
        self.wait(
            lambda: "/xarm/set_tcp_load" in dict(self.node.get_service_names_and_types()),
            "the driver",
        )
        self._introduce()

    def _introduce(self) -> None:
        """Ask for a proposal until an answer arrives.

        A server drops its answer if it hasn't discovered the client yet. Announcements of one
        participant arrive in order: after an answer to the last client, the bridge knows all of
        them.
        """
        client, answers = self.clients["propose"], []
        self.wait(client.service_is_ready, "service propose")

        def answered() -> bool:
            answers.append(client.call_async(ProposePayload.Request()))
            self.executor.spin_until_future_complete(answers[-1], timeout_sec=2.0)
            return any(answer.done() for answer in answers)

        self.wait(answered, "the first answer")

    def _start(self, name: str, command: list[str], parameters: dict[str, Any]) -> None:
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
        with (self.folder / f"{name}.log").open("wb") as log:
            arguments = [sys.executable, *command, "--ros-args", "--params-file", str(file)]
            self.processes.append(Forked(arguments, log, self.environment))

    def wait(self, done: Callable[[], bool], what: str, timeout_s: float = 40.0) -> None:
        """Spin until something has happened."""
        end = time.monotonic() + timeout_s * patience()
        while not done():
            dead = [p.args for p in self.processes if p.poll() is not None]
            assert not dead and time.monotonic() < end, f"{what}: {dead}\n{self.log('bridge')}"
            self.executor.spin_once(timeout_sec=0.05)

    def call(self, name: str, request: Any) -> Any:
        """Call a service of the bridge."""
        client = self.clients[name]
        self.wait(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.wait(future.done, f"answer of {name}")
        return future.result()

    def ask(self, name: str) -> tuple[bool, str]:
        """Call a service of the bridge by name; `confirm` confirms the last proposal."""
        if name == "propose":
            answer = self.call(name, ProposePayload.Request())
            self.proposal = answer.proposal
        elif name == "confirm":
            answer = self.call(name, ConfirmPayload.Request(proposal=self.proposal))
        else:
            answer = self.call(name, Trigger.Request())
        return answer.success, answer.message

    def live(self) -> None:
        """Turn the dry run off."""
        value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
        request = SetParameters.Request(parameters=[Parameter(name="dry_run", value=value)])
        assert self.call("set_parameters", request).results[0].successful

    def estimate(self, pi: np.ndarray, frame: str = "wrist_3_link") -> None:
        """Publish what an estimator would, and wait until the bridge can have it."""
        what = ControllerPayload.from_pi(pi)
        message = InertiaStamped()
        message.header.frame_id = frame
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.inertia.m = what.mass
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = what.com
        for key, at in {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2)}.items():
            setattr(message.inertia, key, float(what.inertia[at]))
        for key, at in {"ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}.items():
            setattr(message.inertia, key, float(what.inertia[at]))
        self.payload.publish(message)
        self.wait(lambda: self.payload.get_subscription_count() > 0, "the bridge's subscription")

    def propose(self) -> str:
        """Propose, once the estimate has arrived."""
        answer: list[tuple[bool, str]] = []

        def arrived() -> bool:
            answer.append(self.ask("propose"))
            return "No payload has been estimated" not in answer[-1][1]

        self.wait(arrived, "the estimate to arrive")
        assert answer[-1][0], answer[-1][1]
        return answer[-1][1]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def requests(self) -> list[dict[str, Any]]:
        """Requests received by the driver."""
        return [json.loads(line) for line in self.log("driver").splitlines() if line[:1] == "{"]

    def close(self) -> list[int]:
        """Stop everything; exit codes. A process that doesn't end is aborted, so that its log says
        where it hangs.
        """
        for process in self.processes:
            process.terminate()
        codes = []
        for process in self.processes:
            try:
                codes.append(process.wait(timeout=20 * patience()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)
                codes.append(process.wait(timeout=20 * patience()))
        self.executor.remove_node(self.node)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        return codes
