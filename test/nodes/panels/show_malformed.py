# SPDX-License-Identifier: Apache-2.0
"""Gives the panels messages that no node of ours sends, and prints what they show as JSON."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import Any

from panel_stage import stage
from python_qt_binding.QtCore import QObject
from python_qt_binding.QtWidgets import QApplication, QPushButton
from rich.console import Console
from robot_sysid.msg import ExecutorState, InertialEstimate, PayloadBridgeState, PayloadEstimate

from sysid_monitor.watch import page
from sysid_rqt.estimate_panel import EstimatePanel
from sysid_rqt.robot_panel import RobotPanel
from sysid_rqt.send_panel import SendPanel


def arm(**fields: Any) -> InertialEstimate:
    good = {"names": ["a.m", "a.mx"], "values": [1.0, 2.0], "units": ["kg", "kg m"],
            "covariance": [1.0, 0.0, 0.0, 1.0], "verdicts": [0, 0], "robot": "arm"}  # fmt: skip
    return InertialEstimate(**(good | fields))


def payload(verdicts: list[int]) -> PayloadEstimate:
    message = PayloadEstimate(verdicts=verdicts)
    message.inertia.m = 1.3
    return message


with stage() as on:
    panels = RobotPanel(on.node), EstimatePanel(on.node), SendPanel(on.node)
    robot, estimate, send = panels
    for panel in panels:
        panel.show()
    out: dict[str, Any] = {"width": sum(p.minimumSizeHint().width() for p in panels), "shown": {}}

    def shown(panel: Any) -> str:
        panel._tick()
        QApplication.processEvents()
        return str(panel.trouble.text())

    bad = {
        "covariance": arm(covariance=[1.0]),
        "few verdicts": arm(verdicts=[0]),
        "verdict 200": arm(verdicts=[200, 0]),
    }
    for name, message in bad.items():
        estimate.view._latest["parameters"] = message
        estimate.view._on_payload(payload([0] * 10))
        out["shown"][name] = shown(estimate)
        out["payload beside it"] = estimate.payload.item(0, 1).text()
    estimate.view._latest["parameters"] = arm()
    for verdicts in ([], [9] * 10):
        estimate.view._on_payload(payload(verdicts))
        out["shown"][f"payload {len(verdicts)}"] = shown(estimate)
    out["arm beside it"] = estimate.arm.item(0, 1).text()
    estimate.view._on_payload(payload([0] * 10))
    out["after good ones"] = shown(estimate)
    send.view._latest["bridge"] = PayloadBridgeState(state=77)
    out["bridge"] = shown(send) or send.state.text()
    status = SimpleNamespace(
        name="/trajectory_executor: motion",
        level=b"\x02",
        message="word " * 80,
        values=[SimpleNamespace(key="force", value="no number")],
    )
    robot.view._on_diagnostics(SimpleNamespace(status=[status]))
    endless = ExecutorState(progress=float("inf"), state="playing")
    robot.view._latest |= {"executor": endless, "parameters": arm(robot="[/red]")}
    watched = Console(file=io.StringIO(), width=100)
    watched.print(page(robot.view.snapshot()))
    out["watch"] = watched.file.getvalue()
    stop = robot.findChild(QPushButton, "stop")
    before = stop.mapTo(robot, stop.rect().center())
    out["shown"]["diagnostics"] = shown(robot)
    out["progress"] = robot.progress.value()
    robot.say("an answer of many lines " * 40, False)
    QApplication.processEvents()
    after = stop.mapTo(robot, stop.rect().center())
    out["stop moved"] = [after.x() - before.x(), after.y() - before.y()]
    robot.button("broken", "broken", lambda: 1 / 0).click()
    out["shown"]["button"] = robot.trouble.text()
    # rqt's own base class needs a whole rqt.
    base = type("Plugin", (QObject,), {"__init__": lambda self, context: QObject.__init__(self)})
    sys.modules["rqt_gui_py.plugin"] = SimpleNamespace(Plugin=base)  # type: ignore[assignment]
    from sysid_rqt.plugin import RobotPlugin

    stored: dict[str, str] = {}
    settings: Any = SimpleNamespace(
        set_value=stored.__setitem__, value=lambda name, default: stored.get(name, default)
    )
    context: Any = SimpleNamespace(
        node=on.node, serial_number=lambda: 1, add_widget=lambda widget: None
    )
    first, second = RobotPlugin(context), RobotPlugin(context)
    first._widget.plan.setText("plan/trajectory.npz")
    first.save_settings(None, settings)
    second.restore_settings(None, settings)
    out["restored"] = second._widget.plan.text()
    print(json.dumps(out), flush=True)
