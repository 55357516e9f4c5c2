# SPDX-License-Identifier: Apache-2.0
"""Identification of position servos from recordings: from settings to a judged simulator with its
files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysid_core.files import write_json
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Verdict
from sysid_core.robot import RobotModel
from sysid_core.workflows.inputs import inputs_of
from sysid_core.workflows.settings import ServoSettings

if TYPE_CHECKING:
    from sysid_core.servos import Replay, ServoIdentification

_SHOWN = 6  # motions in the report


@dataclass(frozen=True, eq=False)
class IdentifiedServos:
    """Identified servos with their verdict.

    Attributes:
        result: Identified servos of the robot.
        replays: Recorded motions with their simulation, for the report.
        unseen: RMS errors of simulation and commands over the recordings that were not fitted
            [rad]; None: there are none.
        inputs: Sources of the data; empty for data in memory.
    """

    result: ServoIdentification
    replays: tuple[Replay, ...]
    unseen: tuple[float, float] | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Verdict on whether the servos may be used."""
        return Verdict(tuple(finding.as_reason for finding in self.result.findings))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for result.json."""
        result = self.result
        ground = result.model.ground
        return {
            "schema": "robot_sysid/servo_identification/1",
            "verdict": self.verdict.to_dict(),
            "inputs": dict(self.inputs),
            "motions": list(result.motions),
            "notes": list(result.notes),
            "ground": None if ground is None else float(ground.height),
            "unseen": self.unseen and dict(zip(("rms", "command_rms"), self.unseen, strict=True)),
            "joints": {
                j.servo.joint: {
                    "held_out_rms": j.held_out,
                    "command_rms": j.baseline,
                    "terms": {term.value: x for term, x in j.servo.values.items()},
                    "deviations": {term.value: x for term, x in j.servo.deviations.items()},
                    "stops": [x if isfinite(x) else None for x in j.servo.stops],
                }
                for j in result.joints
            },
        }

    def write(self, folder: Path | str) -> tuple[str, ...]:
        """Write simulator, result and report, and return the names of the files."""
        from sysid_core.servos import save_servos, servo_report

        folder = Path(folder)
        model = save_servos(self.result, folder)
        write_json(folder / "result.json", self.to_dict())
        page = servo_report(
            self.result, folder / "report.html", replays=self.replays, unseen=self.unseen
        )
        return model.name, "robot.urdf", "result.json", page.name


def identify_servos(
    settings: ServoSettings,
    progress: Progress = silent,
    phase: Callable[[str], None] = lambda text: None,
) -> IdentifiedServos:
    """Identify position servos from recordings in files.

    Args:
        settings: Settings of the identification.
        progress: Function called with each step.
        phase: Function called with the name of each phase of the fit.

    Raises:
        SysIdError: A file cannot be read, or a recording does not belong to the robot.
    """
    from sysid_core.servos import Replay
    from sysid_core.servos import identify_servos as identify

    progress(Step.READING)
    gains = settings.gains
    robot = RobotModel.from_urdf(settings.robot).mounted(settings.gravity, settings.mount)
    recordings = settings.files.read()
    unseen = settings.files.read_others(settings.unseen) if settings.unseen else recordings
    progress(Step.FITTING)
    result = identify(
        recordings, robot, gains=gains, ground=settings.ground, stops=settings.ends, progress=phase
    )
    progress(Step.WRITING)
    shown = Replay.all_of(result.model, unseen if settings.unseen else unseen[:_SHOWN])
    errors = None
    if settings.unseen:
        seconds = [item.recording.duration for item in shown]
        of_both = ([item.rms for item in shown], [item.command_rms for item in shown])
        errors = Replay.overall(of_both[0], seconds), Replay.overall(of_both[1], seconds)
    return IdentifiedServos(result, shown, errors, inputs_of(settings))
