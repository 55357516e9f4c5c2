# SPDX-License-Identifier: Apache-2.0
"""Everything that a certificate states, computed anew from the recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.certificate.repeat_command import Again, Numbers, repeat_command, require_same
from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import (
    ArmEquations,
    Identification,
    identify_equations,
    load_identification,
)
from sysid_core.pipeline import estimator_from, load_recording
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import predict_recording

REPEATABLE = ("ols", "wls", "irls", "lmi", "entropic")


def repeat_numbers(
    folder: Path,
    inputs: Mapping[str, Any],
    files: Mapping[str, Sequence[Path]],
    *,
    method: str,
    prior_weight: float | None,
    earlier: Path | None = None,
    again: Again | None = None,
) -> Numbers:
    """Fit and predict again, with the settings that were chosen then.

    Args:
        folder: Folder that `sysid identify` wrote.
        inputs: `inputs` of its result.json.
        files: Paths by role, as they are now.
        method: Estimator.
        prior_weight: In use; None for methods without prior.
        earlier: Folder of the identification that was in use before.
        again: Repeats the command for what isn't an arm fitted at once: closed chains, joint by
            joint, with a known load.

    Raises:
        EstimationError: This kind of result can't be repeated, or isn't what its files say.
    """
    if (
        method not in REPEATABLE
        or files.get("loaded")
        or (inputs.get("options") or {}).get("loops")
    ):
        _require_repeatable(method, inputs, again, earlier)
        assert again is not None  # just required
        return repeat_command(folder, inputs, files, again)
    settings = inputs["settings"]
    robot = str(files["robot"][0]) if files.get("robot") else inputs["robot"]
    model = RobotModel.from_urdf(robot)
    stated = Estimate.load(folder / "estimate.yaml")
    known = load_identification(folder / "parameters.yaml", model, stated)
    columns = ColumnMap.load(files["columns"][0]) if files.get("columns") else None
    fitted, judged = (
        [load_recording(path, columns, settings["effort_kind"]) for path in files.get(role, ())]
        for role in ("recordings", "validate")
    )
    estimator = estimator_from(
        method, list(settings["fix"]), prior_weight or 1.0, settings["prior_sd"]
    )
    found = identify_equations(_equations(known, fitted, settings["delay"]), estimator)
    require_same(stated, found.estimate, folder)
    before = (
        _nominal(known)
        if earlier is None
        else load_identification(
            earlier / "parameters.yaml", model, Estimate.load(earlier / "estimate.yaml")
        )
    )
    runs = [*fitted, *judged]
    names = tuple(f"{k}: {Path(run.source).name}" for k, run in enumerate(runs, 1))
    gain_sd = 0.0 if columns is None or columns.gain_sd is None else float(np.max(columns.gain_sd))
    return Numbers(
        estimate=found.estimate,
        parameters=dict(zip(found.names, found.parameters.tolist(), strict=True)),
        as_found=_errors(before, names, runs),
        as_left=_errors(found, names, runs),
        fitted=names[: len(fitted)],
        gain_sd=gain_sd,
    )


def _equations(known: Identification, runs: Sequence[Recording], delay: str) -> ArmEquations:
    """As `identify` builds them: an estimated delay shifts equations, a given one the motion."""
    processing = known.processing
    if delay != "auto":
        return ArmEquations.build(known.model, runs, known.friction, processing)
    undelayed = replace(processing, delay=0.0)
    equations = ArmEquations.build(known.model, runs, known.friction, undelayed)
    return equations.with_delay(processing.delay) if processing.delay else equations


def _nominal(known: Identification) -> Identification:
    """The robot as its URDF describes it, without friction."""
    parameters = np.zeros(len(known.names))
    parameters[: 10 * known.model.n_bodies] = known.model.pi.ravel()
    return replace(known, parameters=parameters)


def _errors(
    identification: Identification, names: Sequence[str], runs: Sequence[Recording]
) -> dict[str, float]:
    return {
        name: predict_recording(identification, run).relative_error()
        for name, run in zip(names, runs, strict=True)
    }


def _require_repeatable(
    method: str, inputs: Mapping[str, Any], again: Again | None, earlier: Path | None
) -> None:
    """Refuse what nobody can repeat: results without their options, and earlier ones beside."""
    if again is None or not inputs.get("options"):
        raise EstimationError(
            f"This result by '{method}' doesn't say by which options it was made.",
            remedy="Identify again, with this version of robot_sysid.",
        )
    if earlier is not None:
        raise EstimationError(
            f"--as-found doesn't go with results by '{method}', --loops or --loaded.",
            remedy="Leave it out: the URDF's parameters are what was found.",
        )
