# SPDX-License-Identifier: Apache-2.0
"""Checks of paths received over the network."""

from sysid_nodes.security.confined import existing_inside, new_inside

__all__ = [
    "existing_inside",
    "new_inside",
]
