# SPDX-License-Identifier: Apache-2.0
"""Whether an identified model may be used: pass, warn or fail, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sysid_core.diagnosis import Examination
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, PredictionSpread
from sysid_core.judgement import Judgement
from sysid_core.robot.loops import mimic_joints
from sysid_core.validation.metrics import total
from sysid_core.validation.prediction import Prediction

_SATURATED = 0.01  # share of samples at a torque limit that spoils a tracking test
# Shares of the efforts' variance, below the fit's cut-off, all joints together.
FAIL_SHARE, WARN_SHARE = 0.25, 0.1
CHANCE = 0.95  # of a joint's variance left: no better than its mean
_MEASURABLE = 0.02  # less is no evidence against a model
_CONTRADICTION = 0.05  # beyond what is possible: the fit itself is wrong
_NEGLIGIBLE = 0.01  # of the efforts: predictions that differ by less are the same to any user
WARN_SPREAD = 1.2  # of predictions, in residuals (docs/verdicts.md)
DISAGREEMENT = (
    4.0  # variance of the residual in runs that weren't fitted over that in those that were
)


def judge(
    estimate: Estimate,
    comparisons: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    saturated: Mapping[str, float] | None = None,
) -> Judgement:
    """Compare an identified model with the nominal one on runs that weren't fitted.

    It fails when a test as a whole is worse than with the nominal model, or a body is physically
    inconsistent; it warns when a single joint is worse, when the estimate has warnings of its own,
    and when a joint was at its torque limit, because then the test says little of the model.

    Args:
        estimate: With its own warnings.
        comparisons: Test to (identified, nominal) error of every joint.
        saturated: Joint to share of samples at its torque limit.
    """
    own = judge_estimate(estimate)
    failures, warnings = list(own.failures), list(own.warnings)
    for test, (identified, nominal) in comparisons.items():
        if not total(identified) < total(nominal):
            failures.append(
                f"{test}: {total(identified):.3g} identified, {total(nominal):.3g} nominal."
            )
            continue
        worse = [joint for joint in identified if identified[joint] > nominal[joint]]
        if worse:
            warnings.append(f"{test}: {', '.join(worse)} no better than nominal.")
    stuck = [joint for joint, share in (saturated or {}).items() if share > _SATURATED]
    if stuck:
        warnings.append(f"At the torque limit while tracking: {', '.join(stuck)}.")
    return Judgement(tuple(failures), tuple(warnings), "Better than nominal throughout.")


def judge_estimate(estimate: Estimate) -> Judgement:
    """What an estimate says of itself: finite, physically consistent, excited.

    The least that live estimates must pass before anything uses them.

    Args:
        estimate: Estimate of an arm or a payload.
    """
    failures = []
    if not np.all(np.isfinite(estimate.values)) or not np.all(np.isfinite(estimate.covariance)):
        failures.append("Some values or deviations are not finite.")
    bad = [body for body, ok in estimate.consistent.items() if not ok]
    if bad:
        failures.append(f"Not physically consistent: {', '.join(bad)}.")
    # What `certify` says of both is among the failures.
    warnings = [
        r for r in estimate.certify() if not r.startswith(("Some values", "Not physically"))
    ]
    return Judgement(tuple(failures), tuple(warnings), "Finite, consistent and excited.")


def judge_identification(
    identification: Identification,
    training: Sequence[Prediction],
    validation: Sequence[Prediction],
    examination: Examination,
    spread: PredictionSpread | None = None,
) -> Judgement:
    """Judge an identified arm by its data, its fit and its predictions.

    The limits depend on what is possible with these data: the mean alone leaves all of the efforts'
    variance, the URDF's masses with friction and any masses leave what `examine` found.

    Args:
        identification: The identified robot.
        training: Predictions of the runs that it was fitted to.
        validation: Predictions of other runs.
        examination: Examination of the training runs.
        spread: Whether the training runs determine the torques of other motions.
    """
    fitted = judge_predictions(training, "the fitted runs")
    judgement = examination.judgement + judge_estimate(identification.estimate) + fitted
    judgement += _judge_followers(identification)
    urdf, free = examination.shares
    left = unexplained(training)
    possible = max(4.0 * free, 2.0 * urdf)
    if left > possible + _MEASURABLE:
        text = (
            f"The fit leaves {100 * left:.2g} % of the variance where the URDF's masses leave"
            f" {100 * urdf:.2g} % and free masses {100 * free:.2g} %: constraints, fixed parameters"
            " or outliers contradict the data."
        )
        failed = left > possible + _CONTRADICTION
        judgement += Judgement((text,)) if failed else Judgement((), (text,))
    judgement = judgement + judge_spread(spread)
    if validation:
        return judgement + judge_predictions(validation, "runs that weren't fitted", left)
    return judgement + Judgement(
        not_judged=("Predictions of runs that weren't fitted: none was given (--validate).",)
    )


def _judge_followers(identification: Identification) -> Judgement:
    """Joints that follow others are fitted as if they were driven on their own."""
    followers = ", ".join(f"{m.joint} ({m.leader})" for m in mimic_joints(identification.model))
    if not followers:
        return Judgement()
    text = f"Joints that mimic others, by the URDF: {followers}. They were taken for joints with drives of"
    text += " their own, so their weight is lacking at their leaders (--loops mimic, or --lock)."
    return Judgement((), (text,))


def judge_spread(spread: PredictionSpread | None) -> Judgement:
    """Judge whether the fitted recordings determine the torques of other motions.

    Args:
        spread: Spread of the predictions of typical motion; None: not known.
    """
    if spread is None:
        return Judgement(
            not_judged=("Whether the recordings determine other motions: not for this method.",)
        )
    if not (spread.spread > WARN_SPREAD and spread.relative > _NEGLIGIBLE):
        return Judgement(
            basis=f"Without a sixth of the recordings, predictions of typical motion differ by"
            f" {spread.spread:.2g} times the residual ({100 * spread.relative:.2g} % of the"
            " efforts)."
        )
    text = (
        "The recordings are too short, or excite too little, to predict other motions: without one"
        " sixth of them or another, the fit's prediction of typical motion differs by"
        f" {spread.spread:.2g} times its residual ({100 * spread.relative:.2g} % of the efforts),"
        f" most at {', '.join(spread.worst)}. Record more, or more exciting, motion (`sysid plan`),"
        " and judge by runs of other motions (--validate)."
    )
    if spread.relative**2 > FAIL_SHARE:  # as for any prediction: so much is no model
        return Judgement((text,))
    return Judgement((), (text,))


def judge_predictions(
    predictions: Sequence[Prediction], which: str, fitted: float | None = None
) -> Judgement:
    """Judge how well efforts are predicted.

    Args:
        predictions: Predictions of some runs; those at rest say nothing and are left out.
        which: What the runs are called.
        fitted: Share of variance left in the runs that were fitted, to compare with.
    """
    left = unexplained(predictions)
    if not np.isfinite(left):
        moving = any(p.motion.any() for p in predictions)
        text = f"The prediction of {which} isn't finite." if moving else ""
        return Judgement(
            (text,) if moving else (), () if moving else (f"Nothing moves in {which}.",)
        )
    failures, warnings = [], []
    shown = f"{100 * left:.2g} % of the efforts' variance in {which}"
    if left > FAIL_SHARE:
        failures.append(
            f"The model leaves {shown}; more than {100 * FAIL_SHARE:.0f} % is no model."
        )
    elif left > WARN_SHARE:
        warnings.append(f"The model leaves {shown}.")
    if fitted is not None and left > _MEASURABLE:
        ratio = left / max(fitted, _MEASURABLE / DISAGREEMENT)
        text = (
            f"The model leaves {shown}, {ratio:.1f} times what it leaves in the fitted runs"
            f" ({100 * fitted:.2g} %): the runs differ (payload, temperature, mounting?), or the fit"
            " follows its own runs only."
        )
        if ratio > DISAGREEMENT:
            failures.append(text)
        elif ratio > 0.5 * DISAGREEMENT:
            warnings.append(text)
    return Judgement(tuple(failures), tuple(warnings), f"{shown} left.")


def unexplained(predictions: Sequence[Prediction]) -> float:
    """Share of the efforts' variance that is left in motion, all runs and joints together.

    Below the fit's cut-off; joints are weighted as the efforts are, in their own unit.
    """
    left = spread = 0.0
    for p in predictions:
        for stats in p.joints_below(p.band_hz).values() if p.motion.any() else ():
            if np.isfinite(stats["r2"]):
                variance = stats["rms"] ** 2 / max(1.0 - stats["r2"], 1e-12)
                left, spread = left + stats["rms"] ** 2, spread + variance
    return left / spread if spread > 0.0 else float("nan")
