# SPDX-License-Identifier: Apache-2.0
"""Open chains: what is chosen inside the recordings, fitted and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from sysid_core.errors import EstimationError
from sysid_core.pipeline.load import load_dict, load_sentences

if TYPE_CHECKING:
    from sysid_core.estimation.arm import (
        ArmEquations,
        Identification,
        PredictionSpread,
        Processing,
    )
    from sysid_core.estimation.loaded_arm import KnownLoad, LoadedIdentification
    from sysid_core.estimation.recorded import (
        Estimator,
        TorqueDelay,
    )
    from sysid_core.robot import FrictionModel, RobotModel
    from sysid_core.signals import Recording

ENOUGH = 20_000  # samples that settings are judged on
MOST_TRIED = 100_000  # samples: some seconds of CPU
# While terms are chosen, the prior only keeps what the blocks don't show from running away.
SELECTION_PRIOR = 100.0
# Torque waves turn faster than a lower low-pass of regressor and torque lets through.
WAVES_HZ = 20.0


@dataclass(frozen=True, eq=False)
class ArmRun:
    """An identification with what was chosen inside the recordings.

    Attributes:
        identification: The result.
        lag: Estimated delay of the efforts.
        prior_weight: In use; None where the method has no prior.
        benefits: What each friction term buys on held-out blocks.
        loaded: The result with its drive gains and load; None without loaded runs.
        spread: Whether the recordings determine the torques of other motions.
        differentiations: Held-out error of each way to differentiate, where several were tried.
    """

    identification: Identification
    lag: TorqueDelay
    prior_weight: float | None
    benefits: Mapping[str, Mapping[str, float]]
    loaded: LoadedIdentification | None = None
    spread: PredictionSpread | None = None
    differentiations: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """For result.json."""
        return {
            "delay": self.lag.seconds,
            "delay_sd": self.lag.sd,
            "delay_corrected": self.identification.processing.delay,
            "prior_weight": self.prior_weight,
            "differentiate": self.identification.processing.differentiate.value,
            "differentiate_errors": dict(self.differentiations),
            **({} if self.spread is None else {"prediction_spread": asdict(self.spread)}),
            "term_benefits": {term: dict(rises) for term, rises in self.benefits.items()},
            **({} if self.loaded is None else load_dict(self.loaded)),
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """Delay, source of the velocities, gains and load in words."""
        if self.identification.processing.delay:
            what = "corrected"
        elif self.lag.worth_correcting:
            what = "not corrected: --delay auto would"
        else:
            what = "not corrected: that wouldn't improve the prediction of held-out data"
        lag = (
            f"efforts lag {1e3 * self.lag.seconds:.1f} ± {1e3 * self.lag.sd:.1f} ms behind positions"
            f" ({what})"
        )
        loads = () if self.loaded is None else load_sentences(self.loaded)
        return (lag, *self._velocities(), *loads)

    def _velocities(self) -> tuple[str, ...]:
        way, errors = self.identification.processing.differentiate.value, self.differentiations
        if way != "positions" or way not in errors:
            return ()
        return (
            "measured velocities aren't used: with positions alone, held-out parts are predicted"
            f" within {100 * errors[way]:.1f} % instead of {100 * errors['filter']:.1f} %",
        )


def identify_arm(
    model: RobotModel,
    runs: Sequence[Recording],
    friction: FrictionModel,
    *,
    estimator: Callable[[float], Estimator],
    processing: Processing,
    delay: str,
    choose_friction: bool,
    prior_weight: float | None,
    say: Callable[[str], None],
    loaded: Sequence[Recording] = (),
    load: KnownLoad | None = None,
    choose_cutoff: bool = False,
    choose_way: bool = False,
) -> ArmRun:
    """Choose what is left open, and identify.

    Args:
        model: The robot.
        runs: Recordings that are fitted together.
        friction: Terms to use, or to start from.
        estimator: Makes the estimator for a weight of the prior.
        processing: Rates and cut-offs.
        delay: Seconds, or 'auto'.
        choose_friction: Whether terms are added by cross-validation.
        prior_weight: 0: by cross-validation; None: the method has no prior.
        say: Shows progress.
        loaded: Runs with the known load, which give the drives' gains.
        load: What is known of it.
        choose_cutoff: Whether the motion's low-pass is chosen by cross-validation.
        choose_way: Whether positions alone or splines may replace measured velocities and that
            low-pass, likewise; not in recordings of more than `MOST_TRIED` samples.
    """
    from sysid_core.estimation.arm import ArmEquations, identify_equations, torque_delay
    from sysid_core.estimation.loaded_arm import with_gains

    say("building the regressor")
    processing = replace(processing, delay=0.0 if delay == "auto" else _seconds(delay))
    equations, differentiations = _equations(
        model, runs, friction, processing, choose_cutoff, choose_way, say
    )
    processing = equations.processing
    carrying = ArmEquations.build(model, loaded, friction, processing) if load else None
    if load and carrying:
        say("finding the gains of the drives")
        equations, carrying = _with_gains_of_load(equations, carrying, load)
    if choose_friction:
        say("choosing friction terms on held-out parts of the recordings")
        equations = _with_chosen_terms(equations)
    say("estimating the delay of the efforts")
    lag = torque_delay(equations)
    if delay == "auto" and lag.worth_correcting:
        equations = equations.with_delay(lag.seconds)
    weight = _prior_weight(equations, prior_weight, load is not None, estimator, say)
    say(f"identifying {model.name}")
    together = None
    if load and carrying:
        together = _identify_with_load(equations, carrying, load, estimator(weight or 1.0))
        result, equations = together.identification, with_gains(equations, together.gains.gains)
    else:
        result = identify_equations(equations, estimator(weight or 1.0))
    return _judged(
        ArmRun(result, lag, weight, {}, together, differentiations=differentiations), equations, say
    )


def _judged(run: ArmRun, equations: ArmEquations, say: Callable[[str], None]) -> ArmRun:
    """The run with what its terms buy, and whether its recordings determine other motions."""
    from sysid_core.estimation.arm import NO_PRIOR, prediction_spread, term_benefits

    few, weight = equations.spread(ENOUGH), run.prior_weight
    say("finding out what each friction term buys")
    benefits = term_benefits(few, prior_weight=weight or 1.0)
    say("finding out whether the recordings determine other motions")
    spread = prediction_spread(few, run.identification.parameters, weight or NO_PRIOR)
    return replace(run, benefits=benefits, spread=spread)


def _identify_with_load(
    equations: ArmEquations, carrying: ArmEquations, load: KnownLoad, estimator: Estimator
) -> LoadedIdentification:
    """Both data fitted with the friction terms and the delay of the unloaded ones."""
    from sysid_core.estimation.loaded_arm import identify_with_load

    carrying = carrying.with_friction(equations.friction)
    carrying = carrying.with_delay(equations.processing.delay)
    return identify_with_load(equations, carrying, load, estimator)


def _equations(
    model: RobotModel,
    runs: Sequence[Recording],
    friction: FrictionModel,
    processing: Processing,
    choose_cutoff: bool,
    choose_way: bool,
    say: Callable[[str], None],
) -> tuple[ArmEquations, dict[str, float]]:
    """Equations with the given smoothing of the motion, or with what predicts best.

    Returns:
        The equations, and the errors of all ways to differentiate where several were tried.
    """
    from sysid_core.estimation.arm import (
        ArmEquations,
        choose_differentiation,
        choose_motion_cutoff,
    )

    if choose_cutoff:
        say("choosing the low-pass of the motion on held-out parts of the recordings")
        equations, _ = choose_motion_cutoff(model, runs, friction, processing, enough=ENOUGH)
    else:
        equations = ArmEquations.build(model, runs, friction, processing)
    if not (choose_way and sum(len(run.joints) for run in runs) <= MOST_TRIED):
        return equations, {}
    say("trying positions alone and splines on held-out parts of the recordings")
    return choose_differentiation(equations, runs)


def _with_gains_of_load(
    equations: ArmEquations, carrying: ArmEquations, load: KnownLoad
) -> tuple[ArmEquations, ArmEquations]:
    """Both data with the drives' gains that the known load gives."""
    from sysid_core.estimation.fit import LeastSquares
    from sysid_core.estimation.loaded_arm import identify_with_load, with_gains

    gains = identify_with_load(equations, carrying, load, LeastSquares("joint")).gains.gains
    return with_gains(equations, gains), with_gains(carrying, gains)


def _prior_weight(
    equations: ArmEquations,
    given: float | None,
    loaded: bool,
    estimator: Callable[[float], Estimator],
    say: Callable[[str], None],
) -> float | None:
    """The weight of the prior: as given, or chosen where 0 was given."""
    from sysid_core.estimation.arm import choose_prior_weight, lowered_prior_weight

    if given is None or given > 0.0:
        return given
    if loaded:
        return 1.0  # the load's mass is to scale the torques, not the URDF's masses
    say("choosing the weight of the prior on held-out parts of the recordings")
    few = equations.spread(ENOUGH)
    return lowered_prior_weight(few, choose_prior_weight(few)[0], estimator)


def _with_chosen_terms(equations: ArmEquations) -> ArmEquations:
    from sysid_core.estimation.arm import choose_terms
    from sysid_core.robot import FrictionTerm

    drives = equations.friction.drives
    waves = equations.processing.torque_cutoff_hz >= WAVES_HZ
    candidates = [
        term for term in FrictionTerm if not term.waves or (waves and drives.waves.get(term.value))
    ]
    return equations.with_friction(
        choose_terms(equations.spread(ENOUGH), candidates, prior_weight=SELECTION_PRIOR)[0]
    )


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError as err:
        raise EstimationError(
            f"Delay '{text}' is neither a number of seconds nor 'auto'.",
            remedy="Write --delay 0.013 (seconds) or --delay auto.",
        ) from err
