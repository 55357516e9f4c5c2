# SPDX-License-Identifier: Apache-2.0
"""The default payload estimator: its parts against dense algebra, its error bars against truth."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from payload_scenes import NOISE, hammer_like, swinging
from scipy.spatial.transform import Rotation

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload import PayloadData, PayloadSummary
from sysid_core.estimation.payload.shape_prior import ShapePrior
from sysid_core.estimation.payload_map import (
    JointSplines,
    PayloadMAP,
    RunningMAP,
    SensorModel,
    SplineMotion,
    WhiteMotion,
    filtered_motion_covariance,
)
from sysid_core.estimation.payload_map.misfit import white_noise_sd
from sysid_core.estimation.payload_map.motion_error import wrench_sensitivity
from sysid_core.estimation.payload_map.smoothing import smoothed_payload_data
from sysid_core.robot import (
    RobotModel,
    mass_com_inertia_from_pi,
    wrench_regressor,
)
from sysid_core.signals import JointStream
from sysid_core.signals.filters import JointFilter
from sysid_core.signals.wrench import FullCalibration, SensorCalibration


def sines(time, n):
    rates, phases = np.linspace(1.0, 3.0, n), np.arange(n)
    angle = np.outer(time, rates) + phases
    return 0.6 * np.sin(angle), 0.6 * rates * np.cos(angle), -0.6 * rates**2 * np.sin(angle)


def test_wrench_sensitivity_agrees_with_finite_differences(rng):
    _, pi = hammer_like(rng)
    x = rng.normal(size=(5, 9))

    def wrench(x):
        return wrench_regressor(x[:, :3], x[:, 3:6], x[:, 6:]) @ pi

    T, h = wrench_sensitivity(x, pi), 1e-6
    for i in range(9):
        step = np.zeros(9)
        step[i] = h
        numeric = (wrench(x + step) - wrench(x - step)) / (2 * h)
        assert np.allclose(T[:, :, i], numeric, atol=1e-8)


@pytest.mark.parametrize("sd", [1e-3, 1e-4, 1e-5])
def test_splines_find_the_encoder_noise_and_the_motion(sd, rng):
    time = np.arange(200) * 0.01
    q, v, a = sines(time, 4)
    splines = JointSplines.fit(time, q + sd * rng.normal(size=q.shape))
    assert np.allclose(splines.encoder_sd, sd, rtol=0.3)
    q_hat, v_hat, a_hat = splines.at(time)
    assert np.std(q_hat - q) < 0.6 * sd
    inner = slice(20, -20)
    assert np.std(v_hat[inner] - v[inner]) < 30 * sd
    assert np.std(a_hat[inner] - a[inner]) < 3e3 * sd


def test_a_spline_of_a_polynomial_is_exact(rng):
    time = np.sort(rng.uniform(0, 2, 150))
    q = np.stack([1 + time - 0.5 * time**2, 0.2 * time], axis=1)
    q_hat, v_hat, a_hat = JointSplines.fit(time, q).at(time)
    assert np.allclose(q_hat, q, atol=2e-6)
    assert np.allclose(v_hat[:, 0], 1 - time, atol=1e-4)
    assert np.allclose(a_hat[:, 0], -1.0, atol=1e-2)


def test_unusable_joint_positions_are_refused():
    time = np.arange(20) * 0.01
    with pytest.raises(EstimationError, match="eight"):
        JointSplines.fit(time[:5], np.zeros((5, 2)))
    with pytest.raises(EstimationError, match="increase"):
        JointSplines.fit(time[::-1], np.zeros((20, 2)))


def test_eliminating_white_motion_errors_is_weighting_with_their_covariance(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=0.2)
    sd = np.repeat([0.05, 0.01, 0.5], 3)
    x = np.hstack([data.a, data.omega, data.alpha])
    T = wrench_sensitivity(x, pi)
    X = rng.normal(size=(len(data), 6, 4))
    gram = WhiteMotion(data.a, data.omega, data.alpha, sd).information(
        lambda part: (T[part], X[part].copy()), np.tile(NOISE, (len(X), 1))
    )
    expected = np.zeros((4, 4))
    for k in range(len(data)):
        Sigma = np.diag(NOISE**2) + (T[k] * sd**2) @ T[k].T
        expected += X[k].T @ np.linalg.inv(Sigma) @ X[k]
    assert np.allclose(gram, expected, rtol=1e-9)


def test_eliminating_joint_splines_is_weighting_with_their_dense_covariance(rng):
    """The banded system against the covariance of the splines, inverted in full."""
    _, pi = hammer_like(rng)
    model, frame = RobotModel.from_urdf("ur10"), "tool0"
    time = np.arange(40) * 0.01
    q, _, _ = sines(time, 6)
    splines = JointSplines.fit(time, q + 1e-4 * rng.normal(size=q.shape))
    belief = SplineMotion(model, frame, splines, time)
    motion = belief.motion()
    T = wrench_sensitivity(motion, pi)
    X = rng.normal(size=(len(time), 6, 3))
    X[:, :, -1] = 0.0  # the residual carries the splines' own gradient: not compared here
    gram = belief.information(lambda part: (T[part], X[part].copy()), np.tile(NOISE, (len(X), 1)))

    basis = splines.basis
    B = np.zeros((3, len(time), basis.size))
    for d in range(3):
        rows = basis.values(time, d)
        for k, s in enumerate(basis.span_of(time)):
            B[d, k, s : s + 6] = rows[k]
    span, jerk = basis.jerk_rows
    J = np.zeros((len(span), basis.size))
    for k, s in enumerate(span):
        J[k, s : s + 6] = jerk[k]
    S = model.frame_motion_sensitivity(frame, *splines.at(time))
    G = np.einsum("kif,kfjd->kijd", T, S)
    Sigma = np.kron(np.eye(len(time)), np.diag(NOISE**2))
    for j in range(6):
        H = B[0].T @ B[0] / splines.encoder_sd[j] ** 2 + J.T @ J / splines.jerk_density[j]
        U = np.einsum("kid,dkb->kib", G[:, :, j], B).reshape(-1, basis.size)
        Sigma += U @ np.linalg.solve(H, U.T)
    W = X.reshape(-1, 3)
    expected = W.T @ np.linalg.solve(Sigma, W)
    assert np.allclose(gram[:2, :2], expected[:2, :2], rtol=1e-5)


def test_white_noise_is_told_from_the_motion(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=5.0)
    assert np.allclose(white_noise_sd(data.wrench), NOISE, rtol=0.1)
    steps = data.wrench + 5.0 * (np.arange(len(data)) // 50 % 2)[:, None]
    assert np.allclose(white_noise_sd(steps), NOISE, rtol=0.15)


def test_error_bars_cover_the_truth_with_an_imperfect_sensor(rng):
    """Bias, delay, gain and crosstalk drawn from the sensor model, 40 objects."""
    sensor = SensorModel()
    unit = np.repeat([1.0, sensor.crosstalk_length], 3)
    squares = []
    for _ in range(40):
        shape, pi = hammer_like(rng)
        data = swinging(pi, rng)
        delayed = np.stack(
            [np.interp(data.time - 0.005, data.time, column) for column in data.wrench.T], axis=1
        )
        gain = np.eye(6) + sensor.gain * rng.normal(size=(6, 6)) * unit[:, None] / unit
        bias = np.repeat(sensor.bias, 3) * rng.normal(size=6)
        wrench = delayed @ gain.T + bias + NOISE * rng.normal(size=delayed.shape)
        seen = replace(data, wrench=wrench).select(slice(2, None))
        payload = PayloadSummary.of(PayloadMAP(shape).fit(seen))
        mass, com, inertia = mass_com_inertia_from_pi(pi)
        error = np.array(
            [payload.mass - mass, *(payload.com - com), *np.diag(payload.inertia - inertia)]
        )
        squares.append(error**2 / np.diag(payload.covariance)[[0, 1, 2, 3, 4, 6, 9]])
    assert 0.3 < np.mean(squares) < 2.0


def test_a_sensor_that_is_worse_than_said_is_noticed(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng)
    biased = data.wrench + [0.3, -0.2, 0.3, 0.01, 0.0, -0.01] + NOISE * rng.normal(size=(150, 6))
    seen = replace(data, wrench=biased)
    ordinary, calibrated = (
        PayloadMAP(shape, sensor=sensor).fit(seen)
        for sensor in (SensorModel(), SensorModel.named("calibrated"))
    )
    assert abs(ordinary.values[0] - pi[0]) < 3.0 * ordinary.standard_deviations[0]
    assert not ordinary.warnings
    assert {w.code for w in calibrated.warnings} & {"wrench-misfit", "wrench-coloured"}


def test_a_wrong_gravity_direction_is_noted_and_widens_the_error_bars(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    tilt = Rotation.from_euler("x", 40, degrees=True)
    gravity = tilt.apply(np.array(data.gravity))
    a = data.a + data.gravity - gravity
    wrong = replace(data, a=a, gravity=gravity)
    for estimator in (PayloadMAP(shape), RunningMAP(shape)):
        good, bad = estimator.fit(data), estimator.fit(wrong)
        assert not good.warnings
        assert {w.code for w in bad.warnings} & {"wrench-misfit", "wrench-coloured"}
        assert bad.standard_deviations[0] > good.standard_deviations[0]


def test_at_rest_the_inertia_is_prior_dominated(rng):
    shape, pi = hammer_like(rng)
    estimate = PayloadMAP(shape).fit(swinging(pi, rng, noise=True, speed=0.0))
    assert [v.value for v in estimate.verdicts[4:]] == ["prior-dominated"] * 6
    fast = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(
        swinging(pi, rng, noise=True, speed=3.0)
    )
    assert [fast.verdicts[i].value for i in (4, 6, 9)] == ["identifiable"] * 3


def test_the_wrench_corrects_noisy_accelerations(rng):
    """Least squares attenuates the inertia by such noise; motion and payload together don't."""
    shape, pi = hammer_like(rng)
    exact = swinging(pi, rng, speed=2.0, noise=True, seconds=3.0)
    sd = np.repeat([0.05, 0.0, 1.5], 3)
    noise = sd * rng.normal(size=(len(exact), 9))
    data = PayloadData(
        exact.time,
        exact.wrench,
        exact.a + noise[:, :3],
        exact.omega,
        exact.alpha + noise[:, 6:],
        exact.gravity,
    )
    belief = WhiteMotion(data.a, data.omega, data.alpha, sd)
    # Noise of the wrench and of a measured motion can't be told apart: it is declared.
    sensor = dataclasses.replace(SensorModel.named("calibrated"), noise=(NOISE[0], NOISE[3]))
    together, apart = (PayloadMAP(shape, sensor=sensor).fit(data, b) for b in (belief, None))
    diagonal = [4, 6, 9]

    def error(estimate):
        return np.abs(estimate.values - pi)[diagonal] / pi[diagonal]

    assert np.mean(error(together)) < 0.7 * np.mean(error(apart))  # to convergence
    corrected = belief.motion()[:, 6:] - exact.alpha
    assert np.std(corrected) < 0.7 * np.std(noise[:, 6:])


def test_the_wrench_corrects_the_joints_but_does_not_move_the_regressor(rng):
    """Smoothed joints have Berkson's errors; a regressor moved by the wrench shares its noise."""
    shape, pi = hammer_like(rng)
    model, frame = RobotModel.from_urdf("ur10"), "tool0"
    time = np.arange(150) * 0.01
    q, v, a = sines(time, 6)
    exact = model.frame_motion(frame, q, v, a)
    clean = wrench_regressor(exact.a, exact.omega, exact.alpha) @ pi
    wrench = clean + 0.1 * NOISE * rng.normal(size=clean.shape)
    splines = JointSplines.fit(time, q + 3e-3 * rng.normal(size=q.shape))
    belief = SplineMotion(model, frame, splines, time)
    before, smooth = belief.motion(), belief.frame_motion()
    data = PayloadData(time, wrench, smooth.a, smooth.omega, smooth.alpha, smooth.gravity)
    first = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(data, belief)
    assert np.array_equal(belief.motion(), before)
    truth = np.hstack([exact.a, exact.omega, exact.alpha])
    assert np.std(belief.corrected() - truth) < 0.7 * np.std(before - truth)
    again = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(data, belief)
    assert np.array_equal(first.values, again.values)


def test_covariance_of_filtered_motion_matches_its_errors(rng):
    model, frame = RobotModel.from_urdf("ur10"), "tool0"
    time = np.arange(300) * 0.01
    q, v, a = sines(time, 6)
    stream = JointStream(
        model.joint_names, (time * 1e9).astype(np.int64), q + 1e-4 * rng.normal(size=q.shape)
    )
    filtered, _ = JointFilter.filter_stream(stream)
    truth = model.frame_motion(frame, q, v, a)
    seen = model.frame_motion(frame, filtered.q, filtered.v, filtered.a)
    covariance = filtered_motion_covariance(model, frame, filtered)
    error = np.hstack([seen.a - truth.a, seen.omega - truth.omega, seen.alpha - truth.alpha])
    ratio = error**2 / np.diagonal(covariance, axis1=1, axis2=2)
    assert 0.2 < np.mean(ratio[100:]) < 3.0


def test_a_tare_narrows_the_bias_but_not_the_gains():
    known = SensorCalibration(
        "", NOISE, np.zeros(4), 1e-6 * np.eye(10), delay=(0.012, 0.002), noise=NOISE
    )
    sensor = SensorModel().tared(known)
    assert sensor.bias[0] < SensorModel().bias[0] and sensor.bias[1] < SensorModel().bias[1]
    assert sensor.delay == 0.002 and sensor.gain == SensorModel().gain
    unknown = dataclasses.replace(known, delay=(0.0, np.inf))
    assert SensorModel().tared(unknown).delay == SensorModel().delay


def test_raw_joints_and_wrenches_of_another_rate_become_payload_data(rng):
    model, frame = RobotModel.from_urdf("ur10"), "tool0"
    shape, pi = hammer_like(rng)
    time = np.arange(250) * 0.008
    q, _, _ = sines(time, 6)
    stamps = (time * 1e9).astype(np.int64)
    noisy = q + 1e-4 * rng.normal(size=q.shape)
    noisy[40] = np.nan  # a driver's hiccup
    joints = JointStream(model.joint_names, stamps, noisy)
    wrench_time = 0.2 + np.arange(150) * 0.01
    motion = model.frame_motion(frame, *sines(wrench_time, 6))
    wrench = wrench_regressor(motion.a, motion.omega, motion.alpha) @ pi
    wrench = wrench + NOISE * rng.normal(size=wrench.shape)
    wrench_stamps = (wrench_time * 1e9).astype(np.int64)
    data, belief = smoothed_payload_data(model, frame, joints, wrench_stamps, wrench)
    estimate = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(data, belief)
    error = np.abs(estimate.values - pi)
    assert np.all(error < 4.5 * estimate.standard_deviations)
    assert error[0] < 0.005 * pi[0]
    with pytest.raises(EstimationError, match="cover"):
        smoothed_payload_data(model, frame, joints, wrench_stamps + 10**9, wrench)


def test_an_open_contrast_leans_to_the_one_that_explains_the_data(rng):
    shape, _ = hammer_like(rng)
    even = shape.homogeneous(1.2)
    R = np.diag([1e3, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4])
    found = ShapePrior(shape).posterior(R, R @ even)
    # Hypotheses with a wrong shape keep a probability of about 1 %, and hence an influence.
    assert np.all(np.abs(found.pi - even) < 0.05 * np.sqrt(np.diag(found.covariance)))
    assert np.all(np.diag(found.covariance) < np.diag(found.spread))
    assert found.wrong_shape < 0.1


def test_more_steps_change_nothing_however_wrong_the_sensors_gains_are():
    """Without damping, further steps moved the mass by 0.7 standard deviations in one of these
    cases.
    """
    sensor = SensorModel().untared
    unit = np.repeat([1.0, sensor.crosstalk_length], 3)
    for seed in range(2, 5):
        rng = np.random.default_rng(seed)
        _, pi = hammer_like(rng)
        data = swinging(pi, rng, speed=0.3)
        gain = np.eye(6) + 0.5 * rng.normal(size=(6, 6)) * unit[:, None] / unit
        wrench = data.wrench @ gain.T + NOISE * rng.normal(size=data.wrench.shape)
        few, many = (
            PayloadMAP(sensor=sensor, passes=steps).fit(replace(data, wrench=wrench))
            for steps in (6, 13)
        )
        assert abs(few.values[0] - many.values[0]) < 0.1 * many.standard_deviations[0]


def test_a_sensor_that_reads_too_little_on_all_axes_widens_the_mass(rng):
    """A gain error common to all axes, as of an Axia80 with 1.24 kg, shows in no motion."""
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    low = PayloadMAP(sensor=SensorModel().untared).fit(replace(data, wrench=0.94 * data.wrench))
    assert abs(low.values[0] - pi[0]) < 2.0 * low.standard_deviations[0]
    assert low.standard_deviations[0] < 0.07 * pi[0]


def test_a_calibration_with_a_known_mass_passes_its_accuracy_on(rng):
    """The known mass checks the gains of the forces; without it their mean stays unknown."""
    _, pi = hammer_like(rng)
    gains, bias = np.array([1.03, 0.99, 1.05, 1.0, 1.0, 1.0]), [3.0, -5.0, 12.0, 0.2, -0.1, 0.05]
    z, spread = [], {1.5: [], None: []}
    for _ in range(6):
        R = Rotation.random(20, random_state=rng)
        g = R.inv().apply([0.0, 0.0, -9.81])
        still = (
            SensorCalibration.static_regressor(g)
            @ (1.5 * np.array([1.0, 0.01, -0.02, 0.05]))
            * gains
            + bias
        )
        still = still + 0.2 * NOISE * rng.normal(size=still.shape)
        data = swinging(pi, rng, noise=True)
        for mass, sds in spread.items():
            kept = FullCalibration.of(still, g, R.as_matrix(), np.arange(20.0), known_mass=mass)
            sensor = SensorModel().tared(kept.calibration)
            net = (data.wrench * gains + bias - kept.calibration.bias) @ kept.calibration.matrix.T
            found = PayloadMAP(sensor=sensor).fit(replace(data, wrench=net))
            sds.append(found.standard_deviations[0])
            if mass:
                z.append((found.values[0] - pi[0]) / found.standard_deviations[0])
    assert np.sqrt(np.mean(np.square(z))) < 2.0
    assert max(spread[1.5]) < 0.5 * min(spread[None])
