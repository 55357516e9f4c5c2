# SPDX-License-Identifier: Apache-2.0
"""List of all reports below a folder: `results/index.html`."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from html import unescape
from pathlib import Path
from urllib.parse import quote

from sysid_core.errors import SignalError, SysIdError
from sysid_core.files import FileKind, open_regular
from sysid_core.report.html import MARKS, Report

INDEX = "index.html"
_HEAD = 65_536  # characters of a page in which its summary stands
_SUMMARY = re.compile(r'<meta name="robot-sysid" content="([^"]*)">')
_PAGE = FileKind("report", "Repeat the command that wrote it.")
_TITLE = "Reports in"


def write_index(folder: str | Path) -> Path:
    """Write `index.html` with a list of all reports below a folder, the newest first.

    Args:
        folder: Such as `results`.

    Raises:
        SignalError: No such folder, no report below it, or an `index.html` that isn't ours.
    """
    folder = Path(folder)
    page = folder / INDEX
    if page.exists() and not is_index(page):
        raise SignalError(
            f"'{page}' is not a list of reports.", remedy="Move the file, or give another folder."
        )
    found = []
    for file in sorted(folder.rglob("*.html")):
        summary = read_summary(file)
        if summary and not summary["title"].startswith(_TITLE):
            found.append((summary, file))
    if not found:
        raise SignalError(
            f"There is no report in '{folder}' or its subfolders.",
            remedy="Give the folder that was given to --out.",
        )
    found.sort(key=lambda pair: pair[0]["when"], reverse=True)
    counts = {level: sum(s["level"] == level for s, _ in found) for level in MARKS}
    report = Report(f"{_TITLE} {folder.absolute().name}")
    report.headline(
        None,
        f"{len(found)} reports: "
        + ", ".join(
            f"{count} {'for information' if level == 'info' else level}"
            for level, count in counts.items()
            if count
        )
        + ".",
    )
    report.table(
        ("", "report", "answer", "written"),
        [
            (
                MARKS.get(summary["level"], ""),
                (summary["title"], quote(Path(os.path.relpath(file, folder)).as_posix())),
                summary["sentence"],
                summary["when"],
            )
            for summary, file in found
        ],
    )
    return report.save(page)


def save_and_list(report: Report, path: str | Path) -> Path:
    """Save a report, and add it to the `index.html` of its folder.

    That list is kept where there is one already, and in folders called `results`.
    """
    written = report.save(path)
    for folder in written.absolute().parents[:2]:
        if folder.name == "results" or is_index(folder / INDEX):
            # The report is there; a list that can't be written is no reason to fail.
            with suppress(OSError, SignalError):
                write_index(folder)
            break
    return written


def read_summary(file: Path) -> dict[str, str] | None:
    """Title, time, verdict and headline of a report; None for other pages."""
    try:
        with open_regular(file, _PAGE) as stream:
            match = _SUMMARY.search(stream.read(_HEAD).decode("utf-8", errors="replace"))
        summary = json.loads(unescape(match[1])) if match else None
    except (OSError, SysIdError, ValueError):
        return None
    if not isinstance(summary, dict):
        return None
    return {key: str(summary.get(key, "")) for key in ("title", "when", "level", "sentence")}


def is_index(file: Path) -> bool:
    """True if a page is such a list."""
    summary = read_summary(file) if file.is_file() else None
    return summary is not None and summary["title"].startswith(_TITLE)
