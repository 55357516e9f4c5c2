# SPDX-License-Identifier: Apache-2.0
"""A controller manager of ros2_control as a process, and a node that calls it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from busy_machine import patience
from controller_manager_msgs import srv as services
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, String

from sysid_nodes.client import own_domain

PREFIXES = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
MANAGER = next(
    (p for p in (x / "lib/controller_manager/ros2_control_node" for x in PREFIXES) if p.is_file()),
    None,
)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
KINDS = ("position", "velocity", "effort")


def has_plugins(kind: str, package: str) -> bool:
    """True if a package with plugins of `hardware_interface` or `controller_interface` is installed."""
    index = f"share/ament_index/resource_index/{kind}__pluginlib__plugin/{package}"
    return any((p / index).is_file() for p in PREFIXES)


def described(
    urdf: str, joints: Sequence[str], hardware: str, start: Iterable[float] | None = None
) -> str:
    """A robot's description with hardware of ros2_control, which stands at `start` or at zero."""
    interfaces = []
    for joint, q in zip(joints, [0.0] * len(joints) if start is None else start, strict=True):
        at = f'<param name="initial_value">{q!r}</param>'
        states = "".join(
            f'<state_interface name="{k}">{at if k == KINDS[0] else ""}</state_interface>'
            for k in KINDS
        )
        commands = "".join(f'<command_interface name="{k}"/>' for k in KINDS)
        interfaces.append(f'<joint name="{joint}">{commands}{states}</joint>')
    control = f"<hardware>{hardware}</hardware>{''.join(interfaces)}"
    return urdf.replace(
        "</robot>", f'<ros2_control name="h" type="system">{control}</ros2_control></robot>'
    )


class Manager:
    """A running controller manager and a node that calls it; `states` has times and (3, n) rows."""

    def __init__(self, process: subprocess.Popen[bytes], joints: Sequence[str]) -> None:
        self.process, self.joints = process, joints
        self.node = rclpy.create_node("user")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[tuple[float, np.ndarray]] = []
        self.said: dict[str, str] = {}
        self.node.create_subscription(JointState, "/joint_states", self._on_state, 1000)
        self.beating = False
        self.node.create_subscription(
            String, "/motion_guard/state", lambda m: self.said.update(guard=m.data), LATCHED
        )

    def _on_state(self, message: JointState) -> None:
        columns = [message.name.index(joint) for joint in self.joints]
        rows = [np.array(x)[columns] for x in (message.position, message.velocity, message.effort)]
        stamp = message.header.stamp
        self.states.append((stamp.sec + 1e-9 * stamp.nanosec, np.stack(rows)))

    def until(self, true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds * patience()
        while not true():
            assert time.monotonic() < end, f"never happened: {what}"
            self.executor.spin_once(timeout_sec=0.02)

    def beat(self, guard: str) -> None:
        """Send heartbeats to a guard, as long as `beating`."""
        self.beating, out = True, self.node.create_publisher(Empty, f"/{guard}/heartbeat", 1)
        self.node.create_timer(0.02, lambda: self.beating and out.publish(Empty()))

    def call(self, kind: Any, service: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, service)
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, service)
        return future.result()

    def switch(self, on: list[str] = (), off: list[str] = ()) -> bool:
        return bool(
            self.call(
                services.SwitchController,
                "/controller_manager/switch_controller",
                activate_controllers=on,
                deactivate_controllers=off,
                strictness=services.SwitchController.Request.STRICT,
            ).ok
        )

    def start(self, *names: str) -> None:
        for name in names:
            for kind in (services.LoadController, services.ConfigureController):
                verb = "load" if kind is services.LoadController else "configure"
                assert self.call(kind, f"/controller_manager/{verb}_controller", name=name).ok, name
            assert self.switch(on=[name]), name

    def publish(self, message: Any, topic: str) -> None:
        out = self.node.create_publisher(type(message), topic, LATCHED)
        self.until(lambda: out.get_subscription_count() > 0, f"somebody hears {topic}")
        out.publish(message)

    def jump(self, start: int, acceleration: Any, period: float) -> float:
        """Largest change of a velocity from state to state beyond what an acceleration allows
        [rad/s].

        Counted from state `start` on. The time between two states is taken one period longer, since
        the manager's periods and the differences of the stamps differ by up to one period.
        """
        t = np.array([when for when, _ in self.states[start:]])
        v = np.array([row[1] for _, row in self.states[start:]])
        allowed = np.array(acceleration) * (np.diff(t)[:, None] + period)
        return float((np.abs(np.diff(v, axis=0)) - allowed).max())

    @property
    def efforts(self) -> np.ndarray:
        seen = len(self.states)
        self.until(lambda: len(self.states) > seen + 2, "joint states")
        return self.states[-1][1][2]


@contextmanager
def managed(
    parameters: Mapping[str, Mapping[str, Any]],
    types: Mapping[str, str],
    description: str,
    joints: Sequence[str],
    folder: Path,
    rate_hz: int,
) -> Iterator[Manager]:
    """A manager in a domain of its own, whose joint states are published.

    Args:
        parameters: Parameters of the controllers, by name.
        types: Types of the controllers, by name.
        description: Description of the robot, with its hardware.
        joints: Names of the robot's joints.
        folder: Folder for its log and the file of parameters.
        rate_hz: Update rate of the manager [Hz].
    """
    file = folder / "controllers.yaml"
    types = {"joint_state_broadcaster": "joint_state_broadcaster/JointStateBroadcaster", **types}
    manager = {
        "update_rate": rate_hz,
        **{name: {"type": of, "params_file": [str(file)]} for name, of in types.items()},
    }
    nodes = {**parameters, "controller_manager": manager}
    file.write_text(json.dumps({k: {"ros__parameters": v} for k, v in nodes.items()}))
    before = dict(os.environ)
    with own_domain() as domain, (folder / "manager.log").open("w") as log:
        os.environ.update(domain)
        process = subprocess.Popen(
            [str(MANAGER), "--ros-args", "--params-file", str(file)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        rclpy.init()
        try:
            found = Manager(process, joints)
            found.publish(String(data=description), "/robot_description")
            found.start("joint_state_broadcaster")
            yield found
        finally:
            rclpy.shutdown()
            process.terminate()
            process.wait(timeout=30)
            os.environ.clear()
            os.environ.update(before)
            print((folder / "manager.log").read_text()[-4000:])
