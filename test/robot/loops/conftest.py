# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import pytest

from sysid_core.robot.loops import (
    ClosedChain,
    load_closed_chain,
)


@pytest.fixture(scope="session")
def leg() -> ClosedChain:
    return load_closed_chain("own-leg")
