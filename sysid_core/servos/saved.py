# SPDX-License-Identifier: Apache-2.0
"""File `servos.yaml` with the identified servos, and the URDF of the robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, StrictFloat

from sysid_core.errors import ModelError
from sysid_core.files import FileKind, FileSchema, Name, Number, write_text, write_yaml
from sysid_core.robot import RobotModel
from sysid_core.servos.examine import FREE
from sysid_core.servos.ground import Ground, Surface
from sysid_core.servos.identify import ServoIdentification
from sysid_core.servos.model import TERMS, JointServo, ServoModel, Term

FILE = "servos.yaml"
SCHEMA = "robot_sysid/servos/1"
KIND = FileKind(
    "servo model",
    "Identify it again: sysid servos identify FILE… --robot URDF --out DIR.",
    ModelError,
)
_HEAD = """# Position servos as identified. Torques are stated as angles: torque divided by the servo's stiffness K.
# Terms that are not listed are zero. Units: {units}.
"""


class _Joint(FileSchema):
    MORE_KEYS = True

    joint: Name
    terms: dict[Term, Number]
    deviations: dict[Term, StrictFloat] = Field(default_factory=dict)
    load: Number = 0.0
    stops: tuple[Number | None, Number | None] = (None, None)

    @property
    def servo(self) -> JointServo:
        low, high = (x if x is not None else end for x, end in zip(self.stops, FREE, strict=True))
        return JointServo(self.joint, self.terms, self.deviations, self.load, (low, high))


class _Ground(FileSchema):
    height: Number
    points: dict[Name, list[tuple[Number, Number, Number]]]


class _File(FileSchema):
    MORE_KEYS = True

    schema_: Literal["robot_sysid/servos/1"] = Field(alias="schema")
    urdf: Name
    urdf_hash: str = ""
    gravity: tuple[Number, Number, Number] = (0.0, 0.0, -9.81)
    joints: list[_Joint] = Field(min_length=1)
    ground: _Ground | None = None


def save_servos(result: ServoIdentification, folder: str | Path) -> Path:
    """Write `servos.yaml` and the robot's URDF into a folder.

    Returns:
        Path of the YAML file.

    Raises:
        ModelError: The robot was not read from a URDF.
    """
    robot = result.model.robot
    if not robot.urdf_xml:
        raise ModelError(
            f"The robot '{robot.name}' was not built from a URDF, so that it cannot be saved.",
            remedy="Give the robot as a URDF.",
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "robot.urdf", robot.urdf_xml)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "urdf": "robot.urdf",
        "urdf_hash": robot.urdf_hash,
        "gravity": [float(x) for x in robot.pin_model.gravity.linear],
        "fit_for_use": result.fit_for_use,
        "findings": [
            {"reason": f.reason.value, "joint": f.joint, "value": float(f.value), "other": f.other}
            for f in result.findings
        ],
        "motions": list(result.motions),
        "seconds": round(result.seconds, 3),
        "notes": list(result.notes),
        "joints": [
            {
                "joint": joint.servo.joint,
                "held_out_rms": joint.held_out,
                "command_rms": joint.baseline,
                "terms": {term.value: x for term, x in joint.servo.values.items()},
                "deviations": {term.value: x for term, x in joint.servo.deviations.items()},
                "load": joint.servo.load,  # [N m]
                "stops": [float(x) if np.isfinite(x) else None for x in joint.servo.stops],
            }
            for joint in result.joints
        ],
    }
    if result.model.ground is not None:
        ground = result.model.ground
        content["ground"] = {  # height [m] over the base's origin, points [m] in joints' frames
            "height": float(ground.height),
            "points": {
                joint: ground.surface.points[ground.surface.body == j].tolist()
                for j, joint in enumerate(result.model.joints)
            },
        }
    units = ", ".join(f"{term.value} [{facts.unit}]" for term, facts in TERMS.items())
    path = folder / FILE
    write_yaml(path, content, head=_HEAD.format(units=units))
    return path


def load_servos(folder: str | Path) -> ServoModel:
    """Load the simulator that `sysid servos identify` wrote into a folder.

    Args:
        folder: Folder of the simulator, or its `servos.yaml`.

    Raises:
        ModelError: The file does not exist or is damaged, or the URDF in its folder is not the one
            of the identification.
    """
    path = Path(folder)
    path = path / FILE if path.is_dir() else path
    content = KIND.read_schema(path, _File)
    robot = RobotModel.from_urdf(path.parent / content.urdf).with_gravity(content.gravity)
    if content.urdf_hash and content.urdf_hash != robot.urdf_hash:
        raise ModelError(
            f"The servos in '{path}' were identified with another version of '{content.urdf}'"
            f" (URDF {content.urdf_hash}, here {robot.urdf_hash}).",
            remedy=f"Restore '{path.parent / content.urdf}', or identify the servos with this URDF.",
        )
    servos = tuple(joint.servo for joint in content.joints)
    if content.ground is None:
        return ServoModel(robot, servos)
    joints = [servo.joint for servo in servos]
    points = [
        (joints.index(j), x) for j, xs in content.ground.points.items() if j in joints for x in xs
    ]
    surface = Surface(np.array([j for j, _ in points]), np.array([x for _, x in points]))
    return ServoModel(robot, servos, Ground(content.ground.height, surface))
