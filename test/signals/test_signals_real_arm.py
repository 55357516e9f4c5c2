# SPDX-License-Identifier: Apache-2.0
"""The filters on a real UR10e, whose own velocity measurement they don't see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_core.signals import ColumnMap, JointStream, in_order, read_table
from sysid_core.signals.filters import filter_joints, fit_splines
from sysid_core.signals.filters.zero_phase import smooth_joints

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def arm(shared_data: Path) -> JointStream:
    columns = ColumnMap.load(ROOT / "config" / "columns" / "ur10e_csv.yaml")
    file = shared_data / "ur10e" / "identification" / "ur-20_02_06-20sec_10harm.csv"
    stream, report = in_order(read_table(file, columns).joints)
    assert report.kept == report.samples and report.gaps == 0
    return stream


def test_velocity_from_positions_alone_is_what_the_controller_measures(arm: JointStream) -> None:
    smooth = smooth_joints(arm)
    error = np.sqrt(np.mean((smooth.v - arm.v) ** 2, axis=0))
    assert (error < 0.01 * np.sqrt(np.mean(arm.v**2, axis=0))).all()


def test_live_velocity_differs_from_the_smoothed_one_as_its_standard_deviation_says(
    arm: JointStream,
) -> None:
    smooth = smooth_joints(arm)
    live, counts = filter_joints(JointStream(arm.names, arm.stamps_ns, arm.q))
    assert counts.accepted == len(arm)
    later = slice(200, None)
    spread = np.sqrt(2.0) * live.v_sd  # the smoother, which sees both sides, is as exact at least
    assert np.mean((np.abs(live.v - smooth.v) < 2.0 * spread)[later]) > 0.9


def test_encoder_noise_of_a_real_arm_is_some_hundredths_of_a_milliradian(arm: JointStream) -> None:
    _, noise_sd = fit_splines(arm.time, arm.q)
    assert ((noise_sd > 1e-5) & (noise_sd < 1.5e-4)).all()
