# SPDX-License-Identifier: Apache-2.0
"""Reference robots of the literature, stored as modified Denavit-Hartenberg tables."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Literal

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from pydantic import Field

from sysid_core.errors import ModelError
from sysid_core.files import FileKind, FileSchema, Name, NotNegative, Number, Positive, Vector3
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.regressor import Rotor

_FOLDER = Path(__file__).parent / "reference_robots"
_FILE = FileKind("robot table", "See `load_dh_robot` for its keys.", ModelError)


class _Moments(FileSchema):
    xx: Number = 0.0
    yy: Number = 0.0
    zz: Number = 0.0
    xy: Number = 0.0
    xz: Number = 0.0
    yz: Number = 0.0


class _Row(FileSchema):
    name: Name | None = None
    type: Literal["R", "P"]
    parent: Name | None = None
    theta: Number = 0.0
    theta_deg: Number = 0.0
    alpha: Number = 0.0
    alpha_deg: Number = 0.0
    a: Number = 0.0
    d: Number = 0.0
    mass: NotNegative | None = None
    com: Vector3 = Field(default_factory=lambda: [0.0] * 3)
    inertia: Vector3 | _Moments = _Moments()
    lower: Number | None = None
    upper: Number | None = None
    velocity: Positive | None = None
    effort: Positive = 1e3

    def angle(self, key: str) -> float:
        return math.radians(getattr(self, f"{key}_deg")) or float(getattr(self, key))


class _Table(FileSchema):
    name: Name
    gravity: Vector3 = Field(default_factory=lambda: list(STANDARD_GRAVITY))
    joints: list[_Row] = Field(min_length=1)
    rotors: tuple[Rotor, ...] = ()


def reference_robots() -> dict[str, Path]:
    """Return the names and files of the reference robots (YAML tables and URDFs) in this package."""
    files = [*sorted(_FOLDER.glob("*.yaml")), *sorted(_FOLDER.glob("*.urdf"))]
    # A URDF wins over a YAML of the same name, which then only describes it further.
    return {path.stem.replace("_", "-"): path for path in files}


def reference_rotors(name: str) -> tuple[Rotor, ...]:
    """Return the rotors of a reference robot, if its file lists any."""
    path = _reference_path(name)
    if path.suffix == ".urdf":
        return ()
    return _FILE.read_schema(path, _Table).rotors


def load_dh_robot(
    path: str | Path, *, floating_base: bool = False, gravity: ArrayLike | None = None
) -> RobotModel:
    """Build a robot from a YAML table in modified Denavit-Hartenberg parameters.

    Keys of the file: `name`, `gravity` (default 0 0 -9.81), `joints` and optionally `rotors`
    (see `Rotor.load`). Keys of a joint: `type` (R or P), `theta`, `alpha`, `a`, `d` (zero when
    absent; angles in radians, or in degrees as `theta_deg`, `alpha_deg`), `name`, `parent`
    (name of a joint, "base", or by default the joint above), `mass`, `com` (in the link frame),
    `inertia` (about the COM, in the axes of the link frame: `[xx, yy, zz]` or
    `{xx, yy, zz, xy, xz, yz}`), `lower`, `upper`, `velocity`, `effort`.
    The moving link of joint `jointN` is called `linkN` (`<name>_link` for other names).

    Args:
        path: Path of the YAML file.
        floating_base: True for a base that moves freely.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; None: that of the file.

    Raises:
        ModelError: The file is not such a table.
    """
    table = _FILE.read_schema(path, _Table)
    return RobotModel.from_urdf(
        _urdf_from_table(table, path),
        floating_base=floating_base,
        gravity=table.gravity if gravity is None else gravity,
    )


def _reference_path(name: str) -> Path:
    robots = reference_robots()
    if name not in robots:
        raise ModelError(
            f"There is no reference robot '{name}'.",
            remedy=f"Choose one of: {', '.join(robots)}.",
            name=name,
        )
    return robots[name]


def _rotation(axis: Array, angle: float) -> Array:
    """Rotation matrix, exact for multiples of a right angle."""
    quarter = angle / (math.pi / 2)
    if abs(quarter - round(quarter)) < 1e-14:
        angle = round(quarter) * math.pi / 2
        R = pin.AngleAxis(angle, axis).toRotationMatrix()
        return np.asarray(np.round(R))
    return np.asarray(pin.AngleAxis(angle, axis).toRotationMatrix())


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(values, dtype=float))


def _urdf_from_table(table: _Table, path: str | Path) -> str:
    robot = ET.Element("robot", name=table.name)
    ET.SubElement(robot, "link", name="base_link")
    links = {"base": "base_link"}
    parent = "base"
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for number, row in enumerate(table.joints, start=1):
        kind = row.type
        name = row.name or f"joint{number}"
        parent = row.parent or parent
        if name in links or parent not in links:
            why = "twice" if name in links else f"with the unknown parent '{parent}'"
            raise _FILE.refusal(path, f"joint '{name}' is there {why}")
        link = f"link{name[5:]}" if name.startswith("joint") else f"{name}_link"
        # T = Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d): all but the joint's own motion.
        R_x = _rotation(x, row.angle("alpha"))
        placement = pin.SE3(
            R_x @ _rotation(z, row.angle("theta")),
            np.array([row.a, 0.0, 0.0]) + R_x @ np.array([0.0, 0.0, row.d]),
        )
        joint = ET.SubElement(
            robot, "joint", name=name, type="revolute" if kind == "R" else "prismatic"
        )
        ET.SubElement(
            joint,
            "origin",
            xyz=_numbers(placement.translation),
            rpy=_numbers(pin.rpy.matrixToRpy(placement.rotation)),
        )
        ET.SubElement(joint, "parent", link=links[parent])
        ET.SubElement(joint, "child", link=link)
        ET.SubElement(joint, "axis", xyz="0 0 1")
        reach = math.pi if kind == "R" else 1.0
        ET.SubElement(
            joint,
            "limit",
            lower=str(-reach if row.lower is None else row.lower),
            upper=str(reach if row.upper is None else row.upper),
            velocity=str(row.velocity or reach),
            effort=str(row.effort),
        )
        _add_link(robot, link, row)
        links[name] = link
        parent = name
    return ET.tostring(robot, encoding="unicode")


def _add_link(robot: ET.Element, name: str, row: _Row) -> None:
    link = ET.SubElement(robot, "link", name=name)
    if row.mass is None:
        return
    moments = row.inertia
    if isinstance(moments, list):
        moments = _Moments(**dict(zip(("xx", "yy", "zz"), moments, strict=True)))
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value=repr(row.mass))
    ET.SubElement(inertial, "origin", xyz=_numbers(row.com), rpy="0 0 0")
    ET.SubElement(inertial, "inertia", {f"i{key}": repr(value) for key, value in moments})


def load_robot(
    source: str | Path, *, floating_base: bool = False, gravity: ArrayLike | None = None
) -> RobotModel:
    """Load a reference robot by its name, or any other robot as in `from_urdf`.

    Args:
        source: Name of a reference robot or of an `example-robot-data` robot, path, or XML.
        floating_base: True for a base that moves freely.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; None: that of the robot, or the
            standard gravity.

    Raises:
        ModelError: There is no robot of this name, or its file cannot be read.
    """
    own = reference_robots().get(str(source))
    if own is not None and own.suffix != ".urdf":
        return load_dh_robot(own, floating_base=floating_base, gravity=gravity)
    try:
        return RobotModel.from_urdf(
            source if own is None else own,
            floating_base=floating_base,
            gravity=STANDARD_GRAVITY if gravity is None else gravity,
        )
    except ModelError as err:
        if "source" not in err.data:
            raise
        raise ModelError(
            err.message,
            remedy=f"{err.remedy} Reference robots: {', '.join(reference_robots())}.",
            source=str(source),
        ) from err
