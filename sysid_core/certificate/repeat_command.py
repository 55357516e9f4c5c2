# SPDX-License-Identifier: Apache-2.0
"""Numbers of results that are repeated by running their command once more."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate
from sysid_core.files import FileKind, read_json

SAME_SHARE = 1e-3  # of a standard deviation: numbers of another machine are the same
RESULT = FileKind(
    "result", "Give the folder that `sysid identify` wrote with this version.", EstimationError
)
# Options, where files are now by where they were, and the folder for the results.
Again = Callable[[Mapping[str, Any], Mapping[str, Path], Path], None]


@dataclass(frozen=True, eq=False)
class Numbers:
    """What the data say.

    Attributes:
        estimate: Estimate of the repeated fit.
        parameters: All parameters, p of them, by name.
        as_found: Relative effort error of each recording before: by the earlier parameters, or by
            the URDF's masses without friction.
        as_left: The same with the identified parameters.
        fitted: Names of the recordings that were fitted.
        gain_sd: Relative deviation of the drives' gains, the largest; 0 for torques.
    """

    estimate: Estimate
    parameters: Mapping[str, float]
    as_found: Mapping[str, float]
    as_left: Mapping[str, float]
    fitted: tuple[str, ...]
    gain_sd: float


def repeat_command(
    folder: Path, inputs: Mapping[str, Any], files: Mapping[str, Sequence[Path]], again: Again
) -> Numbers:
    """Run the command again, and compare estimates.

    Args:
        folder: Folder that `sysid identify` wrote.
        inputs: `inputs` of its result.json.
        files: Paths by role, as they are now.
        again: Runs the command.

    Raises:
        EstimationError: The result isn't what its files give.
    """
    were: dict[str, list[str]] = {}
    for file in inputs["files"]:
        were.setdefault(file["role"], []).append(file["path"])
    places = {
        path: now
        for role, paths in were.items()
        for path, now in zip(paths, files[role], strict=True)
    }
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        again(inputs["options"], places, out)
        estimate = Estimate.load(out / "estimate.yaml")
        result = read_json(out / "result.json", RESULT)
    stated = Estimate.load(folder / "estimate.yaml")
    require_same(stated, estimate, folder)
    errors = {f"{k}: {name}": e for k, (name, *e) in enumerate(_errors(result), 1)}
    return Numbers(
        estimate=estimate,
        parameters=dict(zip(estimate.names, estimate.values.tolist(), strict=True)),
        as_found={name: e[0] for name, e in errors.items()},
        as_left={name: e[1] for name, e in errors.items()},
        fitted=tuple(name for name, e in errors.items() if e[2]),
        gain_sd=0.0,
    )


def _errors(result: Mapping[str, Any]) -> Iterator[tuple[str, float, float, bool]]:
    """Name, error with the URDF's parameters and with the identified ones, and whether it was fitted.

    Relative errors of an arm's recordings, RMS torques of a closed chain's [N m].
    """
    for kind in ("training", "validation"):
        for run in result.get(kind, ()):
            left = float(run["relative_error"])
            found = run["nominal"]["relative_error"] if run["nominal"] else left
            yield Path(run["source"]).name, float(found), left, kind == "training"
    for label, joints in result.get("torque_rms", {}).items():
        found, left = (
            float(np.linalg.norm([joint[key] for joint in joints.values()]))
            for key in ("nominal", "identified")
        )
        yield label, found, left, label == "fitted"


def require_same(stated: Estimate, found: Estimate, folder: Path) -> None:
    """Refuse an estimate that isn't the one in its folder.

    Raises:
        EstimationError: Names or values differ.
    """
    sd = found.standard_deviations
    room = SAME_SHARE * np.where(np.isfinite(sd), sd, np.abs(found.values)) + 1e-9
    if stated.names != found.names or np.any(np.abs(stated.values - found.values) > room):
        raise EstimationError(
            f"'{folder / 'estimate.yaml'}' isn't what its recordings give.",
            remedy="Identify again, with this version of robot_sysid.",
        )
