# SPDX-License-Identifier: Apache-2.0
"""The running payload with its convergence, and the arm's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from python_qt_binding.QtWidgets import QLabel, QTabWidget, QVBoxLayout, QWidget

from sysid_monitor.graph_view import Snapshot, payload_state
from sysid_rqt.panel import COLOURS, Panel, draw, fill, table

VERDICTS = ("identifiable", "in combination", "not identifiable", "prior-dominated")
VERDICT_COLOURS = (COLOURS["ok"], COLOURS["warn"], COLOURS["stale"], COLOURS["warn"])


class EstimatePanel(Panel):
    """Estimate: payload and arm."""

    title = "Estimate"
    period_ms = 500

    def build(self) -> None:
        """One tab each for the payload and the arm."""
        self.state = QLabel("no payload yet")
        self.state.setWordWrap(True)
        self.payload = table(("quantity", "value", "± 2 sd", "unit", "verdict"))
        self.payload.setObjectName("payload")
        self.curves = QLabel()
        self.arm_line = QLabel("no arm parameters yet")
        self.arm = table(("parameter", "value", "± 2 sd", "unit", "verdict"))
        self.arm.setObjectName("arm")
        tabs = QTabWidget()
        for title, widgets in (
            ("Payload", (self.state, self.payload, self.curves)),
            ("Arm", (self.arm_line, self.arm)),
        ):
            page, column = QWidget(), QVBoxLayout()
            for widget in widgets:
                column.addWidget(widget)
            page.setLayout(column)
            tabs.addTab(page, title)
        self.column.addWidget(tabs)
        self._drawn = 0

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Numbers at once, curves when there are new moments."""
        message = snapshot.payload
        if message is not None and snapshot.history:
            self._show_payload(message, snapshot)
        if snapshot.parameters is not None:
            self._show_arm(snapshot.parameters)

    def _show_payload(self, message: Any, snapshot: Snapshot) -> None:
        now = snapshot.history[-1]
        self.state.setText(f"{payload_state(message)}. {message.advice}")
        values = (now.mass, *now.com, *now.inertia)
        sds = (now.mass_sd, *now.com_sd, *now.inertia_sd)
        names = ("mass", "com x", "com y", "com z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
        units = ("kg", *("m",) * 3, *("kg m²",) * 6)
        order = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)  # verdicts are in pinocchio's order
        verdicts = [int(message.verdicts[k]) for k in order]
        rows = [
            (n, f"{x:.4g}", f"{2 * s:.2g}", u, VERDICTS[v])
            for n, x, s, u, v in zip(names, values, sds, units, verdicts, strict=True)
        ]
        fill(self.payload, rows, [VERDICT_COLOURS[v] for v in verdicts])
        if len(snapshot.history) >= self._drawn + 5 or not self._drawn:
            self._drawn = len(snapshot.history)
            draw(self.curves, convergence(snapshot))

    def _show_arm(self, message: Any) -> None:
        p = len(message.names)
        covariance = np.array(message.covariance).reshape(p, p)
        sd = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
        self.arm_line.setText(
            f"{message.robot}, {message.method}: rank {message.rank} of {message.structural_rank}, "
            + ("physically consistent" if message.physically_consistent else "not consistent")
        )
        verdicts = [int(v) for v in message.verdicts]
        rows = [
            (name, f"{value:.4g}", f"{2 * s:.2g}", unit, VERDICTS[v])
            for name, value, s, unit, v in zip(
                message.names,
                message.values,
                sd,
                message.units,
                verdicts,
                strict=True,
            )
        ]
        fill(self.arm, rows, [VERDICT_COLOURS[v] for v in verdicts])


def convergence(snapshot: Snapshot) -> object:
    """Mass and centre of mass over time with two standard deviations, as a matplotlib figure."""
    from matplotlib.figure import Figure

    history = snapshot.history[-600:]
    time = np.array([m.time for m in history])
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    for axis, (name, values, sds) in zip(
        figure.subplots(1, 2),
        (
            ("mass [kg]", [[m.mass] for m in history], [[m.mass_sd] for m in history]),
            (
                "centre of mass [mm]",
                [[1e3 * c for c in m.com] for m in history],
                [[1e3 * s for s in m.com_sd] for m in history],
            ),
        ),
        strict=True,
    ):
        for x, sd, colour in zip(
            np.transpose(values), np.transpose(sds), ("#0072B2", "#D55E00", "#009E73"), strict=False
        ):
            axis.plot(time, x, color=colour, linewidth=1.5)
            axis.fill_between(time, x - 2 * sd, x + 2 * sd, color=colour, alpha=0.2)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("time [s]", fontsize=8)
        axis.grid(alpha=0.3)
    return figure
