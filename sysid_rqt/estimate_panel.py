# SPDX-License-Identifier: Apache-2.0
"""Panel with the running payload, the parameters of the arm, and residual torques."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from python_qt_binding.QtWidgets import QLabel, QScrollArea, QTabWidget, QVBoxLayout, QWidget
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState

from sysid_core.report import with_deviation
from sysid_monitor.graph_view import Snapshot, payload_state
from sysid_nodes.conversions import estimate_from_message
from sysid_rqt.drawings import arm_bars, convergence, nominal_values, object_views, residual_curves
from sysid_rqt.panel import COLOURS, Panel, draw, fill, table

VERDICTS = ("identifiable", "in combination", "not identifiable", "prior-dominated")
_RESIDUALS = 600  # a minute at the usual rate
VERDICT_COLOURS = (COLOURS["ok"], COLOURS["warn"], COLOURS["stale"], COLOURS["warn"])


class EstimatePanel(Panel):
    """Panel with the estimates of payload and arm."""

    title = "Estimate"
    period_ms = 500

    def build(self) -> None:
        """Create one tab each for the payload and the arm."""
        self.state = QLabel("no payload yet")
        self.state.setWordWrap(True)
        self.state.setMinimumHeight(84)  # four lines: a tab doesn't grow with its text
        self.payload = table(("quantity", "value", "± 2 sd", "unit", "verdict"))
        self.payload.setObjectName("payload")
        self.curves = QLabel()
        self.arm_line = QLabel("no arm parameters yet")
        self.arm = table(("parameter", "value", "± 2 sd", "unit", "verdict"))
        self.arm.setObjectName("arm")
        self.views = QLabel()
        self.bars = QLabel()
        self.left_line = QLabel("no residual torques yet: they need efforts whose kind is declared")
        self.left_line.setWordWrap(True)
        self.left = table(("joint", "now", "RMS of the last minute"))
        self.left.setObjectName("residuals")
        self.left_curves = QLabel()
        scroll = QScrollArea()
        scroll.setWidget(self.bars)
        scroll.setWidgetResizable(True)
        self.tabs = tabs = QTabWidget()
        for title, widgets in (
            ("Payload", (self.state, self.payload, self.curves)),
            ("Object", (self.views,)),
            ("Arm", (self.arm_line, self.arm)),
            ("Arm against URDF", (scroll,)),
            ("Residual torques", (self.left_line, self.left, self.left_curves)),
        ):
            page, column = QWidget(), QVBoxLayout()
            for widget in widgets:
                column.addWidget(widget)
            page.setLayout(column)
            tabs.addTab(page, title)
        tabs.setMinimumWidth(360)  # its curves are read
        self.column.addWidget(tabs)
        self._drawn = 0
        self._shape: Any = None  # of the object, as the estimator has it
        self._asked = False
        self._shown_arm: Any = None
        self._residuals: deque[tuple[float, JointState]] = deque(maxlen=_RESIDUALS)
        # The newest of them in table and curves.
        self._shown: tuple[float, JointState] | None = None
        self._heard = self.view.node.create_subscription(
            JointState, f"{self.prefix}estimator/torque_residuals", self._on_residuals, 10
        )

    def close_view(self) -> None:
        """Destroy the subscriptions."""
        self.view.node.destroy_subscription(self._heard)
        super().close_view()

    def _on_residuals(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._residuals.append((stamp.sec + 1e-9 * stamp.nanosec, message))

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Update the numbers, and the curves if there are new estimates."""
        payload, arm = snapshot.payload, snapshot.parameters
        if payload is not None and snapshot.history:
            self.guarded("payload", lambda: self._show_payload(payload, snapshot))
        if arm is not None:
            self.guarded("arm", lambda: self._show_arm(arm, snapshot))
        if self.left.isVisible() and self._residuals and self._residuals[-1] is not self._shown:
            self._shown = self._residuals[-1]
            self.guarded("residual torques", lambda: self._show_residuals(arm is not None))

    def _show_payload(self, message: Any, snapshot: Snapshot) -> None:
        now = snapshot.history[-1]
        self.state.setText(
            f"{payload_state(message)}. {message.advice} Left unexplained:"
            f" {message.force_residual_rms:.2g} N, {message.torque_residual_rms:.2g} N m."
        )
        values = (now.mass, *now.com, *now.inertia)
        sds = (now.mass_sd, *now.com_sd, *now.inertia_sd)
        names = ("mass", "com x", "com y", "com z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
        units = ("kg", *("m",) * 3, *("kg m²",) * 6)
        order = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)  # verdicts are in pinocchio's order
        verdicts = [int(message.verdicts[k]) for k in order]
        rows = [
            (n, *matched(x, 2 * s), u, VERDICTS[v])
            for n, x, s, u, v in zip(names, values, sds, units, verdicts, strict=True)
        ]
        fill(self.payload, rows, [VERDICT_COLOURS[v] for v in verdicts])
        if len(snapshot.history) >= self._drawn + 5 or not self._drawn:
            self._drawn = len(snapshot.history)
            draw(self.curves, convergence(snapshot))
            draw(self.views, object_views(message, self._shape))
        if not self._asked:
            self._asked = True
            request = GetParameters.Request(names=["shape"])
            name = f"{self.prefix}estimator/get_parameters"
            self.caller.call(GetParameters, name, request, self._keep_shape)

    def _keep_shape(self, response: GetParameters.Response) -> None:
        from sysid_core.errors import SysIdError
        from sysid_core.robot.shapes import load_shape

        self._drawn = 0  # the views again, with the shape
        text = response.values[0].string_value if response.values else ""
        try:
            self._shape = load_shape(text) if text else None
        except SysIdError as err:  # a file of another machine
            self.say(str(err), False)

    def _show_arm(self, message: Any, snapshot: Snapshot) -> None:
        estimate = estimate_from_message(message)  # an error for arrays that do not fit
        sd = np.sqrt(np.clip(np.diag(estimate.covariance), 0.0, None))
        self.arm_line.setText(
            f"{message.robot}, {message.method}: rank {message.rank} of {message.structural_rank}, "
            + ("physically consistent" if message.physically_consistent else "not consistent")
            + f"; residual {message.residual_rms:.3g}"
        )
        verdicts = [int(v) for v in message.verdicts]
        rows = [
            (name, *matched(value, 2 * s), unit, VERDICTS[v])
            for name, value, s, unit, v in zip(
                estimate.names,
                estimate.values,
                sd,
                estimate.units,
                verdicts,
                strict=True,
            )
        ]
        fill(self.arm, rows, [VERDICT_COLOURS[v] for v in verdicts])
        if message is not self._shown_arm:
            self._shown_arm = message
            draw(self.bars, arm_bars(message, nominal_values(snapshot.description)))

    def _show_residuals(self, identified: bool) -> None:
        heard = list(self._residuals)
        names = heard[-1][1].name
        heard = [(t, m) for t, m in heard if m.name == names]
        times = np.array([t for t, _ in heard])
        efforts = np.array([m.effort for _, m in heard])
        by = "the identified parameters" if identified else "the URDF, without friction"
        self.left_line.setText(f"Measured minus predicted efforts; predicted by {by}.")
        rms = np.sqrt(np.mean(efforts**2, axis=0))
        rows = zip(names, efforts[-1], rms, strict=True)
        fill(self.left, [(name, f"{now:+.3g}", f"{size:.3g}") for name, now, size in rows])
        draw(self.left_curves, residual_curves(times - times[-1], efforts, names))


def matched(value: float, deviation: float) -> tuple[str, str]:
    """Return the value and standard deviation with matching digits."""
    shown, _, beside = with_deviation(value, deviation).partition(" ± ")
    return shown, beside
