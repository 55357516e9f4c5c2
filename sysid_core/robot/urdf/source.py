# SPDX-License-Identifier: Apache-2.0
"""Sources of robot descriptions."""

from __future__ import annotations

import hashlib
import os
import re
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

from sysid_core.errors import ModelError
from sysid_core.files import FileKind, nearest, read_text

# Short names for the robots of the PyPI package example-robot-data that demos and tests use.
_ALIASES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
}

_FILE = FileKind("robot description", "Give a URDF file.", ModelError)
_LONGEST_TEXT = 20_000_000  # characters of a description
_NAMESPACE = re.compile(r"(<robot\b[^>]*?)\sxmlns\s*=\s*(?:\"[^\"]*\"|'[^']*')")  # such as Drake's
_EXPAND = "Expand xacro files first: xacro FILE > robot.urdf."


def example_robots() -> dict[str, Path]:
    """Names and files of all URDFs of `example-robot-data` (empty if it is not installed)."""
    share = example_share()
    if share is None:
        return {}
    root = share / "example-robot-data" / "robots"
    found = {path.stem: path for path in sorted(root.rglob("*.urdf"))}
    found.update({name: root / rel for name, rel in _ALIASES.items() if (root / rel).is_file()})
    return found


def example_share() -> Path | None:
    """Folder of the files of `example-robot-data`; None if it is not installed."""
    try:
        package = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(package.locate_file("cmeel.prefix/share")))


def urdf_text(source: str | Path) -> str:
    """URDF text of a robot: from a file, from a text, or from a name in `example-robot-data`.

    Args:
        source: A path, a string of XML, or a name such as "xarm7".

    Raises:
        ModelError: Nothing of that name exists, or it isn't a URDF.
    """
    text = str(source)
    if "<robot" not in text:
        path = Path(text)
        if not os.path.exists(text) or (path.is_dir() and text in example_robots()):
            path = _example(text)
        text = read_text(path, _FILE)
    name = "the XML" if text is source else source
    if "<robot" not in text:
        raise ModelError(f"'{name}' holds no <robot> element.", remedy=_EXPAND)
    if "<xacro:" in _without_comments(text):
        raise ModelError(f"'{name}' is a xacro file, not a URDF.", remedy=_EXPAND)
    return _NAMESPACE.sub(r"\1", text, count=1)


def _example(name: str) -> Path:
    examples = example_robots()
    if name in examples:
        return examples[name]
    close = nearest(name, list(examples))
    names = ", ".join(sorted(examples)) or "(none installed)"
    raise ModelError(
        f"No robot '{name}': it is neither a URDF file nor one of example-robot-data.",
        remedy=f"Did you mean '{close}'?" if close else f"Give a path, or one of: {names}.",
        source=name,
    )


def received_urdf(text: str) -> str:
    """Robot description received from the network: only its text is accepted, never a path or a
    name.

    Raises:
        ModelError: It isn't a URDF, or larger than any.
    """
    if "<robot" not in text or len(text) > _LONGEST_TEXT:
        what = f"{len(text)} characters" if "<robot" in text else "no <robot> element"
        raise ModelError(
            f"The received robot description has {what}.",
            remedy="Who publishes it? See `ros2 topic info -v`.",
        )
    return text


def urdf_digest(text: str) -> str:
    """First 16 hex digits of the SHA-256 of the canonical XML; white space and comments have no
    effect.
    """
    try:
        canonical = ET.canonicalize(text, strip_text=True)
    except ET.ParseError:  # what pinocchio's parser takes all the same
        canonical = text
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _without_comments(text: str) -> str:
    """In linear time, also where thousands of comments begin and none ends."""
    kept, at = [], 0
    while (begin := text.find("<!--", at)) >= 0:
        kept.append(text[at:begin])
        end = text.find("-->", begin)
        if end < 0:
            return "".join(kept)
        at = end + 3
    return "".join([*kept, text[at:]])
