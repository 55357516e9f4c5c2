# SPDX-License-Identifier: Apache-2.0
"""Kinds of files: safe opening, arrays, and YAML and JSON as plain data (no duplicate keys, no endless nesting, no aliases
that explode), each fault with the file, the place and a remedy.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import ValidationError

from sysid_core.errors import SysIdError, listed
from sysid_core.files.schema import MOST_FINDINGS, FileSchema, findings_of, open_entries

MOST_BYTES = 64 << 20  # of a text file: an estimate of 500 parameters with its covariance has 6 MB
MOST_ARRAY_BYTES = 256 << 20  # all arrays of a file: 20 hours of seven joints at 100 Hz
# libyaml's parser and emitter are 20 times as fast; PyYAML is built without them at some places.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS = "biufSU"  # of arrays: numbers and text; not objects, complex numbers, dates, records
_DEEPEST = 40  # levels of nesting
_SURELY_SAFE = 5000  # signs that open a level, below which no depth is looked at
_MOST_NODES = 2_000_000  # once aliases are written out

Schema = TypeVar("Schema", bound=FileSchema)


class _Loader(_SafeLoader):  # type: ignore[misc]  # whichever of the two there is
    """YAML loader of plain data only; `1e-3` is a number, as in YAML 1.2."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789")
)


@dataclass(frozen=True)
class FileKind:
    """Kind of file that the package reads, such as URDF or bag.

    Attributes:
        name: Name of the kind in error messages, such as "column map".
        remedy: Recommended action for unusable files of this kind, one sentence.
        error: Class of the error that readers of this kind raise.
    """

    name: str
    remedy: str
    error: type[SysIdError] = SysIdError

    def refusal(self, path: str | Path, why: str, remedy: str = "") -> SysIdError:
        """Return the error for an unusable file of this kind.

        Args:
            path: Path of the file.
            why: Description of the error, a clause without a full stop.
            remedy: Recommended action; "": that of the kind.
        """
        return self.error(
            f"The {self.name} '{path}' can't be used: {why.rstrip('.')}.",
            remedy=remedy or self.remedy,
            path=str(path),
        )

    def open(self, path: str | Path) -> BinaryIO:
        """Open a regular file for reading; pipes and devices, which may block, and folders are
        refused.

        Raises:
            SysIdError: The file cannot be opened, or is not a regular file.
        """
        try:
            # Without O_NONBLOCK a named pipe without a writer blocks in open() itself.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as err:
            raise self.refusal(path, err.strerror or str(err)) from err
        except ValueError as err:  # a NUL in the path
            raise self.refusal(repr(str(path)), str(err)) from err
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            folder = stat.S_ISDIR(os.fstat(handle).st_mode)
            os.close(handle)
            what = "it is a folder" if folder else "it is a pipe or a device, not a file"
            raise self.refusal(path, what, "" if folder else "Write it to a file first.")
        return os.fdopen(handle, "rb")

    def read_bytes(self, path: str | Path, *, most: int = MOST_BYTES) -> bytes:
        """Return the content of a regular file.

        Args:
            path: Path of the file.
            most: Largest permitted size [bytes].

        Raises:
            SysIdError: The file cannot be read, or is too large.
        """
        with self.open(path) as file:
            try:
                content = file.read(most + 1)
            except OSError as err:
                raise self.refusal(path, err.strerror or str(err)) from err
        if len(content) > most:
            raise self.refusal(path, f"it has more than {most >> 20} MB")
        return content

    def read_text(self, path: str | Path, *, most: int = MOST_BYTES) -> str:
        """Return the text of a UTF-8 file, without the byte-order mark that spreadsheets write.

        Raises:
            SysIdError: The file cannot be read, or is not UTF-8.
        """
        content = self.read_bytes(path, most=most)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as err:
            line = content.count(b"\n", 0, err.start) + 1
            raise self.refusal(
                path,
                f"line {line} holds the byte 0x{content[err.start]:02x}, which isn't UTF-8",
                f"If it is a {self.name}, save it with the encoding UTF-8; letters such as µ in"
                " comments matter as well.",
            ) from err

    def parse_yaml(self, text: str, path: str | Path) -> Any:
        """Return the plain data of a YAML text.

        Args:
            text: YAML text.
            path: Path of the file, for error messages.

        Raises:
            SysIdError: The text is not YAML, has a key twice, is nested too deeply, or has aliases
                that expand too far.
        """
        loader = _Loader(text)
        try:
            _refuse_deep(text, self, path)
            node = loader.get_single_node()
            if node is None:
                return None
            _count_nodes(node, 0, {}, self, path)
            return loader.construct_document(node)
        except yaml.MarkedYAMLError as err:
            mark = err.problem_mark or err.context_mark
            where = "" if mark is None else f" in line {mark.line + 1}"
            raise self.refusal(
                path, f"it is not valid YAML{where}: {err.problem or err.context}"
            ) from err
        except (yaml.YAMLError, ValueError, OverflowError) as err:
            raise self.refusal(path, f"it is not valid YAML: {str(err).splitlines()[0]}") from err
        finally:
            loader.dispose()

    def read_yaml(self, path: str | Path) -> Any:
        """Return the plain data of a YAML file (see `parse_yaml`)."""
        return self.parse_yaml(self.read_text(path), path)

    def read_json(self, path: str | Path) -> Any:
        """Return the plain data of a JSON file.

        Raises:
            SysIdError: The file is not JSON, or has a key twice.
        """

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            content = dict(pairs)
            if len(content) < len(pairs):
                keys = [key for key, _ in pairs]
                twice = next(key for key in keys if keys.count(key) > 1)
                raise self.refusal(path, f"it has the key `{twice}` twice", "Keep one of the two.")
            return content

        try:
            return json.loads(self.read_text(path), object_pairs_hook=once)
        except (ValueError, RecursionError) as err:
            raise self.refusal(path, f"it is not valid JSON: {err}") from err

    def read_npz(
        self, path: str | Path, names: Collection[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the named arrays of an NPZ file, with any shapes; pickled objects are refused.

        Args:
            path: Path of the file.
            names: Names of the required arrays, others are ignored; None: all arrays.

        Raises:
            SysIdError: The file is damaged or too large, or an array is missing.
        """
        try:
            with self.open(path) as file, zipfile.ZipFile(file) as archive:
                sizes = {item.filename: item.file_size for item in archive.infolist()}
                if names is None:
                    names = [name.removesuffix(".npy") for name in sizes if name.endswith(".npy")]
                missing = [name for name in names if f"{name}.npy" not in sizes]
                if missing:
                    raise self.refusal(path, f"it has no array {', '.join(map(repr, missing))}")
                if sum(sizes[f"{name}.npy"] for name in names) > MOST_ARRAY_BYTES:
                    raise self.refusal(
                        path, f"its arrays have more than {MOST_ARRAY_BYTES >> 20} MB"
                    )
                return {name: _array(archive.read(f"{name}.npy")) for name in names}
        except (
            zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
            RuntimeError, SyntaxError, MemoryError,
        ) as err:  # fmt: skip
            raise self.refusal(path, f"it is not a valid NPZ file ({err})") from err

    def read_schema(self, path: str | Path, schema: type[Schema]) -> Schema:
        """Read a YAML file and check it against its schema.

        Raises:
            SysIdError: The data violate the schema; the message contains file, key and remedy.
        """
        return self.validated(self.read_yaml(path), schema, path)

    def validated(self, raw: object, schema: type[Schema], path: str | Path) -> Schema:
        """Return the plain data after a check against a schema.

        Raises:
            SysIdError: The data violate the schema; the message contains file, key and remedy.
        """
        remedy = ""
        try:
            if not (findings := open_entries(raw)):
                return schema.model_validate(raw)
            remedy = f"Replace each ? in {Path(path).name}."
        except ValidationError as err:
            findings = findings_of(err.errors(include_url=False), raw)
        except SysIdError as err:  # a check of the core's own
            raise self.refusal(path, err.message, err.remedy) from err
        raise self.refusal(path, listed(findings, MOST_FINDINGS, "; "), remedy)


def _array(content: bytes) -> NDArray[Any]:
    """Array of one `.npy` member, whose header must agree with its size."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else (np.lib.format.read_array_header_2_0)
    )
    shape, _, dtype = read(stream)
    if dtype.kind not in _KINDS or prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} is not supported")
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _refuse_deep(text: str, kind: FileKind, path: str | Path) -> None:
    """Refuse deep nesting before parsing, because libyaml's recursive composer would crash with 100
    000 levels.
    """
    deepest_line = max((len(line) - len(line.lstrip(" ")) for line in text.splitlines()), default=0)
    signs = sum(map(text.count, ("[", "{", "- ", "-\t", "-\n", "? ", "?\t", "?\n")))
    if deepest_line + signs < _SURELY_SAFE:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise kind.refusal(path, f"it is nested more than {_DEEPEST} levels deep")


def _count_nodes(
    node: yaml.Node, depth: int, sizes: dict[int, int], kind: FileKind, path: str | Path
) -> int:
    """Number of YAML nodes below a node, with aliases expanded; raises an error for structures that
    no valid file has.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    known = sizes.get(id(node))
    if known is not None:
        if known == 0:
            raise kind.refusal(path, "an alias (`*name`) refers to its own container")
        return known
    if depth > _DEEPEST:
        raise kind.refusal(path, f"it is nested more than {_DEEPEST} levels deep")
    sizes[id(node)] = 0
    children = node.value
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in seen and name != "<<":
                line = key.start_mark.line + 1
                raise kind.refusal(
                    path,
                    f"the key `{name}` occurs again in line {line}",
                    "Keep only one of the two entries.",
                )
            seen.add(name)
        children = [child for pair in node.value for child in pair]
    size = 1 + sum(_count_nodes(child, depth + 1, sizes, kind, path) for child in children)
    if size > _MOST_NODES:
        raise kind.refusal(path, f"it has more than {_MOST_NODES} entries")
    sizes[id(node)] = size
    return size
