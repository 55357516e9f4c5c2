# SPDX-License-Identifier: Apache-2.0
"""Study of one simulated closed-chain robot: excitation, identification, tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.estimation.fit import ConsistentLeastSquares, Weighting
from sysid_core.planning import Segment, Trajectory
from sysid_core.planning.closed_chain import AssemblyMap
from sysid_core.robot import Array, DriveTrain, FrictionModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot, JointDrive, MotionBox
from sysid_core.signals import Recording
from sysid_core.simulation import ClosedChainPlant
from sysid_studies.constrained.forward_integration import paper_regression, predict_segments
from sysid_studies.constrained.seed import ConstrainedSeed, ConstrainedStudyConfig
from sysid_studies.constrained.torque_errors import torque_errors
from sysid_studies.constrained.tracking import (
    ComputedTorque,
    Gains,
    TrackingRun,
    recording_of,
    track,
)

FADE = 1.5  # [s], in which a motion swells from rest and dies away: a third of its slowest wave
RATE_HZ = 1000.0
FILL = 0.85  # of the box


def sine_trajectory(
    chain: ClosedChain,
    box: MotionBox,
    peak_velocity: float,
    *,
    duration: float = 10.0,
    alone: bool = False,
) -> Trajectory:
    """Return the sine motion of all coordinates together or one after another, with the largest
    permitted amplitudes.

    Every joint has its own amplitude, and therefore its own frequency for the same peak velocity,
    as in the tracking test of Zhang et al. 2024 (section IV-D).

    Args:
        chain: Mechanism with loops.
        box: Permitted range of motion.
        peak_velocity: Largest velocity of every coordinate [rad/s].
        duration: Duration of the motion, or of each segment if `alone` is True [s].
        alone: True to move one coordinate after the other, each in a segment of its own. The
            amplitudes are then larger and the motion slower, and a joint at its torque limit does
            not disturb the others.
    """
    if alone:
        box = _reach_alone(chain, box)
    amplitude = FILL * box.half
    share = np.max(np.abs(box.directions), axis=0)
    omega = peak_velocity / (amplitude * share)
    t = np.arange(0.0, duration, 1.0 / RATE_HZ)
    note = f"Sines with a peak velocity of {peak_velocity:g} rad/s."
    if not alone:
        s, v, a = _sines(t, omega)
        return _trajectory(chain, t, *_faded(box, t, s, v, a), (note,))
    pieces, segments = [], []
    for i, name in enumerate(box.names):
        only = (np.arange(len(omega)) == i).astype(float)
        s, v, a = (x * only for x in _sines(t, omega))
        pieces.append(_faded(box, t, s, v, a))
        joints = tuple(np.array(chain.actuated)[box.directions[:, i] != 0.0].tolist())
        segments.append(Segment(name, i * duration, i * duration + float(t[-1]), joints))
    q_a, v_a, a_a = (np.concatenate([piece[k] for piece in pieces]) for k in range(3))
    time = np.concatenate([t + i * duration for i in range(len(pieces))])
    whole = _trajectory(chain, time, q_a, v_a, a_a, (note, "One coordinate after another."))
    return dataclasses.replace(whole, segments=tuple(segments))


def _reach_alone(chain: ClosedChain, box: MotionBox) -> MotionBox:
    """Box in which the range of each coordinate is as wide as possible while the others stay at the
    centre.
    """
    steps = np.linspace(0.0, 1.6, 65)[1:]
    half = np.array(box.half)
    for i in range(chain.n_actuated):
        arm = steps[:, None] * box.directions[:, i]
        sides = (AssemblyMap.usable(chain, box.center + sign * arm) for sign in (1.0, -1.0))
        reach = int(np.argmin(np.append(np.logical_and(*sides), False)))
        half[i] = max(half[i], steps[reach - 1] if reach else 0.0)
    return dataclasses.replace(box, half=half)


def _trajectory(
    chain: ClosedChain, t: Array, q_a: Array, v_a: Array, a_a: Array, notes: tuple[str, ...]
) -> Trajectory:
    """Trajectory of the driven joints; the loops must close along it."""
    chain.assemble(q_a[:: max(1, len(q_a) // 200)])
    return Trajectory.of(chain.model, t, q_a, v_a, a_a, chain.actuated, notes=notes)


def _sines(t: Array, omega: Array) -> tuple[Array, Array, Array]:
    phase = np.outer(t, omega)
    s = FILL * np.sin(phase)
    return s, FILL * omega * np.cos(phase), -(omega**2) * s


def _faded(box: MotionBox, t: Array, s: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Sine motion multiplied by a smooth window, so that it starts and ends at rest in the centre."""
    w, w1, w2 = _window(t)
    s, v, a = w * s, w * v + w1 * s, w * a + 2.0 * w1 * v + w2 * s
    return box.positions(s), (v * box.half) @ box.directions.T, (a * box.half) @ box.directions.T


def _window(t: Array) -> tuple[Array, Array, Array]:
    """Smooth window from 0 to 1 to 0 with continuous second derivative, and its derivatives, as
    columns.
    """
    fade = min(FADE, 0.4 * t[-1])
    sign = np.where(t < 0.5 * t[-1], 1.0, -1.0)
    w, w1, w2 = Trajectory.minimum_jerk(np.minimum(t, t[-1] - t) / fade)
    return w[:, None], (w1 * sign / fade)[:, None], (w2 / fade**2)[:, None]


# Inertials are known, so that equations at higher frequencies serve the drive inertias.
PROCESSING = Processing(rate_hz=250.0, motion_cutoff_hz=40.0, torque_cutoff_hz=20.0)
FAST = (
    0.02  # [rad/s]: equations near standstill are left out, where stiction takes friction's place
)
FIT = ConsistentLeastSquares(weighting=Weighting.ROBUST, fixed=("inertials",))
Progress = Callable[[float, str], None]


def perturbed_truth(
    chain: ClosedChain, rng: np.random.Generator, spread: float = 2.0, offset: float = 0.5
) -> ClosedChain:
    """Return the robot whose friction and drive parameters differ from those of the description.

    Every value is multiplied or divided by a factor between 1.25 and `spread`; offsets are uniform
    within `offset` times the nominal Coulomb friction.
    """
    drives = {}
    for joint in chain.actuated:
        drive = chain.drive(joint)
        factors = np.exp(rng.choice([-1.0, 1.0], 3) * np.log(rng.uniform(1.25, spread, 3)))
        drives[joint] = replace(
            drive,
            F_c=drive.F_c * factors[0],
            F_v=drive.F_v * factors[1],
            I_a=drive.I_a * factors[2],
            beta=offset * drive.F_c * rng.uniform(-1.0, 1.0),
        )
    return chain.with_drives(drives)


def study_robot(
    chain: ClosedChain,
    config: ConstrainedStudyConfig,
    training: tuple[Trajectory, ...],
    held_out: Trajectory,
    seed: int,
    progress: Progress,
) -> ConstrainedSeed:
    """Excite and identify one robot, and test the identified models.

    Args:
        chain: Nominal mechanism, with a permitted range of motion (box).
        config: Settings of the study.
        training: Motions for identification.
        held_out: Motion for validation.
        seed: Seed of the true parameters and the noise.
        progress: Function called with the completed share and a description of the step.
    """
    rng = np.random.default_rng(seed)
    true_chain = perturbed_truth(chain, rng, config.spread, config.offset)
    truth = _drive_values(true_chain)
    plant = ClosedChainPlant(true_chain)
    progress(0.0, "excitation")
    runs = [_excite(plant, chain, motion, config) for motion in (*training, held_out)]
    recordings = [recording_of(run, rng, config.noise) for run in runs]
    progress(0.15, "identification")
    delay = delay_of(chain, recordings[:-1])
    identified = identify_drives(chain, recordings[:-1], delay)
    again = identify_drives(chain.with_drives(_tripled(chain)), recordings[:-1], delay)
    progress(0.25, "the paper's processing")
    paper = ConsistentLeastSquares(weighting=Weighting.ROBUST).fit(
        paper_regression(chain, recordings[:-1])
    )
    models = {
        "nominal": chain,
        "paper": chain.with_parameters(paper.names, paper.values),
        "identified": chain.with_parameters(identified.names, identified.values),
        "truth": true_chain,
    }
    progress(0.3, "torque prediction")
    trial = equations_of(chain, recordings[-1:], replace(PROCESSING, delay=delay))
    torque = {name: torque_errors(trial, model) for name, model in models.items()}
    integration = {}
    for k, (name, model) in enumerate(models.items()):
        progress(0.35 + 0.1 * k, f"forward integration, {name}")
        integration[name] = _integrate(model, recordings[-1])
    tracking, saturated = _track_all(chain, plant, models, config, progress)
    return ConstrainedSeed(
        seed=seed,
        truth=truth,
        nominal=_drive_values(chain),
        estimates={"paper": paper, "identified": identified},
        torque=torque,
        integration=integration,
        tracking=tracking,
        saturated=saturated,
        guess_difference=max(
            float(abs(again[name] - identified[name]) / sd)
            for name, sd in zip(identified.names, identified.standard_deviations, strict=True)
            if name in truth
        ),
    )


def equations_of(
    chain: ClosedChain, recordings: Sequence[Recording], processing: Processing
) -> ArmEquations:
    """Return the equations of the closed chain as those of a robot with only the driven joints."""
    friction = FrictionModel(DriveTrain.direct(chain.actuated))
    return ArmEquations.build(DrivenRobot.of(chain), recordings, friction, processing)


def delay_of(chain: ClosedChain, recordings: Sequence[Recording]) -> float:
    """Return the delay of the torques relative to the motion [s]."""
    return TorqueDelay.of(equations_of(chain, recordings, Processing())).seconds


def identify_drives(
    chain: ClosedChain, recordings: Sequence[Recording], delay: float = 0.0
) -> Estimate:
    """Identify friction and drive parameters of the actuated joints with known inertias; a delay
    [s] is removed first.
    """
    equations = equations_of(chain, recordings, replace(PROCESSING, delay=delay))
    estimate = FIT.fit(equations.regression(equations.prior, fast=FAST))
    return equations.with_provenance(estimate)


def _excite(
    plant: ClosedChainPlant, chain: ClosedChain, motion: Trajectory, config: ConstrainedStudyConfig
) -> TrackingRun:
    gains = Gains.for_chain(chain, config.excitation_bandwidth)
    return track(plant, ComputedTorque(chain, motion, gains, feedforward=False))


def _integrate(model: ClosedChain, recording: Recording) -> dict[str, float]:
    joints = recording.joints
    assert joints.v is not None and joints.effort is not None  # simulated with both
    rate = 1e9 / float(np.median(np.diff(joints.stamps_ns)))
    k = [joints.names.index(name) for name in model.actuated]
    segments = predict_segments(model, rate, joints.q[:, k], joints.v[:, k], joints.effort[:, k])
    return segments.l2_error()


def _track_all(
    chain: ClosedChain,
    plant: ClosedChainPlant,
    models: Mapping[str, ClosedChain],
    config: ConstrainedStudyConfig,
    progress: Progress,
) -> tuple[dict[float, dict[str, dict[str, tuple[float, float]]]], dict[float, dict[str, float]]]:
    assert chain.box is not None  # set by constrained_study
    gains = Gains.for_chain(chain, config.tracking_bandwidth)
    tracking: dict[float, dict[str, dict[str, tuple[float, float]]]] = {}
    saturated: dict[float, dict[str, float]] = {}
    for i, speed in enumerate(config.speeds):
        progress(0.75 + 0.25 * i / len(config.speeds), f"tracking at {speed:g} rad/s")
        reference = tracking_test(chain, speed, config.tracking_duration)
        tracking[speed] = {}
        for name, model in models.items():
            run = track(plant, ComputedTorque(model, reference, gains))
            tracking[speed][name] = run.error_degrees(reference.segments)
            if name == "truth":
                saturated[speed] = run.saturated_share(reference.segments)
    return tracking, saturated


def tracking_test(chain: ClosedChain, speed: float, duration: float) -> Trajectory:
    """Return the sine motion of all joints together, or of one joint after another if the nominal
    model exceeds a limit.

    A joint at its torque limit would disturb all others with any model.
    """
    assert chain.box is not None  # set by constrained_study
    reference = sine_trajectory(chain, chain.box, speed, duration=duration)
    motion = chain.motion(reference.q[::10], reference.v[::10], reference.a[::10])
    if np.all(np.abs(chain.torques(motion)) <= chain.torque_limits):
        return reference
    return sine_trajectory(chain, chain.box, speed, duration=0.5 * duration, alone=True)


def _tripled(chain: ClosedChain) -> dict[str, JointDrive]:
    return {
        joint: replace(d, F_c=3.0 * d.F_c, F_v=3.0 * d.F_v, I_a=3.0 * d.I_a, beta=d.beta + 1.0)
        for joint in chain.actuated
        for d in (chain.drive(joint),)
    }


def _drive_values(chain: ClosedChain) -> dict[str, float]:
    return {
        f"{joint}.{symbol}": value
        for joint in chain.actuated
        for symbol, value in zip(JointDrive.NAMES, chain.drive(joint).values, strict=True)
    }


def mean_errors(errors: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return the first element of each (mean, largest) pair."""
    return {joint: mean for joint, (mean, _) in errors.items()}
