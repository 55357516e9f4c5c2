# SPDX-License-Identifier: Apache-2.0
"""Kinds of files, and the form of their error messages: file, place, remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sysid_core.errors import SysIdError


@dataclass(frozen=True)
class FileKind:
    """Kind of file that the package reads, such as URDF or bag.

    Attributes:
        name: What it is called in errors: "column map".
        remedy: What to do about a file that can't be used, one sentence.
        error: The error that its readers raise.
    """

    name: str
    remedy: str
    error: type[SysIdError] = SysIdError

    def refusal(self, path: str | Path, why: str, remedy: str = "") -> SysIdError:
        """Error for an unusable file of this kind.

        Args:
            path: The file.
            why: What is wrong, a clause without its full stop.
            remedy: What to do; the kind's own where empty.
        """
        return self.error(
            f"The {self.name} '{path}' can't be used: {why.rstrip('.')}.",
            remedy=remedy or self.remedy,
            path=str(path),
        )
