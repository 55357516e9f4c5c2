# SPDX-License-Identifier: Apache-2.0
"""Files: safe opening, YAML, JSON, NPZ and their schemas; complete writing; hashes."""

from sysid_core.files.arrays import read_npz
from sysid_core.files.hashes import hash_of
from sysid_core.files.kind import FileKind
from sysid_core.files.markup import parse_yaml, read_json, read_yaml, write_yaml, yaml_text
from sysid_core.files.opening import open_regular, read_bytes, read_text
from sysid_core.files.schema import (
    ONLY_KNOWN_KEYS,
    Angles3,
    AnyNumber,
    Count,
    FileSchema,
    Flag,
    Name,
    NotNegative,
    Number,
    Positive,
    Vector3,
    nearest,
    read_schema,
    unknown_key,
    validated,
)
from sysid_core.files.writing import move_whole, write_text, written_whole

__all__ = [
    "ONLY_KNOWN_KEYS",
    "Angles3",
    "AnyNumber",
    "Count",
    "FileKind",
    "FileSchema",
    "Flag",
    "Name",
    "NotNegative",
    "Number",
    "Positive",
    "Vector3",
    "hash_of",
    "move_whole",
    "nearest",
    "open_regular",
    "parse_yaml",
    "read_bytes",
    "read_json",
    "read_npz",
    "read_schema",
    "read_text",
    "read_yaml",
    "unknown_key",
    "validated",
    "write_text",
    "write_yaml",
    "written_whole",
    "yaml_text",
]
