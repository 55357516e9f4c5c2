# SPDX-License-Identifier: Apache-2.0
"""Torque waves far above the motion's own frequencies, on an arm whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from whole_arm_simulation import arm, motion

from sysid_core.estimation.arm import ArmEquations, JointDelay, Processing, TorqueDelay
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm
from sysid_core.robot.friction import USUAL_TERMS
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.validation import Prediction

RATE, FINE = 1000.0, 20  # [Hz]; efforts are simulated at 20 times the rate
DELAY = 13 / (RATE * FINE)  # [s]: 0.65 ms
NOISE = 0.2  # [N m]
WAVES = {
    "ripple": {"joint3": [150.0, 900.0]},
    "runout": {"joint2": [2.0, 50.0], "joint3": [50.0]},
    "speed_ripple": {"joint3": [900.0]},
    "speed_runout": {"joint3": [50.0]},
}
TERMS = (
    *USUAL_TERMS,
    FrictionTerm.THINNING,
    FrictionTerm.BREAKAWAY,
    *(FrictionTerm(kind) for kind in WAVES),
)


def friction() -> FrictionModel:
    joints = ("joint1", "joint2", "joint3")
    return FrictionModel(DriveTrain(joints, np.ones(3), waves=WAVES), TERMS, coulomb_velocity=0.02)


def truth() -> dict[str, float]:
    model = friction()
    usual = {"F_c": 2.0, "F_v": 1.0, "I_a": 0.2, "beta": 0.3, "F_t": 0.7, "F_b": 0.4}
    out = {}
    for name in model.names:
        symbol = name.split(".")[1]
        out[name] = usual.get(symbol, 0.5 if "c" in symbol[2:4] else -0.3)
    return out


def run(seed: int) -> Recording:
    model, rng = arm(), np.random.default_rng(seed)
    _, q, v, a = motion(rng, 10.0, RATE * FINE)
    rigid = model.inverse_dynamics(q, v, a)
    tau = rigid + friction().regressor(q, v, a, rigid) @ np.array(list(truth().values()))
    read = np.arange(FINE, len(q), FINE)
    efforts = tau[read - round(DELAY * RATE * FINE)] + NOISE * rng.normal(size=(len(read), 3))
    stamps = np.round(1e9 * (read - FINE) / (RATE * FINE)).astype(np.int64)
    return Recording(
        JointStream(
            model.joint_names, stamps, q[read], effort=efforts, effort_kind=EffortKind.LINK_TORQUE
        ),
        source=f"run {seed}",
    )


@pytest.fixture(scope="module")
def equations() -> ArmEquations:
    processing = Processing(rate_hz=RATE, motion_cutoff_hz=40.0, torque_cutoff_hz=RATE / 2)
    return ArmEquations.build(arm(), [run(0)], friction(), processing)


def test_waves_tell_the_delay_to_a_fraction_of_a_sample_though_they_repeat_in_it(equations):
    found = TorqueDelay.of(equations)
    assert found.seconds == pytest.approx(DELAY, abs=1e-5)
    assert abs(found.seconds - DELAY) < 4.0 * found.sd + 2e-6


def test_waves_and_friction_are_recovered_and_predict_another_run_down_to_its_noise(equations):
    result = identify_equations(equations.with_delay(DELAY), LeastSquares("joint"))
    estimate, known = result.estimate, truth()
    sd = dict(zip(estimate.names, estimate.standard_deviations.tolist(), strict=True))
    waves = [name for name in known if name[-1].isdigit()]
    assert len(waves) == 14
    for name in (*waves, "joint3.F_t", "joint3.F_b"):
        error = abs(result.friction_parameters[name] - known[name])
        assert error < max(4.0 * sd[name], 0.02), name
    held_out = Prediction.of(result, run(1))
    for stats in held_out.joints().values():
        assert stats["rms"] < 1.1 * NOISE


def test_a_fit_that_misses_the_delay_loses_the_short_waves(equations):
    result = identify_equations(equations, LeastSquares("joint"))
    held_out = Prediction.of(result, run(1))
    assert held_out.joints()["joint3"]["rms"] > 1.2 * NOISE
    assert held_out.joints_below(5.0)["joint3"]["r2"] > 0.99


def test_a_single_channel_comes_late_never_early_and_predicts_better_without_its_delay():
    assert JointDelay("joint1", 0.05, 0.01).late
    assert not JointDelay("joint1", -0.05, 0.01).late
    assert JointDelay("joint1", 0.05, 0.01, gain=0.02).late
    assert not JointDelay("joint1", 0.05, 0.01, gain=-0.02).late
    assert not JointDelay("joint1", 0.05, float("inf")).late
