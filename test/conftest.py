"""Shared by all tests: data that isn't committed, and generators with fixed seeds."""

from __future__ import annotations

import os
from pathlib import Path

# Before numpy: small matrices, and tests that may run side by side.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

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
