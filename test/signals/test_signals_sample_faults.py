# SPDX-License-Identifier: Apache-2.0
"""Steps, clipping and standstill are seen in samples that have them, and in no others."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.signals import standstill_share
from sysid_core.signals.timing import quantisation
from sysid_core.signals.wrench.checks import saturated


def test_steps_of_an_encoder_are_found_and_noise_has_none(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 5.0, 0.002)
    fine = np.sin(t) + 1e-5 * rng.normal(size=len(t))
    coarse = np.round(fine / 1e-4) * 1e-4
    assert quantisation(np.column_stack([coarse, fine])) == pytest.approx([1e-4, 0.0], rel=1e-6)


def test_clipped_efforts_are_found_and_turning_points_are_none() -> None:
    x = np.sin(np.arange(0.0, 20.0, 0.01))
    share = saturated(np.column_stack([np.clip(x, -0.9, 0.9), x, np.zeros(len(x))])).mean(axis=0)
    assert share[0] == pytest.approx(np.mean(np.abs(x) >= 0.9), abs=0.01)
    assert share[1] == share[2] == 0.0


def test_standstill_is_when_no_joint_moves(rng: np.random.Generator) -> None:
    t = np.arange(0.0, 10.0, 0.01)
    moving = np.clip(t - 4.0, 0.0, 3.0)
    q = np.column_stack([moving, np.zeros(len(t))]) + 1e-5 * rng.normal(size=(len(t), 2))
    assert standstill_share(t, q) == pytest.approx(0.7, abs=0.02)
