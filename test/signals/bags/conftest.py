# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest
from bag_messages import write


@pytest.fixture(scope="session")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bags") / "run"
    write(path, custom_data={"effort_kind": "link_torque", "operator": "me"})
    return path
