# SPDX-License-Identifier: Apache-2.0
"""Plugins of rqt for the panels. The namespace of the nodes is that of rqt itself, or below it the
one named by SYSID_NAMESPACE, which `monitor.launch.py` sets.
"""

from __future__ import annotations

import os
from typing import Any

from python_qt_binding.QtWidgets import QLineEdit
from rqt_gui_py.plugin import Plugin

from sysid_rqt.estimate_panel import EstimatePanel
from sysid_rqt.robot_panel import RobotPanel
from sysid_rqt.send_panel import SendPanel

SAVED = ("plan", "folder")


class _PanelPlugin(Plugin):
    """Base class of the plugins: a panel in the window of rqt."""

    panel: type

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        namespace = os.environ.get("SYSID_NAMESPACE", "")
        self._widget = self.panel(context.node, namespace)
        self.setObjectName(type(self).__name__)
        if context.serial_number() > 1:
            self._widget.setWindowTitle(f"{self._widget.title} ({context.serial_number()})")
        context.add_widget(self._widget)

    def save_settings(self, plugin_settings: Any, instance_settings: Any) -> None:
        """Store the texts of the fields in the perspective."""
        for name, field in self._fields().items():
            instance_settings.set_value(name, field.text())

    def restore_settings(self, plugin_settings: Any, instance_settings: Any) -> None:
        """Fill the fields with the stored texts."""
        for name, field in self._fields().items():
            field.setText(str(instance_settings.value(name, field.text())))

    def _fields(self) -> dict[str, QLineEdit]:
        fields = self._widget.findChildren(QLineEdit)
        return {field.objectName(): field for field in fields if field.objectName() in SAVED}

    def shutdown_plugin(self) -> None:
        """Destroy the subscriptions."""
        self._widget.close_view()


class RobotPlugin(_PanelPlugin):
    """Plugin for nodes, recording and motion."""

    panel = RobotPanel


class EstimatePlugin(_PanelPlugin):
    """Plugin for the estimates of payload and arm."""

    panel = EstimatePanel


class SendPlugin(_PanelPlugin):
    """Plugin that sends the payload to the controller."""

    panel = SendPanel
