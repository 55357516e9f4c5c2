# SPDX-License-Identifier: Apache-2.0
"""What names on the command line stand for: estimators and friction terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sysid_core.errors import EstimationError

if TYPE_CHECKING:
    from sysid_core.estimation.recorded import Estimator
    from sysid_core.robot import FrictionTerm

METHODS = ("auto", "ols", "wls", "irls", "lmi", "entropic", "sequential")


WITH_PRIOR = ("auto", "lmi", "entropic")


def estimator_from(
    method: str, fixed: list[str], prior_weight: float, prior_sd: float | None = None
) -> Estimator:
    """The estimator that a name on the command line stands for; 'auto' is 'lmi'."""
    from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares

    weighting = {"ols": "none", "wls": "joint", "irls": "robust"}
    if method in weighting:
        if prior_sd is not None:
            raise EstimationError(
                f"--prior-sd doesn't go with --method {method}, which has no prior.",
                remedy="Choose lmi or entropic.",
            )
        return LeastSquares(weighting[method], fixed=fixed)
    if method in WITH_PRIOR:
        prior = "entropic" if method == "entropic" else "quadratic"
        return ConsistentLeastSquares(
            prior, prior_weight=prior_weight, prior_sd=prior_sd, fixed=fixed
        )
    raise EstimationError(f"Method '{method}' is unknown.", remedy=f"One of {', '.join(METHODS)}.")


def friction_terms(text: str) -> tuple[FrictionTerm, ...]:
    """Friction terms from a list with commas, in which 'usual' and 'geared' stand for several."""
    from sysid_core.robot import GEARED_ARM_TERMS, USUAL_TERMS, FrictionTerm

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
