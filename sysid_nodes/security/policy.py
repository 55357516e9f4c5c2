# SPDX-License-Identifier: Apache-2.0
"""SROS2 policy of a running graph: each node gets exactly the permissions that it uses.

`python -m sysid_nodes.client.policy NODE... > config/security/policy.xml` while the nodes run. Besides the
nodes there are two enclaves for people: `operator` may command, `monitor` may only listen.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

from rclpy.node import Node

_ACTION, _DESCRIPTION = "/_action/", "robot_description"
# (kind of element, its attribute): who publishes, listens, serves and calls.
PUBLISH, SUBSCRIBE = ("topics", "publish"), ("topics", "subscribe")
REPLY, REQUEST = ("services", "reply"), ("services", "request")
EXECUTE, CALL = ("actions", "execute"), ("actions", "call")
Rights = dict[tuple[str, str], set[str]]


def rights_of(observer: Node, name: str, namespace: str = "/") -> Rights:
    """Topics and services that a running node publishes, subscribes to, serves and calls.

    Args:
        observer: Any node of the same graph.
        name: Name of the node.
        namespace: Namespace of the node.
    """
    by_node = {
        PUBLISH: observer.get_publisher_names_and_types_by_node,
        SUBSCRIBE: observer.get_subscriber_names_and_types_by_node,
        REPLY: observer.get_service_names_and_types_by_node,
        REQUEST: observer.get_client_names_and_types_by_node,
    }
    rights: Rights = {kind: set() for kind in (*by_node, EXECUTE, CALL)}
    for kind, ask in by_node.items():
        for topic, _ in ask(name, namespace):
            action, hidden, _ = topic.partition(_ACTION)
            if not hidden:
                rights[kind].add(topic)
            elif kind in (REPLY, REQUEST):
                rights[EXECUTE if kind is REPLY else CALL].add(action)
    for topic in tuple(rights[SUBSCRIBE]):
        if topic.endswith(_DESCRIPTION):  # its first states show which joints are measured
            rights[SUBSCRIBE].add(topic.removesuffix(_DESCRIPTION) + "joint_states")
    return rights


def people(nodes: Mapping[str, Rights]) -> dict[str, Rights]:
    """Access rights of an operator, who commands, and a monitor, who only listens."""

    def all_of(kind: tuple[str, str]) -> set[str]:
        return set().union(*(rights[kind] for rights in nodes.values()))

    # Raw streams and commands are for nodes; people see what the nodes make of them.
    listen: Rights = {SUBSCRIBE: all_of(PUBLISH)}
    return {
        "operator": {**listen, REQUEST: all_of(REPLY), CALL: all_of(EXECUTE)},
        "monitor": listen,
    }


def policy_text(nodes: Mapping[str, Rights]) -> str:
    """The policy as SROS2 reads it (version 0.2.0)."""
    policy = ET.Element("policy", version="0.2.0")
    enclaves = ET.SubElement(policy, "enclaves")
    for name, rights in sorted({**nodes, **people(nodes)}.items()):
        enclave = ET.SubElement(enclaves, "enclave", path=f"/robot_sysid/{name}")
        profile = ET.SubElement(ET.SubElement(enclave, "profiles"), "profile", ns="/", node=name)
        for (kind, attribute), names in rights.items():
            if names:
                group = ET.SubElement(profile, kind, {attribute: "ALLOW"})
                for topic in sorted(names):
                    ET.SubElement(group, kind.rstrip("s")).text = topic.lstrip("/")
    ET.indent(policy)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(policy, encoding="unicode")}\n'


def read_policy(text: str) -> dict[str, Rights]:
    """Rights by node, of a policy's text."""
    out: dict[str, Rights] = {}
    for profile in ET.fromstring(text).iter("profile"):
        rights = out.setdefault(str(profile.get("node")), {})
        for group in profile:
            ((attribute, _),) = group.attrib.items()
            names = {f"/{str(entry.text).strip()}" for entry in group}
            rights.setdefault((group.tag, attribute), set()).update(names)
    return out
