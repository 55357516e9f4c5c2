# SPDX-License-Identifier: Apache-2.0
"""File metadata.yaml of a rosbag2 bag."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, FileSchema, Name, read_schema

BAG = FileKind("bag", "Give a rosbag2 folder, or an .mcap or .db3 file.", SignalError)


class BagMetadata(FileSchema):
    """Those metadata of a bag that are used here."""

    MORE_KEYS: ClassVar[bool] = True
    relative_file_paths: list[Name] = Field(default_factory=list)
    custom_data: dict[str, Any] = Field(default_factory=dict)


class _MetadataFile(FileSchema):
    MORE_KEYS: ClassVar[bool] = True
    rosbag2_bagfile_information: BagMetadata


def read_metadata(path: Path) -> tuple[BagMetadata | None, tuple[str, ...]]:
    """Contents of metadata.yaml (None if it is missing), and its faults."""
    file = path / "metadata.yaml"
    if not file.exists():
        return None, ()
    try:
        content = read_schema(file, _MetadataFile, BAG)
        return content.rosbag2_bagfile_information, ()
    except SignalError as err:
        return None, (err.message,)
