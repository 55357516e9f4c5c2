# SPDX-License-Identifier: Apache-2.0
"""Panel with the state of the nodes, the recording, and the motion with a stop button."""

from __future__ import annotations

from action_msgs.srv import CancelGoal
from python_qt_binding.QtWidgets import (
    QDoubleSpinBox,
    QFileDialog,
    QGroupBox,
    QLabel,
    QLineEdit,
    QProgressBar,
    QVBoxLayout,
)
from robot_sysid.action import ExecuteTrajectory
from robot_sysid.srv import Arm, MarkRecording, StartRecording, StopRecording
from std_srvs.srv import Trigger

from sysid_monitor.graph_view import Snapshot, margins, recorded
from sysid_rqt.panel import COLOURS, Panel, fill, rows_of, table

STOP = "background-color: #b3261e; color: white; font-weight: bold; font-size: 18px; padding: 10px"
EXECUTOR, LOGGER = "trajectory_executor", "data_logger"
CANCEL = f"{EXECUTOR}/execute/_action/cancel_goal"


class RobotPanel(Panel):
    """Panel for nodes, recording and motion."""

    _token = ""  # of the last arming

    title = "Robot sysid"

    def build(self) -> None:
        """Create the widgets: nodes at the top, recording and motion below."""
        self.headline = QLabel("waiting for the nodes")
        self.nodes = table(("node", "state", "what"))
        self.nodes.setObjectName("nodes")
        self.streams = table(("topic", "rate [Hz]", "late [ms]", "lost", "invalid"))
        # First of all: nothing above it can move it.
        self.column.addWidget(self.button("STOP", "stop", self.stop, STOP))
        self.caller.find(CancelGoal, f"{self.prefix}{CANCEL}")  # a stop doesn't wait for discovery
        self.column.addWidget(self.headline)
        self.column.addWidget(self.nodes, 3)
        self.column.addWidget(self.streams, 1)
        self.column.addWidget(self._recording())
        self.column.addWidget(self._motion())

    def _recording(self) -> QGroupBox:
        box, column = QGroupBox("Recording"), QVBoxLayout()
        self.path = QLineEdit()
        self.path.setObjectName("folder")
        self.path.setPlaceholderText("folder; empty: named by the date")
        self.label = QLineEdit()
        self.label.setPlaceholderText("mark")
        widgets = (
            self.path,
            self.button("start", "start_recording", self.start_recording),
            self.button("stop", "stop_recording", self.stop_recording),
            self.label,
            self.button("mark", "mark", self.mark),
            self.button(
                "tare", "tare", lambda: self._call(Trigger, f"{LOGGER}/tare", Trigger.Request())
            ),
        )
        column.addLayout(rows_of(widgets, 3))
        self.recorded = QLabel("nothing is being recorded")
        self.recorded.setObjectName("recorded")
        self.recorded.setWordWrap(True)
        column.addWidget(self.recorded)
        box.setLayout(column)
        return box

    def _motion(self) -> QGroupBox:
        box, column = QGroupBox("Motion"), QVBoxLayout()
        self.plan = QLineEdit()
        self.plan.setObjectName("plan")
        self.plan.setPlaceholderText("trajectory.npz of `sysid plan …`")
        self.speed = QDoubleSpinBox()
        self.speed.setRange(0.01, 1.0)
        self.speed.setSingleStep(0.1)
        self.speed.setValue(0.3)
        self.speed.setPrefix("speed × ")
        widgets = (
            self.plan,
            self.button("…", "browse", self.browse),
            self.speed,
            self.button("check", "check", lambda: self.execute(check_only=True)),
            self.button("arm", "arm", self.arm),
            self.button("play", "play", self.execute),
        )
        self.state = QLabel("no executor")
        self.state.setWordWrap(True)
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        column.addLayout(rows_of(widgets, 3))
        column.addWidget(self.state)
        column.addWidget(self.progress)
        self.margins = QLabel("")
        self.margins.setObjectName("margins")
        self.margins.setWordWrap(True)
        column.addWidget(self.margins)
        box.setLayout(column)
        return box

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Update tables, state and progress."""
        worst = snapshot.worst
        self.headline.setText(f"nodes: {worst}" if snapshot.health else "no node found")
        self.headline.setStyleSheet(f"color: {COLOURS[worst]}; font-weight: bold")
        rows = [(h.name, h.level, h.message) for h in snapshot.health]
        fill(self.nodes, rows, [COLOURS[h.level] for h in snapshot.health])
        fill(
            self.streams,
            [
                (topic, f"{s.rate_hz:.1f}", f"{s.latency_ms:.1f}", str(s.lost), str(s.invalid))
                for topic, s in sorted(snapshot.streams.items())
            ],
        )
        state = snapshot.executor
        if state is None and snapshot.hears(EXECUTOR):
            self.state.setText("the executor is available; it has executed no motion yet")
        if state is not None:
            self.state.setText(
                f"{f'{state.state} {state.segment}'.strip()}: {state.time_left:.0f} s left, tracking error"
                f" {state.tracking_error:.3g}. {state.message}"
            )
            self.progress.setValue(int(1000 * max(0.0, min(1.0, state.progress))))
            self.margins.setToolTip("Limits in force:\n" + "\n".join(state.limits))
        self.margins.setText(margins(snapshot))
        self.recorded.setText(recorded(snapshot))

    def start_recording(self) -> None:
        """Start a bag."""
        self._call(
            StartRecording, f"{LOGGER}/start", StartRecording.Request(path=self.path.text().strip())
        )

    def stop_recording(self) -> None:
        """Close the bag."""
        self._call(StopRecording, f"{LOGGER}/stop", StopRecording.Request())

    def mark(self) -> None:
        """Add a mark to the recording."""
        label = self.label.text().strip() or "mark"
        self._call(MarkRecording, f"{LOGGER}/mark", MarkRecording.Request(label=label))

    def browse(self) -> None:
        """Choose the file of a plan."""
        path, _ = QFileDialog.getOpenFileName(self, "Plan", "", "Trajectories (*.npz)")
        if path:
            self.plan.setText(path)

    def arm(self) -> None:
        """Request a token, which permits the next motion."""

        def keep(response: Arm.Response) -> None:
            self._token = response.token
            self.say(f"armed for {response.valid_for:g} s. {response.message}", True)

        self.caller.call(Arm, f"{self.prefix}{EXECUTOR}/arm", Arm.Request(), keep)

    def execute(self, *, check_only: bool = False) -> None:
        """Check the plan, and play it unless only the check is requested."""
        goal = ExecuteTrajectory.Goal(
            trajectory_file=self.plan.text().strip(),
            speed_scale=float(self.speed.value()),
            token="" if check_only else self._token,
            check_only=check_only,
        )
        self.caller.send_goal(ExecuteTrajectory, f"{self.prefix}{EXECUTOR}/execute", goal)

    def stop(self) -> None:
        """Cancel all goals of the executor from any client, and goals that are not yet sent."""
        self.caller.cancel()
        self._call(CancelGoal, CANCEL, CancelGoal.Request())  # an empty id: all goals

    def _call(self, kind: type, name: str, request: object) -> None:
        self.caller.call(kind, f"{self.prefix}{name}", request)
