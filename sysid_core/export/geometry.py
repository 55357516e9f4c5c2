# SPDX-License-Identifier: Apache-2.0
"""Visual and collision geometry of links, and the files of their meshes."""

from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError, SysIdError
from sysid_core.files import FileKind
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Geometry:
    """Visual or collision geometry of a link.

    Attributes:
        kind: `box`, `cylinder`, `sphere` or `mesh`.
        size: Edge lengths of a box, radius and length of a cylinder, radius of a sphere, or scale
            of a mesh, shape (3,).
        R: Rotation from the geometry's axes to those of the link, shape (3, 3).
        p: Origin of the geometry in the link frame, shape (3,) [m].
        collides: True for a collision geometry, False for a visual one.
        mesh: Name of the mesh file in the URDF; "": no mesh.
    """

    kind: str
    size: tuple[float, ...]
    R: Array
    p: Array
    collides: bool
    mesh: str = ""


def geometries_of(link: ET.Element) -> list[Geometry]:
    """Return the geometry of a `<link>` that can be exported."""
    return [shape for element in _shapes(link) if (shape := _geometry(element)) is not None]


def has_other_shapes(link: ET.Element) -> bool:
    """Return True if a `<link>` has shapes that cannot be exported: unknown kinds, without extent,
    or misspelt.
    """
    return any(_geometry(element) is None for element in _shapes(link))


def _shapes(link: ET.Element) -> list[ET.Element]:
    return [*link.findall("visual"), *link.findall("collision")]


_MESH = FileKind("mesh", "Remove the mesh from the description.", ModelError)
_MOST_BYTES = 1 << 30  # ten million triangles have half of it
_SIZES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": ("scale",),
}


def _geometry(element: ET.Element) -> Geometry | None:
    """Geometry of a `<visual>` or `<collision>` element; None if the export formats cannot
    represent it.
    """
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


def _require_mesh(path: Path) -> None:
    """Raise an error for a mesh file that cannot be read or is incomplete, as far as its format
    shows.
    """
    try:
        content = _MESH.read_bytes(path, most=_MOST_BYTES)
    except SysIdError as err:
        why = f"can't be read ({err.message})"
    else:
        if _IS_WHOLE[path.suffix.lower()](content):
            return
        why = f"is empty, truncated, or not a valid {path.suffix[1:].upper()}"
    raise ModelError(
        f"The mesh '{path}' {why}.",
        remedy="Replace the file, or leave the mesh out of the robot's description.",
    )


def _whole_stl(content: bytes) -> bool:
    """Check the size of a binary STL file (header of 80 bytes, number of triangles, 50 bytes each),
    or the end of a text file.
    """
    triangles = int.from_bytes(content[80:84], "little")
    if triangles > 0 and 84 + 50 * triangles <= len(content):
        return True
    return content.lstrip()[:5] == b"solid" and b"endsolid" in content and b"vertex" in content


def _whole_obj(content: bytes) -> bool:
    """Check that an OBJ file has vertices, and faces of existing vertices only."""
    lines = [line.split() for line in content.splitlines()]
    points = sum(words[:1] == [b"v"] for words in lines)
    corners = [w.split(b"/")[0] for words in lines if words[:1] == [b"f"] for w in words[1:]]
    try:
        return points > 0 and all(0 < abs(int(corner)) <= points for corner in corners)
    except ValueError:
        return False


def _whole_msh(content: bytes) -> bool:
    """Check the size of a MuJoCo MSH file: numbers of vertices, normals, texture coordinates and
    faces, then these.
    """
    if len(content) < 16:
        return False
    n = np.frombuffer(content[:16], "<i4").astype(np.int64)
    return bool(n[0] > 0 and 16 + n @ [12, 12, 8, 12] == len(content))


def _whole_dae(content: bytes) -> bool:
    """Check that a DAE file is complete XML."""
    try:
        ET.fromstring(content)
    except ET.ParseError:
        return False
    return True


_IS_WHOLE = {".stl": _whole_stl, ".obj": _whole_obj, ".msh": _whole_msh, ".dae": _whole_dae}


def _is_relative(mesh: str) -> bool:
    """Return True if the name of a mesh is a path relative to the folder of the URDF."""
    return "://" not in mesh and not Path(mesh).is_absolute()


@dataclass
class MeshFolder:
    """Folder of meshes next to an exported file; each mesh is copied once.

    Attributes:
        out: Folder of the copies.
        places: Folders that are searched, with all parent folders, for `package://NAME/…` and
            relative paths, before the packages of the sourced ROS environment.
        formats: File suffixes that the target can read.
        missing: Names of meshes that were not found.
        unread: Names of files that the target cannot read.
    """

    out: Path
    places: Sequence[Path]
    formats: tuple[str, ...]
    missing: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    _copied: dict[Path, str] = field(default_factory=dict)

    def copy(self, name: str, taken: Callable[[Path], bool] = lambda path: True) -> str | None:
        """Copy a mesh and return its new name; None if the mesh is not found or the
        target does not read its format, which the export states.

        Args:
            name: Name of the mesh in the URDF.
            taken: Test whether the target's reader takes a file of these formats.

        Raises:
            ModelError: The file cannot be read, or is incomplete.
        """
        path = self.find(name)
        if path is None:
            self.missing.append(name) if name not in self.missing else None
            return None
        known = path.suffix.lower() in self.formats
        if known and path not in self._copied:
            _require_mesh(path)
        if not (known and taken(path)):
            self.unread.append(name) if name not in self.unread else None
            return None
        return self._copy(path)

    def _copy(self, path: Path) -> str:
        if path not in self._copied:
            # No blanks: other tools read these names, too.
            target = f"{len(self._copied):03d}_{path.name.replace(' ', '_')}"
            self.out.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.out / target)
            self._copied[path] = target
        return self._copied[path]

    def name_of_copy(self, name: str) -> str:
        """Return the name of a mesh in a URDF beside this folder, which contains a copy of each
        file with a relative name. Packages and absolute paths keep their names.
        """
        path = self.find(name)
        if path is None:
            self.missing.append(name) if name not in self.missing else None
        return (
            name
            if path is None or not _is_relative(name)
            else f"{self.out.name}/{self._copy(path)}"
        )

    def name_of_original(self, name: str) -> str:
        """Return the name of a mesh in a URDF in this folder: a relative name leads to the original
        file.
        """
        path = self.find(name) if _is_relative(name) else None
        here = self.out.resolve()
        return name if path is None else Path(os.path.relpath(path.resolve(), here)).as_posix()

    @property
    def copies(self) -> list[Path]:
        """Paths of the copied files."""
        return [self.out / name for name in self._copied.values()]

    def find(self, name: str) -> Path | None:
        """Return the file that belongs to a mesh name in a URDF."""
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
