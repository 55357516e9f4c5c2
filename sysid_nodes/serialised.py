"""The logger's streams as bytes: read and written without making ROS messages of every sample.

Bytes come from raw subscriptions and go to publishers and bags as they are. Readers and writers are
those with which the core reads bags, several times faster than rclpy's for these messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from sysid_core.signals.bags import build_typestore, message_decoder
from sysid_core.signals.filters import FilteredSample
from sysid_core.signals.wrench import FilteredWrench
from sysid_nodes.lifecycle import interface_definitions

JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/WrenchStamped"
_FILTERED_JOINTS = "robot_sysid/msg/FilteredJointState"
_FILTERED_WRENCH = "robot_sysid/msg/FilteredWrench"


class SerialisedStreams:
    """Reads joint states and wrenches, writes filtered ones.

    What is read has the fields of the ROS message, with arrays where that has sequences.
    """

    def __init__(self) -> None:
        self._store = build_typestore(interface_definitions())
        self._joint_state = message_decoder(self._store, JOINT_STATE)
        self._wrench_stamped = message_decoder(self._store, WRENCH)

    def joint_state(self, data: bytes) -> Any:
        """A `sensor_msgs/JointState`; SignalError where the bytes are none."""
        return self._joint_state(data)

    def wrench(self, data: bytes) -> Any:
        """A `geometry_msgs/WrenchStamped`; SignalError where the bytes are none."""
        return self._wrench_stamped(data)

    def filtered_joints(
        self, sample: FilteredSample, names: Sequence[str], effort_kind: str
    ) -> bytes:
        """A `robot_sysid/FilteredJointState` of an accepted sample."""
        none = sample.q[:0]
        message = self._store.types[_FILTERED_JOINTS](
            header=self._header(sample.stamp_ns or 0, ""),
            name=names,
            position=sample.q,
            velocity=sample.v,
            acceleration=sample.a,
            effort=none if sample.effort is None else sample.effort,
            position_sd=sample.q_sd,
            velocity_sd=sample.v_sd,
            acceleration_sd=sample.a_sd,
            effort_sd=none if sample.effort_sd is None else sample.effort_sd,
            effort_kind=effort_kind,
        )
        return bytes(self._store.serialize_cdr(message, _FILTERED_JOINTS))

    def filtered_wrench(
        self, sample: FilteredWrench, received: Any, stamp_ns: int, *, tared: bool
    ) -> bytes:
        """A `robot_sysid/FilteredWrench`: the wrench as received, filtered, and its bias."""
        message = self._store.types[_FILTERED_WRENCH](
            header=self._header(stamp_ns, received.header.frame_id),
            measured=received.wrench,
            wrench=self._wrench(sample.measured),
            wrench_sd=self._wrench(sample.measured_sd),
            bias=self._wrench(sample.bias),
            bias_sd=self._wrench(sample.bias_sd),
            tared=tared,
        )
        return bytes(self._store.serialize_cdr(message, _FILTERED_WRENCH))

    def _header(self, stamp_ns: int, frame: str) -> Any:
        types = self._store.types
        sec, nanosec = divmod(stamp_ns, 1_000_000_000)
        stamp = types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
        return types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    def _wrench(self, values: NDArray[Any]) -> Any:
        vector = self._store.types["geometry_msgs/msg/Vector3"]
        fx, fy, fz, tx, ty, tz = values.tolist()
        return self._store.types["geometry_msgs/msg/Wrench"](
            force=vector(fx, fy, fz), torque=vector(tx, ty, tz)
        )
