# SPDX-License-Identifier: Apache-2.0
"""Sign and axes of a wrench, and what else explains it, on readings made by Newton and Euler."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy

from sysid_core.robot import FrameMotion, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals.wrench import WrenchAxes, WrenchConvention, WrenchSign
from sysid_core.signals.wrench.convention import inverted_motion

LOAD = pi_from_mass_com_inertia(1.4, [0.01, -0.02, 0.08], np.diag([4e-3, 3e-3, 2e-3]))
BIAS = np.array([2.0, -1.0, 3.0, 0.1, -0.05, 0.02])
UNKNOWN = ((0.3, 0.015), (3.0, 0.15), (30.0, 1.5))
Rotation = scipy.spatial.transform.Rotation


def postures(rng: np.random.Generator, tilt: float, count: int = 40) -> FrameMotion:
    """Static postures at random angles about one in which the sensor points down."""
    R = (
        Rotation.from_rotvec([np.pi, 0, 0])
        * Rotation.from_rotvec(tilt * rng.normal(size=(count, 3)))
    ).as_matrix()
    g = np.einsum("kji,j->ki", R, [0.0, 0.0, -9.81])
    zero = np.zeros((count, 3))
    return FrameMotion(R, zero, zero, -g, g)


def wrench(motion: FrameMotion, rng: np.random.Generator, bias: np.ndarray = BIAS) -> np.ndarray:
    clean = wrench_regressor(motion.a, motion.omega, motion.alpha) @ LOAD
    return clean + bias + rng.normal(size=clean.shape) * np.repeat([0.05, 0.0025], 3)


def in_base(w: np.ndarray, motion: FrameMotion) -> np.ndarray:
    return np.einsum("kij,kaj->kai", motion.R_WF, w.reshape(-1, 2, 3)).reshape(-1, 6)


@pytest.mark.parametrize("sign", [WrenchSign.SENSOR_ON_LOAD, WrenchSign.LOAD_ON_SENSOR])
@pytest.mark.parametrize("axes", [WrenchAxes.SENSOR, WrenchAxes.BASE])
def test_sign_and_axes_are_found_with_the_mass(
    sign: WrenchSign, axes: WrenchAxes, rng: np.random.Generator
) -> None:
    motion = postures(rng, 0.7)
    w = wrench(motion, rng)
    said = -w if sign is WrenchSign.LOAD_ON_SENSOR else w
    said = in_base(said, motion) if axes is WrenchAxes.BASE else said
    found = WrenchConvention.find(said, [motion], bias=UNKNOWN, zeroed=(0.3, 0.015))
    assert (found.sign, found.axes, found.turn) == (sign, axes, None)
    assert found.elsewhere(1.4, 0.3) < WrenchConvention.UNLIKELY
    assert found.apply(said, motion.R_WF) == pytest.approx(w)


def test_axes_of_a_turned_base_are_found_with_the_mass(rng: np.random.Generator) -> None:
    """The axes of UR's `base` and `base_link` differ by such a rotation."""
    motion = postures(rng, 0.7)
    quarter = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    said = (in_base(wrench(motion, rng), motion).reshape(-1, 2, 3) @ quarter).reshape(-1, 6)
    found = WrenchConvention.find(said, [motion], bias=UNKNOWN, zeroed=(0.3, 0.015))
    assert found.axes is WrenchAxes.BASE and len(found.errors) == 1
    assert found.turn == pytest.approx(quarter.T)
    assert found.rivals[0].mass == pytest.approx(1.4, rel=0.05)
    assert found.apply(said, motion.R_WF) == pytest.approx(wrench(motion, rng), abs=0.5)


@pytest.mark.parametrize("degrees", [20.0, 80.0])
def test_another_gravity_than_described_is_found_with_the_mass(
    degrees: float, rng: np.random.Generator
) -> None:
    motion = postures(rng, 0.7)
    said = wrench(motion, rng)
    mount = Rotation.from_euler("x", degrees, degrees=True)
    elsewhere = dataclasses.replace(motion, R_WF=mount.as_matrix() @ motion.R_WF)
    described = np.einsum("kji,j->ki", elsewhere.R_WF, [0.0, 0.0, -9.81])
    elsewhere = dataclasses.replace(elsewhere, a=-described, gravity=described)
    found = WrenchConvention.find(said, [elsewhere], bias=UNKNOWN, zeroed=(0.3, 0.015))
    assert found.gravity == pytest.approx(mount.apply([0.0, 0.0, -9.81]), abs=0.3)
    assert len(found.errors) == 1
    assert found.rivals[0].mass == pytest.approx(1.4, rel=0.05)


def test_a_sound_description_has_no_errors(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.7)
    tilted = Rotation.from_euler("x", 2, degrees=True).as_matrix() @ motion.R_WF
    g = np.einsum(
        "kji,j->ki", tilted, [0.0, 0.0, -9.81]
    )  # an error of the mounting: a fit takes it in
    near = dataclasses.replace(motion, R_WF=tilted, a=-g, gravity=g)
    found = WrenchConvention.find(wrench(motion, rng), [near], bias=UNKNOWN, zeroed=(0.3, 0.015))
    assert not found.errors


def test_the_delay_of_the_readings_is_told(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.7, count=200)
    late = np.roll(wrench(motion, rng), 3, axis=0)
    found = WrenchConvention.find(late, [motion], bias=UNKNOWN, shifts=range(-3, 4))
    assert found.shift == 3


def test_inverse_orientations_are_found(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.7)
    said = wrench(motion, rng)
    found = WrenchConvention.find(
        said,
        [inverted_motion(motion)],
        bias=UNKNOWN,
        sign=WrenchSign.SENSOR_ON_LOAD,
        may_be_inverse=True,
    )
    assert found.is_inverse
    assert found.elsewhere(1.4, 0.3) < WrenchConvention.UNLIKELY
    twice = inverted_motion(inverted_motion(motion))
    assert twice.a == pytest.approx(motion.a)
    assert pytest.approx(motion.R_WF) == twice.R_WF


def test_without_tilt_nothing_is_told(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.001)
    found = WrenchConvention.find(wrench(motion, rng), [motion], bias=UNKNOWN)
    assert found.elsewhere(found.rivals[0].mass, 0.3) > WrenchConvention.UNLIKELY
    assert sum(rival.probability for rival in found.rivals) == pytest.approx(1.0, abs=1e-3)


def test_a_sensor_zeroed_with_half_of_it_on_leaves_two_masses(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.3)
    half = 0.5 * wrench_regressor(motion.a[:1], motion.omega[:1], motion.alpha[:1])[0] @ LOAD
    said = wrench(motion, rng, -half)
    found = WrenchConvention.find(said, [motion], bias=UNKNOWN, zeroed=(0.3, 0.015))
    assert found.elsewhere(1.4, 0.3) > WrenchConvention.UNLIKELY
    assert min(abs(rival.mass - 0.7) for rival in found.rivals[:8]) < 0.1


def test_what_is_known_is_not_searched(rng: np.random.Generator) -> None:
    motion = postures(rng, 0.7)
    found = WrenchConvention.find(
        -wrench(motion, rng),
        [motion],
        bias=UNKNOWN,
        sign=WrenchSign.LOAD_ON_SENSOR,
        axes=WrenchAxes.SENSOR,
    )
    assert isinstance(found, WrenchConvention)
    assert found.sign is WrenchSign.LOAD_ON_SENSOR


@pytest.mark.parametrize("axes", [WrenchAxes.SENSOR, WrenchAxes.BASE])
@pytest.mark.parametrize(("errors", "tell"), [(0.02, True), (1.0, False)])
def test_accelerations_count_only_where_the_forces_bear_them_out(
    axes: WrenchAxes, errors: float, tell: bool, rng: np.random.Generator
) -> None:
    """Accelerations from poses without stamps are mostly noise."""
    turning = postures(rng, 0.7, count=300)
    shaken = turning.a + 0.3 * rng.normal(size=turning.a.shape)
    truth = dataclasses.replace(turning, a=shaken)
    w = wrench(truth, rng)
    said = in_base(w, turning) if axes is WrenchAxes.BASE else w
    seen = dataclasses.replace(turning, a=shaken + errors * rng.normal(size=shaken.shape))
    assert WrenchConvention.accelerations_tell(said, seen, shifts=(-1, 0, 1)) is tell


def test_slow_accelerations_count_in_spite_of_fast_errors(rng: np.random.Generator) -> None:
    """A weight alone leaves a slow residual: easy to predict, but as large as a wrong mass."""
    turning = postures(rng, 0.7, count=300)
    slow = np.sin(np.arange(300)[:, None] / 20.0 + [0.0, 1.0, 2.0])
    truth = dataclasses.replace(turning, a=turning.a + slow)
    fast = 0.2 * np.diff(rng.normal(size=(301, 3)), axis=0)
    seen = dataclasses.replace(turning, a=truth.a + fast)
    assert WrenchConvention.accelerations_tell(wrench(truth, rng), seen)


def test_a_motion_without_accelerations_leaves_them_in(rng: np.random.Generator) -> None:
    still = postures(rng, 0.7, count=300)
    assert WrenchConvention.accelerations_tell(wrench(still, rng), still)


@pytest.mark.parametrize("per_metre", [1.0, 100.0, 1000.0])
def test_the_arm_of_the_load_tells_torques_that_are_not_in_newton_metres(
    per_metre: float, rng: np.random.Generator
) -> None:
    motion = postures(rng, 0.7)
    w = wrench(motion, rng) * np.repeat([1.0, per_metre], 3)
    found = WrenchConvention.find(w, [motion], bias=UNKNOWN)
    assert found.arm == pytest.approx(0.083 * per_metre, rel=0.1)
