# SPDX-License-Identifier: Apache-2.0
"""Identification of the servos of all joints together: drives of the same type improve each other's
estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sysid_core.servos.bodies import Array
from sysid_core.servos.choose import JointData, choose_terms, drive_weights, rms
from sysid_core.servos.fit import (
    COMMON,
    JointFit,
    JointMotion,
    Prior,
    at_bound,
    block_covariance,
    errors,
)
from sysid_core.servos.gravity import Witness
from sysid_core.servos.model import TERMS, JointServo, Term

# What isn't the drive's alone: the URDF's masses and what the robot leans on, and the assembly.
_OWN = (Term.COMPLIANCE, Term.ZERO)
# Fewer drives say nothing of how far drives of a robot differ.
_FEWEST_DRIVES = 3
# Relative deviation between a gain that was set with the URDF's masses and what gravity shows of both:
# torque constants and masses of links with cables differ by about as much from their data sheets.
_GAIN = 0.2
_ANY_ZERO = Prior(0.0, np.pi)  # [rad] shows one that is wrong


@dataclass(frozen=True)
class JointResult:
    """Result of the identification of one joint's servo.

    Attributes:
        servo: Model of the servo.
        held_out: RMS error on time blocks that were not fitted [rad].
        baseline: RMS difference of position and command on the same samples [rad].
        free_zero: Encoder zero if any angle is permitted, and its standard deviation [rad].
        witness: Fit of the servo; None if it cannot be fitted.
    """

    servo: JointServo
    held_out: float
    baseline: float
    free_zero: tuple[float, float]
    witness: Witness | None = field(default=None, repr=False, compare=False)


def known_gain(gain: float) -> Mapping[Term, Prior]:
    """Priors of the parameters of a drive whose stiffness is known."""
    return {**COMMON, Term.COMPLIANCE: Prior(1.0 / gain, _GAIN / gain)}


def dead_joint(joint: str, motions: list[JointMotion]) -> JointResult:
    """Return the result of a joint that cannot be identified: a servo without terms."""
    baseline = _baseline(motions)
    return JointResult(JointServo(joint), baseline, baseline, (0.0, 0.0))


def _baseline(motions: Sequence[JointMotion]) -> float:
    return rms(np.concatenate([np.interp(m.t, m.t_target, m.target) - m.q for m in motions]))


def identify_drives(
    moved: Mapping[str, JointData],
    resting: Mapping[str, JointData],
    progress: Callable[[str], None],
) -> dict[str, JointResult]:
    """Select the terms, fit the values of each drive, and fit them again with a prior from the
    values of all drives.
    """
    drives = list(moved.values())
    chosen, squares = choose_terms([drive.beginning for drive in drives], progress)
    progress("fitting the servos")
    weights = drive_weights(drives, chosen)
    fits = [_best_start(d, f, w) for d, f, w in zip(drives, chosen, weights, strict=True)]
    # The simplest model left errors that persist; what these fits leave are more independent data.
    drives = [replace(d, explained=f) for d, f in zip(drives, fits, strict=True)]
    deviations = [
        {t: sd for t, sd in _deviations(d, f, w).items() if d.shows(f, t)}
        for d, f, w in zip(drives, fits, weights, strict=True)
    ]
    priors = _kin(fits, deviations)
    out = {}
    for joint, drive, fit, square, w in zip(moved, drives, fits, squares, weights, strict=True):
        # From a bound, where its change may show nothing, a term begins at what the others have.
        start = {t: priors[t].mean if t in priors and at_bound(fit, t) else x
                 for t, x in fit.values.items() if t in priors or drive.shows(fit, t)}  # fmt: skip
        last = drive.fit(start, w, fine=True, priors=priors)
        sd = _deviations(drive, last, w)
        zero = _free_zero(drive.beginning, last, priors)
        out[joint] = _result(drive, last, sd, float(np.sqrt(square)), zero, joint)
    terms = {term for result in out.values() for term in result.servo.values}
    return out | {joint: _at_rest(d, terms, priors, joint) for joint, d in resting.items()}


def _at_rest(
    drive: JointData, terms: Collection[Term], kin: Mapping[Term, Prior], joint: str
) -> JointResult:
    """Servo of a joint that was never commanded to move: mean parameters of the other servos, and
    the compliance that explains its deflection under gravity.
    """
    priors = {**drive.priors, **kin}
    felt = (Term.COMPLIANCE, Term.LOAD_FRICTION)
    start = dict(drive.start)
    for term in terms:
        if term not in felt or (term is Term.LOAD_FRICTION and drive.feels_gravity):
            start[term] = priors[term].mean
    fit = drive.fit(start, priors=priors)
    sd = _deviations(drive, fit)
    held = rms(errors(drive.motions, fit.vector))
    return replace(_result(drive, fit, sd, held, (0.0, 0.0), joint), witness=None)


def _best_start(drive: JointData, chosen: JointFit, weights: Array) -> JointFit:
    """The more likely of two fits: one starts from the values at the end of the selection of terms,
    the other from usual values.

    Terms are selected one after another. The values of early terms, which first had to replace the
    later ones, may not return to their best values.
    """
    starts = chosen.values, drive.usual(chosen.values)
    fits = [drive.fit(start, weights) for start in starts]
    return min(fits, key=lambda fit: fit.sum_of_squares)


def _free_zero(
    drive: JointData, fit: JointFit, priors: Mapping[Term, Prior]
) -> tuple[float, float]:
    """Zero of a joint if any angle is possible, and its standard deviation: the more likely of two
    searches.

    The gravity term may have compensated for a wrong zero; the second search therefore starts from
    the usual stiffness and the median difference between command and position.
    """
    off = np.median(
        np.concatenate([np.interp(m.t, m.t_target, m.target) - m.q for m in drive.motions])
    )
    stiffness = {Term.COMPLIANCE: drive.priors[Term.COMPLIANCE].mean}
    usual = {**fit.values, **stiffness, Term.ZERO: float(off)}
    starts = (fit.values, usual)
    free = {**priors, Term.ZERO: _ANY_ZERO}
    fits = [drive.fit(start, trial=True, priors=free) for start in starts]
    best = min(fits, key=lambda found: found.cost)
    return best.values[Term.ZERO], _deviations(drive, best)[Term.ZERO]


def _result(
    drive: JointData,
    fit: JointFit,
    sd: dict[Term, float],
    held: float,
    zero: tuple[float, float],
    joint: str,
) -> JointResult:
    motions = drive.motions
    loads = [np.abs(m.loads.gravity(m.q[:, None])[:, m.joint]) for m in motions]
    servo = JointServo(joint, fit.values, sd, float(np.mean(np.concatenate(loads))))
    witness = Witness(motions, fit, drive.data)
    return JointResult(servo, held, _baseline(motions), zero, witness)


def _deviations(drive: JointData, fit: JointFit, weights: Array | None = None) -> dict[Term, float]:
    terms, covariance = block_covariance(drive.motions, fit, weights)
    return dict(zip(terms, map(float, np.sqrt(np.diag(covariance))), strict=True))


def _kin(fits: Sequence[JointFit], deviations: Sequence[Mapping[Term, float]]) -> dict[Term, Prior]:
    """Mean values of the parameters of a robot's drives, and their standard deviations between
    drives.

    They are the random-effects mean and variance of DerSimonian and Laird (1986). Drives of the
    same type, bus and firmware differ little, so that the data of each drive also improve the
    estimates of the others. If the drives differ, the estimates hardly influence each other. Errors
    of the model are common to all drives, so that their mean is known no better than one drive's.
    """
    priors = {}
    for term in TERMS:
        found = [(f.values[term], sd[term]) for f, sd in zip(fits, deviations, strict=True)
                 if term in sd and sd[term] > 0.0]  # fmt: skip
        if len(found) < _FEWEST_DRIVES or term in _OWN:
            continue
        x, variance = np.array(found).T ** np.array([[1.0], [2.0]])
        w = 1.0 / variance
        mean = w @ x / w.sum()
        excess = float(w @ (x - mean) ** 2) - (len(x) - 1)
        between = max(excess / float(w.sum() - (w @ w) / w.sum()), 0.0)
        w = 1.0 / (variance + between)
        deviation = np.sqrt(between + len(x) / w.sum())
        if deviation < TERMS[term].spread:
            priors[term] = Prior(float(w @ x / w.sum()), float(deviation))
    return priors
