# SPDX-License-Identifier: Apache-2.0
"""Reaction of the controllers to the noise of velocities: gains, lag, files, and predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from two_joint_arm import URDF, swing

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import Identification, Processing
from sysid_core.estimation.arm.choices import choose_velocity_feedback
from sysid_core.estimation.arm.recordings import VelocityFeedback
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.validation import Prediction

MODEL = RobotModel.from_urdf(URDF)
GAINS = np.array([8.0, 2.0])  # [N m s/rad]
NOISE = 0.05  # [rad/s]


def _run(seed: int, gains: np.ndarray = GAINS, lag: int = 0, velocities: bool = True) -> Recording:
    """A run of 20 s at 100 Hz; the controllers react to the velocity noise `lag` samples later."""
    rng = np.random.default_rng(seed)
    t, q, v, a = swing(rng, 20.0)
    noise = NOISE * rng.normal(size=v.shape)
    late = np.concatenate([np.zeros((lag, 2)), noise])[: len(noise)]
    tau = MODEL.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v
    tau += 0.02 * rng.normal(size=tau.shape) - gains * late
    stamps = np.round(1e9 * t).astype(np.int64)
    names, kind = MODEL.joint_names, EffortKind.LINK_TORQUE
    measured = v + noise if velocities else None
    return Recording(JointStream(names, stamps, q, measured, None, tau, kind), source=f"run {seed}")


def _identified(run: Recording) -> Identification:
    friction = FrictionModel(DriveTrain.direct(MODEL.joint_names))
    return Identification.of(
        MODEL, [run], friction, LeastSquares("joint"), Processing(motion_cutoff_hz=5.0)
    )


@pytest.mark.parametrize("lag", [0, 1])
def test_gains_and_lag_of_a_controller_are_found(lag):
    run = _run(0, lag=lag)
    found = _identified(run)
    feedback, (without, within) = choose_velocity_feedback(found, [run])
    assert feedback is not None and feedback.lag == lag and feedback.measured
    # Each gain's own error: residual / noise / sqrt(samples) = 0.4 %; the filter passes a tenth of the noise.
    np.testing.assert_allclose(feedback.gains, GAINS, rtol=0.05)
    assert within < 0.5 * without


def test_the_reaction_predicts_an_unseen_run_and_is_no_torque_of_the_robot():
    run, other = _run(0), _run(1)
    found = _identified(run)
    found = replace(found, feedback=choose_velocity_feedback(found, [run])[0])
    prediction = Prediction.of(found, other)
    assert prediction.in_loop().relative_error() < 0.5 * prediction.relative_error()
    alone = Prediction.of(replace(found, feedback=None), other)
    np.testing.assert_array_equal(prediction.predicted, alone.predicted)
    shown = prediction.to_dict()["in_loop"]
    assert shown is not None and alone.to_dict()["in_loop"] is None
    with pytest.raises(EstimationError, match="no reaction"):
        alone.in_loop()


def test_impacts_at_both_ends_of_a_run_do_not_count():
    run = _run(0)
    found = _identified(run)
    efforts = np.array(run.joints.effort)
    efforts[:20] += 500.0
    efforts[-20:] -= 500.0
    struck = replace(run, joints=replace(run.joints, effort=efforts))
    feedback, errors = choose_velocity_feedback(found, [struck])
    assert feedback == choose_velocity_feedback(found, [run])[0] is not None
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("gains", [np.zeros(2), -GAINS])
def test_efforts_without_a_controllers_reaction_get_none(gains):
    """Neither do efforts whose dependence on the velocity has the sign of friction."""
    run = _run(0, gains)
    feedback, (without, within) = choose_velocity_feedback(_identified(run), [run])
    assert feedback is None
    assert within == pytest.approx(without, rel=0.005)


def test_gains_for_measured_velocities_say_nothing_about_differences_of_positions():
    found = replace(_identified(_run(0)), feedback=VelocityFeedback((8.0, 2.0)))
    assert found.reaction(_run(1)) is not None
    assert found.reaction(_run(1, velocities=False)) is None


def test_the_file_of_a_robot_keeps_the_feedback(tmp_path):
    found = replace(_identified(_run(0)), feedback=VelocityFeedback((8.0, 2.0), 1))
    found.save(tmp_path)
    assert Identification.load(tmp_path, MODEL).feedback == found.feedback


def test_impossible_gains_and_settings_are_refused():
    with pytest.raises(EstimationError, match="negative"):
        VelocityFeedback((-1.0, 2.0))
    with pytest.raises(EstimationError, match="negative"):
        VelocityFeedback((1.0, 2.0), -1)
    with pytest.raises(EstimationError, match="auto or off"):
        FitSettings(velocity_feedback="on")
