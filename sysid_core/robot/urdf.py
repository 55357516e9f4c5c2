# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions: their sources and their validation.

URDF parsers silently ignore what they do not understand: a mass of "4,0" becomes zero, and a link
that is its own parent ends the chain. In this module such descriptions are refused before a parser
reads them.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from sysid_core.errors import ModelError, listed
from sysid_core.files import FileKind, FileSchema

_FOLDER = Path(__file__).parent / "reference_robots"
# In the base frames of Wensing, Niemeyer, Slotine 2023 [m/s^2]: x of the leg points down, figure 4
# has no gravity.
REFERENCE_GRAVITY = {
    "cheetah3-leg": (9.81, 0.0, 0.0),
    "two-link-parallel": (0.0, 0.0, 0.0),
    "two-link-perpendicular": (0.0, 0.0, 0.0),
}
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
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_MOST_LINKS, _LONGEST_CHAIN, _LONGEST_NAME = 5000, 600, 500  # parsers recurse along the chain
_MOST_KILOGRAMS, _FARTHEST = 1e5, 100.0  # of a link [kg]; between two joints [m]
_HEAVY, _FAR, _WIDE_TURN = 5000.0, 10.0, 4.0 * math.pi  # beyond this a unit is in doubt
# Element (by its parent and tag) and attribute: how many numbers it holds.
_NUMBERS = {
    ("inertial", "mass", "value"): 1,
    **{("inertial", "inertia", i): 1 for i in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")},
    **{(p, "origin", a): 3 for p in ("inertial", "joint", "collision") for a in ("xyz", "rpy")},
    ("geometry", "mesh", "scale"): 3,
    ("geometry", "box", "size"): 3,
    **{("geometry", "cylinder", a): 1 for a in ("radius", "length")},
    ("geometry", "sphere", "radius"): 1,
    ("joint", "axis", "xyz"): 3,
    **{("joint", "limit", a): 1 for a in ("lower", "upper", "velocity", "effort")},
    **{("joint", "dynamics", a): 1 for a in ("friction", "damping")},
    **{("joint", "mimic", a): 1 for a in ("multiplier", "offset")},
}


def reference_robots() -> dict[str, Path]:
    """Return the names and URDF files of the reference robots in this package."""
    return {path.stem.replace("_", "-"): path for path in sorted(_FOLDER.glob("*.urdf"))}


def example_robots() -> dict[str, Path]:
    """Return the names and files of all URDFs of `example-robot-data` (empty if it is not
    installed).
    """
    share = example_share()
    if share is None:
        return {}
    root = share / "example-robot-data" / "robots"
    found = {path.stem: path for path in sorted(root.rglob("*.urdf"))}
    found.update({name: root / rel for name, rel in _ALIASES.items() if (root / rel).is_file()})
    return found


def example_share() -> Path | None:
    """Return the folder of the files of `example-robot-data`; None if it is not installed."""
    try:
        package = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(package.locate_file("cmeel.prefix/share")))


def urdf_text(source: str | Path) -> str:
    """Return the URDF text of a robot: from a file, from a text, or from the name of a reference
    robot or of a robot in `example-robot-data`.

    Args:
        source: Path, XML text, or name such as "puma560" or "xarm7".

    Raises:
        ModelError: There is no robot of this name, or the text is not a URDF.
    """
    text = str(source)
    if "<robot" not in text:
        path = Path(text)
        references = reference_robots()
        if text in references:
            path = references[text]
        elif not os.path.exists(text) or (path.is_dir() and text in example_robots()):
            path = _example(text)
        text = _FILE.read_text(path)
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
    close = FileSchema.nearest(name, [*examples, *reference_robots()])
    names = ", ".join(sorted(examples)) or "(none installed)"
    own = f"Reference robots: {', '.join(reference_robots())}."
    what = f"Did you mean '{close}'?" if close else f"Give a path, or one of: {names}."
    raise ModelError(
        f"No robot '{name}': it is neither a URDF file nor one of example-robot-data.",
        remedy=f"{what} {own}",
    )


def received_urdf(text: str) -> str:
    """Return the robot description received from the network: only its text is accepted, never a
    path or a name.

    Raises:
        ModelError: The text is not a URDF, or is too large.
    """
    if "<robot" not in text or len(text) > _LONGEST_TEXT:
        what = f"{len(text)} characters" if "<robot" in text else "no <robot> element"
        raise ModelError(
            f"The received robot description has {what}.",
            remedy="Find the node that publishes on this topic with `ros2 topic info -v`.",
        )
    return text


def urdf_digest(text: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of the canonical XML; white space and comments
    have no effect.
    """
    try:
        canonical = ET.canonicalize(text, strip_text=True)
    except ET.ParseError:  # what pinocchio's parser takes all the same
        canonical = text
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _without_comments(text: str) -> str:
    """XML text without comments, in linear time even if thousands of comments begin and none ends."""
    kept, at = [], 0
    while (begin := text.find("<!--", at)) >= 0:
        kept.append(text[at:begin])
        end = text.find("-->", begin)
        if end < 0:
            return "".join(kept)
        at = end + 3
    return "".join([*kept, text[at:]])


@lru_cache(maxsize=32)
def sound_urdf(text: str) -> ET.Element:
    """Check the content of a URDF and return its root element, which must not be modified.

    Raises:
        ModelError: The text is not XML, declares entities, is not a single tree, or contains
            impossible numbers.
    """
    root = urdf_root(text)
    _require_tree(root)
    return root


def urdf_root(text: str) -> ET.Element:
    """Parse a description or a part of one, check its numbers, and return the root element.

    Raises:
        ModelError: The text is not XML, declares entities, or contains impossible numbers.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError(
            "The URDF declares a document type or entities, which robot descriptions don't need.",
            remedy="Write them out: xmllint --noent --dropdtd FILE > robot.urdf.",
        )
    try:
        root = ET.fromstring(text.encode())
    except (ET.ParseError, ValueError, LookupError) as err:
        raise ModelError(
            f"The URDF can't be parsed: {err}.", remedy="Check the URDF with `check_urdf`."
        ) from err
    if root.tag != "robot":
        raise ModelError(
            f"The description's outermost element is <{root.tag}>, not <robot>.",
            remedy="Give a URDF; xacro, SDF and MJCF have to be converted first.",
        )
    for owner, parent, element in _elements(root):
        for (above, tag, attribute), count in _NUMBERS.items():
            if above == parent.tag and tag == element.tag and attribute in element.attrib:
                _require_numbers(owner, element, attribute, count)
    return root


def _elements(root: ET.Element) -> Iterator[tuple[ET.Element, ET.Element, ET.Element]]:
    """Link or joint, and parent and child elements in it that may hold numbers."""
    for owner in (*root.findall("link"), *root.findall("joint")):
        inner = [
            e for tag in ("inertial", "collision", "collision/geometry") for e in owner.findall(tag)
        ]
        for parent in (owner, *inner):
            for element in parent:
                yield owner, parent, element


def _name(element: ET.Element) -> str:
    return f"{element.tag} '{element.get('name', '')}'"


def _require_numbers(owner: ET.Element, element: ET.Element, attribute: str, count: int) -> None:
    words = element.get(attribute, "").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = [math.nan]
    if not all(word.isascii() and "_" not in word for word in words):
        values = [math.nan]  # `float` reads 1_0 and digits of other scripts; urdfdom does not
    where = f"<{element.tag} {attribute}='{element.get(attribute, '')[:60]}'> of {_name(owner)}"
    if len(values) != count or not all(map(math.isfinite, values)):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ModelError(
            f"{where} isn't {wanted}.",
            remedy="Write numbers with a decimal point and without a unit.",
        )
    if element.tag == "mass" and not 0.0 <= values[0] <= _MOST_KILOGRAMS:
        raise ModelError(f"{where} can't be a mass.", remedy="Give kilograms, zero or more.")
    # No body within that length has a larger radius of gyration than half of it.
    if element.tag == "inertia" and abs(values[0]) > _MOST_KILOGRAMS * (0.5 * _FARTHEST) ** 2:
        raise ModelError(
            f"{where} can't be an inertia.", remedy="Give kilograms times metres squared."
        )
    if element.tag == "origin" and attribute == "xyz" and max(map(abs, values)) > _FARTHEST:
        raise ModelError(
            f"{where} is far outside the plausible range for a robot.",
            remedy="Check the number in the URDF: lengths are in metres.",
        )
    if element.tag == "axis" and owner.get("type") in _TYPES[:3] and not any(values):
        raise ModelError(f"{where} is not a direction.", remedy="Give the joint an axis: '0 0 1'.")


def _require_tree(root: ET.Element) -> None:
    """Raise an error unless all names are unique, every link except the root has exactly one parent
    joint, and the joints form no cycle.
    """
    links, joints = root.findall("link"), root.findall("joint")
    for elements in (links, joints):
        names = [element.get("name", "") for element in elements]
        for element, name in zip(elements, names, strict=True):
            if not name.strip() or len(name) > _LONGEST_NAME:
                raise ModelError(
                    f"A {element.tag} has {'no name' if not name.strip() else 'a huge name'}.",
                    remedy="Give every link and joint a unique name.",
                )
        twice = (
            next((name for name in names if names.count(name) > 1), None)
            if (len(set(names)) < len(names))
            else None
        )
        if twice is not None:
            raise ModelError(
                f"Two {elements[0].tag}s are called '{twice}'.", remedy="Rename one of them."
            )
    if len(links) > _MOST_LINKS:
        raise ModelError(
            f"The URDF has {len(links)} links.", remedy=f"Give a robot of at most {_MOST_LINKS}."
        )
    carrier: dict[str, tuple[str, str]] = {}  # link: joint, parent link
    known = {link.get("name", "") for link in links}
    for joint in joints:
        parent, child = _ends(joint, known)
        if child in carrier or parent == child:
            why = (
                f"is its own parent by joint '{joint.get('name')}'"
                if parent == child
                else f"has two parents, by joints '{carrier[child][0]}' and '{joint.get('name')}'"
            )
            raise ModelError(
                f"Link '{child}' {why}.",
                remedy="Make the URDF a tree, and close its loops with a file of kinematic loops (docs/closed_chains.md).",
                link=child,
            )
        carrier[child] = (str(joint.get("name")), parent)
    roots = sorted(known - set(carrier))
    if len(roots) != 1:
        raise ModelError(
            f"The URDF has {len(roots)} links without a parent: {', '.join(roots[:5]) or 'none'}.",
            remedy="Make every link except one, the base, the child of a joint.",
        )
    children: dict[str, list[str]] = {link: [] for link in known}
    for child, (_, parent) in carrier.items():
        children[parent].append(child)
    level, depth, reached = roots, 0, 1
    while level and depth <= _LONGEST_CHAIN:
        level, depth = [child for link in level for child in children[link]], depth + 1
        reached += len(level)
    if reached < len(known):
        raise ModelError(
            f"{len(known) - reached} links form a circle, or are connected by more than"
            f" {_LONGEST_CHAIN} joints.",
            remedy="Correct the joints, so that each of these links is connected to the base by a chain of joints.",
        )


def _ends(joint: ET.Element, known: set[str]) -> tuple[str, str]:
    """Parent and child link of a joint; an error if one is missing."""
    kind, name = joint.get("type", ""), joint.get("name", "")
    if kind not in _TYPES:
        raise ModelError(
            f"Joint '{name}' has the type '{kind}'.", remedy=f"Choose one of {', '.join(_TYPES)}."
        )
    if name == "universe":
        raise ModelError(
            "A joint is called 'universe', which is the name of the fixed world.",
            remedy="Rename it.",
        )
    ends = []
    for tag in ("parent", "child"):
        element = joint.find(tag)
        link = "" if element is None else element.get("link", "")
        if link not in known:
            close = FileSchema.nearest(link, sorted(known))
            raise ModelError(
                f"The {tag} of joint '{name}' is the link '{link}', which does not exist.",
                remedy=f"Write '{close}'?" if close else f"Give <{tag} link=…/> of a link.",
            )
        ends.append(link)
    return ends[0], ends[1]


# Elements of a link, joint or <inertial> of which there is one, and what an <inertial> must have.
_ONCE = ("inertial", "mass", "inertia", "origin", "parent", "child", "axis", "limit", "dynamics",
         "mimic")  # fmt: skip
_COMPLETE = {"mass": ("value",), "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}


def _ambiguities(root: ET.Element) -> Iterator[str]:
    """Sentences on elements that occur twice, and on inertials that parsers drop in part."""
    for owner in (*root.findall("link"), *root.findall("joint")):
        inertials = owner.findall("inertial")
        for parent in (owner, *inertials):
            tags = [element.tag for element in parent]
            for tag in _ONCE:
                if tags.count(tag) > 1:
                    yield f"The {_name(owner)} has several <{tag}>, of which parsers take only one."
        for inertial in inertials:
            for tag, attributes in _COMPLETE.items():
                element = inertial.find(tag)
                missing = [a for a in attributes if element is None or a not in element.attrib]
                if missing:
                    yield (
                        f"The <inertial> of {_name(owner)} has no {', '.join(missing)} in a <{tag}>:"
                        " parsers take its mass or inertia as zero."
                    )


@lru_cache(maxsize=32)
def doubtful_units(text: str) -> tuple[str, ...]:
    """Return the sentences on values that are probably in a wrong unit, and on elements that are
    ambiguous or incomplete.
    """
    doubts: list[str] = [*_ambiguities(sound_urdf(text))]
    unlimited: dict[str, list[str]] = {"velocity": [], "effort": []}
    for owner, parent, element in _elements(sound_urdf(text)):
        where, number = _name(owner), _single_numbers(element)
        if element.tag == "mass" and number.get("value", 0.0) > _HEAVY:
            doubts.append(f"The {where} has {number['value']:g} kg: is that in grams?")
        if element.tag == "origin" and parent.tag != "collision":
            far = max(abs(float(word)) for word in element.get("xyz", "0").split())
            if far > _FAR:
                doubts.append(f"The {where} has an origin {far:g} m away: is that in millimetres?")
        if element.tag != "limit" or owner.get("type") not in ("revolute", "prismatic"):
            continue
        lower, upper = (number.get(key, 0.0) for key in ("lower", "upper"))
        if owner.get("type") == "revolute" and _WIDE_TURN < max(abs(lower), abs(upper)) < 1e3:
            doubts.append(f"The {where} moves from {lower:g} to {upper:g} rad: are these degrees?")
        if lower > upper:
            doubts.append(f"The {where} has a lower limit above its upper one.")
        for key, joints in unlimited.items():
            if number.get(key, 0.0) <= 0.0:
                joints.append(str(owner.get("name")))
    for key, joints in unlimited.items():
        if joints:
            doubts.append(f"No {key} limit for joints {listed(joints, 5)}.")
    return tuple(doubts)


def _single_numbers(element: ET.Element) -> dict[str, float]:
    keys = [a for _, tag, a in _NUMBERS if tag == element.tag and tag in ("mass", "limit")]
    return {key: float(element.attrib[key]) for key in keys if key in element.attrib}
