# SPDX-License-Identifier: Apache-2.0
"""Hypotheses of several faults at once, built up step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from sysid_core.diagnosis.candidates import conventions, other_conventions, reversed_positions
from sysid_core.diagnosis.hypotheses import AS_DECLARED, Fault, Hypothesis, sign_fault
from sysid_core.diagnosis.samples import Samples
from sysid_core.diagnosis.sift import Sift


def composed_faults(sift: Sift, likeliest: Callable[..., Hypothesis]) -> Iterator[Hypothesis]:
    """Hypotheses of several faults: reversed positions of several joints, and recordings of another
    robot. Another robot differs in the zero position or direction of at least two joints, and
    possibly in all masses by one factor.
    """
    samples = sift.samples
    joints = [int(j) for j in np.flatnonzero(samples.used)]
    names = samples.model.joint_names
    signs = [
        sign_fault(names, some, Fault.POSITION_SIGN)
        for some in chain(combinations(joints, 1), combinations(joints, 2))
    ]
    yield from _composed(sift, [], signs, reversed_positions)
    other = [h for joint in joints for h in conventions(samples, joint)]
    starts = [likeliest(Fault.NONE, Fault.ZERO_ANGLE, Fault.JOINT_SIGN)]
    if likeliest(*Fault) is starts[0]:  # one joint's convention may stand for those of others
        rest = [h for h in other if h.joint != starts[0].joint]
        starts += [sift.refined(max(rest, key=sift.log))] if rest else []
    for first in (*starts, likeliest(Fault.NONE, Fault.MASSES)):
        if first.kind is not Fault.NONE:
            robots = _composed(sift, [first], other, other_conventions)
            yield from (robot for robot in robots if len(robot.joints) > 1)


def _composed(
    sift: Sift,
    faults: list[Hypothesis],
    options: Sequence[Hypothesis],
    whole: Callable[[Samples, Sequence[Hypothesis]], Hypothesis],
) -> Iterator[Hypothesis]:
    """Hypotheses of an increasing number of faults. In each step, the option that explains the
    torques best is added, and earlier faults that it makes unnecessary are removed; the steps end
    when the explanation does not improve.
    """
    samples = sift.samples
    worth = sift.log(whole(samples, faults) if faults else AS_DECLARED)
    while len(faults) < samples.q.shape[1]:
        rest = Sift(whole(samples, faults).mend(samples) if faults else samples)
        best = rest.refined(max(options, key=rest.log))
        more = [*faults, best]
        log = sift.log(whole(samples, more))
        for fault in faults:
            fewer = [other for other in more if other is not fault]
            without = sift.log(whole(samples, fewer))
            if without > log - np.log(len(options)):
                more, log = fewer, without
        if log - worth < np.log(len(options)):
            return
        faults, worth = more, log
        yield whole(samples, faults)
