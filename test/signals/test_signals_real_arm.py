# SPDX-License-Identifier: Apache-2.0
"""The filters on a real UR10e, whose own velocity measurement they don't see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_core.signals import ColumnMap, JointStream, in_order, read_table
from sysid_core.signals.filters import JointFilter, ZeroPhaseFilter
from sysid_core.signals.timing import sample_noise

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def arm(shared_data: Path) -> JointStream:
    columns = ColumnMap.load(ROOT / "config" / "columns" / "ur10e_csv.yaml")
    file = shared_data / "ur10e" / "identification" / "ur-20_02_06-20sec_10harm.csv"
    stream, report = in_order(read_table(file, columns).joints)
    assert report.kept == report.samples and report.gaps == 0
    return stream


def velocity_from_positions(arm: JointStream) -> np.ndarray:
    """Velocities at the arm's stamps, of the zero-phase filter that sees positions only."""
    bare = JointStream(arm.names, arm.stamps_ns, arm.q)
    smooth = ZeroPhaseFilter(8.0).smooth(bare, 125.0)
    return np.stack([np.interp(arm.time, smooth.time, v) for v in smooth.v.T], axis=1)


def test_velocity_from_positions_alone_is_what_the_controller_measures(arm: JointStream) -> None:
    error = np.sqrt(np.mean((velocity_from_positions(arm) - arm.v) ** 2, axis=0))
    assert (error < 0.01 * np.sqrt(np.mean(arm.v**2, axis=0))).all()


def test_live_velocity_differs_from_the_smoothed_one_as_its_standard_deviation_says(
    arm: JointStream,
) -> None:
    live, counts = JointFilter.filter_stream(JointStream(arm.names, arm.stamps_ns, arm.q))
    assert counts.accepted == len(arm)
    later = slice(200, None)
    spread = np.sqrt(2.0) * live.v_sd  # the smoother, which sees both sides, is as exact at least
    assert np.mean((np.abs(live.v - velocity_from_positions(arm)) < 2.0 * spread)[later]) > 0.9


def test_encoder_noise_of_a_real_arm_is_some_hundredths_of_a_milliradian(arm: JointStream) -> None:
    noise_sd = sample_noise(arm.time, arm.q)
    assert ((noise_sd > 1e-5) & (noise_sd < 1.5e-4)).all()
