# SPDX-License-Identifier: Apache-2.0
"""Common parts of all panels: title, line for answers, timer."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from python_qt_binding.QtCore import Qt, QTimer
from python_qt_binding.QtGui import QPixmap
from python_qt_binding.QtWidgets import (
    QGridLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from sysid_monitor.graph_view import GraphView, Snapshot
from sysid_rqt.actions import Caller

COLOURS = {"ok": "#1a7f4b", "warn": "#9a6700", "error": "#b3261e", "stale": "#5c6b7a"}


class Panel(QWidget):
    """Dockable panel that shows the state of the nodes five times a second.

    Args:
        node: Node that subscribes to topics and calls services.
        namespace: Namespace of the nodes of robot_sysid.
    """

    title = ""
    period_ms = 200

    def __init__(self, node: Any, namespace: str = "") -> None:
        super().__init__()
        self.setObjectName(self.title.replace(" ", ""))
        self.setWindowTitle(self.title)
        self.prefix = f"{namespace.strip('/')}/" if namespace.strip("/") else ""
        self.view = GraphView(node, namespace)
        self.caller = Caller(node, self.say)
        self.answer = QLabel("")
        self.answer.setWordWrap(True)
        # Two lines, whatever is said: a button must not move under somebody's finger.
        self.answer.setFixedHeight(2 * self.answer.fontMetrics().lineSpacing() + 4)
        self.answer.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.trouble = QLabel("")  # messages that can't be shown; an answer isn't overwritten
        self.trouble.setObjectName("trouble")
        self.trouble.setFixedHeight(self.trouble.fontMetrics().lineSpacing() + 4)
        self.trouble.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.trouble.setStyleSheet(f"color: {COLOURS['error']}")
        self._troubles: dict[str, str] = {}
        self.column = QVBoxLayout(self)
        self.build()
        self.column.addWidget(self.answer)
        self.column.addWidget(self.trouble)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(self.period_ms)

    def build(self) -> None:
        """Create the widgets."""
        raise TypeError("a panel without widgets")

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Update the widgets."""
        raise TypeError("a panel without a picture")

    def say(self, text: str, good: bool) -> None:
        """Show the answer to a button."""
        self.answer.setText(text)
        self.answer.setToolTip(text)
        self.answer.setStyleSheet(f"color: {COLOURS['ok' if good else 'error']}")

    def close_view(self) -> None:
        """Stop the timer and destroy the subscriptions."""
        self._timer.stop()
        self.view.close()

    def guarded(self, what: str, work: Callable[[], object]) -> None:
        """Update a part of the panel; an error is shown, and the other parts are still updated.

        PyQt would end the process, and with it the stop button, if a slot raised an error.
        """
        try:
            work()
            self._troubles.pop(what, None)
        except Exception as err:
            self._troubles[what] = f"{what} failed: {type(err).__name__}: {err}"
        text = "; ".join(self._troubles.values())
        if text != self.trouble.text():
            self.trouble.setText(text)
            self.trouble.setToolTip(text)

    def button(self, text: str, name: str, on_click: Callable[[], object], style: str = "") -> Any:
        """Create a button with a name that tests can find."""
        out = QPushButton(text)
        out.setObjectName(name)
        out.clicked.connect(lambda *_: self.guarded(text, on_click))
        if style:
            out.setStyleSheet(style)
        return out

    def _tick(self) -> None:
        self.guarded("answers", self.caller.poll)
        self.guarded("nodes", lambda: self.show_snapshot(self.view.snapshot()))


def rows_of(widgets: Sequence[QWidget], columns: int) -> QGridLayout:
    """Arrange widgets in rows of a given length, so that three panels fit next to each other."""
    grid = QGridLayout()
    for k, widget in enumerate(widgets):
        grid.addWidget(widget, k // columns, k % columns)
    return grid


def table(columns: Sequence[str]) -> QTableWidget:
    """Create a read-only table widget."""
    out = QTableWidget(0, len(columns))
    out.setHorizontalHeaderLabels(list(columns))
    out.verticalHeader().setVisible(False)
    out.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    out.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    out.horizontalHeader().setStretchLastSection(True)
    out.setWordWrap(True)
    return out


def fill(widget: QTableWidget, rows: Sequence[Sequence[str]], colours: Sequence[str] = ()) -> None:
    """Write coloured rows into a table; only changed cells are updated."""
    if widget.rowCount() != len(rows):
        widget.setRowCount(len(rows))
    for i, row in enumerate(rows):
        for j, text in enumerate(row):
            item = widget.item(i, j)
            if item is None:
                item = QTableWidgetItem()
                widget.setItem(i, j, item)
            if item.text() != text:
                item.setText(text)
                item.setToolTip(text)
                widget.resizeRowToContents(i)  # a long sentence takes its lines
            if colours:
                from python_qt_binding.QtGui import QColor

                item.setForeground(QColor(colours[i]))


def draw(label: QLabel, figure: Any) -> None:
    """Show a matplotlib figure in a label, with any Qt binding."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    picture = QPixmap()
    picture.loadFromData(buffer.getvalue(), "PNG")
    label.setPixmap(picture)
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
