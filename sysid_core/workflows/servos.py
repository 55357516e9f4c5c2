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

from sysid_core.errors import SysIdError
from sysid_core.files import write_json
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Verdict
from sysid_core.robot import RobotModel
from sysid_core.settings import words
from sysid_core.workflows.inputs import inputs_of

if TYPE_CHECKING:
    from sysid_core.servos import Replay, ServoIdentification, ServoRecording

_SHOWN = 6  # motions in the report


@dataclass(frozen=True, kw_only=True)
class ServoFiles:
    """Files with recorded commands and positions.

    Attributes:
        recordings: SAGE folders, LeRobot datasets, rosbag2 bags, CSV, NPZ or JSON; or folders of them.
        motions: Names of the motions (episodes) to use, separated by commas; default: all.
        joints: Joint names of the columns, separated by commas, if the files do not contain them.
        degrees: Declare that the angles are in degrees instead of radians.
        percent: Declare that the angles are LeRobot's normalised values: -100 to 100 between the
            URDF limits of each joint, and 0 to 100 for grippers.
        calibration: LeRobot's calibration (JSON) with the ranges of the joints; implies --percent.
        columns: Column map of a table whose column names are not recognised (`sysid init --driver
            servos`).
    """

    recordings: tuple[Path, ...]
    motions: str = ""
    joints: str = ""
    degrees: bool = False
    percent: bool = False
    calibration: Path | None = None
    columns: Path | None = None

    def read(self) -> tuple[ServoRecording, ...]:
        """Read all motions of the files.

        Raises:
            SignalError: A file cannot be read, or does not contain a requested motion.
        """
        return self._read(self.recordings, words(self.motions))

    def read_others(self, paths: tuple[Path, ...]) -> tuple[ServoRecording, ...]:
        """Read all motions of further files, in the format of the first file."""
        return self._read(paths, ())

    def _read(
        self, paths: tuple[Path, ...], motions: tuple[str, ...]
    ) -> tuple[ServoRecording, ...]:
        from sysid_core.servos import read_recordings

        return read_recordings(
            paths,
            motions=motions,
            joints=words(self.joints),
            degrees=self.degrees,
            percent=self.percent,
            calibration=self.calibration,
            columns=self.columns,
        )


@dataclass(frozen=True, kw_only=True)
class ServoSettings:
    """Settings of the identification of position servos from files.

    Attributes:
        files: Options that describe the recordings.
        robot: URDF file, or a robot of example-robot-data.
        gravity: Gravity X,Y,Z in the base frame [m/s^2], if the base is not mounted as in the URDF.
        mount: Orientation ROLL,PITCH,YAW of the base in the world [rad], instead of gravity:
            3.14159,0,0 for a robot on the ceiling.
        gain: JOINT=K: known stiffness K of the joint's servo [N m/rad]; may be repeated.
        ground: Height of the table above the origin of the base [m]; default: estimated if the
            robot touched the table.
        stops: JOINT=LOW:HIGH: lower and upper mechanical stop of a joint [rad], one of which may be
            left out; may be repeated; default: estimated if the motions show them.
        unseen: Recording of held-out motions, which are simulated in the report; may be repeated.
    """

    files: ServoFiles
    robot: str
    gravity: str = ""
    mount: str = ""
    gain: tuple[str, ...] = ()
    ground: float | None = None
    stops: tuple[str, ...] = ()
    unseen: tuple[Path, ...] = field(default=())

    @property
    def gains(self) -> dict[str, float]:
        """Known stiffness by joint [N m/rad].

        Raises:
            SysIdError: A stiffness is not a positive number.
        """
        gains = {}
        for text in self.gain:
            name, _, value = text.partition("=")
            try:
                gains[name] = float(value)
            except ValueError:
                gains[name] = 0.0
            if not 0.0 < gains[name] < float("inf"):
                raise SysIdError(
                    f"'{text}' is no gain.", remedy="Write JOINT=K with the stiffness K in N m/rad."
                )
        return gains

    @property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Known mechanical stops by joint [rad].

        Raises:
            SysIdError: Stops are not two ascending numbers.
        """
        ends = {}
        for text in self.stops:
            name, _, values = text.partition("=")
            low, both, high = values.partition(":")
            try:
                ends[name] = float(low or "-inf"), float(high or "inf" if both else "nan")
            except ValueError:
                ends[name] = 0.0, 0.0
            if not ends[name][0] < ends[name][1]:
                raise SysIdError(
                    f"'{text}' states no stops.",
                    remedy="Write JOINT=LOW:HIGH with positions in rad, such as wrist_roll=-1.03:.",
                )
        return ends


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
