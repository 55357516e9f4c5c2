# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that may be in contact, from MoveIt's semantic description (SRDF)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Set
from pathlib import Path

from sysid_core.errors import ModelError
from sysid_core.files import FileKind, read_text

_FILE = FileKind("SRDF", "Give the file that MoveIt reads.", ModelError)


def allowed_contacts(path: str | Path, links: Set[str]) -> tuple[tuple[str, str], ...]:
    """Link pairs of `<disable_collisions link1= link2= reason=>`, each once, in the order of the
    file.

    Args:
        path: SRDF file.
        links: Names of the robot's links; pairs of others (a hand that isn't mounted) are left out.

    Raises:
        ModelError: The file can't be read, isn't an SRDF, or is another robot's.
    """
    try:
        text = read_text(path, _FILE)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise ET.ParseError("it declares a document type or entities")
        root = ET.fromstring(text)
    except ET.ParseError as err:
        raise ModelError(
            f"'{path}' can't be read as SRDF: {err}.", remedy="Give the file that MoveIt reads."
        ) from err
    pairs = [(e.get("link1", ""), e.get("link2", "")) for e in root.iter("disable_collisions")]
    if root.tag != "robot" or not pairs:
        raise ModelError(
            f"'{path}' holds no pairs of links that may touch.",
            remedy="Give an SRDF with <disable_collisions link1= link2=/>.",
        )
    own = dict.fromkeys(pair for pair in pairs if set(pair) <= links)
    if not own:
        raise ModelError(
            f"None of the {len(pairs)} pairs in '{path}' are this robot's links.",
            remedy="Give this robot's SRDF.",
        )
    return tuple(own)
