# SPDX-License-Identifier: Apache-2.0
"""Motion that would distinguish two explanations of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.diagnosis.explain import Explanation
from sysid_core.diagnosis.hypotheses import Fault
from sysid_core.diagnosis.samples import LEAST_ROWS, Samples
from sysid_core.diagnosis.sift import evidence_of
from sysid_core.errors import ModelError
from sysid_core.robot import Array

# What changes in the course of a recording, or no model predicts.
_NO_MODEL = (Fault.SILENT, Fault.TOOL_CHANGE, Fault.LAG)


@dataclass(frozen=True)
class NextMotion:
    """Motion that separates two explanations.

    Attributes:
        motion: `range` (one joint through its range), `turned` (the recorded motion with one joint
            turned by 90°), `wide` (all joints through their ranges), `fast` (the recorded motion at
            twice the speed), or `none`.
        joint: Name of the joint that moves or is turned; "all": all joints.
        log_odds: Expected log-odds of the right explanation against the other one; the smaller of
            the two values, since either explanation may be right.
    """

    motion: str
    joint: str
    log_odds: float


def next_motion(samples: Samples, first: Explanation, second: Explanation) -> NextMotion | None:
    """Return the simple motion with the largest expected odds between two explanations.

    For every motion, the torques are simulated with the parameters that were estimated under one
    explanation, and judged under both. This is done for either explanation, and the smaller of the
    two expected log-odds is used.

    Args:
        samples: Samples that were explained.
        first: One explanation.
        second: The other explanation.

    Returns:
        The motion; None if no model predicts the torques under one of the explanations.
    """
    pair = (first, second)
    if any(e.hypothesis.kind in _NO_MODEL for e in pair):
        return None
    best = NextMotion("none", "all", 0.0)
    for motion, joint, there in _motions(samples):
        odds = min(_expected(there, *pair), _expected(there, *pair[::-1]))
        if odds > best.log_odds:
            best = NextMotion(motion, joint, odds)
    return best


def disagreements(samples: Samples, declared: Explanation, others: Sequence[Explanation]) -> Array:
    """Return by how much of their variance the torques that other explanations predict differ from
    those of the declared one, on average over the joints, in the recorded or a simple other motion,
    whichever shows the most; shape (len(others),).
    """
    worst, used = np.zeros(len(others)), samples.used
    for there in (samples, *(there for _, _, there in _motions(samples))):
        with suppress(ModelError):
            first = predicted(there, declared)[:, used]
            variance = np.maximum(first.var(axis=0), samples.size[used] ** 2)
            for k, other in enumerate(others):
                with suppress(ModelError):
                    gap = predicted(there, other)[:, used] - first
                    worst[k] = max(worst[k], np.mean(np.mean(gap**2, axis=0) / variance))
    return worst


def _expected(motion: Samples, truth: Explanation, other: Explanation) -> float:
    """Log-odds of a true explanation against another one on simulated torques; 0 if the loops do
    not close.
    """
    try:
        seen = _recorded(motion, truth)
    except ModelError:
        return 0.0
    right, wrong = (evidence_of(seen, e.hypothesis) for e in (truth, other))
    return 0.0 if right is None or wrong is None else right.log - wrong.log


def _motions(samples: Samples) -> Iterator[tuple[str, str, Samples]]:
    """Simple motions that start from the recorded one."""
    model, names = samples.model, samples.model.joint_names
    lower, upper = model.position_limits
    here, speed = samples.q.mean(axis=0), samples.v.std(axis=0)
    usual = (upper > lower) & (upper - lower < 2.0 * np.pi)
    middle = np.where(usual, 0.5 * (lower + upper), here)
    reach = np.where(usual, 0.5 * (upper - lower), np.pi)
    phase = np.linspace(0.0, 2.0 * np.pi, len(samples))[:, None] * (1 + np.arange(len(names)))
    phase += np.arange(len(names))
    rate = np.sqrt(2.0) * speed / np.maximum(reach, 1e-9)
    wide = replace(
        samples,
        q=middle + reach * np.sin(phase),
        v=reach * rate * np.cos(phase),
        a=-reach * rate**2 * np.sin(phase),
    )
    if np.any(samples.used):
        yield "wide", "all", _moving(wide)
    limits = np.where(model.velocity_limits > 0.0, model.velocity_limits, np.inf)
    if np.all(2.0 * np.abs(samples.v).max(axis=0) <= limits):
        yield "fast", "all", samples.scaled(rate=2.0)
    for j in np.flatnonzero(samples.used):
        only = np.arange(len(names)) == j
        alone = replace(wide, q=np.where(only, wide.q, here), v=wide.v * only, a=wide.a * only)
        yield "range", names[j], _moving(alone)
        for turn in (0.5 * np.pi, -0.5 * np.pi):
            q = samples.q + turn * only
            inside = not usual[j] or (q[:, j].min() >= lower[j] and q[:, j].max() <= upper[j])
            if inside:
                yield "turned", names[j], replace(samples, q=q)
                break


def _moving(samples: Samples) -> Samples:
    return replace(samples, used=samples.used & (np.sum(samples.moving, axis=0) >= LEAST_ROWS))


def _recorded(samples: Samples, truth: Explanation) -> Samples:
    """Samples of a motion with the torques that would be recorded if an explanation is right."""
    recorded = predicted(samples, truth)
    noise = np.random.default_rng(0).normal(size=recorded.shape) * samples.size
    recorded += noise * np.sqrt(np.nan_to_num(truth.evidence.left))
    size = np.maximum(recorded.std(axis=0), 1e-4 * recorded.std(axis=0).max())
    nothing, later = np.zeros_like(samples.tau), np.zeros_like(samples.later)
    return replace(samples, tau=recorded, tau_dot=nothing, later=later, size=size)


def predicted(samples: Samples, truth: Explanation) -> Array:
    """Return the torques that would be recorded in a motion if an explanation is right, shape (K, n).

    Raises:
        ModelError: Loops do not close.
    """
    n, nothing = samples.q.shape[1], np.zeros_like(samples.tau)

    def understood(tau: Array) -> Samples:
        return truth.hypothesis.mend(
            replace(samples, tau=tau, tau_dot=nothing, later=np.zeros_like(samples.later))
        )

    there = understood(nothing)
    # Torques are understood as a linear function of the recorded ones, which is inverted here.
    per_joint = np.array([understood(nothing + row).tau[0] - there.tau[0] for row in np.eye(n)])
    Y, described = there.model.torque_regressor(there.q, there.v, there.a), there.model.pi.ravel()
    tau = Y @ truth.evidence.inertial - there.tau
    tau += (Y @ described) * truth.evidence.off
    tau += np.stack([there.friction(j) @ truth.evidence.friction[j] for j in range(n)], axis=1)
    mute = list(truth.hypothesis.mute)
    tau[:, mute] = samples.tau[:, mute].mean(axis=0)
    return np.asarray(np.linalg.solve(per_joint.T, tau.T).T)
