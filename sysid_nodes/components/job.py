"""`sysid identify` as a process of its own, started and watched by the estimator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml
from robot_sysid.action import Identify

from sysid_core.robot import RobotModel


class IdentificationJob:
    """One running identification.

    Args:
        request: Of the action.
        model: The robot whose description the node has.
        folder: For estimate, result and report.
    """

    def __init__(self, request: Identify.Goal, model: RobotModel, folder: Path) -> None:
        self._recording = Path(request.recording)
        folder.mkdir(parents=True, exist_ok=True)
        urdf = folder / "robot.urdf"
        urdf.write_text(model.urdf_xml, encoding="utf-8")
        command = [sys.executable, "-m", "sysid_core.cli", "identify", request.recording]
        command += ["--robot", str(urdf), "--out", str(folder)]
        for option, value in (
            ("--validate", request.validation),
            ("--method", "lmi" if request.method == "constrained" else request.method),
            ("--plan", request.trajectory_file),
            ("--loops", request.loops_file),
        ):
            if value:
                command += [option, value]
        self._log = (folder / "identify.log").open("w+b")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
        )

    @property
    def recording_began_ns(self) -> int:
        """Stamp of the first message of the recording [ns]; 0 where its metadata doesn't say."""
        try:
            text = (self._recording / "metadata.yaml").read_text(encoding="utf-8")
            start = yaml.safe_load(text)["rosbag2_bagfile_information"]["starting_time"]
            return int(start["nanoseconds_since_epoch"])
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
            return 0

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    @property
    def step(self) -> str:
        """What goes on."""
        return "done" if self.done else "fitting"

    @property
    def progress(self) -> float:
        """0 to 1."""
        return 1.0 if self.done else 0.5

    @property
    def error(self) -> str:
        """What went wrong, "" when nothing did."""
        if not self._process.returncode:
            return ""
        self._log.seek(0)
        words = self._log.read().decode(errors="replace").strip().splitlines()
        return " ".join(words[-6:]) or f"sysid identify ended with {self._process.returncode}"
