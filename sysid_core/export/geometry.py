# SPDX-License-Identifier: Apache-2.0
"""Shapes of links for pictures and contacts, and where their meshes are."""

from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape on a link.

    Attributes:
        kind: `box`, `cylinder`, `sphere` or `mesh`.
        size: Full edges of a box; radius and length of a cylinder; radius of a sphere; scale of a
            mesh, shape (3,).
        R: Its axes in the link, shape (3, 3).
        p: Its origin there, shape (3,) [m].
        collides: Whether it is for contacts rather than for pictures.
        mesh: The URDF's name of the mesh's file.
    """

    kind: str
    size: tuple[float, ...]
    R: Array
    p: Array
    collides: bool
    mesh: str = ""


def geometries_of(link: ET.Element) -> list[Geometry]:
    """Shapes of a `<link>` that can be written."""
    return [shape for element in _shapes(link) if (shape := _geometry(element)) is not None]


def has_other_shapes(link: ET.Element) -> bool:
    """Whether a `<link>` has shapes that can't be: of another kind, without extent, or misspelt."""
    return any(_geometry(element) is None for element in _shapes(link))


def _shapes(link: ET.Element) -> list[ET.Element]:
    return [*link.findall("visual"), *link.findall("collision")]


_SIZES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": ("scale",),
}


def _geometry(element: ET.Element) -> Geometry | None:
    """What a `<visual>` or `<collision>` says; None where it can't be written."""
    shape = element.find("geometry/*")
    if shape is None or shape.tag not in _SIZES:
        return None
    mesh, origin = shape.tag == "mesh", element.find("origin")
    placed = {} if origin is None else origin.attrib
    texts = [shape.get(key, "1 1 1" if mesh else "") for key in _SIZES[shape.tag]]
    try:
        size = tuple(float(x) for x in " ".join(texts).split())
        xyz, rpy = (
            np.array([float(x) for x in placed.get(key, "0 0 0").split()]) for key in ("xyz", "rpy")
        )
    except ValueError:
        return None
    expected = 3 if shape.tag in ("box", "mesh") else len(texts)
    if not (len(size) == expected and xyz.shape == rpy.shape == (3,)):
        return None
    if not (np.all(np.isfinite([*size, *xyz, *rpy])) and min(np.abs(size)) > 0.0):
        return None
    if not (shape.get("filename") if mesh else min(size) > 0.0):  # scales may mirror
        return None
    return Geometry(
        shape.tag,
        size,
        pin.rpy.rpyToMatrix(*rpy),
        xyz,
        element.tag == "collision",
        shape.get("filename", ""),
    )


@dataclass
class MeshFolder:
    """Copies meshes beside an export, each once.

    Attributes:
        out: Folder that the copies go to.
        places: Folders in which `package://NAME/…` and relative paths are looked for, with all
            above them; then the packages of a sourced ROS.
        formats: Suffixes that the target reads.
        missing: Names that weren't found.
        unread: Names of files in a format that the target doesn't read.
    """

    out: Path
    places: Sequence[Path]
    formats: tuple[str, ...]
    missing: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    _copied: dict[Path, str] = field(default_factory=dict)

    def copy(self, name: str) -> str | None:
        """Name of the copy; None where the mesh can't be had, which is noted."""
        path = self.find(name)
        if path is None or path.suffix.lower() not in self.formats:
            notes = self.missing if path is None else self.unread
            notes.append(name) if name not in notes else None
            return None
        if path not in self._copied:
            # No blanks: other tools read these names, too.
            target = f"{len(self._copied):03d}_{path.name.replace(' ', '_')}"
            self.out.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.out / target)
            self._copied[path] = target
        return self._copied[path]

    @property
    def copies(self) -> list[Path]:
        """Files that were copied."""
        return [self.out / name for name in self._copied.values()]

    def find(self, name: str) -> Path | None:
        """The file that a URDF's mesh name means."""
        plain = name.removeprefix("file://")
        package = plain.startswith(("package://", "model://"))
        plain = plain.removeprefix("package://").removeprefix("model://")
        if not package and Path(plain).is_absolute():
            return Path(plain) if Path(plain).is_file() else None
        for place in self._roots(package):
            if (place / plain).is_file():
                return place / plain
        return None

    def _roots(self, package: bool) -> list[Path]:
        roots = list(self.places)
        if package:
            roots += [above for place in self.places for above in place.resolve().parents]
            for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
                roots += [Path(prefix) / "share"] if prefix else []
            roots += [
                Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p
            ]
        return roots
