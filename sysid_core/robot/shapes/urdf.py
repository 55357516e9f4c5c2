# SPDX-License-Identifier: Apache-2.0
"""The shape of an object that a URDF describes, from its collision geometry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.lazy import lazy_import
from sysid_core.robot.inertia import Array
from sysid_core.robot.shapes.shape import DEFAULT_CELLS, Shape
from sysid_core.robot.urdf import urdf_root, urdf_text

if TYPE_CHECKING:
    import trimesh
else:
    trimesh = lazy_import("trimesh")


def shape_from_urdf(
    source: str | Path, link: str, *, cells: int = DEFAULT_CELLS, package_root: str | Path = "."
) -> Shape:
    """Union of all collision geometry of a link, in the link's frame.

    Args:
        source: URDF file, its text, or an `example-robot-data` name.
        link: Name of the link, such as that of an attached object.
        cells: Wanted number of cells.
        package_root: Where `package://` paths begin; relative mesh paths too.

    Raises:
        ModelError: There is no such link, no collision geometry, or a mesh can't be read.
    """
    root = urdf_root(urdf_text(source))
    links = {element.get("name"): element for element in root.iter("link")}
    if link not in links:
        raise ModelError(
            f"The URDF has no link '{link}'.",
            remedy=f"Choose one of: {', '.join(str(name) for name in links)}.",
        )
    parts = [_part(element, Path(package_root)) for element in links[link].iter("collision")]
    if not parts:
        raise ModelError(
            f"Link '{link}' has no collision geometry.",
            remedy="Give the shape as a mesh, a box, or a shape file instead.",
        )
    return Shape.union(parts, cells=cells, name=link)


def _part(collision: ElementTree.Element, package_root: Path) -> trimesh.Trimesh:
    """One collision element as a closed mesh in the link's frame."""
    geometry = collision.find("geometry")
    shape = geometry[0] if geometry is not None and len(geometry) else None
    if shape is None:
        raise ModelError(
            "A collision element of the URDF has no geometry.",
            remedy="Give it a box, cylinder, sphere or mesh.",
        )
    if shape.tag == "box":
        mesh = trimesh.creation.box(_numbers(shape.get("size"), 3))
    elif shape.tag == "cylinder":
        mesh = trimesh.creation.cylinder(
            float(shape.get("radius", 0)), float(shape.get("length", 0))
        )
    elif shape.tag == "sphere":
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=float(shape.get("radius", 0)))
    elif shape.tag == "mesh":
        mesh = _mesh(shape, package_root)
    else:
        raise ModelError(
            f"Collision geometry '{shape.tag}' is not known.",
            remedy="Give a box, cylinder, sphere or mesh.",
        )
    origin = collision.find("origin")
    if origin is not None:
        xyz, rpy = _numbers(origin.get("xyz"), 3), _numbers(origin.get("rpy"), 3)
        pose = trimesh.transformations.euler_matrix(*rpy, axes="sxyz")
        pose[:3, 3] = xyz
        mesh.apply_transform(pose)
    return mesh


def _mesh(element: ElementTree.Element, package_root: Path) -> trimesh.Trimesh:
    name = str(element.get("filename", ""))
    path = package_root / name.removeprefix("package://").removeprefix("file://")
    try:
        mesh = trimesh.load_mesh(str(path))
    except Exception as err:
        raise ModelError(
            f"The mesh '{name}' of the URDF can't be read: {err}.",
            remedy="Say where packages are with package_root.",
        ) from err
    mesh.apply_transform(np.diag([*_numbers(element.get("scale") or "1 1 1", 3), 1.0]))
    if not mesh.is_watertight:
        mesh = mesh.convex_hull
    return mesh


def _numbers(text: str | None, count: int) -> Array:
    values = np.array([float(x) for x in (text or "0 0 0").split()])
    if len(values) != count:
        raise ModelError(
            f"'{text}' in the URDF should be {count} numbers.",
            remedy="Write them with spaces between.",
        )
    return values
