"""Identification of a closed-chain leg, from excitation to tracking: tables I to IV.

The robot is a MuJoCo model whose friction and drives differ from the description's; the program
sees only noisy recordings of the actuated joints. Nominal, identified and true parameters are
compared on the paper's three tests, with the paper's own processing beside ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sysid_core.estimation import (
    ConstrainedEquations,
    ConstrainedProcessing,
    Estimate,
    identified_chain,
    identify_constrained,
    identify_constrained_equations,
)
from sysid_core.excitation import (
    LoopExcitation,
    Trajectory,
    motion_box,
    plan_loop_excitation,
    sine_trajectory,
)
from sysid_core.robot import DRIVE_NAMES, ClosedChain, Drive
from sysid_core.signals import Recording
from sysid_core.validation import (
    ClosedChainPlant,
    ComputedTorque,
    Gains,
    JointSensorNoise,
    Judgement,
    TorqueError,
    TrackingRun,
    judge,
    predict_segments,
    recording_of,
    torque_errors,
    total,
    track,
)

Progress = Callable[[float, str], None]

MODELS = ("nominal", "paper", "identified", "truth")


@dataclass(frozen=True)
class ConstrainedStudyConfig:
    """Size of the study.

    Attributes:
        seeds: Robots with different true parameters and noise.
        trajectories: For identification, per robot.
        duration: Of each [s].
        held_out: Length of the run that isn't fitted: 31 segments of 0.5 s and a bit [s].
        speeds: Peak velocities of the tracking test [rad/s].
        tracking_duration: [s].
        spread: True friction and drive values lie up to this factor above or below nominal, and
            at least 1.25 away.
        offset: Largest torque offset over the joint's Coulomb friction.
        noise: Of the sensors.
        excitation_bandwidth: Of the PD control while exciting [rad/s].
        tracking_bandwidth: Of the feedback in the tracking test [rad/s].
    """

    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    trajectories: int = 3
    duration: float = 15.0
    held_out: float = 15.7
    speeds: tuple[float, ...] = (1.8, 3.0, 5.0)
    tracking_duration: float = 6.0
    spread: float = 2.0
    offset: float = 0.5
    noise: JointSensorNoise = field(default_factory=JointSensorNoise)
    excitation_bandwidth: float = 60.0
    tracking_bandwidth: float = 30.0


@dataclass(frozen=True, eq=False)
class ConstrainedSeed:
    """One robot.

    Attributes:
        seed: Of its true parameters and noise.
        truth: `joint.F_c` and so on to the true value.
        nominal: The description's values.
        estimates: `paper` and `identified`.
        torque: Model to joint to table I.
        integration: Model to joint to table II [rad].
        tracking: Speed to model to joint to (mean, largest) error [deg], tables III and IV.
        saturated: Speed to joint to the share of samples at the torque limit, true parameters.
        guess_difference: Largest change of an estimate, over its standard deviation, when the
            description's friction and drives are tripled.
        judgement: Identified against nominal.
    """

    seed: int
    truth: Mapping[str, float]
    nominal: Mapping[str, float]
    estimates: Mapping[str, Estimate]
    torque: Mapping[str, Mapping[str, TorqueError]]
    integration: Mapping[str, Mapping[str, float]]
    tracking: Mapping[float, Mapping[str, Mapping[str, tuple[float, float]]]]
    saturated: Mapping[float, Mapping[str, float]]
    guess_difference: float
    judgement: Judgement

    def errors(self, model: str) -> dict[str, float]:
        """Largest relative error of `F_c`, `F_v`, `I_a` over the joints."""
        values = self.nominal if model == "nominal" else _values(self.estimates[model])
        return {
            symbol: float(
                max(
                    abs(values[name] / true - 1.0)
                    for name, true in self.truth.items()
                    if name.endswith(f".{symbol}")
                )
            )
            for symbol in DRIVE_NAMES[:3]
        }

    def within_two_sd(self, model: str) -> float:
        """Share of the parameters whose truth lies within two reported standard deviations."""
        estimate = self.estimates[model]
        inside = [
            abs(estimate[name] - true) <= 2.0 * sd
            for name, sd in zip(estimate.names, estimate.standard_deviations, strict=True)
            if (true := self.truth.get(name)) is not None
        ]
        return float(np.mean(inside))


@dataclass(frozen=True, eq=False)
class ConstrainedStudy:
    """All robots of the study.

    Attributes:
        chain: The nominal mechanism.
        config: Size of the study.
        seeds: One per robot.
        conditions: What the planner says of each trajectory.
    """

    chain: ClosedChain
    config: ConstrainedStudyConfig
    seeds: tuple[ConstrainedSeed, ...]
    conditions: tuple[str, ...]

    def torque_table(self, *, moving: bool = False) -> dict[str, dict[str, float]]:
        """Table I: model to joint to RMS torque error, mean over the robots [N m]."""
        return self._mean(
            lambda seed, model: {
                joint: error.rms_moving if moving else error.rms
                for joint, error in seed.torque[model].items()
            }
        )

    def integration_table(self) -> dict[str, dict[str, float]]:
        """Table II: model to joint to L2 error, mean over the robots [rad]."""
        return self._mean(lambda seed, model: seed.integration[model])

    def tracking_table(self, speed: float, *, largest: bool = False) -> dict[str, dict[str, float]]:
        """Tables III, IV: model to joint to mean (or largest) error, mean over the robots [deg]."""
        return self._mean(
            lambda seed, model: {
                joint: pair[int(largest)] for joint, pair in seed.tracking[speed][model].items()
            }
        )

    def saturated_table(self, speed: float) -> dict[str, float]:
        """Joint to share of samples at the torque limit with true parameters, mean over robots."""
        return {
            joint: float(np.mean([seed.saturated[speed][joint] for seed in self.seeds]))
            for joint in self.chain.actuated
        }

    def goals(self) -> dict[str, tuple[bool, str]]:
        """What the study must reach, each with its figure; the worst robot counts."""
        worst = max(max(seed.errors("identified").values()) for seed in self.seeds)
        inside = float(np.mean([seed.within_two_sd("identified") for seed in self.seeds]))
        guess = max(seed.guess_difference for seed in self.seeds)
        consistent = all(
            seed.estimates["identified"].physically_consistent
            and all(
                value >= 0.0
                for name, value in _values(seed.estimates["identified"]).items()
                if not name.endswith(".beta")
            )
            for seed in self.seeds
        )
        excess = max(
            seed.torque["identified"][joint].rms / seed.torque["truth"][joint].rms - 1.0
            for seed in self.seeds
            for joint in self.chain.actuated
        )
        out = {
            "F_c, F_v, I_a within 2 %": (worst <= 0.02, f"{100 * worst:.2f} %"),
            "truth inside 2 sd for 90 %": (inside >= 0.9, f"{100 * inside:.0f} %"),
            "physically consistent": (consistent, "all" if consistent else "not all"),
            "independent of the initial guess": (guess <= 1e-6, f"{guess:.1e} sd"),
            "table I within 5 % of the true parameters'": (excess <= 0.05, f"{100 * excess:.2f} %"),
        }
        gain = min(
            total(seed.integration["nominal"]) / total(seed.integration["identified"])
            for seed in self.seeds
        )
        out["table II 10 times better than nominal"] = (gain >= 10.0, f"{gain:.0f} times")
        for speed in self.config.speeds:
            gain = min(
                total(_mean(seed.tracking[speed]["nominal"]))
                / total(_mean(seed.tracking[speed]["identified"]))
                for seed in self.seeds
            )
            if speed <= 3.0:
                out[f"tables III, IV 10 times better at {speed:g} rad/s"] = (
                    gain >= 10.0,
                    f"{gain:.0f} times",
                )
        return out

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "schema": "robot_sysid/constrained_study/1",
            "robot": self.chain.name,
            "seeds": [seed.seed for seed in self.seeds],
            "goals": {
                name: {"reached": ok, "value": text} for name, (ok, text) in self.goals().items()
            },
            "parameter_errors": {
                model: {
                    symbol: [seed.errors(model)[symbol] for seed in self.seeds]
                    for symbol in DRIVE_NAMES[:3]
                }
                for model in ("nominal", "paper", "identified")
            },
            "within_two_sd": {
                model: [seed.within_two_sd(model) for seed in self.seeds]
                for model in ("paper", "identified")
            },
            "guess_difference_sd": [seed.guess_difference for seed in self.seeds],
            "table_1_torque_rms": self.torque_table(),
            "table_1_torque_rms_moving": self.torque_table(moving=True),
            "table_2_integration_l2": self.integration_table(),
            "tables_3_4_tracking_deg": {
                f"{speed:g}": {
                    "mean": self.tracking_table(speed),
                    "largest": self.tracking_table(speed, largest=True),
                    "saturated": self.saturated_table(speed),
                }
                for speed in self.config.speeds
            },
            "verdicts": [seed.judgement.text for seed in self.seeds],
            "planning": list(self.conditions),
        }

    def _mean(
        self, pick: Callable[[ConstrainedSeed, str], Mapping[str, float]]
    ) -> dict[str, dict[str, float]]:
        return {
            model: {
                joint: float(np.mean([pick(seed, model)[joint] for seed in self.seeds]))
                for joint in self.chain.actuated
            }
            for model in MODELS
        }


def perturbed_truth(
    chain: ClosedChain, rng: np.random.Generator, spread: float = 2.0, offset: float = 0.5
) -> ClosedChain:
    """A robot whose actuated joints' friction and drives differ from the description's.

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


def constrained_study(
    chain: ClosedChain,
    config: ConstrainedStudyConfig | None = None,
    progress: Progress | None = None,
) -> ConstrainedStudy:
    """Plan once, then simulate, identify and compare every robot.

    Args:
        chain: Nominal mechanism.
        config: Size of the study.
        progress: Called with the share that is done and what is under way.
    """
    config = config or ConstrainedStudyConfig()

    def tell(share: float, what: str) -> None:
        if progress is not None:
            progress(share, what)

    rng = np.random.default_rng(2024)
    chain = replace(chain, box=motion_box(chain, rng))
    plan_share = 0.1
    training = plan_loop_excitation(
        chain,
        rng,
        config.trajectories,
        LoopExcitation(duration=config.duration),
        lambda share: tell(plan_share * share, "planning"),
    )
    # Another fundamental: none of the fitted motions is repeated.
    held_out = plan_loop_excitation(
        chain, rng, 1, LoopExcitation(duration=config.held_out, fundamental=0.17, generations=3)
    )[0]
    seeds = []
    for i, seed in enumerate(config.seeds):

        def tell_seed(share: float, what: str, done: int = i, seed: int = seed) -> None:
            tell(
                plan_share + (1.0 - plan_share) * (done + share) / len(config.seeds),
                f"robot {seed}: {what}",
            )

        seeds.append(_one_robot(chain, config, training, held_out, seed, tell_seed))
    tell(1.0, "done")
    return ConstrainedStudy(
        chain, config, tuple(seeds), tuple(n for t in training for n in t.notes)
    )


def _one_robot(
    chain: ClosedChain,
    config: ConstrainedStudyConfig,
    training: tuple[Trajectory, ...],
    held_out: Trajectory,
    seed: int,
    tell: Progress,
) -> ConstrainedSeed:
    rng = np.random.default_rng(seed)
    true_chain = perturbed_truth(chain, rng, config.spread, config.offset)
    plant = ClosedChainPlant(true_chain)
    tell(0.0, "excitation")
    runs = [_excite(plant, chain, motion, config) for motion in (*training, held_out)]
    recordings = [recording_of(run, rng, config.noise) for run in runs]
    tell(0.15, "identification")
    equations = ConstrainedEquations.build(chain, recordings[:-1]).without_delay()
    identified = identify_constrained_equations(equations)
    other_guess = replace(equations, chain=chain.with_drives(_tripled(chain)))
    again = identify_constrained_equations(other_guess)
    tell(0.25, "the paper's processing")
    paper = identify_constrained(
        recordings[:-1], chain, processing=ConstrainedProcessing.of_the_paper()
    )
    models = {
        "nominal": chain,
        "paper": identified_chain(chain, paper),
        "identified": identified_chain(chain, identified),
        "truth": true_chain,
    }
    tell(0.3, "torque prediction")
    trial = ConstrainedEquations.build(chain, recordings[-1:]).without_delay()
    torque = {name: torque_errors(trial, model) for name, model in models.items()}
    integration = {}
    for k, (name, model) in enumerate(models.items()):
        tell(0.35 + 0.1 * k, f"forward integration, {name}")
        integration[name] = _integrate(model, recordings[-1])
    tracking, saturated = _track_all(chain, plant, models, config, tell)
    first, last = config.speeds[0], config.speeds[-1]
    judgement = judge(
        identified,
        {
            "Torque prediction": (_rms(torque["identified"]), _rms(torque["nominal"])),
            "Forward integration": (integration["identified"], integration["nominal"]),
            f"Tracking at {first:g} rad/s": (
                _mean(tracking[first]["identified"]),
                _mean(tracking[first]["nominal"]),
            ),
        },
        saturated[last],
    )
    return ConstrainedSeed(
        seed=seed,
        truth=_drive_values(true_chain),
        nominal=_drive_values(chain),
        estimates={"paper": paper, "identified": identified},
        torque=torque,
        integration=integration,
        tracking=tracking,
        saturated=saturated,
        guess_difference=float(
            np.max(np.abs(again.values - identified.values) / identified.standard_deviations)
        ),
        judgement=judgement,
    )


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
    tell: Progress,
) -> tuple[dict[float, dict[str, dict[str, tuple[float, float]]]], dict[float, dict[str, float]]]:
    assert chain.box is not None  # set by constrained_study
    gains = Gains.for_chain(chain, config.tracking_bandwidth)
    tracking: dict[float, dict[str, dict[str, tuple[float, float]]]] = {}
    saturated: dict[float, dict[str, float]] = {}
    for i, speed in enumerate(config.speeds):
        tell(0.75 + 0.25 * i / len(config.speeds), f"tracking at {speed:g} rad/s")
        wish = sine_trajectory(chain, chain.box, speed, duration=config.tracking_duration)
        tracking[speed] = {}
        for name, model in models.items():
            run = track(plant, ComputedTorque(model, wish, gains))
            tracking[speed][name] = run.error_degrees()
            if name == "truth":
                saturated[speed] = dict(zip(chain.actuated, run.saturated.tolist(), strict=True))
    return tracking, saturated


def _tripled(chain: ClosedChain) -> dict[str, Drive]:
    return {
        joint: replace(d, F_c=3.0 * d.F_c, F_v=3.0 * d.F_v, I_a=3.0 * d.I_a, beta=d.beta + 1.0)
        for joint in chain.actuated
        for d in (chain.drive(joint),)
    }


def _drive_values(chain: ClosedChain) -> dict[str, float]:
    return {
        f"{joint}.{symbol}": value
        for joint in chain.actuated
        for symbol, value in zip(DRIVE_NAMES, chain.drive(joint).values, strict=True)
    }


def _values(estimate: Estimate) -> dict[str, float]:
    return dict(zip(estimate.names, estimate.values.tolist(), strict=True))


def _rms(errors: Mapping[str, TorqueError]) -> dict[str, float]:
    return {joint: error.rms for joint, error in errors.items()}


def _mean(errors: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    return {joint: mean for joint, (mean, _) in errors.items()}
