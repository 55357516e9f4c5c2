# SPDX-License-Identifier: Apache-2.0
"""Registry of a fleet: robots, calibrations, and rules that assign recordings to robots and tools."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field

from sysid_core.errors import BatchError
from sysid_core.files import FileKind, FileSchema, Name, Number, Positive
from sysid_core.workflows import inputs_of

_KIND = FileKind("fleet registry", "See docs/fleet.md for an example.", BatchError)


class Tool(FileSchema):
    """Tool that a robot carries in some recordings.

    Attributes:
        match: Pattern of the addresses of its recordings.
        mass: Known mass that the force-torque sensor carries [kg]; None: unknown, so that the gain
            of the sensor is not monitored.
    """

    match: Name
    mass: Positive | None = None


class Robot(FileSchema):
    """Robot of the fleet.

    Attributes:
        description: URDF file, or a robot of example-robot-data.
        calibration: Output folder of `sysid identify`, with masses, friction terms and cut-off
            frequencies.
        match: Pattern of the addresses of its recordings.
        tools: Tools by identifier; a recording that matches none of them was made without a tool.
        columns: Column map for tables, or for information that bags do not contain.
        effort_kind: Kind of the efforts in bags.
        temperature: Topic of `sensor_msgs/Temperature` in its bags.
        speed: Speed at which friction is reported [rad/s or m/s].
        group: Group of robots whose parameters share the same variation from night to night;
            default: robots with the same description.
    """

    description: Name
    calibration: Name
    match: Name
    tools: dict[str, Tool] = Field(default_factory=dict)
    columns: str = ""
    effort_kind: str = ""
    temperature: str = ""
    speed: Positive = 0.5
    group: str = ""


class Registry(FileSchema):
    """Robots of a fleet.

    Attributes:
        robots: Robots by identifier.
        false_alarms: Expected number of false alarms for each robot and year, over all monitored
            parameters.
        recordings_per_year: Number of recordings per year of a robot with one tool.
        shift: Size of the change for which the detection is fastest, in standard deviations of a
            single estimate.
    """

    schema_: Literal["robot_sysid/fleet/1"] = Field(alias="schema")
    robots: dict[str, Robot]
    false_alarms: Positive = 0.3
    recordings_per_year: Positive = 365.0
    shift: Number = 2.0

    def owner(self, address: str) -> tuple[str, str]:
        """Return the robot and tool ("" for none) to which a recording belongs.

        Raises:
            BatchError: The recording belongs to no robot, or to several.
        """
        found = [name for name, robot in self.robots.items() if fnmatchcase(address, robot.match)]
        if len(found) != 1:
            raise BatchError(
                f"'{address}' belongs to {'no robot' if not found else ' and '.join(found)} of the"
                " registry.",
                remedy="Write `match:` so that the pattern of exactly one robot matches.",
            )
        tools = self.robots[found[0]].tools
        return found[0], next((t for t, x in tools.items() if fnmatchcase(address, x.match)), "")

    def group(self, robot: str) -> str:
        """Return the group of robots whose variation between nights is estimated together."""
        return self.robots[robot].group or self.robots[robot].description

    @classmethod
    def load(cls, path: str | Path) -> Registry:
        """Load `fleet.yaml`; relative paths are relative to this file.

        Raises:
            BatchError: The file is invalid; the message contains file, key and remedy.
        """
        path = Path(path)
        raw = _KIND.read_schema(path, Registry)
        robots = {}
        for name, robot in raw.robots.items():
            found = {
                key: str(path.parent / value) if (path.parent / value).exists() else value
                for key in ("description", "calibration", "columns")
                if (value := getattr(robot, key))
            }
            robots[name] = robot.model_copy(update=found)
            if not (Path(robots[name].calibration) / "parameters.yaml").exists():
                raise BatchError(
                    f"Robot '{name}': there is no '{robot.calibration}/parameters.yaml'.",
                    remedy="Give the folder that `sysid identify` wrote.",
                )
        return raw.model_copy(update={"robots": robots})


def settings_hash(robot: Robot, tool: Tool | None) -> str:
    """Return the hash of all inputs that affect the estimates, except the recording.

    The hash contains the contents of files, but not their paths.
    """
    calibration = [Path(robot.calibration) / name for name in ("parameters.yaml", "estimate.yaml")]
    options = robot.model_dump(mode="json", exclude=_ELSEWHERE)
    options["tool"] = tool.model_dump(mode="json", exclude={"match"}) if tool else None
    return str(inputs_of(options, calibration=[x for x in calibration if x.exists()])["key"])


_ELSEWHERE = {"match", "tools", "group", "calibration"}
