# SPDX-License-Identifier: Apache-2.0
"""Files: safe opening, YAML, JSON, NPZ and their schemas; complete writing; hashes."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.files.disk import (
        hash_of,
        json_text,
        move_whole,
        write_json,
        write_text,
        written_whole,
    )
    from sysid_core.files.kind import FileKind
    from sysid_core.files.schema import (
        Angles3,
        Count,
        FileSchema,
        Name,
        NotNegative,
        Number,
        Positive,
        Vector3,
        write_yaml,
        yaml_text,
    )

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "Angles3",
    "Count",
    "FileKind",
    "FileSchema",
    "Name",
    "NotNegative",
    "Number",
    "Positive",
    "Vector3",
    "hash_of",
    "json_text",
    "move_whole",
    "write_json",
    "write_text",
    "write_yaml",
    "written_whole",
    "yaml_text",
]
