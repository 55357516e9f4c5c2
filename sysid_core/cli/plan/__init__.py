# SPDX-License-Identifier: Apache-2.0
"""`sysid plan`: one file a sub-command."""

from sysid_core.cli.plan import (  # noqa: F401  (each registers its command)
    arm,
    files,
    loops,
    payload,
    postures,
    sequential,
)
