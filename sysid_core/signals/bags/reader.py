"""Reading a recording out of a rosbag2 bag, without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.bags.storage import StoredBag, StoredTopic, open_bag
from sysid_core.signals.bags.types import message_decoder, stored_typestore
from sysid_core.signals.recording import (
    Array,
    EffortKind,
    JointStream,
    Mark,
    Recording,
    WrenchStream,
)
from sysid_core.signals.timing import in_order

JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
STRING = "std_msgs/msg/String"
MARK = "robot_sysid/msg/Mark"


def read_bag(
    path: str | Path,
    *,
    joint_topic: str | None = None,
    wrench_topic: str | None = None,
    joints: Sequence[str] | None = None,
    effort_kind: EffortKind | str | None = None,
) -> Recording:
    """Read joint states, wrenches, marks and the robot's description.

    Messages are put at their header's stamp; where drivers leave it zero, at the time they were
    received. Invalid and disordered samples are dropped and counted in `notes`. A bag that was
    cut off is read to its last whole chunk.

    Args:
        path: rosbag2 folder, or an .mcap or .db3 file.
        joint_topic: Topic of JointState messages; None: the bag's `joint_topic`, or the only one.
        wrench_topic: Topic of WrenchStamped messages; None: likewise, if there is any.
        joints: Joints to read, in this order; None: those that most messages have.
        effort_kind: What the efforts mean; None: what the bag's `effort_kind` says, else unknown.

    Raises:
        SignalError: No bag, no or several joint topics, joints that aren't in it.
    """
    bag = open_bag(path)
    notes = list(bag.damage)
    joint = _choose(bag, JOINT_STATE, joint_topic, "joint_topic")
    if joint is None:
        raise SignalError(
            f"'{path}' has no {JOINT_STATE} messages.",
            remedy=f"Record the robot's joint states; topics: {[t.name for t in bag.topics]}.",
        )
    wrench = _choose(bag, WRENCH_STAMPED, wrench_topic, "wrench_topic")
    joint_rows = _JointRows(tuple(joints) if joints else ())
    wrench_rows = _WrenchRows()
    marks: list[Mark] = []
    descriptions: list[str] = []
    takers: dict[str, Callable[[int, Any], None]] = {joint.name: joint_rows.take}
    if wrench is not None:
        takers[wrench.name] = wrench_rows.take
    for topic in bag.topics_of(STRING):
        if topic.name.endswith("/marks"):
            takers[topic.name] = lambda log_ns, msg: marks.append(Mark(log_ns, msg.data))
        elif topic.name.endswith("robot_description"):
            takers[topic.name] = lambda _, msg: descriptions.append(msg.data)
    for topic in bag.topics_of(MARK):
        takers[topic.name] = lambda _, msg: marks.append(Mark(_stamp_ns(msg.stamp), msg.label))
    decoders = {topic.name: _decoder(topic) for topic in bag.topics if topic.name in takers}
    broken = 0
    for message in bag.messages(takers):
        try:
            content = decoders[message.topic](message.data)
        except Exception:  # whatever a deserialiser makes of damaged bytes
            broken += 1
            continue
        takers[message.topic](message.log_ns, content)
    if broken:
        notes.append(f"{broken} messages couldn't be deserialised and were left out.")
    kind, kind_notes = _effort_kind(effort_kind, bag.custom_data)
    joint_stream, joint_notes = joint_rows.stream(joint.name, kind)
    notes += [*joint_notes, *(kind_notes if joint_stream.effort is not None else ())]
    wrench_stream = None
    if wrench is not None:
        wrench_stream, wrench_notes = wrench_rows.stream(wrench.name)
        notes += wrench_notes
    return Recording(
        joints=joint_stream,
        wrench=wrench_stream,
        marks=tuple(sorted(marks, key=lambda mark: mark.stamp_ns)),
        source=str(path),
        urdf_xml=descriptions[-1] if descriptions else "",
        notes=tuple(notes),
    )


def _choose(bag: StoredBag, type_name: str, wanted: str | None, key: str) -> StoredTopic | None:
    """The topic asked for, or named by the bag, or the only one of its type."""
    topics = {topic.name: topic for topic in bag.topics_of(type_name)}
    name = wanted or bag.custom_data.get(key)
    if name in topics:
        return topics[name]
    if wanted:
        raise SignalError(
            f"'{bag.path}' has no {type_name} messages on '{wanted}'.",
            remedy=f"Topics with such messages: {list(topics)}.",
        )
    if len(topics) > 1:
        raise SignalError(
            f"'{bag.path}' has several {type_name} topics: {list(topics)}.",
            remedy=f"Say which one with `{key}`.",
            topics=list(topics),
        )
    return next(iter(topics.values()), None)


def _decoder(topic: StoredTopic) -> Callable[[bytes], Any]:
    store = stored_typestore(topic.type, topic.definition, topic.encoding)
    return message_decoder(store, topic.type)


def _effort_kind(
    given: EffortKind | str | None, custom_data: dict[str, str]
) -> tuple[EffortKind, tuple[str, ...]]:
    recorded = custom_data.get("effort_kind")
    value = recorded if given is None else given
    if value is None:
        return EffortKind.UNKNOWN, ("Nothing says what `effort` means: declare `effort_kind`.",)
    try:
        kind = EffortKind(value)
    except ValueError as err:
        raise SignalError(
            f"'{value}' is not a kind of effort.",
            remedy=f"Choose one of {[kind.value for kind in EffortKind]}.",
        ) from err
    if given is not None and recorded not in (None, kind.value):
        return kind, (f"The bag says that effort is {recorded}; {kind.value} was declared.",)
    return kind, ()


def _stamp_ns(stamp: Any) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _stamps(header: list[int], log: list[int], what: str) -> tuple[list[int], tuple[str, ...]]:
    """Header stamps, or log times where the headers are empty."""
    if any(header):
        return header, ()
    return log, (f"{what}: headers carry no stamps; the time of reception stands for them.",)


class _JointSample(NamedTuple):
    names: tuple[str, ...]
    header_ns: int
    log_ns: int
    q: Array
    v: Array
    effort: Array


@dataclass
class _JointRows:
    """Joint states as they come, mapped by name."""

    names: tuple[str, ...] = ()
    samples: list[_JointSample] = field(default_factory=list)

    def take(self, log_ns: int, msg: Any) -> None:
        """Take in a JointState message."""
        stamp_ns = _stamp_ns(msg.header.stamp)
        self.samples.append(
            _JointSample(tuple(msg.name), stamp_ns, log_ns, msg.position, msg.velocity, msg.effort)
        )

    def stream(self, topic: str, kind: EffortKind) -> tuple[JointStream, tuple[str, ...]]:
        """The stream in order, and what there is to say about it."""
        seen = Counter(sample.names for sample in self.samples)
        # Where several drivers share a topic (arm and gripper), the more frequent one counts.
        named = [found for found in seen if found]
        names = self.names or max(named, key=lambda found: (seen[found], len(found)), default=())
        columns = {
            found: [found.index(name) for name in names]
            for found in seen
            if set(names) <= set(found)
        }
        used = [s for s in self.samples if s.names in columns and len(s.q) == len(s.names)]
        if not names or not used:
            raise SignalError(
                f"No message on '{topic}' has names and positions of all the joints {list(names)}.",
                remedy=f"Joints there: {sorted({name for found in seen for name in found})}.",
            )
        notes = []
        if len(used) < len(self.samples):
            notes.append(
                f"{topic}: {len(self.samples) - len(used)} messages lack some of the joints"
                f" {list(names)} or their positions and were left out."
            )
        arrays: dict[str, Any] = {"q": np.array([s.q[columns[s.names]] for s in used])}
        for key, what in (("v", "velocities"), ("effort", "efforts")):
            rows = [
                values[columns[s.names]] if len(values := getattr(s, key)) == len(s.names) else None
                for s in used
            ]
            arrays[key], note = _optional(rows, what)
            notes += [f"{topic}: {note}"] if note else []
        stamps, stamp_notes = _stamps([s.header_ns for s in used], [s.log_ns for s in used], topic)
        stream = JointStream(names, np.array(stamps), effort_kind=kind, **arrays)
        ordered, report = in_order(stream)
        if len(ordered) == 0:
            raise SignalError(
                f"Every sample on '{topic}' has NaN or infinite values.",
                remedy="Check the driver, or leave out joints that it knows nothing of (`joints`).",
            )
        return ordered, (*notes, *stamp_notes, *report.notes(topic))


def _optional(rows: list[Array | None], what: str) -> tuple[Array | None, str]:
    """An array of what may be missing, and why it is missing where it is so only in part."""
    missing = sum(row is None for row in rows)
    if missing == len(rows):
        return None, ""
    if missing:
        return None, f"{what} are missing in {missing} of {len(rows)} messages and were left out."
    values = np.array(rows)
    if not np.isfinite(values).all(axis=1).any():
        return None, f"{what} are NaN or infinite throughout and were left out."
    return values, ""


@dataclass
class _WrenchRows:
    """Wrenches as they come."""

    frames: dict[str, int] = field(default_factory=dict)
    header: list[int] = field(default_factory=list)
    log: list[int] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def take(self, log_ns: int, msg: Any) -> None:
        """Take in a WrenchStamped message."""
        frame, force, torque = msg.header.frame_id, msg.wrench.force, msg.wrench.torque
        self.frames[frame] = self.frames.get(frame, 0) + 1
        self.header.append(_stamp_ns(msg.header.stamp))
        self.log.append(log_ns)
        self.rows.append((force.x, force.y, force.z, torque.x, torque.y, torque.z))

    def stream(self, topic: str) -> tuple[WrenchStream, tuple[str, ...]]:
        """The stream in order, and what there is to say about it."""
        if len(self.frames) > 1:
            raise SignalError(
                f"Wrenches on '{topic}' come in several frames: {self.frames}.",
                remedy="Record each sensor on a topic of its own.",
            )
        stamps, notes = _stamps(self.header, self.log, topic)
        stream = WrenchStream(next(iter(self.frames), ""), np.array(stamps), np.array(self.rows))
        ordered, report = in_order(stream)
        return ordered, (*notes, *report.notes(topic))
