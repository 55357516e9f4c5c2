# SPDX-License-Identifier: Apache-2.0
"""Long work beside a node's messages."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import ManagedNode

_LONGEST_S = 600.0


async def aside(node: ManagedNode, work: Callable[[], Any]) -> Any:
    """Work in a thread of its own, while messages go on.

    Args:
        node: That waits.
        work: What is done; its result or error is given on.

    Raises:
        SysIdError: It takes too long.
    """
    out: dict[str, Any] = {}

    def run() -> None:
        try:
            out["result"] = work()
        except Exception as err:  # raised again where it is awaited
            out["error"] = err

    thread = Thread(target=run, name="aside", daemon=True)
    thread.start()
    await node.waits.until(lambda: not thread.is_alive(), _LONGEST_S)
    if "error" in out:
        raise out["error"]
    if "result" not in out:
        raise SysIdError("Planning takes too long.", remedy="Ask for fewer iterations.")
    return out["result"]
