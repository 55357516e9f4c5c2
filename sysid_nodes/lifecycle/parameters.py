# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node as a frozen dataclass that defines names, types, ranges and descriptions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from sysid_core.errors import SysIdError

_ELEMENTS: dict[str, type] = {"tuple[float, ...]": float, "tuple[str, ...]": str}


class ParameterError(SysIdError):
    """Error of a ROS parameter with an invalid value."""


def parameter(
    default: Any,
    description: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    live: bool = False,
) -> Any:
    """Create a field of a node's configuration dataclass.

    Args:
        default: Default value; lists are given as tuples, kinds as an Enum.
        description: Description of the parameter with its unit.
        minimum: Smallest value allowed.
        maximum: Largest value allowed.
        choices: Allowed words of a text parameter; for an Enum, its values.
        live: True if a change takes effect immediately; False: changes are refused while the node
            is configured.
    """
    if isinstance(default, Enum):
        choices = tuple(kind.value for kind in type(default))
    return dataclasses.field(
        default=default,
        metadata={
            "description": description,
            "minimum": minimum,
            "maximum": maximum,
            "choices": choices,
            "live": live,
        },
    )


def descriptor_of(field: dataclasses.Field[Any]) -> ParameterDescriptor:
    """Return the descriptor shown by `ros2 param describe`."""
    meta = field.metadata
    text = meta["description"]
    if meta["choices"]:
        text += f" One of: {', '.join(meta['choices'])}."
    if not meta["live"]:
        text += " Read-only while the node is configured."
    out = ParameterDescriptor(name=field.name, description=text)
    low, high = meta["minimum"], meta["maximum"]
    if low is not None or high is not None:
        if isinstance(field.default, float):
            out.floating_point_range = [
                FloatingPointRange(
                    from_value=float("-inf") if low is None else float(low),
                    to_value=float("inf") if high is None else float(high),
                )
            ]
        elif isinstance(field.default, int) and not isinstance(field.default, bool):
            out.integer_range = [
                IntegerRange(
                    from_value=-(2**62) if low is None else int(low),
                    to_value=2**62 if high is None else int(high),
                )
            ]
    return out


def plain(value: Any) -> Any:
    """Return the value of a parameter in a form that ROS accepts: the text of an Enum member."""
    return value.value if isinstance(value, Enum) else value


def check(schema: type, name: str, value: Any) -> Any:
    """Check a value against the type, range and choices of its field.

    Returns:
        The value, with lists converted to tuples, and integers to floats where the field is a
        float.

    Raises:
        ParameterError: The value has the wrong type, is out of range, or is not one of the choices.
    """
    fields = {f.name: f for f in dataclasses.fields(schema)}
    if name not in fields:
        raise ParameterError(
            f"Unknown parameter '{name}'.", remedy=f"Parameters: {', '.join(sorted(fields))}."
        )
    default, meta = plain(fields[name].default), fields[name].metadata
    given = value = plain(value)
    meant = f"the type of {default!r}"
    if isinstance(default, tuple):
        several = isinstance(value, Sequence) and not isinstance(value, str)
        value = tuple(value) if several else (None,)
        kind = _ELEMENTS.get(str(fields[name].type))
        meant = "a list" if kind is None else f"a list of {kind.__name__}"
        if kind is float:
            value = tuple(float(x) if isinstance(x, int) else x for x in value)
        bad = kind is not None and any(type(x) is not kind for x in value)
    else:
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        bad = type(value) is not type(default)
    if bad:
        raise ParameterError(
            f"Parameter '{name}' is {given!r}, expected {meant}.",
            remedy=meta["description"],
        )
    if meta["choices"] and value not in meta["choices"]:
        raise ParameterError(
            f"The value '{value}' of parameter '{name}' is invalid.",
            remedy=f"Choose one of: {', '.join(meta['choices'])}.",
        )
    low, high = meta["minimum"], meta["maximum"]
    for x in value if isinstance(value, tuple) else (value,):
        if isinstance(x, float) and not math.isfinite(x):
            raise ParameterError(
                f"The value {x} of parameter '{name}' is not finite.",
                remedy="Give a finite number.",
            )
        if (low is not None and x < low) or (high is not None and x > high):
            raise ParameterError(
                f"The value {x} of parameter '{name}' is outside its range {low} … {high}.",
                remedy=meta["description"],
            )
    return value


def typed(schema: type, name: str, value: Any) -> Any:
    """Return the checked value of a parameter, as an Enum member where the field requires one.

    Raises:
        ParameterError: The value has the wrong type, is out of range, or is not one of the choices.
    """
    (field,) = (f for f in dataclasses.fields(schema) if f.name == name)
    default = field.default
    checked = check(schema, name, [] if value is None and isinstance(default, tuple) else value)
    return type(default)(checked) if isinstance(default, Enum) else checked


@dataclass(frozen=True)
class CommonConfig:
    """Parameters common to all nodes: base class of their configurations."""

    autostart: bool = parameter(
        True, "Configure and activate automatically; false for a lifecycle manager."
    )
    use_sim_time: bool = parameter(False, "Take the time from /clock.", live=True)
    robot: str = parameter(
        "", "URDF file, or a robot of example-robot-data; empty: wait for robot_description."
    )
    joints: tuple[str, ...] = parameter(
        (),
        "Joints of the description that move, as names or patterns such as fr3_joint*; empty: those in"
        " joint_states. All others are locked.",
    )
    lock: tuple[str, ...] = parameter(
        (),
        "Further joints that are locked, JOINT or JOINT=POSITION (rad or m); without a position, that of the state or the description."
        "",
    )
    mount: tuple[float, ...] = parameter(
        (),
        "Mounting of the base in the world, if it differs from the description: roll, pitch, yaw"
        " [rad]; list of numbers, 3 or none.",
    )


Config = TypeVar("Config")


def value_to_set(schema: type, name: str, value: Any, *, configured: bool) -> Any:
    """Return the checked value of a parameter that a client wants to set.

    Raises:
        ParameterError: The value is invalid, or the parameter cannot be changed while the node is
            configured.
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
    """Declare every field of a configuration as a parameter of a node, except existing ones."""
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
    """Return the configuration with the current parameters of a node.

    Raises:
        ParameterError: A value has the wrong type, or is out of range.
    """
    return schema(
        **{
            field.name: typed(schema, field.name, node.get_parameter(field.name).value)
            for field in dataclasses.fields(schema)  # type: ignore[arg-type]
        }
    )
