# SPDX-License-Identifier: Apache-2.0
"""Shapes from a short text, a mesh file, or a small YAML file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field, StrictBool, model_validator

from sysid_core.errors import ModelError
from sysid_core.files import Angles3, FileKind, FileSchema, Name, Positive, Vector3
from sysid_core.robot.shapes.shape import DEFAULT_CELLS, Shape

MESHES = (".stl", ".obj", ".ply")
_FORMS = (
    "'box LX LY LZ', 'cylinder RADIUS LENGTH', 'sphere RADIUS', 'gripper OPENING' (an object of"
    " this width between fingers that close along y; metres), each with 'at X Y Z' if its centre is"
    f" not at the origin of the sensor, a mesh or point cloud ({', '.join(MESHES)}; 'hull FILE' for"
    " one that isn't closed, 'FILE scale 0.001' for millimetres), or a YAML file with 'boxes' or"
    " 'mesh' and 'pose_in_sensor'"
)
_FILE = FileKind("shape file", f"Give {_FORMS}.", ModelError)
_MOST_CELLS = 100_000  # of a file: a bound on memory, since priors are dense in them
_LONGEST, _SHORTEST = 5.0, 1e-4  # [m] of what an arm holds


def grasped(opening: float, *, cells: int = DEFAULT_CELLS) -> Shape:
    """Return the unknown object held by fingers that close along y, with the origin of the finger
    frame between them.

    Only the width of the object is known; methods that need a shape use a cube.

    Args:
        opening: Distance between the fingers [m].
        cells: Approximate number of cells.

    Raises:
        ModelError: The opening is not positive.
    """
    box = Shape.box([opening] * 3, cells=cells)
    return replace(box, name="grasped", fingers=np.array([0.0, opening, 0.0]))


_Cells = Annotated[int, Field(strict=True, ge=1, le=_MOST_CELLS)]
_Length = Annotated[float, Field(strict=True, ge=_SHORTEST, le=_LONGEST)]


_MAKERS: dict[str, Callable[..., Shape]] = {
    "cylinder": Shape.cylinder,
    "sphere": Shape.sphere,
    "gripper": grasped,
}


def load_shape(text: str | Path, *, cells: int = DEFAULT_CELLS) -> Shape:
    """Load a shape from a file, in the sensor frame.

    Args:
        text: `box 0.2 0.3 0.05`, `cylinder 0.03 0.1`, `sphere 0.04`, `gripper 0.06`, each centred at the sensor's
            origin unless `at X Y Z` follows; a mesh or point cloud (`[hull] FILE [scale S]`); or a
            YAML file:

            boxes:                # or `gripper: OPENING`, the pose that of the finger frame;
                                  # or `mesh: FILE`, `scale: 0.001` for millimetres, `hull: true`
              - {size: [0.05, 0.2, 0.05], centre: [0, 0, 0.025], cells: [2, 4, 2]}
            pose_in_sensor: {xyz: [0, 0, 0], rpy: [0, 0, 0]}

    cells: Approximate number of cells, if the file does not state it.

    Raises:
        ModelError: The text or file is none of these, or the shape has no volume.
    """
    words = str(text).split()
    sizes = {"box": 3, "cylinder": 2, "sphere": 1, "gripper": 1}
    if words and words[0] in sizes:
        split = words.index("at") if "at" in words else len(words)
        try:
            numbers = [float(word) for word in words[1:split]]
            centre = [float(word) for word in words[split + 1 :]]
        except ValueError as err:
            raise ModelError(
                f"The shape '{text}' contains words in place of numbers.", remedy=_FORMS
            ) from err
        if not all(_SHORTEST <= x <= _LONGEST for x in numbers) or not all(
            abs(x) <= _LONGEST for x in centre
        ):
            raise ModelError(
                f"The shape '{text}' is not plausible for an object held by an arm.",
                remedy=f"Give lengths in metres, from {_SHORTEST:g} to {_LONGEST:g}; these may be"
                " millimetres.",
            )
        if len(numbers) != sizes[words[0]]:
            raise ModelError(
                f"A {words[0]} takes {sizes[words[0]]} numbers, not {len(numbers)}.",
                remedy=f"Give {_FORMS}.",
            )
        if split < len(words) and len(centre) != 3:
            raise ModelError(f"'at' takes 3 numbers, not {len(centre)}.", remedy=f"Give {_FORMS}.")
        if words[0] == "box":
            shape = Shape.box(numbers, cells=cells)
        else:
            shape = _MAKERS[words[0]](*numbers, cells=cells)
        X_SO = pin.SE3(np.eye(3), np.array(centre or [0.0] * 3))
        return _require_plausible(shape.posed(X_SO.homogeneous), str(text))
    path, hull, scale = Path(text), False, 1.0
    if not path.is_file():
        path, hull, scale = _mesh_words(str(text))
    if not path.is_file():
        raise ModelError(f"No shape '{text}'.", remedy=f"Give {_FORMS}.")
    if path.suffix.lower() in MESHES:
        shape = Shape.from_mesh(path, scale=scale, hull=hull, cells=cells)
    else:
        shape = _from_file(_FILE.read_schema(path, _ShapeFile), path, cells)
    return _require_plausible(shape, str(text))


def _mesh_words(text: str) -> tuple[Path, bool, float]:
    """Parse `[hull] FILE [scale S]`: file, whether its convex hull is used, and metres per unit."""
    name, scale = text, 1.0
    if " scale " in name:
        name, _, number = name.rpartition(" scale ")
        try:
            scale = float(number)
        except ValueError as err:
            raise ModelError(
                f"The shape '{text}' contains words in place of numbers.", remedy=f"Give {_FORMS}."
            ) from err
    hull = name.startswith("hull ")
    return Path(name.removeprefix("hull ").strip()), hull, scale


class _Box(FileSchema):
    size: Annotated[list[_Length], Field(min_length=3, max_length=3)]
    centre: Vector3
    cells: Annotated[list[_Cells], Field(min_length=3, max_length=3)] | None = None


class _Pose(FileSchema):
    xyz: Vector3 = Field(default_factory=lambda: [0.0] * 3)
    rpy: Angles3 = Field(default_factory=lambda: [0.0] * 3)


class _ShapeFile(FileSchema):
    name: Name | None = None
    boxes: list[_Box] = Field(default_factory=list)
    mesh: Name | None = None
    gripper: _Length | None = None
    scale: Positive = 1.0
    hull: StrictBool = False
    pose_in_sensor: _Pose = _Pose()

    @model_validator(mode="after")
    def _one_of_three(self) -> _ShapeFile:
        if sum(map(bool, (self.boxes, self.mesh, self.gripper))) != 1:
            raise ValueError("give `boxes`, `mesh` or `gripper`, one of the three")
        if sum(float(np.prod(box.cells)) for box in self.boxes if box.cells) > _MOST_CELLS:
            raise ValueError(f"more than {_MOST_CELLS} `cells` in all")
        return self


def _from_file(file: _ShapeFile, path: Path, cells: int) -> Shape:
    if file.mesh:
        mesh = path.parent / file.mesh
        shape = Shape.from_mesh(mesh, scale=file.scale, hull=file.hull, cells=cells)
    elif file.gripper:
        shape = grasped(file.gripper, cells=cells)
    else:
        edge = (sum(float(np.prod(box.size)) for box in file.boxes) / cells) ** (1 / 3)
        boxes = [
            (box.size, box.centre, box.cells or np.maximum(1, np.round(np.array(box.size) / edge)))
            for box in file.boxes
        ]
        shape = Shape.from_boxes(boxes, name=file.name or path.stem)
    pose = file.pose_in_sensor
    X_SO = pin.SE3(pin.rpy.rpyToMatrix(*pose.rpy), np.array(pose.xyz))
    return shape.posed(X_SO.homogeneous)


def _require_plausible(shape: Shape, text: str) -> Shape:
    """Raise an error for sizes that no arm can hold, because lengths in millimetres are easily
    given as metres.
    """
    longest, reach = float(np.max(shape.size)), float(np.max(np.abs([shape.lower, shape.upper])))
    if longest > _LONGEST or reach > _LONGEST or longest < _SHORTEST:
        raise ModelError(
            f"The shape '{text}' is {longest:.3g} m long and reaches {reach:.3g} m from the sensor.",
            remedy="Lengths are in metres; if these are millimetres, give a mesh with 'scale 0.001'.",
        )
    return shape
