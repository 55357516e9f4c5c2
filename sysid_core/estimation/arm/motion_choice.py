# SPDX-License-Identifier: Apache-2.0
"""Choice of smoothing and source of the motion by cross-validation on blocks of time within the
training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sysid_core.estimation.arm.block_scores import ENOUGH, LEAST_GAIN, BlockScores, is_better
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.prior_weight import rough_loads
from sysid_core.estimation.arm.recordings import Differentiation, Processing
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import Recording

CUTOFFS_HZ = (3.0, 5.0, 8.0, 12.0, 20.0, 40.0)  # tried: apart by less than held-out errors tell


def choose_motion_cutoff(
    model: RobotModel,
    recordings: Sequence[Recording],
    friction: FrictionModel,
    processing: Processing,
) -> tuple[ArmEquations, dict[float, float]]:
    """Equations with the low-pass cut-off of the motion that predicts held-out blocks best.

    Slow sensors and slow motions want a low one, fast and finely measured ones a high one.

    Args:
        model: The robot.
        recordings: Runs that are fitted together.
        friction: Terms that resist.
        processing: Rates and cut-offs; its own cut-off stays unless another is clearly better. Those
            above 0.4 of the regressor's rate are left out.

    Returns:
        The equations, and the held-out error of every cut-off.
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
    """Equations with the source of velocities and accelerations that predicts held-out blocks best.

    Positions alone, by the same low-pass (which is chosen anew then) or by smoothing splines whose
    cut-off each joint's data choose, are taken where they predict held-out blocks clearly better:
    velocities that a drive reports may be late, coarse or smoothed.

    Args:
        equations: With the filter and its best cut-off.
        recordings: As these were made from.

    Returns:
        The equations, and the held-out error of each way that was tried.
    """
    best, least = equations, held_out_blocks(equations.spread(ENOUGH))
    errors = {Differentiation.FILTER.value: _root(least)}
    measured = any(run.joints.v is not None for run in recordings)
    for way in (*((Differentiation.POSITIONS,) if measured else ()), Differentiation.SPLINE):
        processing = replace(equations.processing, differentiate=way)
        other = ArmEquations.build(equations.model, recordings, equations.friction, processing)
        blocks = held_out_blocks(other.spread(ENOUGH))
        if way is Differentiation.POSITIONS and is_better(blocks, least, LEAST_GAIN):
            del other
            other, _ = choose_motion_cutoff(
                equations.model, recordings, equations.friction, processing
            )
            blocks = held_out_blocks(other.spread(ENOUGH))
        errors[way.value] = _root(blocks)
        if is_better(blocks, least, LEAST_GAIN):
            best, least = other, blocks
    return best, errors


def held_out_error(equations: ArmEquations) -> float:
    """Relative error on held-out blocks for the settings of the equations."""
    return _root(held_out_blocks(equations))


def held_out_blocks(equations: ArmEquations) -> Array:
    """Contribution of each held-out block to the squared relative error, shape (N_BLOCKS,)."""
    return BlockScores.build(equations, rough_loads(equations)).block_errors()


def _root(squares: Array) -> float:
    return float(squares.sum()) ** 0.5
