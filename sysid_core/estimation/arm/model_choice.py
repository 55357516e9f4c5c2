# SPDX-License-Identifier: Apache-2.0
"""Choice of friction terms by cross-validation on blocks of time within the training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.estimation.arm.block_scores import LEAST_GAIN, BlockScores
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.prior_weight import rough_loads
from sysid_core.estimation.fit import Regression
from sysid_core.robot import FrictionModel, FrictionTerm


@dataclass(frozen=True)
class Choice:
    """A friction term tried at an axis, and its effect on the error."""

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
    """Friction terms of every axis, by forward selection on held-out data.

    Args:
        equations: With the terms to start from.
        candidates: Terms that may be added.
        prior_weight: rho of the prior.

    Returns:
        The friction model, and everything that was tried.
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
    """Reduction of the held-out error by each friction term at each joint.

    Returns:
        Term to {joint: relative rise of the held-out error without the term}; `all` joins them.
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
    """Columns in use: all inertial ones, and those of the selected friction terms."""
    used = {
        name for axis, ts in terms.items() for t in ts for name in friction.parameters_of(axis, t)
    }
    used |= {name for name in friction.names if name.rsplit(".", 1)[1].startswith("S_")}  # springs
    n = regression.n_inertial
    return [i < n or name in used for i, name in enumerate(regression.names)]
