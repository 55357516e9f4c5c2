# SPDX-License-Identifier: Apache-2.0
"""Messages and bags as drivers and the logger write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.testing import assert_array_equal

from sysid_core.signals import Recording
from sysid_core.signals.bags import (
    BagWriter,
    OfferedQos,
    build_typestore,
)

ROOT = Path(__file__).resolve().parents[3]
DEFINITIONS = {
    f"robot_sysid/msg/{file.stem}": file.read_text()
    for file in sorted((ROOT / "msg").glob("*.msg"))
}
STORE = build_typestore(DEFINITIONS)
T0 = 1_700_000_000_123_456_789
NAMES = ["shoulder", "elbow", "wrist"]
JOINTS, WRENCH, MARKS, URDF = "/joint_states", "/ft/wrench", "/logger/marks", "/robot_description"
JOINT_STATE, STRING = "sensor_msgs/msg/JointState", "std_msgs/msg/String"


def message(type_name: str, **fields: object) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[type_name](**fields), type_name))


def stamp(t_ns: int) -> object:
    seconds, nanoseconds = divmod(t_ns, 10**9)
    return STORE.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)


def header(t_ns: int, frame: str = "") -> object:
    return STORE.types["std_msgs/msg/Header"](stamp=stamp(t_ns), frame_id=frame)


def joint_state(
    t_ns: int,
    q: np.ndarray,
    names: list[str] = NAMES,
    v: np.ndarray | None = None,
    effort: np.ndarray | None = None,
) -> bytes:
    return message(
        JOINT_STATE,
        header=header(t_ns),
        name=names,
        position=np.asarray(q, dtype=float),
        velocity=np.zeros(0) if v is None else np.asarray(v, dtype=float),
        effort=np.zeros(0) if effort is None else np.asarray(effort, dtype=float),
    )


def wrench_stamped(t_ns: int, values: np.ndarray, frame: str = "ft") -> bytes:
    vector = STORE.types["geometry_msgs/msg/Vector3"]
    wrench = STORE.types["geometry_msgs/msg/Wrench"](
        force=vector(*values[:3]), torque=vector(*values[3:])
    )
    return message("geometry_msgs/msg/WrenchStamped", header=header(t_ns, frame), wrench=wrench)


def write(path: Path, count: int = 500, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """A bag as the logger writes it; returns the joint stamps and positions."""
    t = T0 + 2_000_000 * np.arange(count)
    q = np.sin(1e-2 * np.arange(count))[:, None] * [1.0, 2.0, 3.0]
    with BagWriter(path, definitions=DEFINITIONS, **options) as writer:
        writer.add_topic(JOINTS, JOINT_STATE, OfferedQos("best_effort", depth=10))
        writer.add_topic(WRENCH, "geometry_msgs/msg/WrenchStamped")
        writer.add_topic(MARKS, "robot_sysid/msg/Mark")
        writer.add_topic(URDF, STRING, OfferedQos(durability="transient_local", depth=1))
        writer.write(URDF, message(STRING, data="<robot name='arm'/>"), T0)
        for k in range(count):
            now = int(t[k])
            writer.write(JOINTS, joint_state(now, q[k], v=q[k] + 1, effort=q[k] + 2), now + 300_000)
            writer.write(WRENCH, wrench_stamped(now, np.arange(6.0) + k), now + 300_000)
            if k in (100, 200):
                label = f"mark {k}"
                mark = message("robot_sysid/msg/Mark", stamp=stamp(now), label=label)
                writer.write(MARKS, mark, now + 5_000_000)
    return t, q


def write_joints(path: Path, messages: list[bytes], **options: object) -> Path:
    with BagWriter(path, **options) as writer:
        writer.add_topic(JOINTS, JOINT_STATE)
        for k, data in enumerate(messages):
            writer.write(JOINTS, data, T0 + k)
    return path


def only_file(path: Path) -> Path:
    (file,) = path.glob("*.mcap")
    return file


def assert_same(a: Recording, b: Recording) -> None:
    for key in ("stamps_ns", "q", "v", "effort"):
        assert_array_equal(getattr(a.joints, key), getattr(b.joints, key))
    assert a.wrench is not None and b.wrench is not None
    assert_array_equal(a.wrench.wrench, b.wrench.wrench)
    assert (a.marks, a.urdf_xml, a.joints.effort_kind) == (
        b.marks,
        b.urdf_xml,
        b.joints.effort_kind,
    )
