# SPDX-License-Identifier: Apache-2.0
"""Panel that sets the payload in the robot's controller: dry run, proposal, confirmation, rollback."""

from __future__ import annotations

from typing import Any

from python_qt_binding.QtWidgets import QCheckBox, QLabel
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from robot_sysid.srv import ConfirmPayload, ProposePayload
from std_srvs.srv import Trigger

from sysid_monitor.graph_view import Snapshot, bridge_state
from sysid_rqt.panel import Panel, fill, rows_of, table

BRIDGE = "payload_bridge"


class SendPanel(Panel):
    """Panel that compares the proposed payload with that in the controller, and sends it."""

    title = "Send to robot"

    def build(self) -> None:
        """Create the comparison, the buttons, and the lock that prevents sending."""
        self.state = QLabel("no payload_bridge found")
        self.state.setWordWrap(True)
        self.comparison = table(
            ("quantity", "proposed", "controller has", "would change by", "unit")
        )
        self.comparison.setObjectName("comparison")
        self.confirm = self.button("send it to the controller", "confirm", self.on_confirm)
        self.confirm.setEnabled(False)
        buttons = (
            self.button("dry run", "dry_run", self.on_dry_run),
            self.button("propose", "propose", self.on_propose),
            self.confirm,
            self.button("roll back", "rollback", self.on_rollback),
        )
        self.allowed = QCheckBox("sending is allowed (dry_run is off)")
        self.allowed.setObjectName("allowed")
        self.allowed.clicked.connect(lambda *_: self.guarded("dry_run", self.on_allow))
        self.column.addWidget(self.state)
        self.column.addWidget(self.comparison)
        self.column.addLayout(rows_of(buttons, 2))
        self.column.addWidget(self.allowed)
        self._proposal = ""
        self._shown: Any = None

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the state of the payload bridge."""
        message = snapshot.bridge
        if message is None:
            return
        if message is not self._shown:
            self._shown = message
            self._ask_whether_allowed()
        self._proposal = message.proposal
        waits = message.state == message.PROPOSED
        self.confirm.setEnabled(waits and self.allowed.isChecked())
        self.state.setText(f"{bridge_state(message)}. {message.message}")
        has = message.controller if message.controller_known else None
        proposed = message.proposed if waits else None
        fill(
            self.comparison,
            [(name, *beside(read, proposed, has), unit) for name, read, unit in QUANTITIES],
        )

    def on_dry_run(self) -> None:
        """Compare the payload that would be sent with that in the controller; sending is locked
        first.
        """
        self._set_dry_run(True, then=lambda _: self.on_propose())

    def on_propose(self) -> None:
        """Request a proposal from the payload bridge; nothing is sent to the robot."""
        request = ProposePayload.Request()
        self.caller.call(ProposePayload, f"{self.prefix}{BRIDGE}/propose", request)

    def on_confirm(self) -> None:
        """Send the displayed proposal, identified by its id."""
        request = ConfirmPayload.Request(proposal=self._proposal)
        self.caller.call(ConfirmPayload, f"{self.prefix}{BRIDGE}/confirm", request)

    def on_rollback(self) -> None:
        """Send the previous payload of the controller."""
        self.caller.call(Trigger, f"{self.prefix}{BRIDGE}/rollback", Trigger.Request())

    def on_allow(self) -> None:
        """Lock or unlock sending: parameter `dry_run` of the payload bridge."""
        self._set_dry_run(not self.allowed.isChecked())

    def _set_dry_run(self, on: bool, then: Any = None) -> None:
        value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=on)
        request = SetParameters.Request(parameters=[Parameter(name="dry_run", value=value)])

        def answered(response: SetParameters.Response) -> None:
            result = response.results[0]
            self._ask_whether_allowed()
            if not result.successful:
                self.say(f"The bridge does not change dry_run: {result.reason}", False)
            elif then is not None:
                then(response)
            else:
                self.say(f"Sending is {'locked' if on else 'allowed'}.", True)

        name = f"{self.prefix}{BRIDGE}/set_parameters"
        self.allowed.setChecked(False)  # until the bridge says otherwise
        self.caller.call(SetParameters, name, request, answered)

    def _ask_whether_allowed(self) -> None:
        def show(response: GetParameters.Response) -> None:
            self.allowed.setChecked(bool(response.values) and not response.values[0].bool_value)

        name = f"{self.prefix}{BRIDGE}/get_parameters"
        self.caller.call(GetParameters, name, GetParameters.Request(names=["dry_run"]), show)


def beside(read: Any, proposed: Any, has: Any) -> tuple[str, str, str]:
    """Return the text row with a proposed value, the value in the controller, and their difference."""
    new = None if proposed is None else read(proposed)
    old = None if has is None else read(has)
    change = "–" if new is None or old is None else f"{new - old:+.3g}"
    return (
        "–" if new is None else f"{new:.5g}",
        "not known" if old is None else f"{old:.5g}",
        change,
    )


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
