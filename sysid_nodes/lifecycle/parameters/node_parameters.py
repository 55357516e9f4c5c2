# SPDX-License-Identifier: Apache-2.0
"""Parameters of a running node, by their schema: declared, read, set."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from rclpy.node import Node

from sysid_nodes.lifecycle.parameters.schema import ParameterError, descriptor_of, plain, typed

Config = TypeVar("Config")


def value_to_set(schema: type, name: str, value: Any, *, configured: bool) -> Any:
    """A value that somebody sets on a node, checked.

    Raises:
        ParameterError: It doesn't fit, or the parameter is structural and the node configured.
    """
    (field,) = (f for f in dataclasses.fields(schema) if f.name == name)
    if configured and not field.metadata["live"]:
        raise ParameterError(
            f"Parameter '{name}' can't change while the node is configured.",
            remedy="Deactivate and clean up the node (ros2 lifecycle set), set it, configure again;"
            " or start the node with it.",
        )
    return typed(schema, name, value)


def declare(node: Node, schema: type) -> None:
    """Declare every field of the schema on a node, but those that it has already."""
    for field in dataclasses.fields(schema):
        if node.has_parameter(field.name):
            continue
        default = plain(field.default)
        default = list(default) if isinstance(default, tuple) else default
        if default == []:  # an empty list has no type of its own
            default = [0.0][:0] if "list of numbers" in field.metadata["description"] else [""][:0]
            descriptor = descriptor_of(field)
            descriptor.dynamic_typing = True
            node.declare_parameter(field.name, default, descriptor)
        else:
            node.declare_parameter(field.name, default, descriptor_of(field))


def read(node: Node, schema: type[Config]) -> Config:
    """The configuration as set now.

    Raises:
        ParameterError: A value doesn't fit its field.
    """
    return schema(
        **{
            field.name: typed(schema, field.name, node.get_parameter(field.name).value)
            for field in dataclasses.fields(schema)  # type: ignore[arg-type]
        }
    )
