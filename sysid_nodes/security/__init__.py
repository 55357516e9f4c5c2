# SPDX-License-Identifier: Apache-2.0
"""Access control: checks of paths received over the network, and the SROS2 policy of the nodes."""

from sysid_nodes.security.confined import existing_inside, existing_inside_any, new_inside
from sysid_nodes.security.policy import Rights, policy_text, rights_of, united

__all__ = [
    "Rights",
    "existing_inside",
    "existing_inside_any",
    "new_inside",
    "policy_text",
    "rights_of",
    "united",
]
