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
    """Shapes of a `<link>`; what has no geometry is passed over."""
    out = []
    for element in (*link.findall("visual"), *link.findall("collision")):
        geometry = element.find("geometry")
        shape = geometry[0] if geometry is not None and len(geometry) else None
        if shape is None or shape.tag not in ("box", "cylinder", "sphere", "mesh"):
            continue
        origin = element.find("origin")
        xyz, rpy = (
            np.array(
                [float(x) for x in ("0 0 0" if origin is None else origin.get(k, "0 0 0")).split()]
            )
            for k in ("xyz", "rpy")
        )
        size = {
            "box": lambda s: s.get("size", "0 0 0"),
            "cylinder": lambda s: f"{s.get('radius', '0')} {s.get('length', '0')}",
            "sphere": lambda s: s.get("radius", "0"),
            "mesh": lambda s: s.get("scale", "1 1 1"),
        }[shape.tag](shape)
        out.append(
            Geometry(
                shape.tag,
                tuple(float(x) for x in size.split()),
                pin.rpy.rpyToMatrix(*rpy),
                xyz,
                element.tag == "collision",
                shape.get("filename", ""),
            )
        )
    return out


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
