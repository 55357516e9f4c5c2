# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy says what the running nodes do: every topic, service and action, nothing more."""

from __future__ import annotations

import contextlib
import os
import time
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from live_nodes import FRAME, Start, simulated
from rclpy.node import NodeNameNonExistentError

from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveError
from sysid_nodes.client.policy import (
    CALL,
    EXECUTE,
    PUBLISH,
    REPLY,
    REQUEST,
    SUBSCRIBE,
    policy_text,
    rights_of,
)

POLICY = Path(__file__).resolve().parents[2] / "config" / "security" / "policy.xml"


def read_policy(text: str) -> dict[str, dict]:
    """Access rights by node, from the text of a policy."""
    out: dict[str, dict] = {}
    for profile in ET.fromstring(text).iter("profile"):
        name = f"{profile.get('ns')}/{profile.get('node')}".strip("/")
        rights = out.setdefault(name, {})
        for group in profile:
            ((attribute, _),) = group.attrib.items()
            names = {f"/{str(entry.text).strip()}" for entry in group}
            rights.setdefault((group.tag, attribute), set()).update(names)
    return out


@pytest.mark.ros
@pytest.mark.slow
def test_the_policy_is_that_of_the_running_graph(start_nodes: Start, tmp_path: Path) -> None:
    loads = tmp_path / "parts.yaml"
    loads.write_text("parts: {part: {mass: 1, mass_sd: 0.1, com: [0, 0, 0], size: 0.1}}")
    specs = demo_graph(
        robot=simulated(),
        executor={"command_mode": "setpoint_stream"},
        estimator={"sensor_frame": FRAME, "shape": "box 0.1 0.1 0.1", "parts": str(loads)},
        controller={},
    )
    bridge = {"service_type": "std_srvs/srv/Trigger", "service_name": "vendor/set_payload"}
    specs = (
        *specs,
        NodeSpec("payload_bridge", "payload_bridge", parameters=bridge),
        NodeSpec("runner", "runner"),
        NodeSpec("explorer", "explorer", parameters={"robot": "xarm7"}),
    )
    client, _ = start_nodes(specs)
    for spec in specs:
        client.wait_for_active(spec.name, 60.0)
    names = [spec.name for spec in specs]

    def seen() -> dict:
        found = {name: rights_of(client.node, name) for name in names}
        if find_spec("tf2_msgs") is None:  # these listen to it where it is installed
            for name in ("data_logger", "estimator"):
                found[name].setdefault(SUBSCRIBE, set()).add("/tf_static")
        return found

    if os.environ.get("SYSID_WRITE_POLICY"):
        client.wait_until(
            lambda: "/wrench" in seen()["data_logger"].get(SUBSCRIBE, ()), 20.0, "wrench"
        )
        end = time.monotonic() + 5.0
        client.wait_until(lambda: time.monotonic() > end, 20.0, "the graph to settle")
        POLICY.write_text(policy_text(seen()), encoding="utf-8")
    allowed = read_policy(POLICY.read_text(encoding="utf-8"))
    # A simulator's time is allowed to all, and tf is listened to for moments.
    for rights in allowed.values():
        rights.get(SUBSCRIBE, set()).difference_update({"/clock", "/tf"})

    def differences() -> list[str]:
        now = seen()
        return [
            f"{name} {kind}: {sorted(now[name].get(kind, set()) ^ allowed.get(name, {}).get(kind, set()))}"
            for name in names
            for kind in now[name]
            if now[name].get(kind, set()) != allowed.get(name, {}).get(kind, set())
        ]

    with contextlib.suppress(LiveError):  # subscriptions wait for their publisher
        client.wait_until(lambda: not differences(), 20.0, "the graph to settle")
    assert not differences(), "SYSID_WRITE_POLICY=1 with this test writes the policy anew"


def test_who_moves_the_robot_changes_no_limits_and_a_monitor_only_listens() -> None:
    allowed = read_policy(POLICY.read_text(encoding="utf-8"))
    nodes = {
        name: r for name, r in allowed.items() if name not in ("operator", "engineer", "monitor")
    }
    served = set().union(*(r.get(REPLY, set()) for r in nodes.values()))
    executed = set().union(*(r.get(EXECUTE, set()) for r in nodes.values()))
    changes = {name for name in served if name.endswith(("set_parameters", "change_state"))}
    assert changes and changes <= allowed["engineer"][REQUEST]
    assert not changes & allowed["operator"][REQUEST] and CALL not in allowed["engineer"]
    assert not {name for name in allowed["engineer"][REQUEST] if name.endswith("/arm")}
    assert allowed["operator"][CALL] == executed >= {"/trajectory_executor/execute"}
    assert set(allowed["monitor"]) == {SUBSCRIBE, PUBLISH, REPLY}
    for who in ("operator", "engineer", "monitor"):  # else rclpy can make no node
        assert allowed[who][PUBLISH] == {"/rosout", "/parameter_events"}
        assert all(name.startswith(f"/{who}/") for name in allowed[who][REPLY])
    for name in ("estimator", "data_logger"):
        assert "/joint_trajectory" not in str(allowed[name])


def test_explorer_and_runner_may_call_what_they_need() -> None:
    allowed = read_policy(POLICY.read_text(encoding="utf-8"))
    for name in ("explorer", "runner"):
        assert "/trajectory_executor/execute" in allowed[name][CALL]
        assert "/trajectory_executor/arm" in allowed[name][REQUEST]
    assert "/estimator/identify" in allowed["runner"][CALL]


def test_nodes_of_a_namespace_get_a_policy_and_missing_ones_none() -> None:
    def publishes(node: str, namespace: str) -> list[tuple[str, list[str]]]:
        if (node, namespace) != ("estimator", "/left"):
            raise NodeNameNonExistentError
        return [("/left/estimator/payload", ["geometry_msgs/msg/InertiaStamped"])]

    observer: Any = SimpleNamespace(
        get_publisher_names_and_types_by_node=publishes,
        get_subscriber_names_and_types_by_node=lambda node, namespace: [],
        get_service_names_and_types_by_node=lambda node, namespace: [],
        get_client_names_and_types_by_node=lambda node, namespace: [],
    )
    assert not rights_of(observer, "estimator")
    found = rights_of(observer, "left/estimator")
    allowed = read_policy(policy_text({"left/estimator": found}))["left/estimator"]
    assert allowed[PUBLISH] == {"/left/estimator/payload"}
    assert allowed[SUBSCRIBE] == {"/clock", "/tf"}
