# SPDX-License-Identifier: Apache-2.0
"""Whether a certificate still holds: signature, files, and the numbers from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_core.batch import hash_of
from sysid_core.certificate.content import differences, paths_by_role, statement
from sysid_core.certificate.repeat import repeat_numbers
from sysid_core.certificate.repeat_command import Again
from sysid_core.certificate.signing import Certificate, fingerprint
from sysid_core.errors import SysIdError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        ok: Whether it holds; None where it wasn't asked.
        detail: In words.
    """

    name: str
    ok: bool | None
    detail: str


def verify_certificate(
    path: Path,
    *,
    trusted: bytes | None = None,
    data: Path | None = None,
    again: Again | None = None,
) -> list[Check]:
    """Check a certificate, from the cheap to the dear; what follows a failure isn't looked at.

    Args:
        path: `certificate.json`.
        trusted: Public key of who should have signed.
        data: Folder in which recordings are looked for that aren't where they were.
        again: Repeats the command where that is needed (see `repeat_numbers`).

    Raises:
        SysIdError: It is no certificate.
    """
    certificate = Certificate.load(path)
    content, who = certificate.content, fingerprint(certificate.key)
    checks = [
        Check("signature", certificate.valid, f"key {who}" if certificate.valid else "isn't valid"),
        Check(
            "signer",
            None if trusted is None else trusted == certificate.key,
            f"key {who} isn't compared with any: give --public-key"
            if trusted is None
            else f"key {who}, expected {fingerprint(trusted)}",
        ),
    ]
    if any(check.ok is False for check in checks):
        return checks
    try:
        files = [_found(file, path.parent, data) for file in content["files"]]
    except (KeyError, TypeError) as err:
        raise SysIdError(
            f"'{path}' is signed, but is no statement of this version (no {err}).",
            remedy="Verify it with the version of robot_sysid that it names.",
        ) from err
    checks += [_file_check(file) for file in files]
    if any(check.ok is False for check in checks):
        return checks
    by_role = paths_by_role(files)
    earlier = by_role.get("earlier")
    try:
        numbers = repeat_numbers(
            by_role["result"][0].parent,
            content["inputs"],
            by_role,
            method=content["method"],
            prior_weight=content["prior_weight"],
            earlier=earlier[0].parent if earlier else None,
            again=again,
        )
    except SysIdError as err:
        return [*checks, Check("numbers", False, str(err))]
    other = differences(content, statement(numbers))
    count = len(content["uncertainty_budget"])
    detail = "; ".join(other) or (
        f"{count} estimates and the errors of {len(content['recordings'])} recordings, repeated from"
        " the data"
    )
    return [*checks, Check("numbers", not other, detail)]


def _found(file: Mapping[str, str], beside: Path, data: Path | None) -> dict[str, Any]:
    """The file where it was, beside the certificate, or in the folder with data."""
    name = Path(file["path"]).name
    places = [Path(file["path"]), beside / name]
    if data is not None:
        places = [data / name, *sorted(data.rglob(name)), *places]
    here = next((place for place in places if place.exists()), places[0])
    return {**file, "path": str(here)}


def _file_check(file: Mapping[str, str]) -> Check:
    name = f"{file['role']}: {Path(file['path']).name}"
    if not Path(file["path"]).exists():
        return Check(name, False, f"'{file['path']}' isn't there: give --data FOLDER")
    same = hash_of(file["path"]) == file["sha256"]
    return Check(name, same, f"sha256 {file['sha256'][:16]}" if same else "has changed")
