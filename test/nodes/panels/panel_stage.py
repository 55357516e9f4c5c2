# SPDX-License-Identifier: Apache-2.0
"""Panels without a display: an application, a node that is spun beside it, and presses of buttons."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import rclpy
from python_qt_binding.QtWidgets import QApplication, QPushButton
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from sysid_rqt.panel import Panel


@dataclass(frozen=True)
class Stage:
    """Stage on which panels are opened."""

    app: QApplication
    node: Node

    def until(self, done: Callable[[], bool], seconds: float = 30.0) -> bool:
        """Process events until a condition is true, or for at most this time [s]; whether it is
        true.
        """
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            self.app.processEvents()
            time.sleep(0.02)
        return done()

    def press(self, panel: Panel, name: str, seconds: float = 20.0) -> str:
        """The panel's answer to a button."""
        panel.answer.setText("")
        panel.findChild(QPushButton, name).click()
        self.until(lambda: bool(panel.answer.text()), seconds)
        return str(panel.answer.text())


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage for one process."""
    app = QApplication([])
    rclpy.init()
    node = rclpy.create_node("panels")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinning = threading.Thread(target=executor.spin, daemon=True)
    spinning.start()
    yield Stage(app, node)
    executor.shutdown(timeout_sec=1.0)
    spinning.join(20.0)  # a thread that waits inside DDS can't be ended by the interpreter
    rclpy.try_shutdown()
