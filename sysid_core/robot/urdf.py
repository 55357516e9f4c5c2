"""Where robot descriptions come from."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from sysid_core.errors import ModelError

# Short names for the robots of the PyPI package example-robot-data that demos and tests use.
_ALIASES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
}

_EXPAND = "Expand xacro files first: xacro FILE > robot.urdf."


def example_robots() -> dict[str, Path]:
    """Names and files of all URDFs of `example-robot-data` (empty where it isn't installed)."""
    root = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    found = {path.stem: path for path in sorted(root.rglob("*.urdf"))}
    found.update({name: root / rel for name, rel in _ALIASES.items() if (root / rel).is_file()})
    return found


def urdf_text(source: str | Path) -> str:
    """The XML of a robot: from a file, from XML itself, or from an `example-robot-data` name.

    Args:
        source: A path, a string of XML, or a name such as "xarm7".

    Raises:
        ModelError: Nothing of that name exists, or it isn't a URDF.
    """
    text = str(source)
    if "<robot" not in text:
        path = Path(text)
        if not path.is_file():
            examples = example_robots()
            if text not in examples:
                raise ModelError(
                    f"No robot '{text}': it is neither a URDF file nor one of example-robot-data.",
                    remedy=f"Give a path, or one of: {', '.join(sorted(examples)) or '(none installed)'}.",
                    source=text,
                )
            path = examples[text]
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as err:
            raise ModelError(f"'{path}' is no text.", remedy="Give a URDF file.") from err
    name = "the XML" if text is source else source
    if "<robot" not in text:
        raise ModelError(f"'{name}' holds no <robot> element.", remedy=_EXPAND)
    if "<xacro:" in re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL):
        raise ModelError(f"'{name}' is a xacro file, not a URDF.", remedy=_EXPAND)
    return text
