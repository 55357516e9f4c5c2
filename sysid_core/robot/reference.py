# SPDX-License-Identifier: Apache-2.0
"""Reference robots of the literature: a URDF each, and a file with the rotors of the motors."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.regressor import Rotor

_FOLDER = Path(__file__).parent / "reference_robots"
# In the base frames of Wensing, Niemeyer, Slotine 2023 [m/s^2]: x of the leg points down, figure 4
# has no gravity.
_GRAVITY = {
    "cheetah3-leg": (9.81, 0.0, 0.0),
    "two-link-parallel": (0.0, 0.0, 0.0),
    "two-link-perpendicular": (0.0, 0.0, 0.0),
}


def reference_robots() -> dict[str, Path]:
    """Return the names and URDF files of the reference robots in this package."""
    return {path.stem.replace("_", "-"): path for path in sorted(_FOLDER.glob("*.urdf"))}


def reference_rotors(name: str) -> tuple[Rotor, ...]:
    """Return the rotors of a reference robot; empty if none are known."""
    path = _FOLDER / f"{name}_rotors.yaml"
    return Rotor.load(path) if path.is_file() else ()


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
    robots, name = reference_robots(), str(source)
    try:
        return RobotModel.from_urdf(
            robots.get(name, source),
            floating_base=floating_base,
            gravity=_GRAVITY.get(name, STANDARD_GRAVITY) if gravity is None else gravity,
        )
    except ModelError as err:
        if "source" not in err.data:
            raise
        raise ModelError(
            err.message,
            remedy=f"{err.remedy} Reference robots: {', '.join(robots)}.",
            source=name,
        ) from err
