# SPDX-License-Identifier: Apache-2.0
"""Recordings in folders or in object storage: search, and local copies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_core.errors import BatchError

SUFFIXES = (".mcap", ".db3", ".csv")


@dataclass(frozen=True)
class Source:
    """Recording in a folder or in object storage.

    Attributes:
        address: Path, or address such as `s3://bucket/night.mcap`.
        stamp: Size of the recording with its entity tag or time of modification; it changes with
            the recording.
    """

    address: str
    stamp: str

    @property
    def name(self) -> str:
        """Name of the recording without its folders."""
        return self.address.rstrip("/").rpartition("/")[2]


def find_sources(places: Sequence[str]) -> Iterator[Source]:
    """Yield all recordings below the given addresses, each once, in the order of their addresses.

    Args:
        places: Files, folders (searched recursively), and patterns with `*`; local, or in a storage
            that fsspec supports (`s3://`, `gs://`, `az://`, `sftp://`).

    Raises:
        BatchError: There are no recordings, or the storage is not supported.
    """
    seen: set[str] = set()
    for place in places:
        found = False
        for path, info in _walk(place):
            found = True
            if path not in seen:
                seen.add(path)
                yield Source(path, _stamp(info))
        if not found:
            raise BatchError(
                f"There are no recordings at '{place}'.",
                remedy=f"Give files, folders or patterns; recordings end with {', '.join(SUFFIXES)}.",
            )


def _walk(place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    storage, path = _storage(place)
    local = "://" not in place
    try:
        if any(mark in path for mark in "*?["):
            found = storage.glob(path, detail=True)
        elif storage.isdir(path):
            found = storage.find(path, detail=True)
            found = {p: i for p, i in found.items() if p.endswith(SUFFIXES)}
        else:
            found = {path: storage.info(path)} if storage.exists(path) else {}
    except (OSError, ImportError, ValueError) as err:
        raise BatchError(
            f"'{place}' can't be listed: {err}.", remedy="Check the address and your permissions."
        ) from err
    for one in sorted(found):
        yield (one if local else storage.unstrip_protocol(one)), found[one]


def _stamp(info: dict[str, Any]) -> str:
    tag = info.get("ETag") or info.get("etag") or info.get("mtime") or info.get("LastModified", "")
    return f"{info.get('size', '')}/{tag}"


def _storage(place: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as err:
        raise BatchError(
            "The search for recordings needs fsspec, which is not installed.",
            remedy='Install the missing packages: pip install "robot_sysid[cluster]".',
        ) from err
    try:
        storage, path = url_to_fs(place)
    except (ImportError, ValueError) as err:
        raise BatchError(
            f"'{place}' can't be reached: {err}.",
            remedy="Check the address; storages such as s3:// need their fsspec package (s3fs).",
        ) from err
    return storage, path


@contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """Provide a recording as a local file or folder; a copy is removed after use.

    Raises:
        BatchError: The recording cannot be copied.
    """
    storage, path = _storage(address)
    if storage.protocol in ("file", ("file", "local")):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="sysid-") as folder:
        here = Path(folder) / path.rstrip("/").rpartition("/")[2]
        try:
            storage.get(path, str(here), recursive=storage.isdir(path))
        except OSError as err:
            raise BatchError(
                f"'{address}' can't be copied: {err}.",
                remedy="Check the address and your permissions.",
            ) from err
        yield here
