# SPDX-License-Identifier: Apache-2.0
"""Identification of all servos of a robot, their terms chosen on blocks of time kept out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array, BodyTree
from sysid_core.servos.examine import Finding, examine, examine_fit
from sysid_core.servos.fit import (
    BLOCK,
    JointFit,
    JointMotion,
    block_covariance,
    errors,
    solve_joint,
)
from sysid_core.servos.model import TERMS, JointServo, ServoModel, Term, body_tree
from sysid_core.servos.recording import ServoRecording, match_joints

BASE = (Term.TIME_CONSTANT, Term.FRICTION, Term.ZERO, Term.DELAY)
# What may be added, in groups that mean something only together.
CHOICES: tuple[tuple[Term, ...], ...] = (
    (Term.INVERSE_ACCELERATION,),
    (Term.INVERSE_SPEED,),
    (Term.LOAD_FRICTION,),
    (Term.BREAKAWAY, Term.BREAKAWAY_SPEED),
    (Term.INERTIA,),
    (Term.INVERSE_LIMIT,),
    (Term.BACKLASH,),
)


_SURE = 2.0  # deviations: one group in forty is added by chance
_ROUNDING = 0.00044  # [rad] of a 12-bit encoder, 2π/4096/√12: smaller errors aren't told apart
_GRAVITY = (
    0.02  # [N m] of gravity's range, below which no stiffness shows: a tenth of such friction
)


@dataclass(frozen=True)
class JointResult:
    """What was found of one joint.

    Attributes:
        servo: Its model.
        held_out: Error on blocks that were kept out of the fit, root mean square [rad].
        baseline: Of "the position is the command" on the same [rad].
        free_zero: The zero where it may be any angle [rad].
    """

    servo: JointServo
    held_out: float
    baseline: float
    free_zero: float


@dataclass(frozen=True)
class ServoIdentification:
    """Servos of a robot and how far they can be trusted.

    Attributes:
        model: The simulator.
        joints: What was found of each joint.
        findings: What speaks against the recordings or the result.
        motions: Names of what was fitted.
        seconds: Recorded time [s].
        notes: What was assumed.
    """

    model: ServoModel
    joints: tuple[JointResult, ...]
    findings: tuple[Finding, ...]
    motions: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...]

    @property
    def fit_for_use(self) -> bool:
        """Whether no finding is a failure."""
        return not any(finding.reason.fails for finding in self.findings)


def identify_servos(
    recordings: Sequence[ServoRecording],
    robot: RobotModel,
    *,
    gains: Mapping[str, float] | None = None,
) -> ServoIdentification:
    """Identify the servos of all joints that are recorded.

    Args:
        recordings: One or more motions of the same joints.
        robot: The robot that they move.
        gains: Known stiffness of joints by name [N m/rad].

    Raises:
        SignalError: The recordings' joints differ, or don't fit the robot's.
    """
    matched = [match_joints(recording, robot) for recording in recordings]
    joints = matched[0].joints
    other = [r.name for r in matched if r.joints != joints]
    if other:
        raise SignalError(
            f"The motions {other} have other joints than '{matched[0].name}'.",
            remedy="Identify them apart.",
        )
    tree = body_tree(robot, joints)
    findings = list(examine(matched, robot))
    dead = {f.joint for f in findings if f.reason.stops}
    motions = joint_motions(matched, tree)
    results = []
    for j, joint in enumerate(joints):
        known = {Term.COMPLIANCE: 1.0 / gains[joint]} if gains and joint in gains else {}
        results.append(_identify_joint(joint, motions[j], known, joint in dead))
    for result in results:
        if result.servo.joint not in dead:
            findings += examine_fit(
                result.servo, result.held_out, result.baseline, result.free_zero
            )
    model = ServoModel(robot, tuple(result.servo for result in results))
    return ServoIdentification(
        model=model,
        joints=tuple(results),
        findings=tuple(findings),
        motions=tuple(r.name for r in matched),
        seconds=float(sum(r.duration for r in matched)),
        notes=tuple(dict.fromkeys(note for r in matched for note in r.notes)),
    )


def joint_motions(recordings: Sequence[ServoRecording], tree: BodyTree) -> list[list[JointMotion]]:
    """Each joint's part of the recordings, which are in the tree's order."""
    out: list[list[JointMotion]] = [[] for _ in tree.joints]
    first = 0
    for recording in recordings:
        loads = tree.loads(recording.q)
        block = first + ((recording.t - recording.t[0]) // BLOCK).astype(int)
        first = int(block[-1]) + 1
        for j, motions in enumerate(out):
            q, target = recording.q[:, j].copy(), recording.target[:, j].copy()
            motions.append(JointMotion(recording.t, q, recording.t_target, target, loads, j, block))
    return out


def _identify_joint(
    joint: str, motions: list[JointMotion], known: dict[Term, float], dead: bool
) -> JointResult:
    baseline = rms(np.concatenate([
        np.interp(m.t, m.t_target, m.target) - m.q for m in motions
    ]))  # fmt: skip
    if dead:
        return JointResult(JointServo(joint), baseline, baseline, 0.0)
    values, held_out = choose_terms(motions, known)
    fit = solve_joint(motions, {**values, **known})
    covariance = block_covariance(motions, fit)
    sd = dict(zip(fit.values, np.sqrt(np.maximum(np.diag(covariance), 0.0)), strict=True))
    zero = fit.values[Term.ZERO]
    if abs(zero) >= TERMS[Term.ZERO].most:
        zero = solve_joint(motions, fit.values, any_zero=True).values[Term.ZERO]
    servo = JointServo(joint, fit.values, {t: float(x) for t, x in sd.items()})
    return JointResult(servo, held_out, baseline, zero)


def choose_terms(
    motions: list[JointMotion], known: dict[Term, float]
) -> tuple[dict[Term, float], float]:
    """Terms that predict blocks kept out better, and the error on those.

    Every second block is kept out of one fit and fitted by the other. A group of terms is added
    where blocks kept out are more likely with it, each block with a variance of its own (so that a
    few bad ones don't decide), by two of that gain's deviations over the blocks.

    Returns:
        The terms with the values of one half, and the root mean square on blocks kept out [rad].
    """
    blocks = np.concatenate([m.block for m in motions])
    counts = np.maximum(np.bincount(blocks), 1)
    halves = [(blocks % 2 == side).astype(float) for side in (0, 1)]

    gravity = np.concatenate([np.hypot(m.loads.a, m.loads.b)[:, m.joint] for m in motions])
    has_gravity = bool(gravity.max() > _GRAVITY)

    def solve(starts: list[dict[Term, float]]) -> list[JointFit]:
        return [solve_joint(motions, s, w, trial=True) for s, w in zip(starts, halves, strict=True)]

    def squares(fits: list[JointFit]) -> Array:
        """Mean squared error of each block by the fit that hasn't seen it."""
        total = np.zeros(len(counts))
        for fit, seen in zip(fits, halves, strict=True):
            r = errors(motions, fit.vector) * (1.0 - seen)
            total += np.bincount(blocks, r**2, minlength=len(counts))
        return total / counts

    base = [t for t in BASE if t not in known]
    if has_gravity and Term.COMPLIANCE not in known:
        base.append(Term.COMPLIANCE)
    fits = solve([{**{t: TERMS[t].start for t in base}, **known}] * 2)
    score = squares(fits)
    for group in CHOICES:
        if group == (Term.LOAD_FRICTION,) and not has_gravity:
            continue
        more = {t: TERMS[t].start for t in group}
        if group == CHOICES[0]:  # a profile explains what delay and damping had to: begin afresh
            more |= {t: TERMS[t].start for t in (Term.TIME_CONSTANT, Term.DELAY)}
        tried = solve([{**f.values, **more} for f in fits])
        new = squares(tried)
        if all(f.values[t] == more[t] for f in tried for t in group):
            continue  # the motions never reach what they describe
        gain = np.log((score + _ROUNDING**2) / (new + _ROUNDING**2))
        if gain.mean() > _SURE * gain.std() / np.sqrt(len(gain)):
            fits, score = tried, new
    return dict(fits[0].values), float(np.sqrt(score @ counts / counts.sum()))


def rms(x: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(x))))
