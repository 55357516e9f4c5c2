# SPDX-License-Identifier: Apache-2.0
"""Defects of a wrench stream are found and named; sound streams pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.signals import WrenchColumns, WrenchStream
from sysid_core.signals.wrench import WrenchCheck
from sysid_core.workflows.taring import require_sound_wrench

RATE = 100.0  # [Hz]


def moving(rng: np.random.Generator, n: int = 400) -> np.ndarray:
    t = np.arange(n)[:, None] / RATE
    phase = np.arange(6)[None, :]
    amplitude = np.repeat([20.0, 2.0], 3)
    return amplitude * np.sin(2 * np.pi * 0.5 * t + phase) + rng.normal(size=(n, 6)) * 0.02


def stream(wrench: np.ndarray) -> WrenchStream:
    return WrenchStream("ft", (np.arange(len(wrench)) * 1e9 / RATE).astype(np.int64), wrench)


def kinds(wrench: np.ndarray, **options: float) -> list[str]:
    return [fault.kind for fault in WrenchCheck(stream(wrench)).faults(**options)]


def test_sound_streams_have_no_faults(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    assert kinds(wrench) == []
    assert kinds(np.round(wrench, 1)) == []  # quantised at 0.1
    assert kinds(np.round(rng.normal(size=(400, 6)) * 0.1, 1)) == []  # at rest, coarse
    assert kinds(np.repeat(wrench[::4], 4, axis=0)) == []  # a slow sensor, values held


def test_nan_is_named_with_axis_and_time(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[150:153, 2] = np.nan
    (fault,) = WrenchCheck(stream(wrench)).faults()
    assert (fault.kind, fault.axes, fault.n_samples) == ("not finite", ("fz",), 3)
    assert fault.first_s == pytest.approx(1.5)


def test_frozen_stretch_is_named(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[200:240] = wrench[199]
    (fault,) = WrenchCheck(stream(wrench)).faults()
    assert fault.kind == "frozen"
    assert fault.first_s == pytest.approx(1.99)


def test_dead_axis_is_named(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[:, 4] = 0.0
    (fault,) = WrenchCheck(stream(wrench)).faults()
    assert (fault.kind, fault.axes) == ("frozen", ("ty",))


def test_saturated_readings_are_left_out_and_counted(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[:, 0] = np.minimum(wrench[:, 0], 15.0)
    readings, notes = WrenchCheck(stream(wrench)).usable()
    np.testing.assert_array_equal(readings.wrench, wrench[wrench[:, 0] < 15.0])
    assert len(readings) < len(wrench) and notes == (
        f"{len(wrench) - len(readings)} saturated wrench samples were omitted.",
    )


def test_postures_of_a_coarse_sensor_are_not_saturated(rng: np.random.Generator) -> None:
    """Readings at rest repeat, also those of the posture with the largest force."""
    postures = 15.0 * rng.normal(size=(7, 6)) * [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]
    at = np.concatenate([np.r_[np.full(60, k), np.linspace(k, k + 1, 60)] for k in range(6)])
    wrench = np.array([np.interp(at, range(7), axis) for axis in postures.T]).T
    step = np.array([0.1, 0.1, 0.1, 5e-3, 5e-3, 5e-3])
    wrench = step * np.round(wrench / step + 0.1 * rng.normal(size=wrench.shape))
    assert not any("saturated" in note for note in WrenchCheck(stream(wrench)).usable()[1])


def test_a_constant_column_of_a_table_is_named(tmp_path: Path, rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[:, 2] = 0.1
    pose = rng.normal(size=(len(wrench), 6))
    np.savez(tmp_path / "run.npz", time=np.arange(len(wrench)) / RATE, pose=pose, wrench=wrench)
    with pytest.raises(SignalError, match=r"wrench\.2 are constant"):
        WrenchColumns().read(tmp_path / "run.npz")


def test_saturation_is_named_with_and_without_the_range(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[:, 0] = np.clip(1.5 * wrench[:, 0], -25.0, 25.0)
    for reading in (wrench, np.round(wrench, 1)):
        for options in ({}, {"force_range": 25.0, "torque_range": 10.0}):
            (fault,) = WrenchCheck(stream(reading)).faults(**options)
            assert (fault.kind, fault.axes) == ("saturated", ("fx",))
    assert kinds(moving(rng), force_range=500.0, torque_range=20.0) == []


def test_refusal_lists_every_fault_and_its_remedy(rng: np.random.Generator) -> None:
    wrench = moving(rng)
    wrench[5, 0] = np.inf
    wrench[:, 4] = 0.0
    with pytest.raises(SignalError, match=r"infinite \(fx\).*ty") as caught:
        require_sound_wrench(stream(wrench))
    assert len(caught.value.data["faults"]) == 2
    assert "restart" in caught.value.remedy


def test_empty_stream_is_a_fault() -> None:
    assert kinds(np.empty((0, 6))) == ["not finite"]


def at_rate(rng: np.random.Generator, rate: float, hum_hz: float = 0.0) -> WrenchStream:
    """A fast motion of 2 s with noise and a hum with three times the noise's standard deviation as
    amplitude.
    """
    t = np.arange(0.0, 2.0, 1.0 / rate)
    motion = np.outer(np.sin(2 * np.pi * 3.0 * t), np.repeat([30.0, 3.0], 3))
    noise = np.repeat([0.1, 0.005], 3)
    hum = np.sin(2 * np.pi * hum_hz * t[:, None] + np.arange(6)) * 3.0 * noise
    return WrenchStream(
        "ft",
        np.round(t * 1e9).astype(np.int64),
        motion + hum + noise * rng.normal(size=(len(t), 6)),
    )


@pytest.mark.parametrize("rate", [250.0, 1000.0])
def test_a_hum_is_found_at_the_rate_of_the_sensor(rng: np.random.Generator, rate: float) -> None:
    hum = WrenchCheck(at_rate(rng, rate, 100.3)).hum()
    assert hum is not None and abs(hum.frequency_hz - 100.3) < 0.5
    unit = 1.0 if hum.axis.startswith("f") else 0.05
    assert hum.amplitude == pytest.approx(0.3 * unit, rel=0.3)


def test_motion_and_noise_are_no_hum(rng: np.random.Generator) -> None:
    found = [
        WrenchCheck(at_rate(rng, rate)).hum() for rate in (100.0, 250.0, 1000.0) for _ in range(30)
    ]
    assert found == [None] * 90
    assert WrenchCheck(stream(moving(rng)[:50])).hum() is None, "too few readings"


@pytest.mark.parametrize(("step", "limit"), [(1e-6, 6.0), (0.1, 6.0), (0.1, np.inf)])
def test_postures_at_the_end_of_the_range_are_those_that_chance_does_not_make_equal(
    step: float, limit: float, rng: np.random.Generator
) -> None:
    force = rng.uniform(-10.0, 10.0, (60, 3))
    readings = np.round(np.hstack([force, 0.1 * rng.normal(size=(60, 3))]) / step) * step
    clipped = readings[:, 1] > limit
    readings[:, 1] = np.minimum(readings[:, 1], limit)
    assert WrenchCheck.saturated_postures(readings)[clipped].all()
    assert not WrenchCheck.saturated_postures(readings)[readings[:, 1] < limit].any()


def test_a_posture_that_is_repeated_without_noise_is_not_saturated(
    rng: np.random.Generator,
) -> None:
    readings = np.repeat(rng.uniform(-10.0, 10.0, (10, 6)), 5, axis=0)
    assert not WrenchCheck.saturated_postures(readings).any()
