# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_nodes.client.policy NODE...`: the policy of running nodes, printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from sysid_nodes.client.live_client import live_client
from sysid_nodes.security import policy_text, rights_of

_DISCOVERY_S = 3.0


def main(names: Sequence[str]) -> int:
    """Print the policy of the running nodes."""
    with live_client() as client:
        begin = time.monotonic()
        client.wait_until(lambda: time.monotonic() - begin > _DISCOVERY_S, 10.0, "the graph")
        print(policy_text({name: rights_of(client.node, name) for name in names}), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
