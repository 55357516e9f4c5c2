# SPDX-License-Identifier: Apache-2.0
"""The fault of data or description that explains the torques far better than none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from sysid_core.plausibility.gravity import GravityEstimate, estimate_gravity, nominal_tilt
from sysid_core.plausibility.hypotheses import (
    STEP,
    Fault,
    Hypothesis,
    candidates,
    gain_fault,
    gain_faults,
    other_gravity,
    zero_angle,
)
from sysid_core.plausibility.samples import Samples
from sysid_core.plausibility.scores import free_unexplained, joined, nominal_fit
from sysid_core.robot import Array

GAIN = 0.5  # nats that a fault must explain, the sum of both scores' logarithms
MOUNTING_GAIN = 0.3  # the same for a gravity whose direction is measured to be another
ONE_GAIN = 0.33  # the same for one joint's gain, which only free masses see
_CONSIDERED = 0.1  # nats of the URDF's score that make the slower one worth trying
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
    def text(self) -> str:
        """The sentence with its evidence and the remedy."""
        (urdf, free), (urdf_after, free_after) = self.before, self.after
        return (
            f"{self.hypothesis.text} Evidence: so understood, the URDF's masses leave"
            f" {100 * urdf_after:.2g} % of the torques' variance unexplained instead of"
            f" {100 * urdf:.2g} %, free masses {100 * free_after:.2g} % instead of"
            f" {100 * free:.2g} %. {self.hypothesis.remedy}"
        )


def best_fault(samples: Samples) -> tuple[Finding | None, GravityEstimate | None]:
    """The fault that explains most, if any explains enough."""
    nominal, free = _nominal_score(samples), _free_score(samples)
    scored = [(_nominal_score(h.mend(samples)), h) for h in candidates(samples)]
    scored.sort(key=lambda t: t[0])
    tried = [t for t in scored if nominal - t[0] > _CONSIDERED][:_TRIED]
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
        turned = hypothesis.kind is Fault.MOUNTING and gravity is not None and gravity.differs
        # A mounting explains what the zero or sign of the first joint would, too: it is likelier.
        if gain > max(MOUNTING_GAIN if turned else GAIN, 1.05 * best_gain):
            best_gain = gain
            best = Finding(
                hypothesis,
                (float(np.exp(nominal)), float(np.exp(free))),
                (float(np.exp(score)), float(np.exp(after))),
            )
    return _refined(best, samples), gravity


def wrong_gain(samples: Samples) -> Finding | None:
    """One joint's gain that free masses contradict, if any."""
    free = _free_score(samples)
    if free > np.log(FAIL_SHARE):
        return None  # masses that explain nothing can't tell
    scored = [(_free_score(h.mend(samples)), h) for h in gain_faults(samples)]
    after, best = min(scored, key=lambda t: t[0], default=(free, None))
    if best is None or free - after <= ONE_GAIN:
        return None
    nominal = float(np.exp(_nominal_score(samples)))
    before = (nominal, float(np.exp(free)))
    return _refined(Finding(best, before, (nominal, float(np.exp(after)))), samples)


def _refined(found: Finding | None, samples: Samples) -> Finding | None:
    """A zero angle to the degree, a gain to some per cent."""
    if found is None or found.hypothesis.joint is None:
        return found
    names, joint, coarse = (
        samples.model.joint_names,
        found.hypothesis.joint,
        found.hypothesis.amount,
    )
    gain = found.hypothesis.kind is Fault.GAIN

    def mended(x: float) -> Hypothesis:
        return gain_fault(names, joint, float(np.exp(x))) if gain else zero_angle(names, joint, x)

    def score(x: float) -> float:
        there = mended(x).mend(samples)
        return _nominal_score(there) + _free_score(there)

    middle, reach = (float(np.log(coarse)), 0.7) if gain else (coarse, STEP)
    best = minimize_scalar(
        score,
        bounds=(middle - reach, middle + reach),
        method="bounded",
        options={"xatol": 0.03 if gain else 2e-3},
    )
    hypothesis = mended(float(best.x))
    there = hypothesis.mend(samples)
    after = (float(np.exp(_nominal_score(there))), float(np.exp(_free_score(there))))
    return replace(found, hypothesis=hypothesis, after=after)


def _nominal_score(samples: Samples) -> float:
    return _log(nominal_fit(samples).unexplained_signed)


def _free_score(samples: Samples) -> float:
    return _log(free_unexplained(samples))


def _log(unexplained: Array) -> float:
    return float(np.log(joined(np.clip(unexplained, _FLOOR, 1.0))))
