# SPDX-License-Identifier: Apache-2.0
"""Opens the panels without a display beside a running graph, presses their buttons, takes pictures.

Usage: press_buttons.py PLAN BAG PICTURES; prints one JSON object.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

from panel_stage import Stage, stage
from python_qt_binding import QT_BINDING
from rich.console import Console

from sysid_monitor.watch import page
from sysid_rqt.estimate_panel import EstimatePanel
from sysid_rqt.robot_panel import RobotPanel
from sysid_rqt.send_panel import SendPanel


def main(plan: str, bag: str, pictures: str) -> None:
    with stage() as here:
        print(json.dumps(pressed(here, plan, bag, pictures)), flush=True)


def pressed(here: Stage, plan: str, bag: str, pictures: str) -> dict[str, object]:
    """Displays and answers of the panels."""
    until, press = here.until, here.press
    robot, estimate, send = RobotPanel(here.node), EstimatePanel(here.node), SendPanel(here.node)
    panels = {"robot": robot, "estimate": estimate, "send": send}
    for panel in panels.values():
        panel.resize(760, 820)
        panel.show()

    found: dict[str, object] = {"binding": QT_BINDING}
    found["nodes"] = until(lambda: robot.nodes.rowCount() >= 2, 30.0)
    found["streams"] = until(lambda: robot.streams.rowCount() >= 1, 20.0)
    robot.path.setText(bag)
    found["start"] = press(robot, "start_recording")
    robot.plan.setText(plan)
    robot.speed.setValue(0.6)  # the payload is known well before the end, also on a slow machine
    found["arm"] = press(robot, "arm")
    found["play"] = press(robot, "play", 30.0)
    found["moving"] = until(lambda: robot.progress.value() > 200, 60.0)
    found["margins"] = until(lambda: "velocity" in robot.margins.text(), 10.0)
    found["recorded"] = until(lambda: "MB" in robot.recorded.text(), 10.0)
    found["payload"] = until(lambda: estimate.payload.rowCount() == 10, 30.0)
    until(lambda: False, 1.5)
    robot.plan.setText("plan/trajectory.npz")  # for the picture
    robot.path.setText("results/bag")
    for name, panel in panels.items():
        panel.grab().save(str(Path(pictures) / f"{name}.png"))
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(page(robot.view.snapshot()))
    drawn = re.sub(
        r"@font-face \{.*?\}", "", console.export_svg(title="sysid watch"), flags=re.DOTALL
    )
    (Path(pictures) / "watch.svg").write_text(drawn.replace("Fira Code", "monospace"), "utf-8")
    robot.plan.setText(plan)
    for _ in range(3):  # a motion may end before it is stopped: once more then
        if "done" in robot.state.text():
            press(robot, "arm")
            press(robot, "play", 30.0)
            until(lambda: 20 < robot.progress.value() < 900, 60.0)
        found["stop"] = press(robot, "stop")
        ended = until(lambda: re.search("abort|done", robot.state.text()) is not None, 20.0)
        found["stopped"] = ended and "abort" in robot.state.text()
        if found["stopped"]:
            break
    found["state"] = robot.state.text()
    estimate.tabs.setCurrentIndex(1)
    until(lambda: estimate._shape is not None, 10.0)
    until(lambda: False, 1.5)
    found["shape"] = estimate._shape is not None and not estimate.views.pixmap().isNull()
    estimate.grab().save(str(Path(pictures) / "object.png"))
    estimate.tabs.setCurrentIndex(estimate.tabs.count() - 1)
    found["residuals"] = until(lambda: estimate.left.rowCount() == 7, 20.0)
    until(lambda: False, 1.5)
    found["curves"] = not estimate.left_curves.pixmap().isNull()
    found["residual_line"] = estimate.left_line.text()
    estimate.grab().save(str(Path(pictures) / "residuals.png"))
    found["stop_recording"] = press(robot, "stop_recording")
    found["no_bridge"] = press(send, "propose")
    for panel in panels.values():
        panel.close_view()
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
