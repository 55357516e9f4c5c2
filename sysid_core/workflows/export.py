# SPDX-License-Identifier: Apache-2.0
"""Export of a result with a proof of its accuracy, and the repetition of the proof."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.arm import Identification
from sysid_core.export import ArmResult, Carried, ExportedTarget, Proof, Target
from sysid_core.files import Count, FileKind, FileSchema, Name, Number, hash_of, json_text
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import RobotModel
from sysid_core.servos import load_servos
from sysid_core.signals import ColumnMap, Recording
from sysid_core.workflows.arm_data import ArmData, chain_of
from sysid_core.workflows.certificate import CertificateCheck, is_same, verify_certificate
from sysid_core.workflows.inputs import RESULT, mesh_places, recorded_settings
from sysid_core.workflows.servo_export import (
    SERVOS,
    servo_differences,
    servo_errors,
    stated_servos,
)
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


class _Input(_File):
    role: Name


class _Held(_File):
    folder: Name
    frame: Name


class _Errors(_Part):
    inside: Number
    exported: Number


class _Export(_Part):
    target: Name
    files: list[_File] = Field(min_length=1)
    errors: _Errors | None = None  # of servos: their recordings were not found


class _ProofFile(_Part):
    """Entries of a proof.json that are read."""

    urdf_hash: str
    result: Name | None
    model: _File | None
    carried: _Held | _Part | None = None  # a frame alone: of a payload in memory
    data: tuple[_Input, ...] = ()  # of servos: none
    states: Annotated[int, Field(strict=True, ge=1, le=MOST_STATES)]
    seed: Count
    exports: list[_Export] = Field(min_length=1)


def load_result(folder: Path, data: Path | None = None) -> ArmResult:
    """Load a result of `sysid identify` with its recordings.

    Args:
        folder: Folder with result.json, parameters.yaml and estimate.yaml.
        data: Folder to search for recordings that are not at their stored path; None: none.

    Raises:
        SysIdError: The result is not that of an arm, or files are missing or have changed.
    """
    if not (folder / "parameters.yaml").is_file():
        servos = (folder / "servos.yaml").is_file()
        raise EstimationError(
            f"'{folder}' has no parameters.yaml: only results of `sysid identify` can be exported.",
            remedy=f"Export the servos: sysid servos export {folder} --out FILE.xml."
            if servos
            else "Give a folder that `sysid identify` wrote; a payload is exported with its arm: --payload DIR.",
        )
    settings, files = recorded_settings(folder, IdentifySettings, data)
    paths = (*settings.recordings, *settings.validate)
    if not (settings.recordings and all(isinstance(path, Path) for path in paths)):
        raise RESULT.refusal(folder / "result.json", "does not list its recordings")
    meshes = mesh_places(settings.robot)
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    robot, loops = settings.robot, settings.loops
    model = chain_of(robot, loops) if loops else RobotModel.from_urdf(robot)

    def read(paths: Sequence[Path]) -> tuple[Recording, ...]:
        return tuple(
            ArmData.recording(path, columns, settings.effort_kind, model) for path in paths
        )

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
    return result.export(targets, out, folder=folder, progress=progress)


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
    if isinstance(found, dict) and found.get("schema") == Proof.SCHEMA:
        return _verify_export(path, data, progress)
    return verify_certificate(path, data=data, progress=progress)


def _verify_export(path: Path, data: Path | None, progress: Progress) -> list[CertificateCheck]:
    """Checks of a proof: hashes of the files, torques at the same states, errors from the data."""
    stated = _PROOF.read_json(path)
    proof = _PROOF.validated(stated, _ProofFile, path)
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
    servos = (folder / SERVOS).is_file()
    if not servos and any(one.errors is None for one in proof.exports):
        raise _PROOF.refusal(path, "does not state the errors of its files")
    robot, judge, files = _servos(folder, data) if servos else _arm(folder, data, carried)
    known = (robot.name, robot.urdf_hash) == (stated.get("robot"), proof.urdf_hash)
    checks.append(CertificateCheck("robot", known, f"{robot.name} {robot.urdf_hash}"))
    inputs = [[of.get(key) for key in ("role", "sha256")] for of in files]
    kept = [[of.role, of.sha256] for of in proof.data] == inputs
    checks.append(CertificateCheck("data", kept, f"{len(files)} files of the result"))
    for one, was in zip(proof.exports, stated["exports"], strict=True):
        target = Target.named(one.target, "A target of the proof", EstimationError)
        progress(Step.PREDICTING)
        file = path.parent / one.files[0].path
        now = json.loads(json_text(judge(target, file, proof)))
        checks += _repeated(target, was, now)
    return checks


_Judge = Callable[[Target, Path, _ProofFile], Mapping[str, object]]


_Files = tuple[Mapping[str, str], ...]


def _arm(
    folder: Path, data: Path | None, carried: Carried | None
) -> tuple[RobotModel, _Judge, _Files]:
    arm = replace(load_result(folder, data), carried=carried)

    def judge(target: Target, file: Path, proof: _ProofFile) -> Mapping[str, object]:
        with TemporaryDirectory() as again:
            losses = arm.write(target, Path(again)).losses
        return arm.judge(target, file, losses, proof.states, proof.seed).stated()

    return arm.identification.model, judge, arm.files


def _servos(folder: Path, data: Path | None) -> tuple[RobotModel, _Judge, _Files]:
    servos = load_servos(folder)

    def judge(target: Target, file: Path, proof: _ProofFile) -> Mapping[str, object]:
        found = servo_differences(servos, target, file, proof.states, proof.seed)
        errors = servo_errors(folder, file, data) if proof.exports[0].errors else None
        return stated_servos(servos, target, *found, errors)

    return servos.robot, judge, ()


def _repeated(
    target: Target, stated: Mapping[str, Any], found: Mapping[str, Any]
) -> list[CertificateCheck]:
    """Checks of the numbers and of the stated losses of one file."""
    room, errors = found["tolerance"], found["errors"]
    worst = float(np.max(list(found["largest_difference"].values())))
    same = (
        is_same(stated.get("tolerance"), room, REPEATED, 0.0)
        and is_same(stated.get("largest_difference"), found["largest_difference"], 0.0, room)
        and stated.get("losses") == found["losses"]
    )
    detail = f"{worst:.1e} N m at most, allowed {room:.0e}"
    detail += "" if same else "; the proof states another difference, tolerance or loss"
    checks = [CertificateCheck(f"{target.value}: torques", same and worst <= room, detail)]
    if errors is not None:
        was = stated["errors"]
        same = is_same(was, errors, REPEATED, REPEATED * abs(errors["inside"]))
        pairs = (
            f"{name} {errors[key]:.5g}, stated {was[key]:.5g}"
            for name, key in (("of the identified model", "inside"), ("of the file", "exported"))
        )
        detail = "; ".join(pairs) + ("" if same else "; a stated number is not repeated")
        checks.append(CertificateCheck(f"{target.value}: errors", same, detail))
    return checks


def _same(file: _File, base: Path, what: str) -> CertificateCheck:
    path = base / file.path
    ok = path.is_file() and hash_of(path) == file.sha256
    return CertificateCheck(f"{what}: {file.path}", ok, file.sha256[:16] if ok else "has changed")
