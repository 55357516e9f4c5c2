# SPDX-License-Identifier: Apache-2.0
"""`sysid identify` of an open chain as one function: settings in, a judged result out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sysid_core.pipeline.arm import ArmRun, identify_arm
from sysid_core.pipeline.choices import WITH_PRIOR, estimator_from, friction_terms

if TYPE_CHECKING:
    from sysid_core.reasons import Verdict
    from sysid_core.robot import DriveTrain, RobotModel
    from sysid_core.signals import Recording
    from sysid_core.validation import Prediction


@dataclass(frozen=True)
class Settings:
    """Settings of `sysid identify`, with its defaults.

    Attributes:
        method: Estimator.
        friction: 'auto', 'usual', 'geared' or terms with commas.
        rate_hz: Rate of the regressor.
        motion_cutoff_hz: Low-pass of the motion; 0: chosen on held-out parts.
        torque_cutoff_hz: Low-pass of regressor and torque.
        delay: Delay of the efforts [s], or 'auto'.
        prior_weight: Weight of the URDF, for methods with a prior; 0: chosen on held-out parts.
        prior_sd: Declared relative tolerance of the URDF; None: not declared.
        fix: What keeps the URDF's value.
    """

    method: str = "auto"
    friction: str = "auto"
    rate_hz: float = 100.0
    motion_cutoff_hz: float = 0.0
    torque_cutoff_hz: float = 8.0
    delay: str = "0"
    prior_weight: float = 0.0
    prior_sd: float | None = None
    fix: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class JudgedArm:
    """A result with its verdict.

    Attributes:
        arm: The identification and what was chosen.
        training: Predictions of the fitted recordings.
        validation: Predictions of the others.
        verdict: Whether it may be used.
    """

    arm: ArmRun
    training: tuple[Prediction, ...]
    validation: tuple[Prediction, ...]
    verdict: Verdict


def identify_judged(
    model: RobotModel,
    runs: Sequence[Recording],
    drives: DriveTrain,
    *,
    validation: Sequence[Recording] = (),
    settings: Settings | None = None,
    say: Callable[[str], None] = lambda step: None,
) -> JudgedArm:
    """Look for faults, choose, fit, predict and judge.

    Args:
        model: The robot as it is mounted.
        runs: Recordings that are fitted together.
        drives: Gains and couplings.
        validation: Recordings that are only predicted.
        settings: Default: those of the command line.
        say: Shows progress.

    Raises:
        SysIdError: Recordings that can't be used with this robot.
    """
    from sysid_core.diagnosis import examine, require_fit
    from sysid_core.estimation.arm import Processing
    from sysid_core.robot import FrictionModel
    from sysid_core.validation import judge_identification, predict_recording

    given = settings or Settings()
    auto = given.friction == "auto"
    terms = friction_terms("usual" if auto else given.friction)
    for run in (*runs, *validation):
        require_fit(model, run)
    say("looking for faults of data and description")
    examination = examine(model, runs, drives)
    arm = identify_arm(
        model,
        runs,
        FrictionModel(drives, terms),
        estimator=lambda weight: estimator_from(
            given.method, list(given.fix), weight, given.prior_sd
        ),
        processing=Processing(
            rate_hz=given.rate_hz,
            motion_cutoff_hz=given.motion_cutoff_hz or Processing.motion_cutoff_hz,
            torque_cutoff_hz=given.torque_cutoff_hz,
        ),
        delay=given.delay,
        choose_friction=auto,
        prior_weight=given.prior_weight if given.method in WITH_PRIOR else None,
        say=say,
        choose_cutoff=not given.motion_cutoff_hz,
        choose_way=not given.motion_cutoff_hz,
    )
    found = arm.identification
    training = tuple(predict_recording(found, run) for run in runs)
    others = tuple(predict_recording(found, run) for run in validation)
    verdict = judge_identification(found, training, others, examination, arm.spread)
    return JudgedArm(arm, training, others, verdict)
