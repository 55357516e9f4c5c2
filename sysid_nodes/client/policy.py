# SPDX-License-Identifier: Apache-2.0
"""`python -m sysid_nodes.client.policy NODE...` prints the SROS2 policy of running nodes.

Clients and subscriptions that nodes make when they need them are seen only while they work.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from sysid_nodes.client.live_client import live_client
from sysid_nodes.security import Rights, policy_text, rights_of, united

_LOOK_S = 0.5


def main(arguments: Sequence[str]) -> int:
    """Print the SROS2 policy that permits what the running nodes do within some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="+")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="so long; let the robot work meanwhile"
    )
    asked = parser.parse_args(arguments)
    seen: dict[str, Rights] = {name: {} for name in asked.nodes}
    with live_client() as client:
        end = time.monotonic() + max(asked.seconds, 3.0)  # discovery takes its time
        while time.monotonic() < end:
            look = time.monotonic() + _LOOK_S
            client.wait_until(lambda until=look: time.monotonic() > until, 10.0, "the graph")
            seen = {name: united(had, rights_of(client.node, name)) for name, had in seen.items()}
    print(policy_text(seen), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
