# SPDX-License-Identifier: Apache-2.0
"""Reading of a recording from a rosbag2 bag, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sysid_core.errors import SignalError
from sysid_core.robot import StaticTransform
from sysid_core.signals.bags.columns import JointRows, WrenchRows
from sysid_core.signals.bags.layouts import (
    JOINT_STATE,
    WRENCH_STAMPED,
    message_decoder,
    stored_typestore,
)
from sysid_core.signals.bags.records import StoredTopic
from sysid_core.signals.bags.storage import StoredBag
from sysid_core.signals.recording import EffortKind, Mark, Recording

STRING = "std_msgs/msg/String"
MARK = "robot_sysid/msg/Mark"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
MOST_SAMPLES = 200_000  # of a stream in memory, seven minutes at 500 Hz: with 7 joints 36 MB


def namespace_of(topic: str) -> str:
    """Return the namespace of a topic; "" without namespace."""
    return topic.rpartition("/")[0]


class Texts:
    """Descriptions, static transforms and marks in a bag, for the robot whose joint states are
    read.

    If a bag contains several robots, the description in the namespace of the joint states is used,
    or that in the nearest namespace above.
    """

    def __init__(self, bag: StoredBag, joint_topic: str) -> None:
        self.marks: list[Mark] = []
        self.description = ""
        self.transforms: dict[str, StaticTransform] = {}  # by child
        self.notes: list[str] = []
        self.broken = 0
        strings, frames = bag.topics_of(STRING), bag.topics_of(TRANSFORMS)
        descriptions = [t for t in strings if t.name.endswith("robot_description")]
        transforms = [t for t in frames if t.name.endswith("tf_static")]
        marks = [*(t for t in strings if t.name.endswith("/marks")), *bag.topics_of(MARK)]
        self._used: dict[str, tuple[StoredTopic, Callable[[int, Any], None]]] = {}
        for what, topics, take in (
            ("descriptions", descriptions, self._describe),
            ("static transforms", transforms, self._fix),
            ("marks", marks, self._mark),
        ):
            mine = [
                t
                for t in topics
                if (namespace_of(joint_topic) + "/").startswith(namespace_of(t.name) + "/")
            ]
            nearest = max((len(namespace_of(t.name)) for t in mine), default=0)
            if len(topics) == 1:
                mine, nearest = topics, len(namespace_of(topics[0].name))
            used = [t for t in mine if len(namespace_of(t.name)) == nearest]
            others = [t.name for t in topics if t not in used]
            if others:
                self.notes.append(f"{what} on {others} belong to another robot and were omitted.")
            self._used |= {topic.name: (topic, take) for topic in used}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the topics with descriptions, transforms and marks."""
        return tuple(self._used)

    def takers(self) -> dict[str, Callable[[int, bytes], None]]:
        """Return the functions that process the messages of each topic."""

        def taker(topic: StoredTopic, take: Callable[[int, Any], None]) -> Any:
            store = stored_typestore(topic.type, topic.definition, topic.encoding)
            decode = message_decoder(store, topic.type)

            def take_bytes(log_ns: int, data: bytes) -> None:
                try:
                    take(log_ns, decode(data))
                except Exception:  # whatever a deserialiser makes of damaged bytes
                    self.broken += 1

            return take_bytes

        return {name: taker(*used) for name, used in self._used.items()}

    def _describe(self, log_ns: int, message: Any) -> None:
        self.description = message.data

    def _fix(self, log_ns: int, message: Any) -> None:
        found = (StaticTransform.of(stamped) for stamped in message.transforms)
        self.transforms |= {transform.child: transform for transform in found}

    def _mark(self, log_ns: int, message: Any) -> None:
        if hasattr(message, "label"):
            stamp = message.stamp
            self.marks.append(Mark(int(stamp.sec) * 10**9 + int(stamp.nanosec), message.label))
        else:
            self.marks.append(Mark(log_ns, message.data))


def read_marks(bag: StoredBag) -> tuple[Mark, ...]:
    """Return the marks of a bag in time order; they can be used to select a part of a long bag.

    Args:
        bag: Opened bag.

    Raises:
        SignalError: The bag has no joint topic, or several.
    """
    texts = Texts(bag, _joint_topic(bag, None).name)
    takers = texts.takers()
    for message in bag.messages(texts.names) if texts.names else ():
        takers[message.topic](message.log_ns, message.data)
    return tuple(sorted(texts.marks, key=lambda mark: mark.stamp_ns))


def read_bag(
    path: str | Path | StoredBag,
    *,
    joint_topic: str | None = None,
    wrench_topic: str | None = None,
    joints: Sequence[str] | None = None,
    effort_kind: EffortKind | str | None = None,
    window_ns: tuple[int, int] | None = None,
) -> Recording:
    """Read joint states, wrenches, marks and robot description from a bag.

    Messages have the stamp of their header, or the time of reception if the header's stamp is zero.
    Invalid and out-of-order samples are dropped and counted in `notes`. A truncated bag is read up
    to its last complete chunk.

    Args:
        path: rosbag2 folder, .mcap or .db3 file, or opened bag.
        joint_topic: Topic of JointState messages; None: the `joint_topic` stored in the bag, or the
            only such topic, or the topic whose data are republished on a slower topic.
        wrench_topic: Topic of WrenchStamped messages; None: chosen in the same way, if there is
            any; among several, the one in the namespace of the joint topic.
        joints: Joints to read, in this order; None: those contained in most messages.
        effort_kind: Kind of the efforts; None: the `effort_kind` stored in the bag, otherwise
            unknown.
        window_ns: First and last time of reception of the joint states and wrenches to read [ns];
            None: all.

    Raises:
        SignalError: There is no bag, the topic of the joint states is missing or ambiguous, or the
            bag lacks joints.
    """
    bag = path if isinstance(path, StoredBag) else StoredBag.open(path)
    notes = list(bag.damage)
    joint = _joint_topic(bag, joint_topic)
    wrench = _choose(bag, WRENCH_STAMPED, wrench_topic, "wrench_topic", namespace_of(joint.name))
    joint_columns = JointRows(tuple(joints) if joints else (), _thinning(joint, window_ns))
    wrench_columns = WrenchRows(_thinning(wrench, window_ns))
    texts = Texts(bag, joint.name)
    wanted = {joint.name, *texts.names, *([wrench.name] if wrench is not None else [])}
    takers = texts.takers()
    first, last = window_ns or (0, 2**63 - 1)
    for block in bag.blocks(wanted):
        for message in block.of_topics(takers):
            takers[message.topic](message.log_ns, message.data)
        inside = block.select((block.log_ns >= first) & (block.log_ns <= last))
        joint_columns.take(inside.of_topics((joint.name,)))
        if wrench is not None:
            wrench_columns.take(inside.of_topics((wrench.name,)))
    notes += texts.notes
    broken = joint_columns.broken + wrench_columns.broken + texts.broken
    if broken:
        notes.append(f"{broken} messages couldn't be deserialised and were omitted.")
    kind, kind_notes = _effort_kind(effort_kind, bag.custom_data)
    joint_stream, joint_notes = joint_columns.stream(joint.name, kind)
    notes += [*joint_notes, *(kind_notes if joint_stream.effort is not None else ())]
    wrench_stream = None
    if wrench is not None:
        wrench_stream, wrench_notes = wrench_columns.stream(wrench.name)
        notes += wrench_notes
    return Recording(
        joints=joint_stream,
        wrench=wrench_stream,
        marks=tuple(sorted(texts.marks, key=lambda mark: mark.stamp_ns)),
        source=str(bag.path),
        urdf_xml=texts.description,
        transforms=tuple(texts.transforms.values()),
        notes=tuple(notes),
        timing={"joints": joint_columns.timing}
        | ({} if wrench is None else {"wrench": wrench_columns.timing}),
    )


def _joint_topic(bag: StoredBag, wanted: str | None) -> StoredTopic:
    """Topic with the joint states of the robot."""
    source = wanted or bag.custom_data.get("joint_topic") or _source_of_merged(bag)
    joint = _choose(bag, JOINT_STATE, source, "joint_topic")
    if joint is None:
        raise SignalError(
            f"'{bag.path}' has no {JOINT_STATE} messages.",
            remedy=f"Record the robot's joint states; topics: {[t.name for t in bag.topics]}.",
        )
    return joint


def _source_of_merged(bag: StoredBag) -> str | None:
    """Topic of the driver, if a joint_state_publisher republishes its joint states at a lower rate
    on another topic.

    Both topics contain the same joints, and the rate of the driver's topic is at least twice as
    high: 100 Hz and 10 Hz for xArm, 1 kHz and 30 Hz for Franka. Two robots with the same joint
    names publish at the same rate; in this case the user has to choose the topic.
    """
    topics = sorted(bag.topics_of(JOINT_STATE), key=lambda topic: -topic.count)
    if len(topics) < 2 or topics[0].count < 2 * topics[1].count:
        return None
    names = [_joint_names(bag, topic.name) for topic in topics]
    return topics[0].name if all(names[0] & other for other in names[1:]) else None


def _joint_names(bag: StoredBag, topic: str) -> set[str]:
    """Names of the joints in the first messages of a topic."""
    columns = JointRows((), 1)
    block = next(iter(bag.blocks((topic,))), None)
    if block is None:
        return set()
    columns.take(block.of_topics((topic,)))
    return set(columns.stream(topic, EffortKind.UNKNOWN)[0].names)


def _choose(
    bag: StoredBag, type_name: str, wanted: str | None, key: str, beside: str | None = None
) -> StoredTopic | None:
    """The requested topic, the one stored in the bag, or the only one of its type (in a
    namespace).
    """
    topics = {topic.name: topic for topic in bag.topics_of(type_name)}
    name = wanted or bag.custom_data.get(key)
    if name in topics:
        return topics[name]
    if wanted:
        raise SignalError(
            f"'{bag.path}' has no {type_name} messages on '{wanted}'.",
            remedy=f"Topics with such messages: {list(topics)}.",
        )
    near = [topic for topic in topics.values() if namespace_of(topic.name) == beside]
    if len(topics) > 1 and len(near) == 1:
        return near[0]
    if len(topics) > 1:
        raise SignalError(
            f"'{bag.path}' has several {type_name} topics: {list(topics)}.",
            remedy=f"Select one with `{key}` (`--{key.replace('_', '-')}`).",
            topics=list(topics),
        )
    return next(iter(topics.values()), None)


def _thinning(topic: StoredTopic | None, window_ns: tuple[int, int] | None) -> int:
    """Number of consecutive samples to be averaged, so that memory is bounded."""
    if topic is None:
        return 1
    share = 1.0
    if window_ns is not None and topic.last_ns > topic.first_ns:
        share = min(1.0, (window_ns[1] - window_ns[0]) / (topic.last_ns - topic.first_ns))
    return max(1, -(-round(share * topic.count) // MOST_SAMPLES))


def _effort_kind(
    given: EffortKind | str | None, custom_data: dict[str, str]
) -> tuple[EffortKind, tuple[str, ...]]:
    recorded = custom_data.get("effort_kind")
    value = recorded if given is None else given
    if value is None:
        return EffortKind.UNKNOWN, ("The kind of `effort` is not declared: give `effort_kind`.",)
    try:
        kind = EffortKind(value)
    except ValueError as err:
        raise SignalError(
            f"'{value}' is not a kind of effort.",
            remedy=f"Choose one of {[kind.value for kind in EffortKind]}.",
        ) from err
    if given is not None and recorded not in (None, kind.value):
        return kind, (f"The kind of effort in the bag is {recorded}; {kind.value} was declared.",)
    return kind, ()
