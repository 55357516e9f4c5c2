# SPDX-License-Identifier: Apache-2.0
"""Certificates of identifications: results and hashes of the inputs, which can be repeated from the
data.

A certificate is not signed: `verify` computes all its numbers again from the data. To prove who
issued it, sign the file with another tool, such as `minisign` or `gpg --detach-sign`.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification
from sysid_core.files import FileKind, hash_of
from sysid_core.progress import Progress, silent
from sysid_core.settings import build_settings
from sysid_core.validation import Prediction
from sysid_core.workflows.identification import IdentifiedArm
from sysid_core.workflows.inputs import RESULT, hashed, paths_by_role, work_key
from sysid_core.workflows.settings import IdentifySettings

SCHEMA = "robot_sysid/certificate/2"
_CERTIFICATE = FileKind("certificate", "Give a file that `sysid certify` wrote.", SysIdError)
_RESULTS = ("estimate.yaml", "parameters.yaml")
_PACKAGES = ("robot_sysid", "numpy", "scipy", "pin", "cvxpy", "clarabel")
SAME_ERROR = 1e-5  # of relative errors
SAME_PARAMETER = 1e-6  # of parameters near zero, in their units
SAME_SHARE = 1e-3  # of a standard deviation: numbers of another machine are the same


@dataclass(frozen=True)
class CertificateCheck:
    """Result of one check of a certificate.

    Attributes:
        name: Name of the check.
        ok: True if the check passed.
        detail: Explanation in words.
    """

    name: str
    ok: bool
    detail: str


def certify(
    folder: Path, *, robot: str = "", earlier: Path | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Return the contents of a certificate; all numbers are recomputed from the data.

    Args:
        folder: Result folder of `sysid identify`.
        robot: Serial number or name of the individual robot; empty: unknown.
        earlier: Result folder of the previous identification, for the errors "as found"; None:
            inertial parameters of the URDF without friction.
        progress: Function called with each step.

    Raises:
        EstimationError: The result is not reproducible, or its verdict is *fail*.
    """
    result = RESULT.read_json(folder / "result.json")
    inputs = result.get("inputs") if isinstance(result, dict) else None
    if not isinstance(inputs, dict) or not inputs.get("options") or not inputs.get("files"):
        raise RESULT.refusal(folder / "result.json", "does not list its input files")
    try:
        changed = [f["path"] for f in inputs["files"] if hash_of(f["path"]) != f["sha256"]]
        if changed:
            raise EstimationError(
                f"{', '.join(changed)} changed since the identification.", remedy="Identify again."
            )
        listed = [*inputs["files"], *_results_in("result", folder)]
        if earlier is not None:
            listed += _results_in("earlier", earlier)
        repeated = _repeated(inputs, listed, progress)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as err:
        words = f"lists its input files in another form than this version ({err})"
        raise RESULT.refusal(folder / "result.json", words) from err
    return {
        "schema": SCHEMA,
        "robot": robot or repeated["description"]["name"],
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "code": {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "files": listed,
        "inputs": inputs,
        **repeated,
    }


def verify_certificate(
    path: Path, *, data: Path | None = None, progress: Progress = silent
) -> list[CertificateCheck]:
    """Check a certificate: the hashes of all files, then all its numbers, recomputed from the data.

    Args:
        path: Path of `certificate.json`.
        data: Folder to search for files that are not at their stored path; None: none.
        progress: Function called with each step.

    Raises:
        SysIdError: The file is not a certificate.
    """
    content = _CERTIFICATE.read_json(path)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise _CERTIFICATE.refusal(path, f"isn't of the schema {SCHEMA}")
    checks: list[CertificateCheck] = []
    try:
        files = [_found(file, path.parent, data) for file in content["files"]]
        checks = [_file_check(file) for file in files]
        if not all(check.ok for check in checks):
            return checks
        found = _repeated(content["inputs"], files, progress)
        other = _differences(content, found)
        count, runs = len(content["uncertainty_budget"]), len(content["recordings"])
        inputs = content["inputs"]
        same = inputs.get("key") == work_key(inputs["options"], inputs["files"])
    except SysIdError as err:
        return [*checks, CertificateCheck("numbers", False, str(err))]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as err:
        raise _CERTIFICATE.refusal(path, f"lacks a field of this version ({err})") from err
    detail = "; ".join(other) or (
        f"{count} estimates and the errors of {runs} recordings, repeated from the data"
        + ("" if same else " with another version of the code")
    )
    return [*checks, CertificateCheck("numbers", not other, detail)]


def _repeated(
    inputs: Mapping[str, Any], listed: list[dict[str, str]], progress: Progress
) -> dict[str, Any]:
    """Part of a certificate that can be computed from the data alone.

    Raises:
        EstimationError: The estimate in the folder differs from the one computed from its
            recordings, or its repeated verdict is *fail*.
    """
    by_role = paths_by_role(listed)
    places = {
        str(path): now
        for role, paths in paths_by_role(inputs["files"]).items()
        for path, now in zip(paths, by_role[role], strict=True)
    }
    found = IdentifiedArm.from_files(
        build_settings(IdentifySettings, inputs["options"], places), progress
    )
    if not found.verdict.ok:
        raise EstimationError(
            "The verdict of the repeated identification is fail.",
            remedy="Correct the faults listed in its report, identify again, and certify the new result.",
        )
    estimate, parameters = by_role["result"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found.identification.save(folder)
        _require_same(Estimate.load(estimate), Estimate.load(folder / estimate.name), estimate)
        if not is_same(*map(RESULT.read_yaml, (parameters, folder / parameters.name))):
            raise _other_numbers(parameters)
    earlier = by_role.get("earlier")
    before = _errors_before(found, earlier[0].parent if earlier else None)
    return {
        "description": {"name": found.estimate.robot, "urdf_hash": found.estimate.urdf_hash},
        "method": found.estimate.method,
        "verdict": found.verdict.to_dict(),
        "recordings": [
            {
                "name": f"{k}: {name}",
                "fitted": fitted,
                "as_found": before.get(k, as_found),
                "as_left": as_left,
            }
            for k, (name, as_found, as_left, fitted) in enumerate(found.errors(), 1)
        ],
        "uncertainty_budget": _budget(found.estimate, found.gain_sd),
        "parameters": found.parameters(),
    }


def _errors_before(found: IdentifiedArm, earlier: Path | None) -> dict[int, float]:
    """Relative errors of the description or an earlier identification, by number of the recording.

    The errors are empty for arms with a known load, because the result itself contains them.
    """
    if found.data.load is not None:
        if earlier is not None:
            raise EstimationError(
                "--as-found cannot be combined with --loaded.",
                remedy="Omit --as-found, so that the URDF's parameters are used.",
            )
        return {}
    model = found.data.model
    if earlier is not None:
        before = Identification.load(earlier, model)
    else:
        parameters = np.zeros(len(found.identification.names))
        parameters[: 10 * model.n_bodies] = model.pi.ravel()  # without friction
        before = replace(found.identification, parameters=parameters)
    runs = (*(found.data.runs if found.training else ()), *found.data.others)
    return {k: Prediction.of(before, run).relative_error() for k, run in enumerate(runs, 1)}


def _budget(estimate: Estimate, gain_sd: float) -> list[dict[str, Any]]:
    """Contributions to the standard uncertainty of every estimated parameter (GUM: root of the sum
    of squares).
    """
    rows = []
    for name, value, sd, unit, verdict in estimate.rows():
        gain = abs(value) * gain_sd
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


def _differences(stated: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Entries of two statements that differ by more than rounding; empty if none."""
    out = [f"{key} differs" for key in ("description", "method") if stated[key] != found[key]]
    if stated["verdict"]["outcome"] != found["verdict"]["outcome"]:
        out.append(
            f"verdict: {stated['verdict']['outcome']} stated, {found['verdict']['outcome']} found"
        )
    pairs = [
        (name, value, stated["parameters"].get(name)) for name, value in found["parameters"].items()
    ]
    out += [
        f"{name}: {was} stated, {now:.6g} found"
        for name, now, was in pairs
        if was is None or not abs(was - now) <= SAME_SHARE * abs(now) + SAME_PARAMETER
    ]
    for was, now in zip(stated["recordings"], found["recordings"], strict=True):
        for key in ("as_found", "as_left"):
            if not abs(was[key] - now[key]) <= SAME_ERROR * max(1.0, abs(was[key])):
                out.append(f"{key} of {was['name']}: {was[key]:.6f} stated, {now[key]:.6f} found")
    budget, again = ({row["name"]: row for row in x["uncertainty_budget"]} for x in (stated, found))
    if budget.keys() != again.keys():
        out.append("the estimated parameters differ")
        return out
    for name, was in budget.items():
        now = again[name]
        room = SAME_SHARE * (was["combined"] or abs(was["value"])) + 1e-9
        if not abs(was["value"] - now["value"]) <= room:
            out.append(f"{name}: {was['value']:.6g} stated, {now['value']:.6g} found")
        for key in ("fit", "drive_gains", "combined"):
            pair = was[key], now[key]
            if pair != (None, None) and (None in pair or not abs(pair[0] - pair[1]) <= 10.0 * room):
                out.append(f"{key} of {name}: {pair[0]} stated, {pair[1]} found")
        out += [f"{key} of {name} differs" for key in ("unit", "verdict") if was[key] != now[key]]
    return out


def _require_same(stated: Estimate, found: Estimate, path: Path) -> None:
    """Raise an error for an estimate that differs from the stated one."""
    sd = found.standard_deviations
    room = SAME_SHARE * np.where(np.isfinite(sd), sd, np.abs(found.values)) + 1e-9
    if stated.names != found.names or np.any(np.abs(stated.values - found.values) > room):
        raise _other_numbers(path)


def _other_numbers(path: Path) -> EstimationError:
    return EstimationError(
        f"'{path}' does not agree with its recordings.",
        remedy="Identify again, with this version of robot_sysid.",
    )


def is_same(
    stated: Any, found: Any, share: float = SAME_SHARE, least: float = SAME_PARAMETER
) -> bool:
    """Return True if plain data agree; numbers may differ by `share` of their magnitude plus
    `least`.
    """
    if isinstance(found, Mapping) and isinstance(stated, Mapping):
        return stated.keys() == found.keys() and all(
            is_same(stated[key], found[key], share, least) for key in found
        )
    if isinstance(found, list) and isinstance(stated, list):
        return len(stated) == len(found) and all(
            is_same(*pair, share, least) for pair in zip(stated, found, strict=True)
        )
    if isinstance(found, float) and isinstance(stated, float | int):
        return abs(stated - found) <= share * abs(found) + least
    return bool(stated == found)


def _results_in(role: str, folder: Path) -> list[dict[str, str]]:
    return hashed(role, [folder / name for name in _RESULTS])


def _found(file: Mapping[str, str], beside: Path, data: Path | None) -> dict[str, str]:
    """Path of the file: the stated path, or the folder of the certificate, or the folder with data."""
    name = Path(file["path"]).name
    places = [] if data is None else sorted(data.rglob(name))
    if len(places) > 1:  # recordings of one name in several folders
        places = [place for place in places if hash_of(place) == file["sha256"]] or places
    places += [Path(file["path"]), beside / name]
    return {**file, "path": str(next((p for p in places if p.exists()), places[0]))}


def _file_check(file: Mapping[str, str]) -> CertificateCheck:
    name = f"{file['role']}: {Path(file['path']).name}"
    if not Path(file["path"]).exists():
        return CertificateCheck(name, False, f"'{file['path']}' was not found: give --data FOLDER")
    same = hash_of(file["path"]) == file["sha256"]
    return CertificateCheck(name, same, f"sha256 {file['sha256'][:16]}" if same else "has changed")
