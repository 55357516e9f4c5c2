# SPDX-License-Identifier: Apache-2.0
"""Names of estimators and friction terms on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import Differentiation, Estimator, Processing
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.robot import GEARED_ARM_TERMS, USUAL_TERMS, FrictionTerm
from sysid_core.workflows.settings import WITH_PRIOR, FitSettings

AT_ONCE = ("auto", "ols", "wls", "irls", "lmi", "entropic")


def estimator_from(
    method: str, fixed: Sequence[str], prior_weight: float, prior_sd: float | None = None
) -> Estimator:
    """Estimator by its name on the command line; 'auto' is 'lmi'."""
    weighting = {"ols": "none", "wls": "joint", "irls": "robust"}
    if method in weighting:
        if prior_sd is not None:
            raise EstimationError(
                f"--prior-sd cannot be combined with --method {method}, which uses no prior.",
                remedy="Choose lmi or entropic.",
            )
        return LeastSquares(weighting[method], fixed=fixed)
    if method in WITH_PRIOR:
        prior = "entropic" if method == "entropic" else "quadratic"
        return ConsistentLeastSquares(
            prior, prior_weight=prior_weight, prior_sd=prior_sd, fixed=fixed
        )
    raise EstimationError(
        f"Method '{method}' does not fit all parameters simultaneously.",
        remedy=f"Choose one of {', '.join(AT_ONCE)}.",
    )


def friction_terms(text: str) -> tuple[FrictionTerm, ...]:
    """Friction terms from a comma-separated list; 'usual' and 'geared' stand for several terms."""
    groups = {"usual": USUAL_TERMS, "geared": GEARED_ARM_TERMS}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        named = [groups[part] if part in groups else (FrictionTerm(part),) for part in parts]
        return tuple(dict.fromkeys(term for terms in named for term in terms))
    except ValueError as err:
        raise EstimationError(
            f"Friction '{text}' is unknown: {err}.",
            remedy=f"'auto', or with commas of usual, geared, {', '.join(FrictionTerm)}.",
        ) from err


def processing_of(settings: FitSettings) -> Processing:
    """Preprocessing (rates and filters) from the settings.

    Raises:
        EstimationError: An unknown way to differentiate, or a delay that is not a number.
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
