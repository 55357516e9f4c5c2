# SPDX-License-Identifier: Apache-2.0
"""The fault of data or description that explains the torques far better than none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from sysid_core.diagnosis.gravity import GravityEstimate, estimate_gravity, nominal_tilt
from sysid_core.diagnosis.hypotheses import (
    STEP,
    Fault,
    Hypothesis,
    candidates,
    other_gravity,
    zero_angle,
)
from sysid_core.diagnosis.samples import Samples
from sysid_core.diagnosis.scale_hypotheses import (
    CLOCK_FACTORS,
    clock_fault,
    gain_fault,
    gain_faults,
)
from sysid_core.diagnosis.scores import free_unexplained, joined, nominal_fit
from sysid_core.errors import ModelError
from sysid_core.reasons import Reason, failure
from sysid_core.robot import Array

GAIN = 0.5  # nats that a fault must explain, the sum of both scores' logarithms
MOUNTING_GAIN = 0.3  # the same for a gravity whose direction is measured to be another
# The same for orders, where masses explain at all: on right data no order does (docs/verdicts.md).
ORDER_GAIN = 0.08
ONE_GAIN = 0.33  # the same for one joint's gain, which only free masses see
CLOCK = 0.25  # the same for the clock
_CONSIDERED = 0.1  # nats of the URDF's score that make the slower one worth trying
_ORDERS = (Fault.EFFORT_ORDER, Fault.POSITION_ORDER, Fault.JOINT_ORDER)
_TRIED = 30  # of them, the likeliest
_FLOOR = 3e-3  # share of variance: less is no evidence against a description
FAIL_SHARE, WARN_SHARE = 0.25, 0.1  # of variance left by free masses, all joints together


@dataclass(frozen=True)
class Finding:
    """A fault that the data show.

    Attributes:
        hypothesis: What is wrong.
        before: Share of the torques' variance unexplained without it: by the URDF's masses and by
            free ones, geometric means over joints.
        after: The same with it.
    """

    hypothesis: Hypothesis
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def gain(self) -> float:
        """How much it explains: the sum of both scores' logarithms [nats]."""
        return float(np.sum(np.log(self.before) - np.log(self.after)))

    @property
    def reason(self) -> Reason:
        """The reason with its evidence."""
        evidence = dict(
            zip(
                ("urdf_before", "free_before", "urdf_after", "free_after"),
                (*self.before, *self.after),
                strict=True,
            )
        )
        return failure(self.hypothesis.code, **self.hypothesis.data, **evidence)


def best_fault(samples: Samples) -> tuple[Finding | None, GravityEstimate | None]:
    """The fault that explains most, if any explains enough."""
    nominal, free = _nominal_score(samples), _free_score(samples)
    scored = [(_nominal_score(h.mend(samples)), h) for h in candidates(samples)]
    scored.sort(key=lambda t: t[0])
    tried = [t for t in scored if nominal - t[0] > _considered(t[1])][:_TRIED]
    gravity = None
    weighs = bool(np.any(samples.model.gravity))
    suspicious = min(nominal, free) > np.log(0.1)
    if weighs and (suspicious or nominal_tilt(samples) > np.radians(2.0)):
        gravity = estimate_gravity(samples)
        mounting = other_gravity(gravity.gravity)
        tried.insert(0, (_nominal_score(mounting.mend(samples)), mounting))
    if not tried and free > np.log(0.05):
        tried = scored  # masses that explain nothing can't choose
    best, best_gain = None, 0.0
    for score, hypothesis in tried:
        after = _free_score(hypothesis.mend(samples))
        gain = nominal - score + free - after
        least = ORDER_GAIN if hypothesis.kind in _ORDERS and free < np.log(FAIL_SHARE) else GAIN
        if hypothesis.kind is Fault.MOUNTING and gravity is not None and gravity.differs:
            least = MOUNTING_GAIN
        # A mounting explains what the zero or sign of the first joint would, too: it is likelier.
        if gain > max(least, 1.05 * best_gain):
            best_gain = gain
            best = Finding(
                hypothesis,
                (float(np.exp(nominal)), float(np.exp(free))),
                (float(np.exp(score)), float(np.exp(after))),
            )
    return _refined(best, samples), gravity


def _considered(hypothesis: Hypothesis) -> float:
    return 0.5 * ORDER_GAIN if hypothesis.kind in _ORDERS else _CONSIDERED


def wrong_scale(samples: Samples, *, gains_known: bool = True) -> Finding | None:
    """One joint's gain, or the clock, that free masses contradict, if any.

    Args:
        samples: With the faults mended that were found.
        gains_known: False where gains are to be found: only the clock is looked at.
    """
    free = _free_score(samples)
    if free > np.log(FAIL_SHARE):
        return None  # masses that explain nothing can't tell
    tried = [(clock_fault(factor), CLOCK) for factor in CLOCK_FACTORS]
    tried += [(fault, ONE_GAIN) for fault in gain_faults(samples) if gains_known]
    scored = [(_free_score(h.mend(samples)), h) for h, least in tried]
    explained = [
        (free - after - least, after, h)
        for (after, h), (_, least) in zip(scored, tried, strict=True)
        if free - after > least
    ]
    if not explained:
        return None
    _, after, best = max(explained, key=lambda t: t[0])
    nominal = float(np.exp(_nominal_score(samples)))
    before = (nominal, float(np.exp(free)))
    return _refined(Finding(best, before, (nominal, float(np.exp(after)))), samples)


def _refined(found: Finding | None, samples: Samples) -> Finding | None:
    """A zero angle to the degree, a factor to some per cent."""
    if found is None or found.hypothesis.kind not in (Fault.ZERO_ANGLE, Fault.GAIN, Fault.CLOCK):
        return found
    hypothesis, names = found.hypothesis, samples.model.joint_names
    angle = hypothesis.kind is Fault.ZERO_ANGLE

    def mended(x: float) -> Hypothesis:
        if hypothesis.joint is None:
            return clock_fault(float(np.exp(x)))
        if angle:
            return zero_angle(names, hypothesis.joint, x)
        return gain_fault(names, hypothesis.joint, float(np.exp(x)))

    def score(x: float) -> float:
        there = mended(x).mend(samples)
        return _nominal_score(there) + _free_score(there)

    middle, reach = (hypothesis.amount, STEP) if angle else (float(np.log(hypothesis.amount)), 0.7)
    best = minimize_scalar(
        score,
        bounds=(middle - reach, middle + reach),
        method="bounded",
        options={"xatol": 2e-3 if angle else 0.03},
    )
    finest = mended(float(best.x))
    there = finest.mend(samples)
    after = (float(np.exp(_nominal_score(there))), float(np.exp(_free_score(there))))
    return replace(found, hypothesis=finest, after=after)


def _nominal_score(samples: Samples) -> float:
    try:
        return _log(nominal_fit(samples).unexplained_signed)
    except ModelError:  # so understood, loops don't close: that explains nothing
        return 0.0


def _free_score(samples: Samples) -> float:
    try:
        return _log(free_unexplained(samples))
    except ModelError:
        return 0.0


def _log(unexplained: Array) -> float:
    return float(np.log(joined(np.clip(unexplained, _FLOOR, 1.0))))
