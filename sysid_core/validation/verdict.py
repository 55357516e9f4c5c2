# SPDX-License-Identifier: Apache-2.0
"""Verdict on the use of an identified model: pass, warn or fail, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sysid_core.diagnosis import FAIL_SHARE, Examination
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import (
    ArmLags,
    Identification,
    JointDelay,
    PredictionSpread,
    TorqueDelay,
)
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import RobotModel
from sysid_core.validation.prediction import Prediction

WARN_SHARE = 0.1  # of the efforts' variance, below the fit's cut-off, all joints together
_MEASURABLE = 0.02  # less is no evidence against a model
_NEGLIGIBLE = 0.01  # of the efforts: predictions that differ by less are the same to any user
WARN_SPREAD = 1.2  # of predictions, in residuals (docs/verdicts.md)
UNSEEN = "held-out recordings"
DISAGREEMENT = 1.0 / FAIL_SHARE  # variance of the residual in unseen runs over that in fitted ones


def judge_estimate(estimate: Estimate) -> Verdict:
    """Return a verdict on an estimate without predictions: finite values, physical consistency,
    excitation.

    Live estimates must pass these checks before they are used.

    Args:
        estimate: Estimate of an arm or a payload.
    """
    return Verdict(estimate.certify() or (Reason.held("estimate-sound"),))


def judge_identification(
    identification: Identification,
    training: Sequence[Prediction],
    validation: Sequence[Prediction],
    examination: Examination,
    spread: PredictionSpread | None = None,
    lags: ArmLags | None = None,
) -> Verdict:
    """Return a verdict on an identified arm from its data, its fit and its predictions, for all
    joints together and for each joint.

    The limits depend on the data: the error is compared with those of three references, namely the
    mean effort, the URDF's masses with friction, and freely estimated masses (as found by
    `examine`).

    Args:
        identification: The identified robot.
        training: Predictions of the fitted recordings.
        validation: Predictions of other recordings.
        examination: Examination of the fitted recordings.
        spread: Scatter of the predictions of a typical motion; None: unknown.
        lags: Delays of the efforts; None: not estimated.
    """
    fitted = judge_predictions(training, "the fitted recordings")
    verdict = examination.verdict + judge_estimate(identification.estimate) + fitted
    verdict += _judge_followers(identification)
    verdict += _judge_efforts(identification, training, examination)
    # Friction holds a joint at rest with any torque: what it is says nothing about the model.
    moved = {
        name for name, yes in zip(examination.joint_names, examination.used, strict=True) if yes
    }
    verdict += _judge_joints(training, "the fitted recordings", Reason.failure, moved)
    if lags is not None:
        # The delay of one joint is estimated as if everything else were as declared.
        told = not examination.ranked or examination.declared > 0.5  # the likelier of two
        verdict += _judge_lags(identification, lags.common, lags.joints if told else ())
    urdf, free = examination.shares
    left = Prediction.unexplained(training)
    possible = max(4.0 * free, 2.0 * urdf)
    if left > possible + _MEASURABLE:
        verdict += (Reason.warning("fit-contradicted", left=left, urdf=urdf, free=free),)
    verdict += judge_spread(spread)
    if validation:
        verdict += _judge_joints(validation, UNSEEN, Reason.warning, moved)
        return verdict + judge_predictions(validation, UNSEEN, left)
    if not np.isfinite(left):
        return verdict + (Reason.missing("nothing-predicted"),)
    return verdict + (Reason.not_judged("unseen-missing"),)


def _judge_followers(identification: Identification) -> tuple[Reason, ...]:
    """Warning about joints that follow other joints but are fitted as if they were driven
    independently.
    """
    followers = [f"{m.joint} ({m.leader})" for m in identification.model.mimic_joints]
    return (Reason.warning("followers", joints=followers),) if followers else ()


def _judge_efforts(
    identification: Identification, predictions: Sequence[Prediction], examination: Examination
) -> tuple[Reason, ...]:
    """Comparison of the measured torques with the effort limits of the robot description.

    Torques beyond a limit mean that the unit, a gain or the limit itself is wrong. The result is a
    failure if the RMS of the torques exceeds the limit. It is only a warning if the peak torque
    alone exceeds the limit, or if the weight of the robot as described already exceeds a limit:
    such limits are not those of joint torques (perhaps of torques on the motor side of the gears).
    """
    model, gains = identification.model, identification.friction.drives.gains
    limits = np.where(model.effort_limits > 0.0, model.effort_limits, np.inf)
    peak, size = np.zeros((2, model.nv))
    for p in predictions:
        if not p.motion.any():
            continue
        torque = np.abs(p.measured[p.motion] * gains)
        peak = np.fmax(peak, torque.max(axis=0))
        size = np.fmax(size, np.sqrt(np.mean(torque**2, axis=0)))
    beyond = np.flatnonzero(peak > limits)
    if not beyond.size:
        return ()
    meant = bool((_most_weight(model, examination) <= limits).all())
    fails = (size[beyond] > limits[beyond]) & meant
    reasons = []
    for say, joints in ((Reason.failure, beyond[fails]), (Reason.warning, beyond[~fails])):
        if joints.size:
            names = [model.joint_names[j] for j in joints]
            numbers = {"peak": peak[joints], "size": size[joints], "limit": limits[joints]}
            reasons.append(say("efforts-beyond-limit", joints=names, **numbers))
    return tuple(reasons)


def _most_weight(model: RobotModel, examination: Examination) -> NDArray[np.float64]:
    """Largest gravity torques of the robot as described, over the recorded postures and its home
    posture, shape (n,).
    """
    q = model.home[None]
    if examination.samples is not None:
        q = np.concatenate([q, examination.samples.q])
    rest = np.zeros((len(q), model.nv))
    return np.asarray(np.abs(model.inverse_dynamics(q, rest, rest)).max(axis=0))


def _judge_joints(
    predictions: Sequence[Prediction], which: str, say: Callable[..., Reason], moved: set[str]
) -> tuple[Reason, ...]:
    """Reasons for joints that moved in the fitted runs and whose mean effort predicts all runs
    better than the model does.
    """
    left: dict[str, float] = {}
    spread: dict[str, float] = {}
    for p in predictions:
        for joint, stats in p.joints_below(p.band_hz).items() if p.motion.any() else ():
            if joint in moved and np.isfinite(stats["r2"]):
                squares, count = stats["rms"] ** 2, float(np.sum(p.motion))
                left[joint] = left.get(joint, 0.0) + count * squares
                variance = squares / max(1.0 - stats["r2"], 1e-12)
                spread[joint] = spread.get(joint, 0.0) + count * variance
    r2 = {joint: 1.0 - left[joint] / spread[joint] for joint in left if left[joint] > 0.0}
    poor = {joint: value for joint, value in r2.items() if value < 0.0}
    if not poor:
        return ()
    return (say("joint-unexplained", which=which, joints=list(poor), r2=list(poor.values())),)


def _judge_lags(
    identification: Identification, common: TorqueDelay, joints: Sequence[JointDelay]
) -> tuple[Reason, ...]:
    """Reasons for delayed efforts, of all joints or of one."""
    corrected = identification.processing.delay
    reasons: tuple[Reason, ...] = ()
    if common.worth_correcting:
        numbers = {"ms": 1e3 * common.seconds, "sd": 1e3 * common.sd}
        if not corrected:
            reasons += (Reason.warning("efforts-late", **numbers),)
        else:
            late = JointDelay("all", abs(common.seconds), common.sd).late
            reasons += (
                (Reason.warning if late else Reason.held)("efforts-late-corrected", **numbers),
            )
    for lag in joints:
        if lag.late:
            numbers = {"ms": 1e3 * lag.seconds, "sd": 1e3 * lag.sd}
            reasons += (Reason.warning("joint-late", joint=lag.joint, **numbers),)
    return reasons


def judge_spread(spread: PredictionSpread | None) -> Verdict:
    """Return a verdict on whether the fitted recordings determine the torques of other motions.

    Args:
        spread: Scatter of the predictions of a typical motion; None: unknown.
    """
    if spread is None:
        return Verdict((Reason.not_judged("spread-unknown"),))
    numbers = {"spread": spread.spread, "relative": spread.relative}
    if not (spread.spread > WARN_SPREAD and spread.relative > _NEGLIGIBLE):
        return Verdict((Reason.held("spread-small", **numbers),))
    say = (
        Reason.failure if spread.relative**2 > FAIL_SHARE else Reason.warning
    )  # so much is no model
    return Verdict((say("spread-large", worst=spread.worst, **numbers),))


def judge_predictions(
    predictions: Sequence[Prediction], which: str, fitted: float | None = None
) -> Verdict:
    """Return a verdict on the accuracy of the predicted efforts.

    Args:
        predictions: Predictions of recordings; those at standstill are omitted.
        which: Name of the group of recordings, for the message.
        fitted: Unexplained share of variance in the fitted recordings, for comparison; None: none.
    """
    left = Prediction.unexplained(predictions)
    if not np.isfinite(left):
        moving = any(p.motion.any() for p in predictions)
        reason = Reason.failure("prediction-not-finite", which=which)
        return Verdict((reason if moving else Reason.not_judged("runs-at-rest", which=which),))
    reasons = []
    if left > FAIL_SHARE:
        reasons.append(Reason.failure("prediction-poor", left=left, which=which, limit=FAIL_SHARE))
    elif left > WARN_SHARE:
        reasons.append(Reason.warning("prediction-weak", left=left, which=which))
    if fitted is not None and left > _MEASURABLE:
        ratio = left / max(fitted, _MEASURABLE / DISAGREEMENT)
        if ratio > 0.5 * DISAGREEMENT:
            say = Reason.failure if ratio > DISAGREEMENT else Reason.warning
            reasons.append(
                say("prediction-differs", left=left, which=which, ratio=ratio, fitted=fitted)
            )
    return Verdict(tuple(reasons or [Reason.held("prediction-good", left=left, which=which)]))
