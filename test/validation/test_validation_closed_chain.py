# SPDX-License-Identifier: Apache-2.0
"""The simulated leg against our dynamics, forward integration, tracking."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import (
    ClosedChain,
    ConstrainedMotion,
    JointDrive,
    Loop,
    LoopEnd,
    load_closed_chain,
)
from sysid_core.signals import EffortKind
from sysid_core.simulation import ClosedChainPlant
from sysid_core.simulation.closed_chain_plant import SolverSettings
from sysid_studies.constrained.forward_integration import predict_segments
from sysid_studies.constrained.robot import delay_of, identify_drives, sine_trajectory
from sysid_studies.constrained.tracking import (
    ComputedTorque,
    Gains,
    JointSensorNoise,
    recording_of,
    track,
)


@pytest.fixture(scope="module")
def leg() -> ClosedChain:
    return load_closed_chain("own-leg")


@pytest.fixture(scope="module")
def run(leg):
    """The leg tracks sines with its own true parameters."""
    wish = sine_trajectory(leg, leg.box, 1.8, duration=2.1)
    return track(ClosedChainPlant(leg), ComputedTorque(leg, wish, Gains.for_chain(leg)))


def without_stiction(chain: ClosedChain) -> ClosedChain:
    return chain.with_drives(
        {j: dataclasses.replace(chain.drive(j), F_c=0.0) for j in chain.model.joint_names}
    )


@pytest.mark.parametrize("d", [0.9, 0.99, 0.9999])
def test_projection_removes_mujocos_constraint_forces_whatever_their_softness(leg, rng, d):
    smooth = without_stiction(leg)
    plant = ClosedChainPlant(smooth, SolverSettings(solimp=(d, d, 0.001, 0.5, 2.0)))
    q_a = leg.box.positions(rng.uniform(-1, 1, (10, 6)))
    v_a, u = rng.normal(size=(10, 6)), 20.0 * rng.normal(size=(10, 6))
    state = leg.closure_state(leg.assemble(q_a), v_a)
    for k in range(10):
        plant.reset(state.q[k], state.v[k])
        plant.mj_data.ctrl[leg.actuated_columns] = u[k]
        mujoco.mj_forward(plant.mj_model, plant.mj_data)
        a = plant.mj_data.qacc.copy()
        motion = ConstrainedMotion(state.q[[k]], state.v[[k]], a[None], state.G[[k]])
        np.testing.assert_allclose(smooth.torques(motion)[0], u[k], atol=1e-8)


def test_true_parameters_track_a_hundredth_of_a_degree(run):
    assert max(mean for mean, _ in run.error_degrees().values()) < 0.02
    assert not np.any(run.at_limit)


def test_forward_integration_follows_mujoco(leg, run):
    k = run.actuated_columns
    segments = predict_segments(leg, 1000.0, run.q[:, k], run.v[:, k], run.effort)
    assert segments.predicted.shape == (4, 500, 6)
    assert segments.lost == 0
    assert max(segments.l2_error().values()) < 0.02  # [rad] over 2000 samples


def test_stiction_at_reversals_doesnt_leak_into_drive_inertias(leg):
    """A joint that sticks for 10 ms spoils its neighbours in time through the low-pass filter."""
    wish = sine_trajectory(leg, leg.box, 1.8, duration=4.0)
    gains = Gains.for_chain(leg, 60.0)
    run = track(ClosedChainPlant(leg), ComputedTorque(leg, wish, gains, feedforward=False))
    exact = [recording_of(run)]
    estimate = identify_drives(leg, exact, delay_of(leg, exact))
    for joint in ("hip_roll", "hip_yaw", "hip_pitch", "knee"):
        drive = leg.drive(joint)
        for symbol in ("F_c", "F_v", "I_a"):
            true = getattr(drive, symbol)
            assert estimate[f"{joint}.{symbol}"] == pytest.approx(true, rel=1e-2)


def test_wrong_friction_shows_in_forward_integration(leg, run):
    k = run.actuated_columns
    wrong = leg.with_drives({"knee": dataclasses.replace(leg.drive("knee"), F_c=1.2)})
    rows = slice(1000, 1501)
    data = run.q[rows][:, k], run.v[rows][:, k], run.effort[rows]
    right, error = (predict_segments(c, 1000.0, *data).l2_error() for c in (leg, wrong))
    assert error["knee"] > 20 * right["knee"]


def test_a_run_shorter_than_a_segment_is_refused(leg):
    with pytest.raises(SignalError, match="shorter"):
        predict_segments(leg, 100.0, *np.zeros((3, 20, 6)))


@pytest.mark.parametrize("kind", ["rod", "weld"])
def test_rods_and_welds_hold_in_mujoco(kind):
    urdf = """<robot name='pair'><link name='base'/>
    <link name='a'><inertial><origin xyz='0 0 -.1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='b'><inertial><origin xyz='0 0 -.1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <joint name='one' type='revolute'><parent link='base'/><child link='a'/>
      <axis xyz='0 1 0'/><limit lower='-2' upper='2' effort='50' velocity='10'/></joint>
    <joint name='two' type='revolute'><parent link='base'/><child link='b'/>
      <origin xyz='.3 0 0'/><axis xyz='0 1 0'/>
      <limit lower='-2' upper='2' effort='0' velocity='10'/></joint></robot>"""
    model = RobotModel.from_urdf(urdf)
    if kind == "rod":
        end = LoopEnd("a", [0, 0, -0.2]), LoopEnd("b", [0, 0, -0.2])
        chain = ClosedChain(model, (Loop("bar", "rod", *end, 0.3),), ("one",))
    else:
        end = LoopEnd("b"), LoopEnd("base", [0.3, 0, 0])
        chain = ClosedChain(model, (Loop("lock", "weld", *end),), ("one",))
    plant = ClosedChainPlant(chain)
    plant.reset(np.zeros(1))
    for _ in range(300):
        plant.step(np.array([3.0]))
    assert abs(plant.q[0]) > 0.05
    np.testing.assert_allclose(plant.q[1], plant.q[0] if kind == "rod" else 0.0, atol=1e-3)


def test_the_servo_holds_a_posture_under_gravity(leg):
    plant = ClosedChainPlant(leg)
    wish = leg.box.positions(0.5 * np.ones(6))
    plant.reset(wish)
    for _ in range(300):
        plant.step(plant.servo_effort(wish, np.zeros(6), np.zeros(6)))
    np.testing.assert_allclose(plant.q[leg.actuated_columns], wish, atol=2e-3)
    assert plant.loop_error() < 1e-6
    assert plant.time == pytest.approx(0.3)


def test_offsets_act_against_the_drive(leg):
    """An effort equal to the offset doesn't accelerate the leg."""
    shifted = leg.with_drives({"knee": dataclasses.replace(leg.drive("knee"), beta=3.0)})
    ends = []
    for chain, u in ((leg, 0.0), (shifted, 3.0)):
        plant = ClosedChainPlant(chain)
        plant.reset(np.zeros(6))
        effort = np.zeros(6)
        effort[leg.actuated.index("knee")] = u
        for _ in range(100):
            plant.step(effort)
        ends.append(plant.q)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_massless_links_are_simulated(leg):
    pi = leg.model.pi
    pi[leg.model.joint_names.index("ach_rod")] = 0.0
    plant = ClosedChainPlant(leg.with_model(leg.model.with_pi(pi)))
    plant.reset(np.zeros(6))
    for _ in range(50):
        plant.step(np.zeros(6))
    assert np.all(np.isfinite(plant.q))


def test_a_trajectory_of_other_joints_is_refused(leg):
    wish = sine_trajectory(leg, leg.box, 1.8, duration=1.0)
    with pytest.raises(ModelError, match="hip_roll"):
        ComputedTorque(
            leg, dataclasses.replace(wish, joint_names=tuple("abcdef")), Gains.for_chain(leg)
        )


def test_sensors_add_the_noise_they_declare(run, rng):
    exact = recording_of(run).joints
    noisy = recording_of(run, rng, JointSensorNoise(velocity_sd=2e-3), passive=("tarsus",)).joints
    assert noisy.names == (*run.actuated, "tarsus")
    assert noisy.effort_kind is EffortKind.ACTUATOR_TORQUE
    assert np.std(noisy.v[:, :6] - exact.v) == pytest.approx(2e-3, rel=0.05)
    assert np.abs(noisy.q[:, :6] - exact.q).max() <= 0.5001e-5


def test_sensors_without_noise_are_exact(run, rng):
    quiet = JointSensorNoise(position_step=0.0, velocity_sd=0.0, effort_share=0.0)
    exact, same = recording_of(run).joints, recording_of(run, rng, quiet).joints
    for what in ("q", "v", "effort"):
        np.testing.assert_array_equal(getattr(same, what), getattr(exact, what))


def test_drives_without_values_are_ideal():
    assert JointDrive().values == (0.0, 0.0, 0.0, 0.0)
