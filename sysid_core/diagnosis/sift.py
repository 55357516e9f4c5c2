# SPDX-License-Identifier: Apache-2.0
"""Evidence of hypotheses about samples: exact, or fast and approximate on few samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from sysid_core.diagnosis.evidence import Evidence, evidence
from sysid_core.diagnosis.hypotheses import (
    CLOCKS,
    STEP,
    Fault,
    Hypothesis,
    clock_fault,
    gain_fault,
    mass_fault,
    scale_fault,
    zero_angle,
)
from sysid_core.diagnosis.motion import ANGLE, OFF, Motion
from sysid_core.diagnosis.samples import Samples
from sysid_core.errors import ModelError

SIZED = ("gain", "zero-angle", "stamps")  # codes of faults whose size few samples don't tell


def evidence_of(
    samples: Samples,
    hypothesis: Hypothesis,
    motion: Motion | None = None,
    *,
    thorough: bool = True,
    exact: bool = False,
) -> Evidence | None:
    """Evidence of a hypothesis about samples, whose regressor is computed if `motion` is None. The
    result is None if the loops do not close under the hypothesis.
    """
    try:
        there = hypothesis.mend(samples)
        moved = there.q is not samples.q or there.a is not samples.a
        return evidence(
            there,
            tool=hypothesis.tool,
            since=hypothesis.amount if hypothesis.kind is Fault.TOOL_CHANGE else 0.0,
            mute=hypothesis.mute,
            thorough=thorough,
            exact=exact,
            motion=None if moved or there.model is not samples.model else motion,
        )
    except (ModelError, np.linalg.LinAlgError):  # so understood, loops don't close
        return None


class Sift:
    """Fast approximate evaluation of hypotheses on few samples, which selects those for the exact
    evaluation.

    A common factor of all torques is evaluated exactly, because otherwise errors of single links
    would each explain a part of it. Whether this factor belongs to the efforts or to the masses
    makes no difference to the data.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples, self.motion = samples, Motion(samples)
        self.of_factor: dict[float, Evidence | None] = {}

    def evidence(self, hypothesis: Hypothesis) -> Evidence | None:
        """Evidence of a hypothesis on these samples."""
        if hypothesis.kind not in (Fault.EFFORT_UNIT, Fault.MASSES):
            return evidence_of(self.samples, hypothesis, self.motion, thorough=False)
        factor = hypothesis.amount
        if factor not in self.of_factor:
            self.of_factor[factor] = evidence_of(
                self.samples, scale_fault(factor), self.motion, exact=True
            )
        return self.of_factor[factor]

    def log(self, hypothesis: Hypothesis) -> float:
        """Logarithm of the evidence of a hypothesis on these samples; -inf if loops do not close."""
        return log_of(self.evidence(hypothesis))

    def refined(self, hypothesis: Hypothesis) -> Hypothesis:
        """Hypothesis whose size is refined by these samples."""
        return refined(self.samples, hypothesis, self.log)


def log_of(found: Evidence | None) -> float:
    """Return the logarithm of the evidence; -inf if loops do not close."""
    return -np.inf if found is None else found.log


def refined(
    samples: Samples, hypothesis: Hypothesis, log: Callable[[Hypothesis], float]
) -> Hypothesis:
    """Hypothesis whose size is refined to one degree (angle) or some per cent (factor), but stays
    larger than the errors that every arm has.
    """
    names, share = samples.model.joint_names, hypothesis.share
    kind, joint = hypothesis.kind, hypothesis.joint
    angle = kind is Fault.ZERO_ANGLE
    if hypothesis.code not in (*SIZED, "effort-scale", "urdf-masses"):
        return hypothesis

    def mended(x: float) -> Hypothesis:
        if kind is Fault.MASSES:
            return mass_fault(samples.model, float(np.exp(x)))
        if angle or kind is Fault.GAIN:
            assert joint is not None
            found = zero_angle(names, joint, x) if angle else gain_fault(names, joint, np.exp(x))
        else:
            found = (clock_fault if kind is Fault.CLOCK else scale_fault)(float(np.exp(x)))
        return replace(found, share=share)

    middle = hypothesis.amount if angle else float(np.log(hypothesis.amount))
    reach = STEP if angle else 0.7
    low, high = middle - reach, middle + reach
    if hypothesis.code in SIZED:  # less than twice what every arm is off by is as declared
        least = 2.0 * (ANGLE if angle else OFF)
        low, high = (max(low, least), high) if middle > 0.0 else (low, min(high, -least))
    if kind is Fault.CLOCK:
        low, high = np.clip((low, high), np.log(min(CLOCKS)), np.log(max(CLOCKS)))
    best = minimize_scalar(
        lambda x: -log(mended(x)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 5e-3 if angle else 0.03},
    )
    return mended(float(best.x))
