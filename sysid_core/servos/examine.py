# SPDX-License-Identifier: Apache-2.0
"""Checks of servo recordings, and of the servo models identified from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.reasons import Reason, Severity
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array
from sysid_core.servos.fit import TRIAL_STEP, JointMotion, errors
from sysid_core.servos.model import TERMS, JointServo, Term
from sysid_core.servos.recording import ROUNDING, ServoRecording
from sysid_core.settings import Kind


class ServoReason(Kind):
    """Codes of reasons why a servo result may be wrong."""

    SIGN = "servo-sign"
    ORDER = "servo-order"
    DEGREES = "servo-degrees"
    DEAD = "servo-dead"
    UNMOVED = "servo-unmoved"
    ZERO = "servo-zero"
    GRAVITY = "servo-gravity"
    SLACK = "servo-slack"
    REPLAY = "servo-replay"
    DIRECTION = "servo-direction"
    OFFSET = "servo-offset"
    EXCHANGED = "servo-exchanged"
    MOUNT = "servo-mount"
    MASSES = "servo-masses"
    UNTOLD = "servo-untold"
    NAMES = "servo-names"

    @property
    def fails(self) -> bool:
        """True if the finding forbids the use of the result; False if it is a warning."""
        return self not in (
            ServoReason.UNMOVED, ServoReason.UNTOLD, ServoReason.NAMES, ServoReason.MASSES,
        )  # fmt: skip

    @property
    def of_gravity(self) -> bool:
        """True if the deflections under gravity contradict the recording, so that gravity may
        reveal the fault.
        """
        return self in (ServoReason.GRAVITY, ServoReason.SLACK)

    @property
    def stops(self) -> bool:
        """True if the joint cannot be fitted."""
        return self in (ServoReason.DEAD, ServoReason.UNMOVED, ServoReason.SIGN)


@dataclass(frozen=True)
class Finding:
    """Finding in a recording: a reason, its joint, and a number that supports it.

    Attributes:
        reason: Code of the finding.
        joint: Name of the joint; "" for all.
        value: Number that supports the finding, in the unit of its reason.
        other: Name of another joint or object involved; "": none.
    """

    reason: ServoReason
    joint: str
    value: float
    other: str = ""

    @property
    def as_reason(self) -> Reason:
        """The finding as a `Reason` with its severity, for verdicts."""
        severity = Severity.FAILURE if self.reason.fails else Severity.WARNING
        return Reason(
            self.reason.value,
            severity,
            {"joint": self.joint, "value": self.value, "other": self.other},
        )

    @property
    def sentence(self) -> str:
        """Sentence of the finding with the recommended action."""
        return self.as_reason.advice


def joined(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings to be shown. If gravity does not determine the same conventions of
    several joints, their findings are combined into one.
    """
    shown: dict[object, Finding] = {}
    for k, one in enumerate(findings):
        key = one.other if one.reason is ServoReason.UNTOLD else k
        before = shown.get(key)
        joint = one.joint if before is None else f"{before.joint}, {one.joint}"
        shown[key] = replace(one, joint=joint)
    return tuple(shown.values())


# [rad] A motion below it is within the sticking band of hobby servos (0.01–0.04 rad on an SO-101).
_COMMANDED = 0.05
# Increments of a 12-bit encoder are 0.0015 rad: a servo that is off shows a few of them.
_STILL = 0.005
# Of the commanded way: less, and not as commanded, is what other joints shake a servo that is off by.
_LIMP = 0.1
# Correlation of a motion's command and position over a second of lags: 0.9 or more where a servo
# follows, and by chance below 0.5 for motions of ten or more turns.
_FOLLOWS = 0.5
# [rad] Two turns: no joint with stops goes so far, and a tenth of one in degrees does.
_FAR = 4.0 * np.pi
# [rad] Assembly on splines of 25 teeth misses by half a tooth, 0.126 rad, at most.
HALF_TOOTH = 0.126
SURE = 3.0  # standard deviations


def examine(recordings: Sequence[ServoRecording], robot: RobotModel) -> Iterator[Finding]:
    """Examine the recordings for faults before a fit; their joints must be those of the robot."""
    joints = recordings[0].joints
    moved = np.max([np.ptp(r.target, axis=0) for r in recordings], axis=0)
    went = np.max([np.ptp(r.q, axis=0) for r in recordings], axis=0)
    turning = [j not in robot.prismatic_joints for j in joints]
    for j, joint in enumerate(joints):
        far = max(max(np.abs(r.q[:, j]).max(), np.abs(r.target[:, j]).max()) for r in recordings)
        if turning[j] and far > _FAR:
            yield Finding(ServoReason.DEGREES, joint, float(far))
    follow = _correlations(recordings)
    for j, joint in enumerate(joints):
        if moved[j] < _COMMANDED:
            yield Finding(ServoReason.UNMOVED, joint, float(moved[j]))
        elif went[j] < _STILL or (went[j] < _LIMP * moved[j] and abs(follow[j, j]) < _FOLLOWS):
            yield Finding(ServoReason.DEAD, joint, float(moved[j]))
        else:
            own, best = follow[j, j], int(np.argmax(follow[:, j]))
            if best != j and own < _FOLLOWS < follow[best, j]:
                yield Finding(ServoReason.ORDER, joint, float(follow[best, j]), joints[best])
            elif own < -_FOLLOWS:
                yield Finding(ServoReason.SIGN, joint, float(own))


def _correlations(recordings: Sequence[ServoRecording]) -> Array:
    """Correlation of each command's velocity (row) with each position's velocity (column), over all
    motions.

    The velocities are averaged over a fifth of a second, and slow drifts that all joints share are
    removed.
    """
    n = recordings[0].q.shape[1]
    sums = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for r in recordings:
        grid = np.arange(r.t[0], r.t[-1], 0.1)
        if len(grid) < 10:
            continue
        q = np.stack([np.interp(grid, r.t, x) for x in r.q.T], axis=1)
        u = np.stack([np.interp(grid - 0.1, r.t_target, x) for x in r.target.T], axis=1)
        dq, du = q[2:] - q[:-2], u[2:] - u[:-2]
        for total, value in zip(sums, (du.T @ dq, (du**2).sum(0), (dq**2).sum(0)), strict=True):
            total += value
    return np.asarray(sums[0] / np.sqrt(np.outer(sums[1], sums[2]) + 1e-30))


def examine_fit(
    servo: JointServo, weight: float, held_out: float, baseline: float, zero: float, zero_sd: float
) -> Iterator[Finding]:
    """Examine a fitted servo, given the largest gravity torque in its recording, and yield the
    findings.
    """
    if abs(zero) - SURE * zero_sd > HALF_TOOTH:
        yield Finding(ServoReason.ZERO, servo.joint, zero)
    compliance = servo.values.get(Term.COMPLIANCE, 0.0)
    sd = servo.deviations.get(Term.COMPLIANCE, 0.0)
    if compliance < -SURE * sd:
        yield Finding(ServoReason.GRAVITY, servo.joint, compliance / sd if sd else -np.inf)
    usual = TERMS[Term.COMPLIANCE]
    if (sag := compliance * weight) > usual.start + SURE * usual.spread:
        yield Finding(ServoReason.SLACK, servo.joint, sag)
    if held_out > baseline:
        yield Finding(ServoReason.REPLAY, servo.joint, held_out / baseline)


Stops = tuple[float, float]  # smallest and largest position [rad]
FREE: Stops = (-np.inf, np.inf)
# [rad] Within the farthest position that was measured: what hobby servos' gears and stops yield to their
# torque, in steps of about an increment of a 12-bit encoder.
_STEP = 0.002
_TRIED = _STEP * np.arange(11)
_ANYWHERE = np.pi  # [rad] from the middle of a joint in which its stops are, each angle as likely
# A joint without a stop must not get one: positions beyond it would be lost.
_ODDS = 20.0
_SURE = 500.0  # of a likelihood's logarithm: beyond it the numbers end
_WORST = 0.95  # quantile of blocks' errors: what a model without any stop misses, too


def find_stops(motions: Sequence[JointMotion], p: Array, limits: Stops) -> Stops:
    """Return the mechanical stops of a joint, infinite where the motions show none.

    If there is a stop, it is at the farthest measured position. Each block of time has an error
    variance of its own. It contributes to the log-likelihood half the logarithm of the ratio of its
    mean squared errors without and with the stop; the usual squared error far from both ends is
    added to both. A stop is accepted if it is clearly more likely than none, with its position
    unknown; half of the prior of the position is near the limit in the robot's description.

    Args:
        motions: Motions of the joint.
        p: Parameters of its servo in the order of `TERMS`.
        limits: Smallest and largest position in the robot's description [rad].
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.maximum(np.bincount(blocks), 1)

    def squares(stops: Stops) -> Array:
        r = errors([m.within(*stops) for m in motions], p, TRIAL_STEP)
        return np.asarray(np.bincount(blocks, r**2) / counts)

    free = squares(FREE)
    ends = [max(float((side * m.q).max()) for m in motions) for side in (-1.0, 1.0)]
    # What the model misses far from both ends, where no stop can be.
    far = squares((_TRIED[-1] - ends[0], ends[1] - _TRIED[-1])) == free
    if not far.any():
        return FREE
    usual = float(np.quantile(free[far], _WORST)) + ROUNDING**2
    found = []
    for side, end, limit in zip((-1.0, 1.0), ends, limits, strict=True):
        tried = side * (end - _TRIED)
        held = [squares((x, np.inf) if side < 0 else (-np.inf, x)) for x in tried]
        likelier = np.array([0.5 * np.log((free + usual) / (x + usual)).sum() for x in held])
        near = np.abs(tried - limit) < HALF_TOOTH
        density = 0.5 / _ANYWHERE + 0.25 / HALF_TOOTH * near
        evidence = float((np.exp(np.minimum(likelier, _SURE)) * density).sum() * _STEP)
        # A stop within the measured positions follows them: the farthest that is not clearly less likely.
        nearly = likelier > likelier.max() - np.log(_ODDS)
        found.append(float(tried[np.argmax(nearly)]) if evidence > _ODDS else side * np.inf)
    return found[0], found[1]
