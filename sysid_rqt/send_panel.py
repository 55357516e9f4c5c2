# SPDX-License-Identifier: Apache-2.0
"""Sending the robot's controller what it holds: proposal, confirmation by its id, rollback."""

from __future__ import annotations

from typing import Any

from python_qt_binding.QtWidgets import QHBoxLayout, QLabel
from robot_sysid.srv import ConfirmPayload, ProposePayload
from std_srvs.srv import Trigger

from sysid_monitor.graph_view import Snapshot
from sysid_monitor.words import bridge_state
from sysid_rqt.panel import Panel, button, fill, table

BRIDGE = "payload_bridge"


class SendPanel(Panel):
    """Send to robot: what is proposed beside what the controller has."""

    title = "Send to robot"

    def build(self) -> None:
        """A comparison and three buttons."""
        self.state = QLabel("no payload_bridge is heard")
        self.state.setWordWrap(True)
        self.comparison = table(("quantity", "proposed", "controller has", "unit"))
        self.comparison.setObjectName("comparison")
        row = QHBoxLayout()
        self.confirm = button("send it to the controller", "confirm", self.on_confirm)
        self.confirm.setEnabled(False)
        for widget in (
            button("propose", "propose", self.on_propose),
            self.confirm,
            button("roll back", "rollback", self.on_rollback),
        ):
            row.addWidget(widget)
        self.column.addWidget(self.state)
        self.column.addWidget(self.comparison)
        self.column.addLayout(row)
        self._proposal = ""

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """The bridge's state."""
        message = snapshot.bridge
        if message is None:
            return
        self._proposal = message.proposal
        self.confirm.setEnabled(message.state == message.PROPOSED)
        self.state.setText(f"{bridge_state(message)}. {message.message}")
        has = message.controller if message.controller_known else None
        rows = []
        for name, read, unit in QUANTITIES:
            there = "not known" if has is None else f"{read(has):.5g}"
            rows.append((name, f"{read(message.proposed):.5g}", there, unit))
        fill(self.comparison, rows)

    def on_propose(self) -> None:
        """Ask the bridge for a proposal; nothing is sent."""
        request = ProposePayload.Request()
        self.caller.call(ProposePayload, f"{self.prefix}{BRIDGE}/propose", request)

    def on_confirm(self) -> None:
        """Send the proposal that is shown, by its id."""
        request = ConfirmPayload.Request(proposal=self._proposal)
        self.caller.call(ConfirmPayload, f"{self.prefix}{BRIDGE}/confirm", request)

    def on_rollback(self) -> None:
        """Send what the controller had before."""
        self.caller.call(Trigger, f"{self.prefix}{BRIDGE}/rollback", Trigger.Request())


def _component(path: str) -> Any:
    def read(inertia: Any) -> float:
        value = inertia
        for part in path.split("."):
            value = getattr(value, part)
        return float(value)

    return read


QUANTITIES = [
    (name, _component(path), unit)
    for name, path, unit in (
        ("mass", "m", "kg"),
        ("com x", "com.x", "m"),
        ("com y", "com.y", "m"),
        ("com z", "com.z", "m"),
        *((f"I{a}", f"i{a}", "kg m²") for a in ("xx", "xy", "xz", "yy", "yz", "zz")),
    )
]
