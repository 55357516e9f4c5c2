# SPDX-License-Identifier: Apache-2.0
"""Values such as DBL_MAX ("no value" of some drivers) are refused or survived by the live filters."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SysIdError
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import WrenchFilter

HUGE = (1e30, 1e160, 1.79e308)
STEP_NS = 5_000_000


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("value", HUGE)
def test_a_huge_wrench_does_not_end_the_filter(value: float, always: bool) -> None:
    filters, last = WrenchFilter(max_gap_s=0.1), None
    wrench = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    for k in range(1500):
        bad = k == 300 or (always and 300 < k < 600)
        try:
            last = filters.update(10**9 + k * STEP_NS, wrench * (value if bad else 1.0), None)
        except SysIdError:
            assert bad
    assert last is not None


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("signal", [0, 1, 2])
@pytest.mark.parametrize("value", HUGE)
def test_a_huge_joint_state_does_not_end_the_filter(
    value: float, signal: int, always: bool
) -> None:
    filters, last = JointFilter(2, max_gap_s=0.1), None
    for k in range(1000):
        t = k * STEP_NS * 1e-9
        state = [np.full(2, np.sin(t)), np.full(2, np.cos(t)), np.ones(2)]
        bad = k == 300 or (always and 300 < k < 500)
        if bad:
            state[signal] = state[signal] * value
        try:
            last = filters.update(10**9 + k * STEP_NS, *state)
        except SysIdError:
            assert bad
    assert last is not None
