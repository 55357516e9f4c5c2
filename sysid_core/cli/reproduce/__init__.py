# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce`: one file a sub-command."""

from sysid_core.cli.reproduce import (  # noqa: F401  (each registers its command)
    constrained,
    identifiability,
    payload,
    stanford,
)
