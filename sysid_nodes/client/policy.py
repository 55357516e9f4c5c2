# SPDX-License-Identifier: Apache-2.0
"""SROS2 policy of running nodes, which gives each node exactly the permissions that it uses.

Call `python -m sysid_nodes.client.policy [--seconds N] NODE... > policy.xml` (or `left/NODE` in the
namespace left) while the nodes run and work, because clients and subscriptions that nodes create on
demand are visible only then. The policy also has three enclaves for people: `operator` moves the
robot and records, `engineer` changes limits and states of the nodes but moves nothing, and `monitor`
only subscribes.
"""

from __future__ import annotations

import argparse
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from rclpy.node import Node, NodeNameNonExistentError

from sysid_nodes.client.live_client import LiveClient

_LOOK_S = 0.5
_ACTION, _DESCRIPTION = "/_action/", "robot_description"
# (kind of element, its attribute): who publishes, listens, serves and calls.
PUBLISH, SUBSCRIBE = ("topics", "publish"), ("topics", "subscribe")
REPLY, REQUEST = ("services", "reply"), ("services", "request")
EXECUTE, CALL = ("actions", "execute"), ("actions", "call")
Rights = dict[tuple[str, str], set[str]]


def rights_of(observer: Node, name: str) -> Rights:
    """Return the topics and services that a running node publishes, subscribes to, serves and
    calls; empty if the node is not found.

    Args:
        observer: Any node of the same graph.
        name: Name of the node, with its namespace.
    """
    namespace, node = _place(name)
    by_node = {
        PUBLISH: observer.get_publisher_names_and_types_by_node,
        SUBSCRIBE: observer.get_subscriber_names_and_types_by_node,
        REPLY: observer.get_service_names_and_types_by_node,
        REQUEST: observer.get_client_names_and_types_by_node,
    }
    rights: Rights = {kind: set() for kind in (*by_node, EXECUTE, CALL)}
    for kind, ask in by_node.items():
        try:
            seen = ask(node, namespace)
        except NodeNameNonExistentError:
            return {}
        for topic, _ in seen:
            action, hidden, _ = topic.partition(_ACTION)
            if not hidden:
                rights[kind].add(topic)
            elif kind in (REPLY, REQUEST):
                rights[EXECUTE if kind is REPLY else CALL].add(action)
    for topic in tuple(rights[SUBSCRIBE]):
        if topic.endswith(_DESCRIPTION):  # its first states show which joints are measured
            rights[SUBSCRIBE].add(topic.removesuffix(_DESCRIPTION) + "joint_states")
    return rights


def _place(name: str) -> tuple[str, str]:
    """Namespace and name of a node."""
    namespace, _, node = name.strip("/").rpartition("/")
    return f"/{namespace}", node


def united(first: Rights, second: Rights) -> Rights:
    """Return the union of the access rights observed at two times."""
    return {k: first.get(k, set()) | second.get(k, set()) for k in first.keys() | second.keys()}


# Services of every node that change its limits or state: who may move the robot may not call them.
_CHANGES = ("/set_parameters", "/set_parameters_atomically", "/change_state")
_ASKS = ("/get_parameters", "/describe_parameters", "/list_parameters", "/get_parameter_types", "/get_state",
         "/get_available_states")  # fmt: skip


def people(nodes: Mapping[str, Rights]) -> dict[str, Rights]:
    """Access rights of three roles: the operator moves the robot, the engineer changes limits, the
    monitor only reads.
    """

    def all_of(kind: tuple[str, str]) -> set[str]:
        return set().union(*(rights.get(kind, set()) for rights in nodes.values()))

    served = all_of(REPLY)
    changes, asks = ({n for n in served if n.endswith(ends)} for ends in (_CHANGES, _ASKS))
    # Raw streams and commands are for nodes; people see what the nodes make of them.
    calls: dict[str, Rights] = {
        "operator": {REQUEST: served - changes, CALL: all_of(EXECUTE)},
        "engineer": {REQUEST: changes | asks},
        "monitor": {},
    }
    return {who: {SUBSCRIBE: all_of(PUBLISH), **_own(who), **may} for who, may in calls.items()}


def _own(node: str) -> Rights:
    """Access rights that every rclpy node needs for its own services."""
    own = ("/get_parameters", "/set_parameters", "/set_parameters_atomically", "/list_parameters",
           "/describe_parameters", "/get_parameter_types", "/get_type_description")  # fmt: skip
    return {
        PUBLISH: {"/rosout", "/parameter_events"},
        REPLY: {f"/{node}{service}" for service in own},
    }


def policy_text(nodes: Mapping[str, Rights]) -> str:
    """Return the policy in the XML format of SROS2 (version 0.2.0)."""
    policy = ET.Element("policy", version="0.2.0")
    enclaves = ET.SubElement(policy, "enclaves")
    # A simulator's time for all: it is subscribed to with `use_sim_time` alone. `tf` is listened to for
    # moments, where the wrench's frame is no link.
    clocked = {
        name: united(
            rights,
            {SUBSCRIBE: {"/clock"} | ({"/tf"} if _place(name)[1] == "estimator" else set())},
        )
        for name, rights in nodes.items()
    }
    for name, rights in sorted({**clocked, **people(nodes)}.items()):
        enclave = ET.SubElement(enclaves, "enclave", path=f"/robot_sysid/{name}")
        namespace, node = _place(name)
        profiles = ET.SubElement(enclave, "profiles")
        profile = ET.SubElement(profiles, "profile", ns=namespace, node=node)
        for (kind, attribute), names in sorted(rights.items()):
            if names:
                group = ET.SubElement(profile, kind, {attribute: "ALLOW"})
                for topic in sorted(names):
                    ET.SubElement(group, kind.rstrip("s")).text = topic.lstrip("/")
    ET.indent(policy)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(policy, encoding="unicode")}\n'


def main(arguments: Sequence[str]) -> int:
    """Print the SROS2 policy that permits what the running nodes do within some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="+")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="duration of the observation [s], during which the robot should work as usual",
    )
    asked = parser.parse_args(arguments)
    seen: dict[str, Rights] = {name: {} for name in asked.nodes}
    with LiveClient.open() as client:
        end = time.monotonic() + max(asked.seconds, 3.0)  # discovery takes its time
        while time.monotonic() < end:
            look = time.monotonic() + _LOOK_S
            client.wait_until(lambda until=look: time.monotonic() > until, 10.0, "the graph")
            seen = {name: united(had, rights_of(client.node, name)) for name, had in seen.items()}
    missing = [name for name, rights in seen.items() if not rights]
    if missing:
        parser.error(f"not running: {', '.join(missing)}. Start all nodes first, and name them as in"
                     " `ros2 node list`.")  # fmt: skip
    print(policy_text(seen), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
