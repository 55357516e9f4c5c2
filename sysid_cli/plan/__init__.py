# SPDX-License-Identifier: Apache-2.0
"""`sysid plan` plans motions; each group of its sub-commands has a module."""

from sysid_cli.base import group

plan = group(
    "plan", "Plan exciting motions, and check motions.", "sysid plan payload xarm7 --out plan"
)
