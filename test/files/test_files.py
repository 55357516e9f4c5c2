# SPDX-License-Identifier: Apache-2.0
"""Reading of files: unsuitable files are refused with one sentence."""

from __future__ import annotations

import errno
import io
import os
import re
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from pydantic import Field

from sysid_core.errors import SignalError, SysIdError
from sysid_core.files import (
    FileKind,
    FileSchema,
    Number,
    Vector3,
    hash_of,
    write_text,
    write_yaml,
    written_whole,
)
from sysid_core.progress import watch_progress
from sysid_core.servos import read_recordings
from sysid_core.signals import WrenchColumns

DEEP = "40 levels deep|nesting depth"  # newer libyaml has a bound of its own
KIND = FileKind("column map", "Start from an example.", SignalError)


class Part(FileSchema):
    columns: list[int | str]
    gain: Literal["unknown"] | list[Number] = "unknown"


class Whole(FileSchema):
    schema_: Literal["x/1"] = Field(alias="schema")
    effort: Part | None = None
    xyz: Vector3 | None = None


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "pipe", "a pipe or a device"),
        (Path("/dev/zero"), "a pipe or a device"),
        (tmp_path, "folder"),
        (tmp_path / "none", "No such file"),
        ("a\0b", "null"),
    ):
        with pytest.raises(SignalError, match=words) as err:
            KIND.read_text(path)
        assert err.value.remedy


@pytest.mark.parametrize("ending", ["npz", "mat", "parquet", "csv"])
def test_a_table_or_servo_motion_that_is_a_pipe_is_refused_at_once(
    tmp_path: Path, ending: str
) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    os.mkfifo(path)
    with pytest.raises(SignalError, match="a pipe or a device"):
        WrenchColumns().read(path)
    if ending == "parquet":
        with pytest.raises(SignalError, match="a pipe or a device"):
            read_recordings([path])


def test_a_disk_that_fails_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.symlink_to("/proc/self/mem")  # its first byte is an I/O error
    with pytest.raises(SysIdError, match=r"run\.csv' can't be read: Input/output error"):
        hash_of(path)


def test_a_file_that_is_too_large_or_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\nb: \xfc\n")
    with pytest.raises(SignalError, match="line 2 holds the byte 0xfc"):
        KIND.read_text(file)
    with pytest.raises(SignalError, match="more than 0 MB"):
        KIND.read_text(file, most=5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- " * 200_000 + "1", DEEP),
        ("[" * 20_000, DEEP),
        ("a:\n" + "".join(" " * i + "a:\n" for i in range(1, 3000)), DEEP),
        ("a: 1\nb: 2\na: 3", "`a` occurs again in line 3"),
        ("a: &x [1, *x]", "refers to its own container"),
        (
            "\n".join(
                ["k0: &k0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
                + [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]" for i in range(1, 12)]
            ),
            "more than 2000000 entries",
        ),
        ("!!python/object/apply:os.system [true]", "constructor"),
        ("a: [1, 2", "not valid YAML in line"),
        ("a: 2020-99-99", "not valid YAML"),
        ("a: " + "9" * 9000, "not valid YAML"),
    ],
)
def test_yaml_that_nobody_writes_is_refused(text: str, words: str) -> None:
    with pytest.raises(SignalError, match=words):
        KIND.parse_yaml(text, "a.yaml")


def test_aliases_and_numbers_without_a_point_are_read() -> None:
    content = KIND.parse_yaml("a: &x [1e-3, 2]\nb: *x\n<<: {c: 1E6}", "a.yaml")
    assert content == {"a": [1e-3, 2], "b": [1e-3, 2], "c": 1e6}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    content = {"z": [1.5e-300, -0.0], "a": {"ü": "no", "b": None}}
    write_yaml(tmp_path / "a.yaml", content)
    assert KIND.read_yaml(tmp_path / "a.yaml") == content


def test_json_with_a_key_twice_or_no_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text, words in (('{"a": 1, "a": 2}', "`a` twice"), ("{", "JSON"), ("[" * 99_999, "JSON")):
        file.write_text(text)
        with pytest.raises(SignalError, match=words):
            KIND.read_json(file)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (5, "it is 5, expected a mapping"),
        ({}, "it is not of schema x/1, but of None"),
        ({"schema": "x/2"}, "it is not of schema x/1, but of 'x/2'"),
        ({"schema": "x/1", "efort": {}}, "it has an unknown key 'efort' .write `effort`"),
        ({"schema": "x/1", "effort": {"columns": [1, 2.5]}}, r"`effort.columns\[1\]` is 2.5"),
        ({"schema": "x/1", "effort": {"columns": [], "gain": [True]}}, r"`effort.gain\[0\]`"),
        ({"schema": "x/1", "effort": {}}, "`effort.columns` is missing"),
        ({"schema": "x/1", "xyz": [0, 1]}, "`xyz` has 2 entries, expected 3"),
        ({"schema": "x/1", "xyz": [0, 1, float("nan")]}, "expected a finite number"),
    ],
)
def test_findings_name_file_key_and_remedy(raw: object, words: str) -> None:
    with pytest.raises(SignalError, match=words) as err:
        KIND.validated(raw, Whole, "here.yaml")
    assert "here.yaml" in err.value.message
    assert err.value.remedy


def _npz(path: Path, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_arrays_are_read_by_name(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(3.0), y=np.array("head"))
    found = KIND.read_npz(tmp_path / "a.npz", ("x", "y"))
    np.testing.assert_array_equal(found["x"], [0, 1, 2])
    assert str(found["y"]) == "head"
    assert KIND.read_npz(tmp_path / "a.npz").keys() == {"x", "y"}
    with pytest.raises(SignalError, match="no array 'z'"):
        KIND.read_npz(tmp_path / "a.npz", ("z",))


def test_declared_sizes_are_checked_before_memory_is_asked_for(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    )
    _npz(tmp_path / "declared.npz", x=header.getvalue() + b"few bytes")
    _npz(tmp_path / "bomb.npz", x=b"\0" * (257 << 20))
    for name, words in (("declared", "is not supported"), ("bomb", "more than 256 MB")):
        with pytest.raises(SignalError, match=words):
            KIND.read_npz(tmp_path / f"{name}.npz", ("x",))


@pytest.mark.parametrize(
    "array",
    [np.array([{"a": 1}], dtype=object), np.ones(3) * 1j, np.zeros(3, dtype="M8[s]")],
    ids=["pickled", "complex", "dates"],
)
def test_arrays_of_objects_complex_numbers_and_dates_are_never_read(
    tmp_path: Path, array: np.ndarray
) -> None:
    np.savez(tmp_path / "a.npz", x=array)
    with pytest.raises(SignalError, match="is not supported"):
        KIND.read_npz(tmp_path / "a.npz", ("x",))


def test_npz_that_is_cut_off_or_has_flipped_bits_is_a_sentence_or_the_same_arrays(
    tmp_path: Path,
) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.linspace(0, 1, 500), y=np.array("head"))
    whole = (tmp_path / "a.npz").read_bytes()
    true = KIND.read_npz(tmp_path / "a.npz", ("x", "y"))
    rng = np.random.default_rng(0)
    damaged = [whole[:n] for n in rng.integers(0, len(whole), 50)]
    for bit in rng.integers(0, 8 * len(whole), 300):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        damaged.append(bytes(flipped))
    refused = 0
    for content in damaged:
        (tmp_path / "b.npz").write_bytes(content)
        try:
            found = KIND.read_npz(tmp_path / "b.npz", ("x", "y"))
        except SignalError:
            refused += 1
        else:
            assert all(np.array_equal(found[name], true[name]) for name in true)
    assert refused > 200


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), written_whole(path) as file:
        file.write(b"ne")
        assert path.read_text() == "old"
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    full = OSError(errno.ENOSPC, "No space left on device")  # as a write raises it, without a name
    with pytest.raises(OSError, match=r"No space left.*result\.json"), written_whole(path):
        raise full
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_text(link, "new")
    assert path.read_text() == "new" and link.is_symlink()
    write_text("/dev/null", "a device is written directly")


ROOT = Path(__file__).resolve().parents[2]
# Files in folders that appear whole, and files that are appended to.
ELSEWHERE = ("sysid_core/export/", "sysid_core/files/kind.py")


def test_every_file_is_written_whole() -> None:
    direct = re.compile(r"\.write_text\(|savez\w*\((?!file|target)|write_table\([^)]*\bout\b")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for package in ("sysid_core", "sysid_cli", "sysid_fleet", "sysid_nodes", "sysid_demos")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(ELSEWHERE)
        for line in path.read_text(encoding="utf-8").splitlines()
        if direct.search(line)
    ]
    assert not found, "write with sysid_core.files.write_text or written_whole"


def test_hashing_a_large_file_tells_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "run.mcap").write_bytes(bytes(5 << 20))
    shares: list[float] = []
    with watch_progress(lambda name, share: shares.append(share)):
        hash_of(tmp_path / "run.mcap")
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_a_renamed_file_survives_a_power_failure_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an fsync of the folder, the old file, or none, is found after a power failure."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    write_text(tmp_path / "result.json", "{}")
    hidden, folder = synced
    assert hidden.startswith(str(tmp_path / ".result.json")) and folder == str(tmp_path)
