# SPDX-License-Identifier: Apache-2.0
"""Selection of the motion's smoothing, the source of velocities, friction terms, and the velocity
feedback of the controllers, by cross-validation on blocks of time of the training recordings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.estimation.arm.block_scores import (
    ENOUGH,
    LEAST_GAIN,
    N_BLOCKS,
    BlockScores,
    is_better,
    rough_loads,
)
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import Identification
from sysid_core.estimation.arm.recordings import (
    Differentiation,
    Processing,
    VelocityFeedback,
    filtered_velocities,
    unmeasured_joints,
    velocity_noise,
)
from sysid_core.estimation.arm.spans import evenly_spread
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import Recording

LAGS = (0, 1)  # samples: drivers publish the effort of this or of the last cycle of the controller
CUTOFFS_HZ = (3.0, 5.0, 8.0, 12.0, 20.0, 40.0)  # tried: apart by less than held-out errors tell


def choose_motion_cutoff(
    model: RobotModel,
    recordings: Sequence[Recording],
    friction: FrictionModel,
    processing: Processing,
) -> tuple[ArmEquations, dict[float, float]]:
    """Choose the low-pass cut-off of the motion with the smallest held-out error, and return the
    equations with it.

    Slow sensors and slow motions need a low cut-off, fast and accurately measured ones a high
    cut-off.

    Args:
        model: Robot model.
        recordings: Recordings that are fitted together.
        friction: Friction terms.
        processing: Rates and cut-offs. Its motion cut-off is kept unless another one is clearly
            better; cut-offs above 0.4 of the regressor's rate are not tried.

    Returns:
        The equations, and the held-out relative error by cut-off frequency [Hz].
    """
    # One at a time: each is as large as the recordings.
    equations = ArmEquations.build(model, recordings, friction, processing)
    rate = min(span.rate_hz for span in equations.spans)
    best, least = processing, held_out_blocks(equations.spread(ENOUGH))
    errors = {processing.motion_cutoff_hz: _root(least)}
    for hz in CUTOFFS_HZ:
        if hz in errors or hz > 0.4 * rate:
            continue
        del equations
        other = replace(processing, motion_cutoff_hz=hz)
        equations = ArmEquations.build(model, recordings, friction, other)
        blocks = held_out_blocks(equations.spread(ENOUGH))
        errors[hz] = _root(blocks)
        if is_better(blocks, least, LEAST_GAIN):
            best, least = other, blocks
    if equations.processing != best:
        del equations
        equations = ArmEquations.build(model, recordings, friction, best)
    return equations, errors


def choose_differentiation(
    equations: ArmEquations, recordings: Sequence[Recording]
) -> tuple[ArmEquations, dict[str, float]]:
    """Choose the source of velocities and accelerations with the smallest held-out error, and
    return the equations with it.

    Velocities computed from positions alone are used if they predict held-out blocks clearly
    better, because the velocities that a drive reports may be delayed, coarse or smoothed. The
    cut-off of the low-pass filter is then chosen again.

    Args:
        equations: Equations with measured velocities and the best cut-off.
        recordings: Recordings from which the equations were built.

    Returns:
        The equations, and the held-out relative error by source (`filter`, `positions`); empty
        without measured velocities.
    """
    if all(run.joints.v is None for run in recordings):
        return equations, {}
    least = held_out_blocks(equations.spread(ENOUGH))
    processing = replace(equations.processing, differentiate=Differentiation.POSITIONS)
    model, friction = equations.model, equations.friction
    other = ArmEquations.build(model, recordings, friction, processing)
    blocks = held_out_blocks(other.spread(ENOUGH))
    better = is_better(blocks, least, LEAST_GAIN)
    if better:
        del other
        other, _ = choose_motion_cutoff(model, recordings, friction, processing)
        blocks = held_out_blocks(other.spread(ENOUGH))
    errors = {"filter": _root(least), "positions": _root(blocks)}
    return (other if better else equations), errors


def held_out_error(equations: ArmEquations) -> float:
    """Return the relative error of the efforts that are predicted on held-out blocks, if the
    equations are built with the present settings.
    """
    return _root(held_out_blocks(equations))


def held_out_blocks(equations: ArmEquations) -> Array:
    """Return the contribution of each held-out block to the squared relative error, shape
    (N_BLOCKS,).
    """
    return BlockScores.build(equations, rough_loads(equations)).block_errors()


def _root(squares: Array) -> float:
    return float(squares.sum()) ** 0.5


@dataclass(frozen=True)
class Choice:
    """Friction term that was tried at an axis, and its effect on the held-out error."""

    axis: str
    term: str
    error: float  # relative, on held-out blocks, of the joints that the axis turns
    without: float  # the same without the term
    chosen: bool


def choose_terms(
    equations: ArmEquations,
    candidates: Sequence[FrictionTerm],
    *,
    prior_weight: float = 1.0,
) -> tuple[FrictionModel, tuple[Choice, ...]]:
    """Choose the friction terms of every axis by forward selection on held-out data.

    Args:
        equations: Equations with the initial friction terms.
        candidates: Terms that may be added.
        prior_weight: Weight rho of the prior.

    Returns:
        The friction model, and all choices tried with their errors.
    """
    start = equations.friction
    everything = tuple(dict.fromkeys([*start.all_terms, *candidates]))
    full = equations.with_friction(replace(start, terms=everything, own_terms={}))
    scores = BlockScores.build(full, rough_loads(full))
    terms = {axis: start.terms_of(axis) for axis in start.drives.axis_names}
    rows = start.drives.axis_matrix != 0.0
    history = []
    for i, axis in enumerate(start.drives.axis_names):
        open_terms = [t for t in full.friction.terms_of(axis) if t not in terms[axis]]
        error = _axis_error(scores, full.friction, terms, rows[i], prior_weight)
        while open_terms:
            tried = {}
            for t in open_terms:
                more = {**terms, axis: (*terms[axis], t)}
                tried[t] = _axis_error(scores, full.friction, more, rows[i], prior_weight)
            best = min(tried, key=tried.__getitem__)
            better = tried[best] < (1.0 - LEAST_GAIN) * error
            history += [
                Choice(axis, t.value, tried[t], error, better and t is best) for t in open_terms
            ]
            if not better:
                break
            error = tried[best]
            terms[axis] = (*terms[axis], best)
            open_terms.remove(best)
    own = {axis: chosen for axis, chosen in terms.items() if chosen != start.terms}
    return replace(start, own_terms=own), tuple(history)


def term_benefits(
    equations: ArmEquations, *, prior_weight: float = 1.0
) -> dict[str, dict[str, float]]:
    """Return the reduction of the held-out error by each friction term at each joint.

    Returns:
        Relative increase of the held-out error without a term, by term and joint; `all` is over all
        joints.
    """
    scores = BlockScores.build(equations, rough_loads(equations))
    friction = equations.friction
    joints = scores.joint_errors(None, prior_weight)
    whole = scores.relative_error(None, prior_weight)
    out = {}
    for term in friction.all_terms:
        rest = {
            axis: tuple(t for t in friction.terms_of(axis) if t is not term)
            for axis in friction.drives.axis_names
        }
        keep = _columns(scores.regression, friction, rest)
        ratio = scores.joint_errors(keep, prior_weight) / np.maximum(joints, 1e-300)
        out[term.value] = {
            "all": scores.relative_error(keep, prior_weight) / max(whole, 1e-300) - 1.0,
            **dict(zip(friction.drives.joint_names, (ratio - 1.0).tolist(), strict=True)),
        }
    return out


def _axis_error(
    scores: BlockScores,
    friction: FrictionModel,
    terms: Mapping[str, Sequence[FrictionTerm]],
    rows: NDArray[np.bool_],
    prior_weight: float,
) -> float:
    """Held-out error of the joints that an axis moves."""
    errors = scores.joint_errors(_columns(scores.regression, friction, terms), prior_weight)
    return float(np.sqrt(np.mean(errors[rows] ** 2)))


def _columns(
    regression: Regression,
    friction: FrictionModel,
    terms: Mapping[str, Sequence[FrictionTerm]],
) -> list[bool]:
    """Mask of the regressor columns in use: all inertial parameters, springs, and the selected
    friction terms.
    """
    used = {
        name for axis, ts in terms.items() for t in ts for name in friction.parameters_of(axis, t)
    }
    used |= {name for name in friction.names if name.rsplit(".", 1)[1].startswith("S_")}  # springs
    n = regression.n_inertial
    return [i < n or name in used for i, name in enumerate(regression.names)]


def choose_velocity_feedback(
    identification: Identification, recordings: Sequence[Recording]
) -> tuple[VelocityFeedback | None, tuple[float, ...]]:
    """Estimate the velocity gains with which the controllers react to the noise of velocities; they
    are kept only if they predict held-out blocks clearly better.

    The gain of each joint is the least-squares estimate from the raw efforts minus those of the
    robot model, during motion.

    Args:
        identification: The identified robot.
        recordings: Recordings to which it was fitted; nothing is estimated if only some of them have
            measured velocities.

    Returns:
        The velocity feedback, or None; and the relative errors of the raw efforts without and with
        the best velocity feedback, on blocks that are held out from the estimation of the gains;
        empty if nothing was estimated.
    """
    seen = {run.joints.v is not None for run in recordings}
    samples = _samples_in_motion(identification, recordings) if len(seen) == 1 else None
    if samples is None:
        return None, ()
    efforts, left, *noises = samples
    products = {
        lag: (_block_sums(-left * noise), _block_sums(noise**2))
        for lag, noise in zip(LAGS, noises, strict=True)
    }
    # Filtered noise is alike in successive samples: the sign is looked at with the likeliest lag only.
    lag = max(products, key=lambda one: _explained(*products[one]))
    together, own = products[lag]
    gains = _gains(together.sum(axis=0) - together, own.sum(axis=0) - own)
    least = _block_sums(left**2)
    blocks = least - 2.0 * gains * together + gains**2 * own
    before, after = (np.sum(x, axis=1) / np.sum(efforts**2) for x in (least, blocks))
    feedback = None
    if is_better(after, before, LEAST_GAIN):
        found = _gains(together.sum(axis=0), own.sum(axis=0))
        feedback = VelocityFeedback(tuple(found.tolist()), lag, seen.pop())
    return feedback, (_root(before), _root(after))


def _samples_in_motion(
    identification: Identification, recordings: Sequence[Recording]
) -> tuple[Array, ...] | None:
    """About `ENOUGH` samples in motion: raw efforts, these minus the predicted efforts (0 for joints
    without measured efforts), and the velocity noise with each lag, each (k, n); None: no samples.
    """
    model, processing = identification.model, identification.processing
    lengths = [len(run.joints) for run in recordings]
    kept = []
    for run, pieces in zip(recordings, evenly_spread(lengths, ENOUGH), strict=True):
        for piece in pieces:
            part = replace(run, joints=run.joints.select(piece))
            try:
                v = filtered_velocities(model, part, processing)
            except SignalError:  # gaps leave nothing of this piece
                continue
            efforts = Processing.driven_joints(model, part.joints).effort
            assert efforts is not None  # the equations of the run have seen to it
            left = efforts - identification.predict(part)
            noises = [velocity_noise(model, part, processing, lag) for lag in LAGS]
            moving = np.any(np.abs(v) > processing.moving, axis=1)
            rows = np.isfinite(left).all(axis=1) & moving
            time, trim = part.joints.time, processing.end_trim
            if np.any(moving):  # without filter transients and impacts at both ends
                first, last = time[np.flatnonzero(moving)[[0, -1]]]
                rows &= (time >= first + trim) & (time <= last - trim)
            kept.append([x[rows] for x in (efforts, left, *noises)])
    if not any(len(part[0]) for part in kept):
        return None
    samples = tuple(np.concatenate(x) for x in zip(*kept, strict=True))
    samples[1][:, unmeasured_joints(samples[:1])] = 0.0
    return samples


def _gains(together: Array, own: Array) -> Array:
    """Non-negative least-squares gains from two products of the noise: with the negative residual
    (`together`), and with itself (`own`).
    """
    return np.maximum(together / np.maximum(own, np.finfo(float).tiny), 0.0)


def _explained(together: Array, own: Array) -> float:
    """Sum of squares that gains of any sign explain."""
    squares = np.maximum(own.sum(axis=0), np.finfo(float).tiny)
    return float(np.sum(together.sum(axis=0) ** 2 / squares))


def _block_sums(values: Array) -> Array:
    """Sums over each of the blocks of successive rows, (k, n) to (N_BLOCKS, n)."""
    return np.array([part.sum(axis=0) for part in np.array_split(values, N_BLOCKS)])
