# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: data that isn't committed, and generators with fixed seeds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Before numpy: small matrices, and tests that may run side by side.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from page_clicks import Clicks
from real_ros import NEEDED, real_ros_environment, with_driver_messages
from recordings import where_they_are

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20220517)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Recordings of real robots that aren't committed: SYSID_TEST_DATA or ../shared/data."""
    path = Path(os.environ.get("SYSID_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(where_they_are(path))  # one reason, so that the summary has one line
    return path


@pytest.fixture(scope="session")
def clicks() -> Iterator[Clicks]:
    """Clicks through a report in a browser: `clicks(page)`, or `clicks(page, "screen", "phone")`."""
    browser = Clicks()
    yield browser
    browser.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start long test files first if tests run in parallel."""
    if not hasattr(config, "workerinput"):
        return
    marked = {
        mark: {item.path for item in items if item.get_closest_marker(mark)}
        for mark in ("ros", "slow")
    }
    # Live tests mostly wait: beside each one something is computed.
    first: dict[Path, int] = {}
    for mark, offset in (("slow", 1), ("ros", 0)):
        files = [
            path for path in dict.fromkeys(item.path for item in items) if path in marked[mark]
        ]
        first |= {path: 2 * k + offset for k, path in enumerate(files)}
    last = len(first) + len(items)  # not in the key: a list that is being sorted has the length 0
    items.sort(key=lambda item: first.get(item.path, last))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the drivers' messages before the first test: the build isn't part of a test's time."""
    if any("driver_messages" in getattr(item, "fixturenames", ()) for item in session.items):
        with_driver_messages(dict(os.environ))


@pytest.fixture(scope="session")
def real_ros() -> dict[str, str]:
    """Environment with launch, ros2 and the drivers' messages.

    For `subprocess` and node processes (`start_nodes` uses it too); this process itself lacks them.
    """
    found = real_ros_environment()
    if found is None:
        pytest.skip(NEEDED)
    return with_driver_messages(found)


@pytest.fixture(scope="session")
def driver_messages() -> dict[str, str]:
    """Environment with the drivers' messages; of a whole ROS 2 where there is one."""
    return with_driver_messages(real_ros_environment() or dict(os.environ))


@pytest.fixture
def with_drivers(driver_messages: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the test starts run in `driver_messages`."""
    for name, value in driver_messages.items():
        monkeypatch.setenv(name, value)
