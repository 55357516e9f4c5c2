"""Reference robots of the literature, kept as modified Denavit-Hartenberg tables."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.rotors import Rotor, rotors_from_mappings

_FOLDER = Path(__file__).parent / "reference_robots"
_ROW_KEYS = frozenset(
    [
        "name",
        "type",
        "parent",
        "theta",
        "theta_deg",
        "alpha",
        "alpha_deg",
        "a",
        "d",
        "mass",
        "com",
        "inertia",
        "lower",
        "upper",
        "velocity",
        "effort",
    ]
)


def reference_robots() -> dict[str, Path]:
    """Names and files of the reference robots (YAML tables and URDFs) that come with the package."""
    files = [*sorted(_FOLDER.glob("*.yaml")), *sorted(_FOLDER.glob("*.urdf"))]
    # A URDF wins over a YAML of the same name, which then only describes it further.
    return {path.stem.replace("_", "-"): path for path in files}


def reference_robot(
    name: str, *, floating_base: bool = False, gravity: ArrayLike | None = None
) -> RobotModel:
    """A robot by its name in `reference_robots`.

    Args:
        name: Such as "puma560".
        floating_base: Whether its base moves freely.
        gravity: In the base frame, shape (3,) [m/s^2]; None: as the robot's file says.

    Raises:
        ModelError: There is no such robot.
    """
    path = _reference_path(name)
    if path.suffix == ".urdf":
        return RobotModel.from_urdf(
            path,
            floating_base=floating_base,
            gravity=STANDARD_GRAVITY if gravity is None else gravity,
        )
    return load_dh_robot(path, floating_base=floating_base, gravity=gravity)


def reference_rotors(name: str) -> tuple[Rotor, ...]:
    """Rotors that the file of a reference robot lists (none for URDFs)."""
    path = _reference_path(name)
    if path.suffix == ".urdf":
        return ()
    return rotors_from_mappings(_read(path).get("rotors", ()), str(path))


def load_dh_robot(
    path: str | Path, *, floating_base: bool = False, gravity: ArrayLike | None = None
) -> RobotModel:
    """Build a robot from a YAML table in modified Denavit-Hartenberg parameters.

    Keys of the file: `name`, `gravity` (default 0 0 -9.81), `joints` and optionally `rotors`
    (see `load_rotors`). Keys of a joint: `type` (R or P), `theta`, `alpha`, `a`, `d` (zero when
    absent; angles in radians, or in degrees as `theta_deg`, `alpha_deg`), `name`, `parent`
    (name of a joint, "base", or by default the joint above), `mass`, `com` (in the link frame),
    `inertia` (about the COM, in the axes of the link frame: `[xx, yy, zz]` or
    `{xx, yy, zz, xy, xz, yz}`), `lower`, `upper`, `velocity`, `effort`.
    The moving link of joint `jointN` is called `linkN` (`<name>_link` for other names).

    Args:
        path: The file.
        floating_base: Whether the base moves freely.
        gravity: In the base frame, shape (3,) [m/s^2]; None: the file's.

    Raises:
        ModelError: The file can't be read as such a table.
    """
    table = _read(Path(path))
    if gravity is None:
        gravity = table.get("gravity", STANDARD_GRAVITY)
    return RobotModel.from_urdf(
        _urdf_from_table(table), floating_base=floating_base, gravity=gravity
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


def _read(path: Path) -> Mapping[str, Any]:
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as err:
        raise ModelError(f"The robot table '{path}' can't be read: {err}.") from err
    if not isinstance(table, Mapping) or not table.get("joints") or "name" not in table:
        raise ModelError(
            f"'{path}' is not a robot table.", remedy="It needs the keys `name` and `joints`."
        )
    return table


def _angle(row: Mapping[str, Any], key: str) -> float:
    return math.radians(row[f"{key}_deg"]) if f"{key}_deg" in row else float(row.get(key, 0.0))


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


def _urdf_from_table(table: Mapping[str, Any]) -> str:
    robot = ET.Element("robot", name=str(table["name"]))
    ET.SubElement(robot, "link", name="base_link")
    links = {"base": "base_link"}
    parent = "base"
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for number, row in enumerate(table["joints"], start=1):
        unknown = set(row) - _ROW_KEYS
        kind = str(row.get("type", "")).upper()
        name = str(row.get("name", f"joint{number}"))
        parent = str(row.get("parent", parent))
        if unknown or kind not in ("R", "P") or parent not in links:
            raise ModelError(
                f"Joint '{name}' of '{table['name']}' has type '{kind}', parent '{parent}'"
                f" and unknown keys {sorted(unknown)}.",
                remedy=f"Types: R, P. Parents: {', '.join(links)}. Keys: {', '.join(sorted(_ROW_KEYS))}.",
            )
        link = f"link{name[5:]}" if name.startswith("joint") else f"{name}_link"
        # T = Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d): all but the joint's own motion.
        R_x = _rotation(x, _angle(row, "alpha"))
        placement = pin.SE3(
            R_x @ _rotation(z, _angle(row, "theta")),
            np.array([float(row.get("a", 0.0)), 0.0, 0.0])
            + R_x @ np.array([0.0, 0.0, float(row.get("d", 0.0))]),
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
            lower=str(row.get("lower", -reach)),
            upper=str(row.get("upper", reach)),
            velocity=str(row.get("velocity", math.pi if kind == "R" else 1.0)),
            effort=str(row.get("effort", 1e3)),
        )
        _add_link(robot, link, row)
        links[name] = link
        parent = name
    return ET.tostring(robot, encoding="unicode")


def _add_link(robot: ET.Element, name: str, row: Mapping[str, Any]) -> None:
    link = ET.SubElement(robot, "link", name=name)
    if "mass" not in row:
        return
    inertia = row.get("inertia", [0.0, 0.0, 0.0])
    if not isinstance(inertia, Mapping):
        inertia = dict(zip(("xx", "yy", "zz"), inertia, strict=True))
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value=repr(float(row["mass"])))
    ET.SubElement(inertial, "origin", xyz=_numbers(row.get("com", [0.0, 0.0, 0.0])), rpy="0 0 0")
    entries = {
        f"i{key}": repr(float(inertia.get(key, 0.0)))
        for key in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    ET.SubElement(inertial, "inertia", entries)


def load_robot(
    source: str | Path, *, floating_base: bool = False, gravity: ArrayLike | None = None
) -> RobotModel:
    """A robot by whatever people type: a reference robot's name, or what `from_urdf` takes.

    Args:
        source: Name of a reference robot or of an `example-robot-data` robot, path, or XML.
        floating_base: Whether its base moves freely.
        gravity: In the base frame, shape (3,) [m/s^2]; None: the robot's own, or the standard one.

    Raises:
        ModelError: Nothing of that name exists, or it can't be read.
    """
    if str(source) in reference_robots():
        return reference_robot(str(source), floating_base=floating_base, gravity=gravity)
    try:
        return RobotModel.from_urdf(
            source,
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
