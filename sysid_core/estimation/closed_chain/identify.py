# SPDX-License-Identifier: Apache-2.0
r"""Identification of closed chains: friction and drives alone, or everything.

Zhang, Haugk, Vasudevan 2024, section III, as the convex program that it is: nothing depends on an
initial guess. Legs: inertial parameters are held at the manufacturer's values. Arms and open
chains are chains without loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.closed_chain.equations import ConstrainedEquations
from sysid_core.estimation.closed_chain.recordings import ConstrainedProcessing
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import (
    ConsistentLeastSquares,
    Regression,
    Weighting,
    compress,
)
from sysid_core.estimation.recorded import Estimator
from sysid_core.identifiability import Excitation, measure_excitation
from sysid_core.robot import inertial_parameter_names, is_physically_consistent
from sysid_core.robot.loops import DRIVE_NAMES, ClosedChain
from sysid_core.signals import Recording


def identify_constrained(
    recordings: Recording | Sequence[Recording],
    chain: ClosedChain,
    *,
    inertials: bool = False,
    drives: Sequence[str] | None = None,
    measured: Sequence[str] | None = None,
    processing: ConstrainedProcessing | None = None,
    estimator: Estimator | None = None,
) -> Estimate:
    """Identify a closed (or open) chain from recordings of its actuated joints.

    Args:
        recordings: One or several runs; they are fitted together.
        chain: The mechanism; its inertial parameters are held fixed unless `inertials`.
        inertials: Whether the inertial parameters are estimated too.
        drives: Joints whose friction and drive are estimated; default: the actuated ones. Others
            keep the chain's values.
        measured: Passive joints whose encoders are used as well; default: the chain's.
        processing: Filters and decimation.
        estimator: Default: physically consistent least squares with robust weights.

    Returns:
        Drive parameters `joint.F_c` …, and with `inertials` those of all links before them.

    Raises:
        SignalError: Joints or torques are missing in the recording.
        ModelError: Loops don't assemble at the recorded positions.
        EstimationError: The robot doesn't move.
    """
    runs = [recordings] if isinstance(recordings, Recording) else list(recordings)
    names = None if drives is None else tuple(drives)
    equations = ConstrainedEquations.build(chain, runs, processing, drives=names, measured=measured)
    if equations.processing.estimate_delay:
        equations = equations.without_delay(inertials=inertials)
    return identify_constrained_equations(equations, inertials=inertials, estimator=estimator)


def identify_constrained_equations(
    equations: ConstrainedEquations,
    *,
    inertials: bool = False,
    estimator: Estimator | None = None,
) -> Estimate:
    """As `identify_constrained`, with the motions at hand (to compare estimators)."""
    chain = equations.chain
    estimator = estimator or ConsistentLeastSquares(weighting=Weighting.ROBUST)
    regression = equations.regression(inertials=inertials)
    estimate = estimator.fit(regression)
    shown = _shown(regression, regression.free_columns(estimator.fixed))
    consistent = dict(estimate.consistent)
    if not inertials:
        fixed = is_physically_consistent(chain.model.pi)
        consistent = {
            body: bool(ok) for body, ok in zip(chain.model.body_names, fixed, strict=True)
        }
    estimate = replace(
        estimate,
        method=f"constrained-{estimate.method}",
        consistent=consistent,
        rank=shown.rank,
        rank_tolerance=shown.tolerance,
        condition_number=shown.condition_number,
        notes=(*shown.unexcited(), *estimate.notes),
    )
    notes = _notes(equations, inertials)
    return equations.signed(estimate, chain.model, chain.actuated, notes)


def _shown(regression: Regression, free: NDArray[np.bool_]) -> Excitation:
    """What the data show of the free parameters, against vigorous motion."""
    rows = compress(regression).weighted(np.ones(len(regression.joints)))[0][:, free]
    return measure_excitation(regression.base_of(free), rows, regression.structure[:, free])


def identified_chain(chain: ClosedChain, estimate: Estimate) -> ClosedChain:
    """The chain with the values of an estimate; what it doesn't hold keeps the chain's.

    Raises:
        EstimationError: The estimate has nothing of this chain, or base parameters only.
    """
    return chain_with_parameters(chain, estimate.names, estimate.values)


def chain_with_parameters(
    chain: ClosedChain, names: Sequence[str], values: ArrayLike
) -> ClosedChain:
    """The chain with drives `joint.F_c` … and, where all are there, masses `link.m` ….

    Args:
        chain: The mechanism; what isn't named keeps its values.
        names: Shape (p,).
        values: Shape (p,).

    Raises:
        EstimationError: Nothing of this chain is named, or not all parameters of its bodies.
    """
    by_name: dict[str, float] = dict(
        zip(names, np.asarray(values, dtype=float).tolist(), strict=True)
    )
    found = {}
    for joint in chain.model.joint_names:
        own = {key: by_name[f"{joint}.{key}"] for key in DRIVE_NAMES if f"{joint}.{key}" in by_name}
        if len(own) == len(DRIVE_NAMES):
            found[joint] = replace(chain.drive(joint), **own)
    inertial = inertial_parameter_names(chain.model)
    known = [name for name in inertial if name in by_name]
    if not found and not known:
        raise EstimationError(
            f"The estimate has neither drives nor masses of '{chain.name}'.",
            remedy="Give the estimate of this robot, with full parameters.",
        )
    if known and len(known) < len(inertial):
        raise EstimationError(
            f"The estimate holds {len(known)} of {len(inertial)} inertial parameters: base"
            " parameters, not a model.",
            remedy="Identify with --method lmi, or complete them with `full_parameters`.",
        )
    out = chain.with_drives(found)
    if known:
        pi = np.array([by_name[name] for name in inertial]).reshape(-1, 10)
        out = out.with_model(chain.model.with_pi(pi))
    return out


def _notes(equations: ConstrainedEquations, inertials: bool) -> tuple[str, ...]:
    chain = equations.chain
    notes = []
    if np.isfinite(equations.delay_sd):
        notes.append(
            f"Torques were reported {1e3 * equations.delay:+.3f} ms late"
            f" (sd {1e3 * equations.delay_sd:.3f} ms); taken out before the fit."
        )
    slow = equations.slow_share()
    worst = max(slow, key=lambda joint: slow[joint])
    if slow[worst] > 0.0:
        notes.append(
            f"Equations of joints slower than {equations.processing.moving} rad/s were left out"
            f" (stiction): {100 * np.mean(list(slow.values())):.0f} % of all, most at"
            f" {worst} ({100 * slow[worst]:.0f} %)."
        )
    if not inertials:
        notes.append("Inertial parameters were held at the description's values.")
    passive = [joint for joint in chain.passive if joint not in equations.drives]
    if passive:
        notes.append(
            f"Friction of {len(passive)} passive joints was held at its nominal value; what is"
            " wrong with it shows up in the drives of the same loop."
        )
    return tuple(notes)
