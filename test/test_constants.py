# SPDX-License-Identifier: Apache-2.0
"""Numbers that decide over results say why they are what they are."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
constants = importlib.import_module("constants")


@pytest.mark.parametrize("room", constants.ROOMS)
def test_numbers_of_a_room_say_what_they_are(room):
    silent = [n.place for n in constants.numbers_of(constants.ROOMS[room]) if not n.reason]
    assert not silent, "Say beside each its unit and why: " + ", ".join(silent)
