# SPDX-License-Identifier: Apache-2.0
"""Identification from a recording on request, in a separate process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify
from robot_sysid.msg import InertialEstimate
from std_msgs.msg import String

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.files import FileKind, write_text
from sysid_core.robot import RobotModel
from sysid_core.settings import plain_settings
from sysid_core.workflows import IdentifySettings, SequentialSettings, ServoFiles, ServoSettings
from sysid_nodes import conversions
from sysid_nodes.estimator.torque_residuals import TorqueResidualsComponent
from sysid_nodes.lifecycle import ManagedNode, SingleGoalAction, qos, start_process
from sysid_nodes.security import existing_inside, new_inside

_METADATA = FileKind("bag's metadata", "Give a folder that rosbag2 wrote.")
# Of a closed chain, for controllers, which compensate the usual friction only.
_CONSTRAINED = FitSettings(method="lmi", friction="usual", delay="auto")
_NAME = re.compile(r"[a-z0-9-]+")  # of a closed chain that comes with the package
_PATIENCE_S = 5.0


SERVOS = "servos"  # method: position servos from targets and positions


class IdentificationJob:
    """Running identification; its process ends with the node, even if the node is killed.

    Args:
        request: Goal of the action `~/identify`.
        model: Robot model of the node.
        recordings: Folder below which recordings, plans and files of kinematic loops are.
        directory: Folder in which a new folder is created for estimate, result and report.
        columns: Column map with the gains of the drives; empty: none.

    Attributes:
        folder: Folder of the result.
        of_servos: True if position servos are identified, either because the method requires it, or
            because the recording contains targets and no method is requested.

    Raises:
        SysIdError: A path is not permitted, does not exist, or would be overwritten.
    """

    def __init__(
        self,
        request: Identify.Goal,
        model: RobotModel,
        recordings: str,
        directory: str,
        columns: str = "",
    ) -> None:
        self._recording = existing_inside(recordings, request.recording, "The recording")

        def file(name: str, what: str) -> Path | None:
            return existing_inside(recordings, name, what) if name else None

        other = file(request.validation, "The recording to predict")
        plan = file(request.trajectory_file, "The plan")
        loops = request.loops_file
        if loops and not _NAME.fullmatch(loops):
            loops = str(existing_inside(recordings, loops, "The file of kinematic loops"))
        turned = not np.allclose(model.gravity, RobotModel.STANDARD_GRAVITY)  # mounted otherwise
        self.folder = new_inside(directory, request.directory, "The folder for the result")
        self.folder.mkdir(parents=True)
        urdf = self.folder / "robot.urdf"
        write_text(urdf, model.urdf_xml)
        gravity = ",".join(f"{g!r}" for g in model.gravity.tolist()) if turned else ""
        self.of_servos = request.method == SERVOS or (
            request.method in ("", "auto") and "target_topic" in self._metadata("custom_data")
        )
        settings: IdentifySettings | ServoSettings
        if self.of_servos:
            settings = ServoSettings(
                files=ServoFiles(recordings=(self._recording,)),
                robot=str(urdf),
                gravity=gravity,
                unseen=() if other is None else (other,),
            )
        else:
            settings = IdentifySettings(
                recordings=(self._recording,),
                robot=str(urdf),
                columns=Path(columns) if columns else None,
                lock=tuple(f"{joint}={position!r}" for joint, position in model.locked.items()),
                loops=loops,
                validate=() if other is None else (other,),
                fit=_CONSTRAINED
                if request.method == "constrained"
                else FitSettings(method=request.method or "auto"),
                gravity=gravity,
                sequential=SequentialSettings(plan=plan),
            )
        job = {
            "servos": self.of_servos,
            "settings": plain_settings(settings),
            "out": str(self.folder),
        }
        path = self.folder / "job.json"
        write_text(path, json.dumps(job, indent=2))
        self._events, self._log = self.folder / "events.jsonl", self.folder / "identify.log"
        with self._events.open("wb") as events, self._log.open("wb") as log:
            command = [sys.executable, "-m", "sysid_core.workflows", str(path)]
            self._process = start_process(command, events, stderr=log)

    @property
    def recording_began_ns(self) -> int:
        """Stamp of the first message of the recording [ns]; 0 if the bag's metadata does not state
        it.
        """
        try:
            return int(self._metadata("starting_time")["nanoseconds_since_epoch"])
        except (ValueError, KeyError, TypeError):
            return 0

    def _metadata(self, key: str) -> dict[str, Any]:
        """Entry of the recording's metadata.yaml; empty if the file lacks it."""
        try:
            raw = _METADATA.read_yaml(self._recording / "metadata.yaml")
            found = raw["rosbag2_bagfile_information"][key]
        except (SysIdError, KeyError, TypeError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def done(self) -> bool:
        """True if the identification has ended."""
        return self._process.poll() is not None

    @property
    def progress(self) -> tuple[str, float]:
        """Code of the current step, and the completed share of the work, 0 to 1."""
        if self.done:
            return "done", 1.0
        event = self._last("step")
        return str(event.get("step", "starting")), float(event.get("share", 0.0))

    def _last(self, key: str) -> dict[str, Any]:
        """Newest progress event that contains a key; empty if there is none."""
        lines = self._events.read_text(encoding="utf-8").splitlines(keepends=True)
        events = (json.loads(line) for line in reversed(lines) if line.endswith("\n"))
        return next((event for event in events if key in event), {})

    def cancel(self) -> None:
        """End the identification."""
        if not self.done:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    @property
    def verdict(self) -> str:
        """Verdict of the result with its reasons, as one line; "" if there is none."""
        path = self.folder / "result.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["verdict"]
            reasons = [*found["failures"], *found["warnings"]]
            return f"{found['outcome']}: {' '.join(reasons or found['held'])}"
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    @property
    def error(self) -> str:
        """Error message; "" if there is none."""
        if not self._process.returncode:
            return ""
        if self.verdict:
            return self.verdict
        event = self._last("error")
        if event:
            return f"{event['error']} {event['remedy']}".strip()
        words = self._log.read_text(errors="replace").strip().splitlines()
        return (
            " ".join(words[-6:])
            or f"The worker process ended with status {self._process.returncode}."
        )


_LONGEST_S = 3600.0


class IdentificationComponent:
    """Server of `~/identify`, for one goal at a time; it publishes the results.

    The parameters of links and drives are published on `~/parameters`. For position servos, the
    text of servos.yaml is published on `~/servos`.

    Args:
        node: Estimator node.
        residuals: Publisher of residual torques, which uses the latest identified parameters.
    """

    def __init__(self, node: ManagedNode, residuals: TorqueResidualsComponent) -> None:
        self.node, self._residuals = node, residuals
        self.latest: Estimate | None = None
        self.latest_ns = 0
        self._job: IdentificationJob | None = None
        self._parameters = node.create_publisher(InertialEstimate, "~/parameters", qos.LATCHED)
        self._servos = node.create_publisher(String, "~/servos", qos.LATCHED)
        SingleGoalAction(
            node,
            Identify,
            "~/identify",
            run=self._on_identify,
            failed=self._failed,
            cancel=self.clean_up,
        ).serve()

    def clean_up(self) -> None:
        """Stop a running identification."""
        if self._job is not None:
            self._job.cancel()

    def _failed(self, err: SysIdError) -> Identify.Result:
        self.node.health.fault("identify", str(err))
        return Identify.Result(message=str(err))

    async def _on_identify(self, goal: ServerGoalHandle) -> Identify.Result:
        try:
            return await self._identify(goal)
        except SysIdError:
            if goal.is_cancel_requested:
                raise SysIdError("Cancelled.") from None
            raise
        finally:
            self._job = None

    async def _identify(self, goal: ServerGoalHandle) -> Identify.Result:
        """Run the workflow in a separate process, so that the estimator continues to process its
        streams.
        """
        model, config = self.node.model, self.node.config
        if model is None:
            raise SysIdError(
                "No robot_description has arrived.", remedy="Start the robot, or set `robot`."
            )
        folders = (config.recordings, config.directory)
        job = IdentificationJob(goal.request, model, *folders, config.columns)
        self._job = job
        reported = ""

        def ended() -> bool:
            nonlocal reported
            step, share = job.progress
            if step != reported:
                reported = step
                goal.publish_feedback(Identify.Feedback(step=step, progress=share))
            return job.done

        await self.node.waits.until(ended, _LONGEST_S)
        job.cancel()  # where the time was up
        if job.error or goal.is_cancel_requested:
            raise SysIdError(  # a failed fit is neither kept nor published
                job.error or "Cancelled.", remedy=f"Look at {job.folder / 'report.html'}."
            )
        report = str(job.folder / "report.html")
        if job.of_servos:
            text = (job.folder / "servos.yaml").read_text(encoding="utf-8")
            self._servos.publish(String(data=text))
            return Identify.Result(success=True, message=job.verdict, report=report)
        self.latest = Estimate.load(job.folder / "estimate.yaml")
        self.latest_ns = self.node.now_ns()
        estimate = conversions.message_from_estimate(
            self.latest,
            stamp_ns=self.node.now_ns(),
            valid_from_ns=job.recording_began_ns,
            frame=model.root_link,
            reference_point="origin of each link's frame",
            model="robot",
            robot=model,
        )
        self._parameters.publish(estimate)
        self._residuals.use(job.folder, model)
        return Identify.Result(
            success=True,
            message=job.verdict,
            estimate=estimate,
            report=report,
        )
