# SPDX-License-Identifier: Apache-2.0
"""Export of a result with a proof of its accuracy, and the repetition of the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.arm import Identification
from sysid_core.export import (
    PROOF_SCHEMA,
    ArmResult,
    Carried,
    ExportedTarget,
    Target,
    export_arm,
    judge_file,
)
from sysid_core.files import Count, FileKind, FileSchema, Name, Number, hash_of
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import (
    RobotModel,
)
from sysid_core.settings import build_settings
from sysid_core.signals import ColumnMap, Recording
from sysid_core.workflows.arm_data import chain_of, load_recording
from sysid_core.workflows.certificate import CertificateCheck, verify_certificate
from sysid_core.workflows.inputs import RESULT, mesh_places
from sysid_core.workflows.settings import IdentifySettings

MOST_STATES = 100_000  # that a proof may ask for: a minute of work
# Errors of a repeated proof may differ by this, relative: other versions of libraries round otherwise.
REPEATED = 1e-6
_PROOF = FileKind("proof", "Give the proof.json that `sysid export` wrote.", EstimationError)


class _Part(FileSchema):
    MORE_KEYS: ClassVar[bool] = True


class _File(_Part):
    path: Name
    sha256: Name


class _Held(_File):
    folder: Name
    frame: Name


class _Errors(_Part):
    exported: Number


class _Export(_Part):
    target: Name
    files: list[_File] = Field(min_length=1)
    errors: _Errors


class _ProofFile(_Part):
    """Entries of a proof.json that are read."""

    result: Name | None
    model: _File | None
    carried: _Held | _Part | None = None  # a frame alone: of a payload in memory
    states: Annotated[int, Field(strict=True, ge=1, le=MOST_STATES)]
    seed: Count
    exports: list[_Export]


def load_result(folder: Path, data: Path | None = None) -> ArmResult:
    """Load a result of `sysid identify` with its recordings.

    Args:
        folder: Folder with result.json, parameters.yaml and estimate.yaml.
        data: Folder to search for recordings that are not at their stored path; None: none.

    Raises:
        SysIdError: The result is not that of an arm, or files are missing or have changed.
    """
    result = RESULT.read_json(folder / "result.json")
    if not (folder / "parameters.yaml").is_file():
        servos = (folder / "servos.yaml").is_file()
        raise EstimationError(
            f"'{folder}' has no parameters.yaml: only results of `sysid identify` can be exported.",
            remedy=f"Export the servos: sysid servos export {folder} --out FILE.xml."
            if servos
            else "Give a folder that `sysid identify` wrote; a payload is exported with its arm: --payload DIR.",
        )
    inputs = result.get("inputs") if isinstance(result, dict) else None
    if not (isinstance(inputs, dict) and inputs.get("options")):
        raise RESULT.refusal(folder / "result.json", "does not list its input files")
    try:
        files = tuple(_found(file, data) for file in inputs["files"])
        places = {
            file["path"]: Path(now["path"])
            for file, now in zip(inputs["files"], files, strict=True)
        }
        settings = build_settings(IdentifySettings, inputs["options"], places)
        meshes = mesh_places(settings.robot)
    except (KeyError, TypeError, AttributeError) as err:
        raise RESULT.refusal(
            folder / "result.json",
            f"lists its input files in another form than this version ({err})",
        ) from err
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    robot, loops = settings.robot, settings.loops
    model = chain_of(robot, loops) if loops else RobotModel.from_urdf(robot)

    def read(paths: Sequence[Path]) -> tuple[Recording, ...]:
        return tuple(load_recording(path, columns, settings.effort_kind, model) for path in paths)

    return ArmResult(
        Identification.load(folder, model),
        read(settings.recordings),
        read(settings.validate),
        files,
        meshes,
    )


def export_result(
    folder: Path,
    targets: Sequence[Target],
    out: Path,
    *,
    data: Path | None = None,
    carried: Carried | None = None,
    progress: Progress = silent,
) -> tuple[ExportedTarget, ...]:
    """Export the result in a folder, with a proof of its accuracy.

    Args:
        folder: Result folder of `sysid identify`.
        targets: Export formats.
        out: Folder for the exports and proof.json.
        data: Folder to search for recordings that are not at their stored path; None: none.
        carried: Payload of the robot; None: no payload.
        progress: Function called with each step.

    Raises:
        SysIdError: The result cannot be read, or a format cannot represent it.
    """
    progress(Step.READING)
    result = replace(load_result(folder, data), carried=carried)
    return export_arm(result, targets, out, folder=folder, progress=progress)


def verify(
    path: Path, *, data: Path | None = None, progress: Progress = silent
) -> list[CertificateCheck]:
    """Check a certificate, or the proof of an export: the hashes of all files, then all numbers,
    computed again from the data.

    Args:
        path: Path of certificate.json or proof.json.
        data: Folder to search for files that are not at their stored path; None: none.
        progress: Function called with each step.

    Raises:
        SysIdError: The file is neither a certificate nor a proof, or its result cannot be read.
    """
    try:
        found = RESULT.read_json(path)
    except SysIdError:
        found = None  # the certificate's reader says what is wrong with it
    if isinstance(found, dict) and found.get("schema") == PROOF_SCHEMA:
        return _verify_export(path, data, progress)
    return verify_certificate(path, data=data, progress=progress)


def _verify_export(path: Path, data: Path | None, progress: Progress) -> list[CertificateCheck]:
    """Checks of a proof: hashes of the files, torques at the same states, errors from the data."""
    proof = _PROOF.validated(_PROOF.read_json(path), _ProofFile, path)
    held = proof.carried
    in_memory = held is not None and not isinstance(held, _Held)
    if proof.result is None or proof.model is None or in_memory:
        raise _PROOF.refusal(path, "belongs to a result in memory without stored data")
    folder = Path(proof.result)
    checks = [_same(proof.model, folder, "model")]
    checks += [_same(f, path.parent, one.target) for one in proof.exports for f in one.files]
    if isinstance(held, _Held):
        checks.append(_same(held, Path(held.folder), "payload"))
    if not all(check.ok for check in checks):
        return checks
    carried = Carried.load(Path(held.folder), held.frame) if isinstance(held, _Held) else None
    result = replace(load_result(folder, data), carried=carried)
    for one in proof.exports:
        target = Target.named(one.target, "A target of the proof", EstimationError)
        progress(Step.PREDICTING)
        file = path.parent / one.files[0].path
        differences, tolerance, error = judge_file(result, target, file, proof.states, proof.seed)
        worst = max(differences.values())
        checks.append(
            CertificateCheck(
                f"{target.value}: torques",
                worst <= tolerance,
                f"{worst:.1e} N m at most in {proof.states} states, allowed {tolerance:.0e}",
            )
        )
        told, found = one.errors.exported, error.exported
        checks.append(
            CertificateCheck(
                f"{target.value}: error as exported",
                abs(found - told) <= REPEATED * abs(told),
                f"{100 * found:.3f} %, stated {100 * told:.3f} %",
            )
        )
    return checks


def _found(file: Mapping[str, str], data: Path | None) -> Mapping[str, str]:
    """Path of the file: the stated one, or below the folder with data; its content must be the
    same.
    """
    path = Path(file["path"])
    places = [path, *(sorted(data.rglob(path.name)) if data is not None else [])]
    here = next((place for place in places if place.exists()), None)
    if here is None:
        raise EstimationError(
            f"'{path}', an input of the result, was not found.",
            remedy="Give its present folder: --data FOLDER.",
        )
    if hash_of(here) != file["sha256"]:
        raise EstimationError(
            f"'{here}' has changed since the result was computed.",
            remedy="Identify again, or give the folder with the original file: --data FOLDER.",
        )
    return {**file, "path": str(here.resolve())}


def _same(file: _File, base: Path, what: str) -> CertificateCheck:
    path = base / file.path
    ok = path.is_file() and hash_of(path) == file.sha256
    return CertificateCheck(f"{what}: {file.path}", ok, file.sha256[:16] if ok else "has changed")
