# SPDX-License-Identifier: Apache-2.0
"""`sysid run --until` ends a motion by the estimate of its own payload, never by an older one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Time
from robot_sysid.msg import PayloadEstimate

from sysid_nodes.bringup.run_plan import PayloadKnown

pytestmark = pytest.mark.ros

BEGAN_S = 100
STATES = {
    PayloadEstimate.COLLECTING: (),
    PayloadEstimate.MASS_KNOWN: ("mass",),
    PayloadEstimate.COM_KNOWN: ("mass", "com"),
    PayloadEstimate.PRIOR_DOMINATED: ("mass", "com"),
    PayloadEstimate.INERTIA_KNOWN: ("mass", "com", "inertia"),
}


@pytest.mark.parametrize("until", ["mass", "com", "inertia"])
def test_a_motion_ends_by_what_is_known_of_its_own_payload(until: str) -> None:
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=BEGAN_S * 10**9))
    latest: dict[str, PayloadEstimate] = {}
    client = SimpleNamespace(node=SimpleNamespace(get_clock=lambda: clock), latest=latest)
    known = PayloadKnown(client, "payload", until)
    assert not known(), "nothing has come yet"
    for state, suffices in STATES.items():
        for since_s in (BEGAN_S - 1, BEGAN_S + 1):
            latest["payload"] = PayloadEstimate(state=state, valid_from=Time(sec=since_s))
            assert known() == (since_s > BEGAN_S and until in suffices), (state, since_s)
