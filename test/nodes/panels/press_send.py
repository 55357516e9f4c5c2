# SPDX-License-Identifier: Apache-2.0
"""Opens the panel *Send to robot* beside a running payload bridge and makes a dry run.

Usage: press_send.py; prints one JSON object.
"""

from __future__ import annotations

import json

from panel_stage import Stage, stage
from python_qt_binding.QtWidgets import QPushButton

from sysid_rqt.send_panel import SendPanel


def main() -> None:
    with stage() as here:
        print(json.dumps(dry_run(here)), flush=True)


def dry_run(here: Stage) -> dict[str, object]:
    """Displays and answers of the panel."""
    panel, until = SendPanel(here.node), here.until

    def cell(row: int, column: int) -> str:
        item = panel.comparison.item(row, column)
        return "" if item is None else str(item.text())

    found: dict[str, object] = {"heard": until(lambda: panel.comparison.rowCount() > 0)}
    found["unlocked"] = until(panel.allowed.isChecked)  # the test has allowed it
    panel.findChild(QPushButton, "dry_run").click()
    found["said"] = until(lambda: "It would be sent as" in panel.answer.text())
    found["answer"] = panel.answer.text()
    found["compared"] = until(lambda: cell(0, 1) not in ("", "–"))
    found["mass"] = [cell(0, column) for column in range(1, 4)]
    found["locked"] = until(lambda: not panel.allowed.isChecked())
    found["can_send"] = panel.confirm.isEnabled()
    panel.allowed.click()
    found["allowed"] = until(panel.confirm.isEnabled)
    panel.allowed.click()
    found["locked_again"] = until(lambda: "locked" in panel.answer.text())
    panel.close_view()
    return found


if __name__ == "__main__":
    main()
