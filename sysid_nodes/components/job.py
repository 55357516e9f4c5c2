# SPDX-License-Identifier: Apache-2.0
"""`sysid identify` as a process of its own, started and watched by the estimator."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
from robot_sysid.action import Identify

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind, read_yaml
from sysid_core.robot import STANDARD_GRAVITY, RobotModel
from sysid_nodes.lifecycle import die_with_parent
from sysid_nodes.security import existing_inside, new_inside

_METADATA = FileKind("bag's metadata", "Give a folder that rosbag2 wrote.")
_METHODS = {"constrained": "lmi"}  # of a closed chain
_NAME = re.compile(r"[a-z0-9-]+")  # of a closed chain that comes with the package
_STEP = re.compile(rb"^\[step\] (.+)$", re.MULTILINE)
# What the command says that it does, and how much of the work is done by then (measured).
_PROGRESS = {"reading": 0.05, "identifying": 0.2, "predicting": 0.8, "writing": 0.9}
_PATIENCE_S = 5.0


class IdentificationJob:
    """One running identification. It ends with the node, however that ends.

    Args:
        request: Goal of the action.
        model: The robot whose description the node has.
        recordings: Folder below which recordings, plans and loops files are.
        directory: Folder below which a new one is made for estimate, result and report.

    Raises:
        SysIdError: A path that isn't allowed, isn't there, or would be overwritten.
    """

    def __init__(
        self, request: Identify.Goal, model: RobotModel, recordings: str, directory: str
    ) -> None:
        self._recording = existing_inside(recordings, request.recording, "The recording")
        options = ["--method", _METHODS.get(request.method, request.method or "auto")]
        for option, name, what in (
            ("--validate", request.validation, "The recording to predict"),
            ("--plan", request.trajectory_file, "The plan"),
            ("--loops", request.loops_file, "The loops file"),
        ):
            if option == "--loops" and _NAME.fullmatch(name):
                options += [option, name]
            elif name:
                options += [option, str(existing_inside(recordings, name, what))]
        if not np.allclose(model.gravity, STANDARD_GRAVITY):  # mounted otherwise
            options += ["--gravity=" + ",".join(f"{g!r}" for g in model.gravity.tolist())]
        for joint, position in model.locked.items():
            options += ["--lock", f"{joint}={position!r}"]
        self.folder = new_inside(directory, request.directory, "The folder for the result")
        self.folder.mkdir(parents=True)
        urdf = self.folder / "robot.urdf"
        urdf.write_text(model.urdf_xml, encoding="utf-8")
        self._log = self.folder / "identify.log"
        command = [sys.executable, "-m", "sysid_cli", "--steps", "identify", *options]
        command += ["--robot", str(urdf), "--out", str(self.folder), "--", str(self._recording)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def recording_began_ns(self) -> int:
        """Stamp of the first message of the recording [ns]; 0 where its metadata doesn't say."""
        try:
            raw = read_yaml(self._recording / "metadata.yaml", _METADATA)
            start = raw["rosbag2_bagfile_information"]["starting_time"]
            return int(start["nanoseconds_since_epoch"])
        except (SysIdError, ValueError, KeyError, TypeError):
            return 0

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    @property
    def step(self) -> str:
        """What goes on, in the command's own words."""
        if self.done:
            return "done"
        found = _STEP.findall(self._log.read_bytes())
        return found[-1].decode(errors="replace") if found else "starting"

    @property
    def progress(self) -> float:
        """Share of the work that is done, by the step that goes on, 0 to 1."""
        step = self.step
        return 1.0 if step == "done" else _PROGRESS.get(step.split(" ")[0], 0.0)

    def cancel(self) -> None:
        """End it."""
        if not self.done:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    @property
    def verdict(self) -> str:
        """Verdict of the result with its reasons, one line; "" where there is none."""
        path = self.folder / "result.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["verdict"]
            reasons = [*found["failures"], *found["warnings"]]
            return f"{found['outcome']}: {' '.join(reasons or found['held'])}"
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    @property
    def error(self) -> str:
        """What went wrong, "" when nothing did."""
        if not self._process.returncode:
            return ""
        if self.verdict:
            return self.verdict
        words = [
            line
            for line in self._log.read_text(errors="replace").strip().splitlines()
            if not line.startswith("[step]")
        ]
        return " ".join(words[-6:]) or f"sysid identify ended with {self._process.returncode}"
