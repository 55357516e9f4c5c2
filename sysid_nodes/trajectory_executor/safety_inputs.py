# SPDX-License-Identifier: Apache-2.0
"""Safety conditions during motion: message fields with their permitted values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind
from sysid_nodes.conversions import interface
from sysid_nodes.lifecycle import ParameterError

FORMAT = "'TOPIC TYPE FIELD in VALUE,VALUE [within SECONDS]'"
_VALUES = FileKind("list of allowed values", f"The form is {FORMAT}.", ParameterError)


@dataclass
class SafetyInput:
    """Safety condition on one field of one topic.

    Attributes:
        topic: Name of the topic.
        type_name: Message type, such as std_msgs/msg/Bool.
        path: Path of the field, with dots between levels.
        allowed: Values that let the robot move.
        max_age: Largest permitted age of the newest message [s]; infinite for topics that are
            published on change.
        seen: Last received value; None before the first.
        stamp: Arrival time, on the caller's clock [s].
    """

    topic: str
    type_name: str
    path: str
    allowed: tuple[Any, ...]
    max_age: float = float("inf")
    seen: Any = field(default=None, compare=False)
    stamp: float = field(default=float("-inf"), compare=False)

    @classmethod
    def parse(cls, text: str) -> SafetyInput:
        """Return the safety input from a line such as `/ur/safety_mode
        ur_dashboard_msgs/msg/SafetyMode mode in 1`.

        Raises:
            ParameterError: The text has another form.
        """
        words = text.split()
        within = len(words) == 7 and words[5] == "within"
        if not (len(words) == 5 or within) or words[3] != "in" or words[1].count("/") != 2:
            raise ParameterError(f"The safety input '{text}' is malformed.", remedy=FORMAT)
        allowed = tuple(_VALUES.parse_yaml(f"[{words[4]}]", text))
        age = float("inf")
        if within:
            try:
                age = float(words[6])
            except ValueError:
                age = -1.0
            if not 0.0 < age < float("inf"):
                raise ParameterError(f"'{words[6]}' isn't a number of seconds.", remedy=FORMAT)
        return cls(words[0], words[1], words[2], allowed, age)

    def take(self, message: Any, now: float) -> None:
        """Store a received message with its arrival time [s]."""
        value = message
        for name in self.path.split("."):
            if not hasattr(value, name):
                raise SysIdError(
                    f"{self.topic} has no field '{self.path}'.",
                    remedy=f"Correct safety_inputs: {FORMAT}.",
                )
            value = getattr(value, name)
        self.seen, self.stamp = value, now

    def problem(self, now: float) -> str:
        """Return the reason why the robot must not move; empty if it may."""
        what = f"{self.topic} {self.path}"
        if self.seen is None:
            return f"{what} has not arrived: check that the driver of the robot is running."
        if not now - self.stamp <= self.max_age:
            return f"stale safety state: the newest {what} is {now - self.stamp:.2f} s old"
        if self.seen not in self.allowed:
            one_of = ", ".join(
                str(x).lower() if isinstance(x, bool) else str(x) for x in self.allowed
            )
            said = str(self.seen).lower() if isinstance(self.seen, bool) else self.seen
            return f"{what} is {said}, not {one_of}"
        return ""


class SafetyInputs:
    """All safety conditions of a robot.

    Args:
        lines: Safety inputs, one per line, see `SafetyInput.parse`.
        enable_topic: Topic of a Bool that must be true; empty: none.
    """

    def __init__(self, lines: tuple[str, ...], enable_topic: str = "") -> None:
        self.inputs = [SafetyInput.parse(line) for line in lines]
        if enable_topic:
            self.inputs.append(SafetyInput(enable_topic, "std_msgs/msg/Bool", "data", (True,)))

    def problem(self, now: float) -> str:
        """Return the first reason why the robot must not move; empty if it may."""
        return next((words for item in self.inputs if (words := item.problem(now))), "")

    def listen(
        self,
        subscribe: Callable[[type, str, Callable[[Any], None]], None],
        now: Callable[[], float],
        forbidden: Callable[[str], None],
    ) -> None:
        """Subscribe to the topics of all conditions.

        Args:
            subscribe: Function that subscribes, called with type, topic and callback.
            now: Function that returns the current time [s].
            forbidden: Function that is called with the reason if a message forbids motion. The other
                inputs are not judged then: after a long check, their messages may still be waiting.
        """
        for item in self.inputs:

            def on_message(message: Any, item: SafetyInput = item) -> None:
                item.take(message, now())
                if words := item.problem(now()):
                    forbidden(words)

            subscribe(interface(item.type_name), item.topic, on_message)
