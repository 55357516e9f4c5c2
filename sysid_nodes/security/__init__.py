# SPDX-License-Identifier: Apache-2.0
"""Who may do what: paths that come over the network, and the policy of the graph."""

from sysid_nodes.security.confined import (
    existing_inside,
    existing_inside_any,
    inside,
    new_inside,
)
from sysid_nodes.security.policy import (
    CALL,
    EXECUTE,
    REPLY,
    REQUEST,
    SUBSCRIBE,
    policy_text,
    read_policy,
    rights_of,
)

__all__ = [
    "CALL",
    "EXECUTE",
    "REPLY",
    "REQUEST",
    "SUBSCRIBE",
    "existing_inside",
    "existing_inside_any",
    "inside",
    "new_inside",
    "policy_text",
    "read_policy",
    "rights_of",
]
