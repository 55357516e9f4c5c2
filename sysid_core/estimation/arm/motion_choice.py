# SPDX-License-Identifier: Apache-2.0
"""The motion's smoothing and source chosen inside the training runs, on held-out blocks of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sysid_core.estimation.arm.block_scores import BlockScores, is_better
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.prior_weight import rough_loads
from sysid_core.estimation.arm.recordings import Differentiation, Processing
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import Recording


def choose_motion_cutoff(
    model: RobotModel,
    recordings: Sequence[Recording],
    friction: FrictionModel,
    processing: Processing,
    candidates: Sequence[float] = (3.0, 5.0, 8.0, 12.0, 20.0, 40.0),
    *,
    least_gain: float = 0.005,
    enough: int = 20_000,
) -> tuple[ArmEquations, dict[float, float]]:
    """Equations with the low-pass of the motion that predicts held-out blocks best.

    Slow sensors and slow motions want a low one, fast and finely measured ones a high one.

    Args:
        model: The robot.
        recordings: Runs that are fitted together.
        friction: Terms that resist.
        processing: Rates and cut-offs; its own cut-off stays unless another is clearly better.
        candidates: Cut-off frequencies [Hz]; those above 0.4 of the regressor's rate are left out.
        least_gain: Relative drop of the held-out error that another cut-off must bring.
        enough: Samples that cut-offs are judged on, evenly spread.

    Returns:
        The equations, and the held-out error of every cut-off.
    """
    # One at a time: each is as large as the recordings.
    equations = ArmEquations.build(model, recordings, friction, processing)
    rate = min(span.rate_hz for span in equations.spans)
    best, least = processing, held_out_blocks(equations.spread(enough))
    errors = {processing.motion_cutoff_hz: _root(least)}
    for hz in candidates:
        if hz in errors or hz > 0.4 * rate:
            continue
        del equations
        other = replace(processing, motion_cutoff_hz=hz)
        equations = ArmEquations.build(model, recordings, friction, other)
        blocks = held_out_blocks(equations.spread(enough))
        errors[hz] = _root(blocks)
        if is_better(blocks, least, least_gain):
            best, least = other, blocks
    if equations.processing != best:
        del equations
        equations = ArmEquations.build(model, recordings, friction, best)
    return equations, errors


def choose_differentiation(
    equations: ArmEquations,
    recordings: Sequence[Recording],
    *,
    least_gain: float = 0.005,
    enough: int = 20_000,
) -> tuple[ArmEquations, dict[str, float]]:
    """Equations with velocities and accelerations from the source that predicts best.

    Positions alone, by the same low-pass (which is chosen anew then) or by smoothing splines whose
    cut-off each joint's data choose, are taken where they predict held-out blocks clearly better:
    velocities that a drive reports may be late, coarse or smoothed.

    Args:
        equations: With the filter and its best cut-off.
        recordings: As these were made from.
        least_gain: Relative drop of the held-out error that another way must bring.
        enough: Samples that all are judged on, evenly spread.

    Returns:
        The equations, and the held-out error of each way that was tried.
    """
    best, least = equations, held_out_blocks(equations.spread(enough))
    errors = {Differentiation.FILTER.value: _root(least)}
    measured = any(run.joints.v is not None for run in recordings)
    for way in (*((Differentiation.POSITIONS,) if measured else ()), Differentiation.SPLINE):
        processing = replace(equations.processing, differentiate=way)
        other = ArmEquations.build(equations.model, recordings, equations.friction, processing)
        blocks = held_out_blocks(other.spread(enough))
        if way is Differentiation.POSITIONS and is_better(blocks, least, least_gain):
            del other
            other, _ = choose_motion_cutoff(
                equations.model, recordings, equations.friction, processing, enough=enough
            )
            blocks = held_out_blocks(other.spread(enough))
        errors[way.value] = _root(blocks)
        if is_better(blocks, least, least_gain):
            best, least = other, blocks
    return best, errors


def held_out_error(equations: ArmEquations, n_blocks: int = 6, prior_weight: float = 1.0) -> float:
    """Relative error on held-out blocks with the equations' own settings."""
    return _root(held_out_blocks(equations, n_blocks, prior_weight))


def held_out_blocks(equations: ArmEquations, n_blocks: int = 6, prior_weight: float = 1.0) -> Array:
    """Its square as the blocks' shares, shape (n_blocks,)."""
    scores = BlockScores.build(equations, rough_loads(equations), n_blocks)
    return scores.block_errors(prior_weight=prior_weight)


def _root(squares: Array) -> float:
    return float(squares.sum()) ** 0.5
