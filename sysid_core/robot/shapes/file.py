"""Shapes as people write them down: a short text, a mesh, or a small YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml

from sysid_core.errors import ModelError
from sysid_core.robot.shapes.shape import DEFAULT_CELLS, Shape

MESHES = (".stl", ".obj", ".ply")
_FORMS = (
    "'box LX LY LZ', 'cylinder RADIUS LENGTH', 'sphere RADIUS' (metres), each with 'at X Y Z' where"
    " its centre isn't the sensor's origin, a mesh or point cloud"
    f" ({', '.join(MESHES)}; 'hull FILE' for one that isn't closed, 'FILE scale 0.001' for"
    " millimetres), or a YAML file with 'boxes' or 'mesh' and 'pose_in_sensor'"
)


def load_shape(text: str | Path, *, cells: int = DEFAULT_CELLS) -> Shape:
    """A shape in the sensor frame.

    Args:
        text: `box 0.2 0.3 0.05`, `cylinder 0.03 0.1`, `sphere 0.04`, each centred at the sensor's
            origin unless `at X Y Z` follows; a mesh or point cloud (`[hull] FILE [scale S]`); or a
            YAML file:

            boxes:                # or `mesh: FILE`, `scale: 0.001` for millimetres, `hull: true`
              - {size: [0.05, 0.2, 0.05], centre: [0, 0, 0.025], cells: [2, 4, 2]}
            pose_in_sensor: {xyz: [0, 0, 0], rpy: [0, 0, 0]}

        cells: How many cells, about, where the file doesn't say.

    Raises:
        ModelError: It is none of these, or has no volume.
    """
    words = str(text).split()
    sizes = {"box": 3, "cylinder": 2, "sphere": 1}
    if words and words[0] in sizes:
        split = words.index("at") if "at" in words else len(words)
        try:
            numbers = [float(word) for word in words[1:split]]
            centre = [float(word) for word in words[split + 1 :]]
        except ValueError as err:
            raise ModelError(f"The shape '{text}' has words for numbers.", remedy=_FORMS) from err
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
            build = Shape.cylinder if words[0] == "cylinder" else Shape.sphere
            shape = build(*numbers, cells=cells)
        return shape.posed(pin.SE3(np.eye(3), np.array(centre)).homogeneous) if centre else shape
    path, hull, scale = Path(text), False, 1.0
    if not path.is_file():
        path, hull, scale = _mesh_words(str(text))
    if not path.is_file():
        raise ModelError(f"No shape '{text}'.", remedy=f"Give {_FORMS}.")
    if path.suffix.lower() in MESHES:
        return Shape.from_mesh(path, scale=scale, hull=hull, cells=cells)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _from_mapping(raw, path, cells)
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as err:
        raise ModelError(
            f"The shape file '{path}' can't be understood: {err}.", remedy=f"Give {_FORMS}."
        ) from err


def _mesh_words(text: str) -> tuple[Path, bool, float]:
    """File, whether its hull is meant, and metres per unit, of `[hull] FILE [scale S]`."""
    name, scale = text, 1.0
    if " scale " in name:
        name, _, number = name.rpartition(" scale ")
        try:
            scale = float(number)
        except ValueError as err:
            raise ModelError(
                f"The shape '{text}' has words for numbers.", remedy=f"Give {_FORMS}."
            ) from err
    hull = name.startswith("hull ")
    return Path(name.removeprefix("hull ").strip()), hull, scale


def _from_mapping(raw: Any, path: Path, cells: int) -> Shape:
    if "mesh" in raw:
        shape = Shape.from_mesh(
            path.parent / raw["mesh"],
            scale=float(raw.get("scale", 1.0)),
            hull=bool(raw.get("hull", False)),
            cells=cells,
        )
    else:
        boxes = []
        total = sum(float(np.prod(box["size"])) for box in raw["boxes"])
        for box in raw["boxes"]:
            size = np.asarray(box["size"], dtype=float)
            edge = (total / cells) ** (1 / 3)
            counts = box.get("cells", np.maximum(1, np.round(size / edge)).astype(int).tolist())
            boxes.append((size, box["centre"], counts))
        shape = Shape.from_boxes(boxes, name=str(raw.get("name", path.stem)))
    pose = raw.get("pose_in_sensor", {})
    rotation = pin.rpy.rpyToMatrix(np.asarray(pose.get("rpy", [0.0, 0.0, 0.0]), dtype=float))
    X_SO = pin.SE3(rotation, np.asarray(pose.get("xyz", [0.0, 0.0, 0.0]), dtype=float))
    return shape.posed(X_SO.homogeneous)
