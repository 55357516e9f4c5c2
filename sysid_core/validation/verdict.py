# SPDX-License-Identifier: Apache-2.0
"""Whether an identified model may be used: pass, warn or fail, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sysid_core.diagnosis import Examination
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, PredictionSpread
from sysid_core.reasons import Reason, Verdict, failure, held, not_judged, warning
from sysid_core.robot.loops import DrivenRobot, mimic_joints
from sysid_core.validation.metrics import total
from sysid_core.validation.prediction import Prediction

_SATURATED = 0.01  # share of samples at a torque limit that spoils a tracking test
# Shares of the efforts' variance, below the fit's cut-off, all joints together.
FAIL_SHARE, WARN_SHARE = 0.25, 0.1
CHANCE = 0.95  # of a joint's variance left: no better than its mean
_POOR_R2 = 0.5  # of a joint in motion: most of what it does is something else
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
) -> Verdict:
    """Compare an identified model with the nominal one on runs that weren't fitted.

    It fails when a test as a whole is worse than with the nominal model, or a body is physically
    inconsistent; it warns when a single joint is worse, when the estimate has warnings of its own,
    and when a joint was at its torque limit, because then the test says little of the model.

    Args:
        estimate: With its own warnings.
        comparisons: Test to (identified, nominal) error of every joint.
        saturated: Joint to share of samples at its torque limit.
    """
    reasons = list(judge_estimate(estimate).reasons)
    before = len(reasons)
    for test, (identified, nominal) in comparisons.items():
        mine, theirs = total(identified), total(nominal)
        if not mine < theirs:
            reasons.append(
                failure("worse-than-nominal", test=test, identified=mine, nominal=theirs)
            )
            continue
        worse = [joint for joint in identified if identified[joint] > nominal[joint]]
        if worse:
            reasons.append(warning("joints-no-better", test=test, joints=worse))
    stuck = [joint for joint, share in (saturated or {}).items() if share > _SATURATED]
    if stuck:
        reasons.append(warning("torque-limit", joints=stuck))
    if comparisons and len(reasons) == before:
        reasons.append(held("better-than-nominal"))
    return Verdict(tuple(reasons))


def judge_estimate(estimate: Estimate) -> Verdict:
    """What an estimate says of itself: finite, physically consistent, excited.

    The least that live estimates must pass before anything uses them.

    Args:
        estimate: Estimate of an arm or a payload.
    """
    return Verdict(estimate.certify() or (held("estimate-sound"),))


def judge_identification(
    identification: Identification,
    training: Sequence[Prediction],
    validation: Sequence[Prediction],
    examination: Examination,
    spread: PredictionSpread | None = None,
) -> Verdict:
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
    verdict = examination.verdict + judge_estimate(identification.estimate) + fitted
    verdict += _judge_followers(identification)
    if isinstance(identification.model, DrivenRobot):
        verdict += _judge_joints([*training, *validation])
    urdf, free = examination.shares
    left = unexplained(training)
    possible = max(4.0 * free, 2.0 * urdf)
    if left > possible + _MEASURABLE:
        say = failure if left > possible + _CONTRADICTION else warning
        verdict += (say("fit-contradicted", left=left, urdf=urdf, free=free),)
    verdict += judge_spread(spread)
    if validation:
        return verdict + judge_predictions(validation, "runs that weren't fitted", left)
    return verdict + (not_judged("unseen-missing"),)


def _judge_followers(identification: Identification) -> tuple[Reason, ...]:
    """Joints that follow others are fitted as if they were driven on their own."""
    followers = [f"{m.joint} ({m.leader})" for m in mimic_joints(identification.model)]
    return (warning("followers", joints=followers),) if followers else ()


def _judge_joints(predictions: Sequence[Prediction]) -> tuple[Reason, ...]:
    """Joints of which less than half of the torques' variance is explained, run by run."""
    reasons = []
    for p in predictions:
        joints = p.joints_below(p.band_hz) if p.motion.any() else {}
        poor = {joint: s["r2"] for joint, s in joints.items() if s["r2"] < _POOR_R2}
        if poor:
            say = failure if min(poor.values()) <= 1.0 - CHANCE else warning
            shown = {"joints": list(poor), "r2": list(poor.values())}
            reasons.append(say("joint-unexplained", which=p.source, **shown))
    return tuple(reasons)


def judge_spread(spread: PredictionSpread | None) -> Verdict:
    """Judge whether the fitted recordings determine the torques of other motions.

    Args:
        spread: Spread of the predictions of typical motion; None: not known.
    """
    if spread is None:
        return Verdict((not_judged("spread-unknown"),))
    numbers = {"spread": spread.spread, "relative": spread.relative}
    if not (spread.spread > WARN_SPREAD and spread.relative > _NEGLIGIBLE):
        return Verdict((held("spread-small", **numbers),))
    say = failure if spread.relative**2 > FAIL_SHARE else warning  # so much is no model
    return Verdict((say("spread-large", worst=spread.worst, **numbers),))


def judge_predictions(
    predictions: Sequence[Prediction], which: str, fitted: float | None = None
) -> Verdict:
    """Judge how well efforts are predicted.

    Args:
        predictions: Predictions of some runs; those at rest say nothing and are left out.
        which: What the runs are called.
        fitted: Share of variance left in the runs that were fitted, to compare with.
    """
    left = unexplained(predictions)
    if not np.isfinite(left):
        moving = any(p.motion.any() for p in predictions)
        reason = failure("prediction-not-finite", which=which)
        return Verdict((reason if moving else not_judged("runs-at-rest", which=which),))
    reasons = []
    if left > FAIL_SHARE:
        reasons.append(failure("prediction-poor", left=left, which=which, limit=FAIL_SHARE))
    elif left > WARN_SHARE:
        reasons.append(warning("prediction-weak", left=left, which=which))
    if fitted is not None and left > _MEASURABLE:
        ratio = left / max(fitted, _MEASURABLE / DISAGREEMENT)
        if ratio > 0.5 * DISAGREEMENT:
            say = failure if ratio > DISAGREEMENT else warning
            reasons.append(
                say("prediction-differs", left=left, which=which, ratio=ratio, fitted=fitted)
            )
    return Verdict(tuple(reasons or [held("prediction-good", left=left, which=which)]))


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
