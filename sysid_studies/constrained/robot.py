# SPDX-License-Identifier: Apache-2.0
"""Study of one simulated closed-chain robot: excitation, identification, tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.estimation.fit import ConsistentLeastSquares, Weighting
from sysid_core.planning import Trajectory
from sysid_core.robot import DriveTrain, FrictionModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot, JointDrive
from sysid_core.signals import Recording
from sysid_core.simulation import ClosedChainPlant
from sysid_studies.constrained.forward_integration import paper_regression, predict_segments
from sysid_studies.constrained.seed import ConstrainedSeed, ConstrainedStudyConfig
from sysid_studies.constrained.sines import sine_trajectory
from sysid_studies.constrained.torque_errors import torque_errors
from sysid_studies.constrained.tracking import (
    ComputedTorque,
    Gains,
    TrackingRun,
    recording_of,
    track,
)

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
