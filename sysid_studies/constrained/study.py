# SPDX-License-Identifier: Apache-2.0
"""Identification of a closed-chain leg, from excitation to tracking: tables I to IV of the paper.

The robot is a MuJoCo model whose friction and drives differ from those of the description; the
identification receives only noisy recordings of the actuated joints. Nominal, identified and true
parameters are compared in the three tests of the paper. Each test uses the processing of the paper
and that of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.planning.closed_chain import AssemblyMap
from sysid_core.report import Report
from sysid_core.robot.loops import ClosedChain, JointDrive
from sysid_studies.constrained.report import constrained_report
from sysid_studies.constrained.robot import Progress, mean_errors, study_robot, tracking_test
from sysid_studies.constrained.seed import (
    MODELS,
    ConstrainedSeed,
    ConstrainedStudyConfig,
)
from sysid_studies.constrained.torque_errors import total
from sysid_studies.table import StudyTable


@dataclass(frozen=True, eq=False)
class ConstrainedStudy:
    """Results of all robots of the study.

    Attributes:
        chain: Nominal mechanism.
        config: Settings of the study.
        seeds: Results, one per robot.
        conditions: Remarks of the planner on each trajectory, one text each.
    """

    chain: ClosedChain
    config: ConstrainedStudyConfig
    seeds: tuple[ConstrainedSeed, ...]
    conditions: tuple[str, ...]

    def torque_table(self, *, moving: bool = False) -> dict[str, dict[str, float]]:
        """Return table I: RMS torque error by model and joint, mean over the robots [N m]."""
        return self._mean(
            lambda seed, model: {
                joint: error.rms_moving if moving else error.rms
                for joint, error in seed.torque[model].items()
            }
        )

    def integration_table(self) -> dict[str, dict[str, float]]:
        """Return table II: L2 error of forward integration by model and joint, mean over the robots
        [rad].
        """
        return self._mean(lambda seed, model: seed.integration[model])

    def tracking_table(self, speed: float, *, largest: bool = False) -> dict[str, dict[str, float]]:
        """Return tables III, IV: mean (or largest) tracking error by model and joint, mean over the
        robots [deg].
        """
        return self._mean(
            lambda seed, model: {
                joint: pair[int(largest)] for joint, pair in seed.tracking[speed][model].items()
            }
        )

    def saturated_table(self, speed: float) -> dict[str, float]:
        """Return the share of samples at the torque limit with the true parameters, by joint, mean
        over the robots.
        """
        return {
            joint: float(np.mean([seed.saturated[speed][joint] for seed in self.seeds]))
            for joint in self.chain.actuated
        }

    def alone(self, speed: float) -> bool:
        """Return True if the tracking test moved one coordinate after another."""
        return bool(tracking_test(self.chain, speed, self.config.tracking_duration).segments)

    def goals(self) -> dict[str, tuple[bool, str]]:
        """Return the goals of the study with the result of the worst robot."""
        worst = max(max(seed.errors("identified").values()) for seed in self.seeds)
        inside = float(np.mean([seed.within_two_sd("identified") for seed in self.seeds]))
        guess = max(seed.guess_difference for seed in self.seeds)
        consistent = all(
            seed.estimates["identified"].physically_consistent
            and all(
                seed.estimates["identified"][name] >= 0.0
                for name in seed.truth
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
                total(mean_errors(seed.tracking[speed]["nominal"]))
                / total(mean_errors(seed.tracking[speed]["identified"]))
                for seed in self.seeds
            )
            if speed <= 3.0:
                out[f"tables III, IV 10 times better at {speed:g} rad/s"] = (
                    gain >= 10.0,
                    f"{gain:.0f} times",
                )
        return out

    @property
    def tables(self) -> tuple[StudyTable, ...]:
        """Table of the goals; the other tables are in the report."""
        rows = tuple((name, value, ok) for name, (ok, value) in self.goals().items())
        title = f"{self.chain.name}: {len(self.seeds)} simulated robots"
        return (StudyTable(title, ("goal", "value", "reached"), rows),)

    remarks = ()

    def report(self) -> Report:
        """Report compared with the numbers of the paper."""
        return constrained_report(self)

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
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
                    for symbol in JointDrive.NAMES[:3]
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
                    "one_after_another": self.alone(speed),
                }
                for speed in self.config.speeds
            },
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


def constrained_study(
    chain: ClosedChain,
    config: ConstrainedStudyConfig | None = None,
    progress: Progress | None = None,
) -> ConstrainedStudy:
    """Plan the motions once; simulate, identify and compare every robot.

    Args:
        chain: Nominal mechanism.
        config: Settings of the study.
        progress: Function called with the completed share and a description of the step.
    """
    config = config or ConstrainedStudyConfig()

    def report(share: float, what: str) -> None:
        if progress is not None:
            progress(share, what)

    rng = np.random.default_rng(2024)
    chain = replace(chain, box=AssemblyMap.motion_box(chain, rng))
    plan_share = 0.1
    training = replace(config.excitation, duration=config.duration).plan(
        chain,
        rng,
        config.trajectories,
        lambda share: report(plan_share * share, "planning"),
    )
    # Another fundamental: none of the fitted motions is repeated.
    other = replace(config.excitation, duration=config.held_out, fundamental=0.17, generations=3)
    held_out = other.plan(chain, rng, 1)[0]
    seeds = []
    for i, seed in enumerate(config.seeds):

        def report_seed(share: float, what: str, done: int = i, seed: int = seed) -> None:
            report(
                plan_share + (1.0 - plan_share) * (done + share) / len(config.seeds),
                f"robot {seed}: {what}",
            )

        seeds.append(study_robot(chain, config, training, held_out, seed, report_seed))
    report(1.0, "done")
    return ConstrainedStudy(
        chain, config, tuple(seeds), tuple(n for t in training for n in t.notes)
    )
