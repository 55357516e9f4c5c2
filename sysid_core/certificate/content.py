# SPDX-License-Identifier: Apache-2.0
"""What a certificate states: before and after, uncertainty budget, hashes."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.batch import hash_of
from sysid_core.certificate.repeat import repeat_numbers
from sysid_core.certificate.repeat_command import RESULT, SAME_SHARE, Again, Numbers
from sysid_core.errors import EstimationError
from sysid_core.files import read_json

SCHEMA = "robot_sysid/certificate/1"
_RESULTS = ("estimate.yaml", "parameters.yaml")
_PACKAGES = ("robot_sysid", "numpy", "scipy", "pin", "cvxpy", "clarabel")
SAME_ERROR = 1e-5  # of relative errors


def build_content(
    folder: Path, *, robot: str = "", earlier: Path | None = None, again: Again | None = None
) -> dict[str, Any]:
    """The statement that is signed; its numbers are computed anew from the data first.

    Args:
        folder: Folder that `sysid identify` wrote.
        robot: Serial number or name of the very robot.
        earlier: Folder of the identification that was in use before, for "as found"; None: the
            URDF's masses without friction.
        again: Repeats the command where that is needed (see `repeat_numbers`).

    Raises:
        EstimationError: The result can't be repeated, or it failed its own verdict.
    """
    result = read_json(folder / "result.json", RESULT)
    if not isinstance(result, dict) or "inputs" not in result:
        raise RESULT.refusal(folder / "result.json", "says not which files it came from")
    if result["verdict"]["outcome"] == "fail":
        raise EstimationError(
            f"The result in '{folder}' failed: {' '.join(result['verdict']['failures'])}",
            remedy="Mend what it names, identify again, and certify that.",
        )
    inputs = result["inputs"]
    listed = [*inputs["files"], *_listed("result", folder, _RESULTS)]
    if earlier is not None:
        listed += _listed("earlier", earlier, _RESULTS)
    changed = [f["path"] for f in listed if hash_of(f["path"]) != f["sha256"]]
    if changed:
        raise EstimationError(
            f"{', '.join(changed)} changed since the identification.", remedy="Identify again."
        )
    numbers = repeat_numbers(
        folder,
        inputs,
        paths_by_role(listed),
        method=result["method"],
        prior_weight=result.get("prior_weight"),
        earlier=earlier,
        again=again,
    )
    return {
        "schema": SCHEMA,
        "robot": robot or result["robot"],
        "description": {"name": result["robot"], "urdf_hash": result["urdf_hash"]},
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "code": {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "files": listed,
        "inputs": {key: inputs.get(key) for key in ("robot", "settings", "options", "files")},
        "method": result["method"],
        "prior_weight": result.get("prior_weight"),
        "verdict": result["verdict"],
        **statement(numbers),
    }


def statement(numbers: Numbers) -> dict[str, Any]:
    """The part of a certificate that follows from the data alone."""
    return {
        "recordings": [
            {
                "name": name,
                "fitted": name in numbers.fitted,
                "as_found": numbers.as_found[name],
                "as_left": numbers.as_left[name],
            }
            for name in numbers.as_left
        ],
        "uncertainty_budget": _budget(numbers),
        "parameters": dict(numbers.parameters),
    }


def _budget(numbers: Numbers) -> list[dict[str, Any]]:
    """Parts of every estimated parameter's standard uncertainty (GUM: root of summed squares)."""
    estimate = numbers.estimate
    rows = []
    for name, value, sd, unit, verdict in estimate.rows():
        gain = abs(value) * numbers.gain_sd
        known = bool(np.isfinite(sd))
        rows.append(
            {
                "name": name,
                "value": value,
                "unit": unit,
                "verdict": verdict.value,
                "fit": sd if known else None,
                "drive_gains": gain,
                "combined": float(np.hypot(sd, gain)) if known else None,
            }
        )
    return rows


def differences(stated: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Where two statements differ by more than rounding on another machine; empty: nowhere."""
    out = []
    for was, now in zip(stated["recordings"], found["recordings"], strict=True):
        for key in ("as_found", "as_left"):
            if not abs(was[key] - now[key]) <= SAME_ERROR * max(1.0, abs(was[key])):
                out.append(f"{key} of {was['name']}: {was[key]:.6f} stated, {now[key]:.6f} found")
    budget, again = ({row["name"]: row for row in x["uncertainty_budget"]} for x in (stated, found))
    if budget.keys() != again.keys():
        out.append("other parameters are estimated than stated")
        return out
    for name, was in budget.items():
        now = again[name]
        room = SAME_SHARE * (was["combined"] or abs(was["value"])) + 1e-9
        if not abs(was["value"] - now["value"]) <= room:
            out.append(f"{name}: {was['value']:.6g} stated, {now['value']:.6g} found")
        elif was["combined"] is not None and not (
            abs(was["combined"] - (now["combined"] or 0.0)) <= 10.0 * room
        ):
            out.append(
                f"deviation of {name}: {was['combined']:.3g} stated, {now['combined']:.3g} found"
            )
    return out


def paths_by_role(listed: Sequence[Mapping[str, str]]) -> dict[str, list[Path]]:
    """Paths of a certificate's files by what they are."""
    out: dict[str, list[Path]] = {}
    for file in listed:
        out.setdefault(file["role"], []).append(Path(file["path"]))
    return out


def _listed(role: str, folder: Path, names: Sequence[str]) -> list[dict[str, str]]:
    paths = [(folder / name).resolve() for name in names if (folder / name).exists()]
    return [{"role": role, "path": str(path), "sha256": hash_of(path)} for path in paths]
