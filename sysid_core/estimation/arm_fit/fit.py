# SPDX-License-Identifier: Apache-2.0
"""Identification of all joints at once, with settings chosen by cross-validation within the
recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from sysid_core.errors import EstimationError, ModelError
from sysid_core.estimation.arm import ArmEquations, Identification, Processing
from sysid_core.estimation.arm.block_scores import (
    ENOUGH,
    NO_PRIOR,
    PredictionSpread,
    choose_prior_weight,
    lowered_prior_weight,
    prediction_spread,
)
from sysid_core.estimation.arm.choices import (
    choose_differentiation,
    choose_motion_cutoff,
    choose_terms,
    choose_velocity_feedback,
    term_benefits,
)
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.arm.recordings import Differentiation
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.arm.torque_delay import ArmLags
from sysid_core.estimation.arm_fit.settings import METHODS, FitSettings
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.estimation.loaded_arm import KnownLoad, LoadedIdentification
from sysid_core.estimation.loaded_arm.identify import identify_with_load, with_gains
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import Recording

MOST_TRIED = 100_000  # samples: some seconds of CPU
# While terms are chosen, the prior only keeps what the blocks don't show from running away.
SELECTION_PRIOR = 100.0
# Torque waves turn faster than a lower low-pass of regressor and torque lets through.
WAVES_HZ = 20.0
_WEIGHTING = {"ols": "none", "wls": "joint", "irls": "robust"}


def _load_dict(found: LoadedIdentification) -> dict[str, object]:
    """Gains and load as plain data for result.json."""
    load = PayloadSummary.of(found.payload)
    return {
        "drive_gains": {
            joint: {"gain": float(gain), "sd": float(sd)}
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        },
        "load": {
            "mass": load.mass,
            "com": load.com.tolist(),
            "com_sd": load.com_sd.tolist(),
            "inertia": load.inertia.tolist(),
            "inertia_sd": load.inertia_sd.tolist(),
        },
    }


def _feedback_dict(found: Identification) -> dict[str, object] | None:
    """Velocity feedback as plain data for result.json, with its gains by joint."""
    if found.feedback is None:
        return None
    gains = dict(zip(found.model.joint_names, found.feedback.gains, strict=True))
    return {**asdict(found.feedback), "gains": gains}


def estimator_of(settings: FitSettings, prior_weight: float) -> Estimator:
    """Return the estimator of a method ('auto' is 'lmi'), with the given weight of the prior if the
    method has one.

    Raises:
        EstimationError: `prior_sd` is given for a method without prior, or the method does not fit
            all parameters at once.
    """
    if settings.has_prior:
        return ConsistentLeastSquares(
            "entropic" if settings.method == "entropic" else "quadratic",
            prior_weight=prior_weight,
            prior_sd=settings.prior_sd,
            fixed=settings.fix,
        )
    if settings.method not in _WEIGHTING:
        raise EstimationError(
            f"Method '{settings.method}' does not fit all parameters simultaneously.",
            remedy=f"Choose one of {', '.join(METHODS[:-1])}.",
        )
    if settings.prior_sd is not None:
        raise EstimationError(
            f"--prior-sd cannot be combined with --method {settings.method}, which uses no prior.",
            remedy="Choose lmi or entropic.",
        )
    return LeastSquares(_WEIGHTING[settings.method], fixed=settings.fix)


@dataclass(frozen=True, eq=False)
class ArmFit:
    """Identification with settings that were chosen by cross-validation within the recordings.

    Attributes:
        identification: Identified robot with its estimate.
        lags: Estimated delays of the efforts.
        prior_weight: Weight of the prior that was used [-]; None if the method has no prior.
        benefits: Relative increase of the held-out error without a friction term, by term and
            joint.
        load: Known load of the loaded recordings; None: no known load.
        loaded: Identification together with drive gains and load; None without loaded recordings.
        spread: Scatter of the torques predicted for other motions; None: not computed.
        differentiations: Held-out error by source of velocities; empty if only one was tried.
        feedback_errors: Held-out errors without and with velocity feedback; empty if not tried.
    """

    identification: Identification
    lags: ArmLags
    prior_weight: float | None
    benefits: Mapping[str, Mapping[str, float]]
    load: KnownLoad | None = None
    loaded: LoadedIdentification | None = None
    spread: PredictionSpread | None = None
    differentiations: Mapping[str, float] = field(default_factory=dict)
    feedback_errors: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the identification as plain data for result.json."""
        return {
            "delay": self.lags.common.seconds,
            "delay_sd": self.lags.common.sd,
            "joint_delays": {lag.joint: [lag.seconds, lag.sd] for lag in self.lags.joints},
            "delay_corrected": self.identification.processing.delay,
            "prior_weight": self.prior_weight,
            "differentiate": self.identification.processing.differentiate.value,
            "differentiate_errors": dict(self.differentiations),
            "velocity_feedback": _feedback_dict(self.identification),
            "velocity_feedback_errors": list(self.feedback_errors),
            **({} if self.spread is None else {"prediction_spread": asdict(self.spread)}),
            "term_benefits": {term: dict(rises) for term, rises in self.benefits.items()},
            **({} if self.loaded is None else _load_dict(self.loaded)),
        }

    @classmethod
    def of(
        cls,
        model: RobotModel,
        runs: Sequence[Recording],
        friction: FrictionModel,
        settings: FitSettings,
        *,
        load: KnownLoad | None = None,
        loaded: Sequence[Recording] = (),
        progress: Progress = silent,
        own: Estimator | None = None,
    ) -> ArmFit:
        """Choose the settings that are not given, and identify the robot.

        Args:
            model: Robot model.
            runs: Recordings that are fitted together.
            friction: Friction terms and drives.
            settings: Given settings; all others are chosen by cross-validation. Velocities computed
                from positions may replace measured ones only if neither cut-off nor source of
                velocities is given, and the recordings have at most `MOST_TRIED` samples.
            load: Known load of the loaded recordings; None: no known load.
            loaded: Recordings with the load.
            progress: Function called with each step.
            own: Estimator that replaces the one of `settings.method`; None: no replacement.

        Raises:
            EstimationError: The recordings do not determine the requested parameters.
        """

        def estimator(weight: float | None) -> Estimator:
            return own or estimator_of(settings, weight or 1.0)

        estimator(1.0)  # refuses settings that don't go together before the work begins
        if settings.has_prior and not np.any(model.pi[:, 0] > 0.0):
            raise ModelError(
                f"No link of '{model.name}' has a mass: method {settings.method} stays close to"
                " the masses of the description if the motion does not determine them.",
                remedy="Give the links rough <inertial> elements, or use --method ols.",
            )
        processing, lags = ArmFit.processing_of(settings), None
        if load is None:
            # First of all: what smooths the motion, or lags behind reversals, would explain a delay.
            progress(Step.DELAY)
            lags = ArmLags.of(ArmEquations.build(model, runs, friction, processing))
            if settings.delay == "auto" and lags.common.worth_correcting:
                processing = replace(processing, delay=lags.common.seconds)
        equations, differentiations = _equations(
            model, runs, friction, settings, processing, progress
        )
        processing = equations.processing
        carrying = ArmEquations.build(model, loaded, friction, processing) if load else None
        if load and carrying:
            progress(Step.GAINS)
            equations, carrying = _with_gains_of_load(equations, carrying, load)
        if lags is None:  # the load gives the gains, without which torques can't be compared
            lags = ArmLags.of(equations)
            if settings.delay == "auto" and lags.common.worth_correcting:
                equations = equations.with_delay(lags.common.seconds)
        if settings.friction == "auto":
            progress(Step.FRICTION)
            equations = _with_chosen_terms(equations)
        weight = _prior_weight(equations, settings, load is not None, estimator, progress)
        progress(Step.FITTING)
        together = None
        if load and carrying:
            carrying = carrying.with_friction(equations.friction)
            carrying = carrying.with_delay(equations.processing.delay)
            together = identify_with_load(equations, carrying, load, estimator(weight))
            result, equations = together.identification, with_gains(equations, together.gains.gains)
        else:
            result = identify_equations(equations, estimator(weight))
        errors: tuple[float, ...] = ()
        if settings.velocity_feedback == "auto":
            feedback, errors = choose_velocity_feedback(result, runs)
            result = replace(result, feedback=feedback)
        few = equations.spread(ENOUGH)
        progress(Step.BENEFITS)
        benefits = term_benefits(few, prior_weight=weight or 1.0)
        progress(Step.SPREAD)
        spread = prediction_spread(few, result.parameters, weight or NO_PRIOR, fixed=settings.fix)
        return cls(result, lags, weight, benefits, load, together, spread, differentiations, errors)

    @staticmethod
    def processing_of(settings: FitSettings) -> Processing:
        """Return the preprocessing (rates and filters) of the settings.

        Raises:
            EstimationError: The differentiation method is unknown, or the delay is not a number.
        """
        try:
            delay = 0.0 if settings.delay == "auto" else float(settings.delay)
        except ValueError as err:
            raise EstimationError(
                f"Delay '{settings.delay}' is neither a number [s] nor 'auto'.",
                remedy="Write --delay 0.013 (seconds) or --delay auto.",
            ) from err
        return Processing(
            rate_hz=settings.rate_hz,
            motion_cutoff_hz=settings.motion_cutoff_hz or Processing.motion_cutoff_hz,
            differentiate=Differentiation.FILTER
            if settings.differentiate == "auto"
            else Differentiation.named(settings.differentiate, "--differentiate", EstimationError),
            torque_cutoff_hz=settings.torque_cutoff_hz,
            delay=delay,
        )


def _equations(
    model: RobotModel,
    runs: Sequence[Recording],
    friction: FrictionModel,
    settings: FitSettings,
    processing: Processing,
    progress: Progress,
) -> tuple[ArmEquations, dict[str, float]]:
    """Equations with the given smoothing of the motion, or otherwise with the smoothing that
    predicts held-out data best.

    Returns:
        The equations, and the held-out errors by source of velocities; empty if only one was tried.
    """
    open_cutoff = not settings.motion_cutoff_hz
    progress(Step.BUILDING)
    if open_cutoff:
        progress(Step.CUTOFF)
        equations, _ = choose_motion_cutoff(model, runs, friction, processing)
    else:
        equations = ArmEquations.build(model, runs, friction, processing)
    samples = sum(len(run.joints) for run in runs)
    if not (open_cutoff and settings.differentiate == "auto" and samples <= MOST_TRIED):
        return equations, {}
    progress(Step.DIFFERENTIATION)
    return choose_differentiation(equations, runs)


def _with_gains_of_load(
    equations: ArmEquations, carrying: ArmEquations, load: KnownLoad
) -> tuple[ArmEquations, ArmEquations]:
    """Equations of the runs without and with the load, with the drive gains that follow from the
    known load.
    """
    gains = identify_with_load(equations, carrying, load, LeastSquares("joint")).gains.gains
    return with_gains(equations, gains), with_gains(carrying, gains)


def _prior_weight(
    equations: ArmEquations,
    settings: FitSettings,
    loaded: bool,
    estimator: Callable[[float | None], Estimator],
    progress: Progress,
) -> float | None:
    """Weight of the prior with the smallest held-out error; None if the method has no prior."""
    if not settings.has_prior:
        return None
    if loaded:
        return 1.0  # the load's mass is to scale the torques, not the URDF's masses
    progress(Step.PRIOR)
    few = equations.spread(ENOUGH)
    return lowered_prior_weight(few, choose_prior_weight(few)[0], estimator)


def _with_chosen_terms(equations: ArmEquations) -> ArmEquations:
    drives = equations.friction.drives
    waves = equations.processing.torque_cutoff_hz >= WAVES_HZ
    candidates = [
        term for term in FrictionTerm if not term.waves or (waves and drives.waves.get(term.value))
    ]
    return equations.with_friction(
        choose_terms(equations.spread(ENOUGH), candidates, prior_weight=SELECTION_PRIOR)[0]
    )
