# SPDX-License-Identifier: Apache-2.0
"""When a motion may end early: the running payload says that enough is known."""

from __future__ import annotations

from robot_sysid.msg import PayloadEstimate

from sysid_nodes.client import LiveClient
from sysid_nodes.conversions import ns_from_stamp

_INERTIA = {PayloadEstimate.INERTIA_KNOWN}
_COM = {PayloadEstimate.COM_KNOWN, PayloadEstimate.PRIOR_DOMINATED, *_INERTIA}
_STATES = {"mass": {PayloadEstimate.MASS_KNOWN, *_COM}, "com": _COM, "inertia": _INERTIA}


class PayloadKnown:
    """True once the payload of the motion that begins now is known far enough.

    Args:
        client: Follows the topic.
        topic: Topic of the running payload.
        until: "mass", "com" or "inertia".
    """

    def __init__(self, client: LiveClient, topic: str, until: str) -> None:
        self._client, self._topic, self._states = client, topic, _STATES[until]
        self._began_ns = client.node.get_clock().now().nanoseconds

    def __call__(self) -> bool:
        """Whether the newest estimate says so, resting on samples of this motion alone."""
        latest = self._client.latest.get(self._topic)
        if latest is None or ns_from_stamp(latest.valid_from) < self._began_ns:
            return False
        return latest.state in self._states
