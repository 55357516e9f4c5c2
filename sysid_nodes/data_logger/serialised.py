# SPDX-License-Identifier: Apache-2.0
"""Serialised joint states and wrenches, read and written without creating a message object per
sample.

The bytes from raw subscriptions are sent to publishers and bags unchanged. The byte offsets of the
numbers are determined once for each driver (`Layout`); new messages are made by filling a template.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from ament_index_python.packages import get_package_share_directory
from numpy.typing import NDArray

from sysid_core.signals.bags import Layout, build_typestore
from sysid_core.signals.filters import FilteredSample
from sysid_core.signals.wrench import FilteredWrench
from sysid_nodes.conversions import columns_of, joint_arrays_from_message

JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/WrenchStamped"
_FILTERED_JOINTS = "robot_sysid/msg/FilteredJointState"
_FILTERED_WRENCH = "robot_sysid/msg/FilteredWrench"
_LAYOUTS = 8  # that a topic may have at once
Array = NDArray[Any]


class _Layouts:
    """Byte layouts of the messages on a topic, the latest first (arm and gripper may publish on the
    same topic).
    """

    def __init__(self, find: Callable[[bytes], Layout]) -> None:
        self._find = find
        self._known: list[Layout] = []

    def of(self, data: bytes) -> Layout:
        for layout in self._known:
            if layout.fits(data):
                return layout
        layout = self._find(data)
        self._known = [layout, *self._known[: _LAYOUTS - 1]]
        return layout


class JointStateReader:
    """Reader of serialised `sensor_msgs/JointState` messages, which gives arrays in the order of a
    robot's joints.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._layouts = _Layouts(Layout.of_joint_states)

        # Where the robot's joints stand in layouts that have them all; these are kept alive.
        self._columns: dict[int, tuple[Layout, NDArray[np.intp]]] = {}

    def layout(self, data: bytes) -> Layout:
        """Return the layout of the message with its joint names; SignalError if the bytes are
        invalid.
        """
        return self._layouts.of(data)

    def arrays(self, layout: Layout, data: bytes) -> tuple[Array, Array | None, Array | None]:
        """Return the positions, velocities and efforts, ordered by joint name; SignalError if a
        joint is missing.
        """
        known = self._columns.get(id(layout))
        if known is None:
            fields = {field: layout.values(data, field) for field in layout.fields}
            joint_arrays_from_message(SimpleNamespace(name=layout.names, **fields), self.names)
            if len(self._columns) >= _LAYOUTS:
                self._columns.clear()
            columns = columns_of(self.names, layout.names, "joint_states")
            known = self._columns[id(layout)] = layout, np.array(columns, dtype=np.intp)
        k = known[1]
        q = layout.values(data, "position")[k]
        v, effort = (
            layout.values(data, field)[k] if layout.fields[field][1] else None
            for field in ("velocity", "effort")
        )
        return q, v, effort


class WrenchReader:
    """Reader of serialised `geometry_msgs/WrenchStamped` messages."""

    def __init__(self) -> None:
        self._layouts = _Layouts(Layout.of_wrenches)

    def layout(self, data: bytes) -> Layout:
        """Return the layout of the fields in a message, with its `frame_id`; SignalError if the
        bytes are invalid.
        """
        return self._layouts.of(data)


class Template:
    """Serialised message of which only the stamp and some float64 fields change.

    Args:
        store: Store of the message types.
        type_name: Message type, such as `sensor_msgs/msg/JointState`.
        make: Function that creates the message from its fields.
        counts: Number of values of each field.
    """

    def __init__(
        self,
        store: Any,
        type_name: str,
        make: Callable[[Mapping[str, Array]], Any],
        counts: Mapping[str, int],
    ) -> None:
        begin = 1e6 * (1.0 + np.arange(len(counts)))
        marks = {f: b + np.arange(n) for (f, n), b in zip(counts.items(), begin, strict=True)}
        self._data = bytearray(store.serialize_cdr(make(marks), type_name))
        # A field without values has no place.
        at = {field: bytes(self._data).find(mark.tobytes()) for field, mark in marks.items()}
        self._views = {
            field: np.frombuffer(self._data, "<f8", n, at[field])
            for field, n in counts.items()
            if n
        }

    def fill(self, stamp_ns: int, **fields: Array) -> bytes:
        """Return the serialised message with the given stamp and values."""
        struct.pack_into("<iI", self._data, 4, *divmod(stamp_ns, 1_000_000_000))
        for field, view in self._views.items():
            view[:] = fields[field]
        return bytes(self._data)


class JointStateWriter:
    """Writer of filtered joint states, as messages of this package and as standard messages."""

    def __init__(
        self, store: Any, names: Sequence[str], effort_kind: str, with_effort: bool
    ) -> None:
        n, m = len(names), len(names) if with_effort else 0
        header = _header(store, "")
        state = store.types[_FILTERED_JOINTS]
        counts = dict.fromkeys(
            (
                "position",
                "velocity",
                "acceleration",
                "position_sd",
                "velocity_sd",
                "acceleration_sd",
            ),
            n,
        )
        self._rich = Template(
            store,
            _FILTERED_JOINTS,
            lambda f: state(header=header, name=list(names), effort_kind=effort_kind, **f),
            counts | {"effort": m, "effort_sd": m},
        )
        self._plain = Template(
            store,
            JOINT_STATE,
            lambda f: store.types[JOINT_STATE](header=header, name=list(names), **f),
            {"position": n, "velocity": n, "effort": m},
        )

    def rich(self, s: FilteredSample) -> bytes:
        """Return the serialised `robot_sysid/FilteredJointState` of an accepted sample."""
        fields = {"position": s.q, "velocity": s.v, "acceleration": s.a}
        spread = {"position_sd": s.q_sd, "velocity_sd": s.v_sd, "acceleration_sd": s.a_sd}
        efforts: dict[str, Any] = {"effort": s.effort, "effort_sd": s.effort_sd}
        return self._rich.fill(s.stamp_ns or 0, **fields, **spread, **efforts)

    def plain(self, s: FilteredSample) -> bytes:
        """Return the serialised `sensor_msgs/JointState` of the filtered state."""
        efforts: dict[str, Any] = {"effort": s.effort}
        return self._plain.fill(s.stamp_ns or 0, position=s.q, velocity=s.v, **efforts)


class WrenchWriter:
    """Writer of filtered wrenches in one sensor frame, as messages of this package and as standard
    messages.
    """

    def __init__(self, store: Any, frame: str, tared: bool) -> None:
        header = _header(store, frame)
        rich, plain = store.types[_FILTERED_WRENCH], store.types[WRENCH]
        fields = ("measured", "wrench", "wrench_sd", "bias", "bias_sd")
        self._rich = Template(
            store,
            _FILTERED_WRENCH,
            lambda f: rich(header=header, tared=tared, **{k: _wrench(store, f[k]) for k in fields}),
            dict.fromkeys(fields, 6),
        )
        self._plain = Template(
            store,
            WRENCH,
            lambda f: plain(header=header, wrench=_wrench(store, f["wrench"])),
            {"wrench": 6},
        )

    def rich(self, s: FilteredWrench, stamp_ns: int, measured: Array) -> bytes:
        """Return the serialised `robot_sysid/FilteredWrench`: the wrench as received, the filtered
        wrench, and the bias.
        """
        return self._rich.fill(
            stamp_ns,
            measured=measured,
            wrench=s.measured,
            wrench_sd=s.measured_sd,
            bias=s.bias,
            bias_sd=s.bias_sd,
        )

    def plain(self, s: FilteredWrench, stamp_ns: int) -> bytes:
        """Return the serialised `geometry_msgs/WrenchStamped` of the filtered wrench without bias."""
        return self._plain.fill(stamp_ns, wrench=s.wrench)


def interface_definitions() -> dict[str, str]:
    """Message definitions of this package by type name, to be stored in bags."""
    files = sorted((Path(get_package_share_directory("robot_sysid")) / "msg").glob("*.msg"))
    return {f"robot_sysid/msg/{file.stem}": file.read_text(encoding="utf-8") for file in files}


@cache
def message_types() -> Any:
    """Message types of the data logger's streams, for the bag writer."""
    return build_typestore(interface_definitions())


def _header(store: Any, frame: str) -> Any:
    stamp = store.types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    return store.types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)


def _wrench(store: Any, values: Array) -> Any:
    vector = store.types["geometry_msgs/msg/Vector3"]
    fx, fy, fz, tx, ty, tz = values.tolist()
    return store.types["geometry_msgs/msg/Wrench"](
        force=vector(fx, fy, fz), torque=vector(tx, ty, tz)
    )
