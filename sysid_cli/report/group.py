# SPDX-License-Identifier: Apache-2.0
"""The group `sysid report`."""

from __future__ import annotations

from sysid_cli.app import group

report = group(
    "report",
    "Reports of several runs.",
    "sysid report index results",
    {"compare": "report.compare", "index": "report.index"},
)
