# SPDX-License-Identifier: Apache-2.0
"""Factors of gains and clocks that no masses agree with, as changes that would mend them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sysid_core.diagnosis.hypotheses import Fault, Hypothesis
from sysid_core.diagnosis.samples import Samples

GAIN_FACTORS = (0.2, 1.0 / 3.0, 3.0, 5.0)
CLOCK_FACTORS = (0.5, 2.0)


def gain_faults(samples: Samples) -> Iterator[Hypothesis]:
    """One joint's gain is off: the mass matrix isn't symmetric then, whatever the masses are."""
    for j in np.flatnonzero(samples.used):
        for factor in GAIN_FACTORS:
            yield gain_fault(samples.model.joint_names, int(j), factor)


def gain_fault(names: tuple[str, ...], joint: int, factor: float) -> Hypothesis:
    """The torque of a joint is `factor` times what it should be."""

    def mend(s: Samples) -> Samples:
        tau = s.tau.copy()
        tau[:, joint] /= factor
        return replace(s, tau=tau)

    return Hypothesis(
        Fault.GAIN,
        "gain",
        {"joint": names[joint], "factor": factor},
        mend,
        joint,
        factor,
    )


def clock_fault(factor: float) -> Hypothesis:
    """Stamps advance `factor` times as fast: whatever the masses are, they are weight and inertia."""
    return Hypothesis(
        Fault.CLOCK,
        "stamps",
        {"factor": factor},
        lambda s: s.scaled(rate=factor),
        amount=factor,
    )
