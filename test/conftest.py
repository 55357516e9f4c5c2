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
from real_ros import real_ros_environment

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20220517)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Recordings of real robots that aren't committed: SYSID_TEST_DATA or ../shared/data."""
    path = Path(os.environ.get("SYSID_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}: set SYSID_TEST_DATA")
    return path


@pytest.fixture(scope="session")
def clicks() -> Iterator[Clicks]:
    """Clicks through a report in a browser: `clicks(page)`, or `clicks(page, "screen", "phone")`."""
    browser = Clicks()
    yield browser
    browser.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Live tests have a second try; beside others, long files begin first.

    A live test shares its machine's time with others, and a stall of half a second fails it.
    As in ROS 2's own CI (`--retest-until-pass`) it is repeated once, and the summary lists it as
    RERUN: one that is listed again and again is broken.
    """
    for item in items:
        if item.get_closest_marker("ros"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if not hasattr(config, "workerinput"):
        return
    marked = {
        mark: {item.path for item in items if item.get_closest_marker(mark)}
        for mark in ("patient", "slow")
    }
    items.sort(
        key=lambda item: (item.path not in marked["patient"], item.path not in marked["slow"])
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what `real_ros` gives before the first test: the build isn't part of a test's time."""
    if any("real_ros" in getattr(item, "fixturenames", ()) for item in session.items):
        real_ros_environment()


@pytest.fixture(scope="session")
def real_ros() -> dict[str, str]:
    """Environment with launch, ros2, control_msgs: of the sourced ROS, or built once from sources.

    For `subprocess` and node processes (`start_nodes` uses it too); this process itself lacks them.
    """
    found = real_ros_environment()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def in_real_ros(real_ros: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the test starts run in `real_ros`."""
    for name, value in real_ros.items():
        monkeypatch.setenv(name, value)
