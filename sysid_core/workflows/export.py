# SPDX-License-Identifier: Apache-2.0
"""Export of a result with a proof of its accuracy, and the repetition of the proof."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, load_identification
from sysid_core.estimation.loaded_arm import with_load
from sysid_core.export import (
    ExportedError,
    Loss,
    Projection,
    Projections,
    Target,
    judge_export,
    largest_differences,
    projections,
    reader_of,
    remarks_on,
    require_target,
    write_target,
)
from sysid_core.files import (
    Count,
    FileKind,
    FileSchema,
    Name,
    Number,
    hash_of,
    move_whole,
    read_json,
    validated,
)
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import (
    INERTIAL_NAMES,
    Array,
    RobotModel,
    example_robots,
    is_physically_consistent,
)
from sysid_core.settings import build_settings
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import predict_recording
from sysid_core.workflows.arm_data import chain_of, load_recording
from sysid_core.workflows.certificate import CertificateCheck
from sysid_core.workflows.inputs import RESULT, json_text
from sysid_core.workflows.settings import IdentifySettings

PROOF = "proof.json"
PROOF_SCHEMA = "robot_sysid/export_proof/1"
STATES, SEED = 1000, 20261122
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
    """What is read of a proof.json."""

    result: Name | None
    model: _File | None
    carried: _Held | _Part | None = None  # a frame alone: of a payload in memory
    states: Annotated[int, Field(strict=True, ge=1, le=MOST_STATES)]
    seed: Count
    exports: list[_Export]


@dataclass(frozen=True)
class Carried:
    """Payload as a body fixed to a frame of the robot.

    Attributes:
        estimate: Of its ten inertial parameters.
        frame: The frame of the robot that its parameters are in: the sensor's.
        folder: That `sysid payload` wrote; None: it is only in memory.
    """

    estimate: Estimate
    frame: str
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path, frame: str) -> Carried:
        """Load a payload from the result of `sysid payload`.

        Raises:
            SysIdError: The folder has no estimate that can be read.
        """
        return cls(Estimate.load(folder / "estimate.yaml"), frame, folder)

    def on(self, robot: Projection) -> Projection:
        """Copy of a robot that carries the payload.

        Raises:
            SysIdError: No payload's estimate, a body that can't exist, a frame that doesn't move.
        """
        values = self.estimate.values
        names = tuple(name.rsplit(".", 1)[-1] for name in self.estimate.names)
        if names != INERTIAL_NAMES or not is_physically_consistent(values):
            where = "The estimate" if self.folder is None else f"'{self.folder}'"
            raise EstimationError(
                f"{where} contains no physically possible payload.",
                remedy="Give a result of `sysid payload` whose estimate is consistent.",
            )
        return replace(robot, model=with_load(robot.model, self.frame, values))


@dataclass(frozen=True, eq=False)
class ArmResult:
    """Result of `sysid identify` with its recordings, loaded from its folder.

    Attributes:
        identification: The identified robot.
        fitted: Runs of the fit.
        others: Held-out runs.
        files: Role, path and sha256 of all inputs.
        places: Folders in which meshes may be.
        carried: What the exported robot holds; None: nothing.
    """

    identification: Identification
    fitted: tuple[Recording, ...]
    others: tuple[Recording, ...]
    files: tuple[Mapping[str, str], ...]
    places: tuple[Path, ...]
    carried: Carried | None = None


@dataclass(frozen=True)
class ExportedTarget:
    """Exported file in one format.

    Attributes:
        target: The format.
        file: What others load.
        error: Held-out errors inside and as exported.
        differences: Joint to the largest difference of torques [N m].
        tolerance: The largest that rounding excuses [N m].
        losses: What the files lack beside terms of friction.
    """

    target: Target
    file: Path
    error: ExportedError
    differences: Mapping[str, float]
    tolerance: float
    losses: tuple[Loss, ...]

    @property
    def name(self) -> str:
        """Folder and name of the file, such as `mjcf/ur5.xml`."""
        return f"{self.file.parent.name}/{self.file.name}"

    @property
    def equal(self) -> bool:
        """True if the torques of the file equal those of the model."""
        return max(self.differences.values()) <= self.tolerance


def load_result(folder: Path, data: Path | None = None) -> ArmResult:
    """Load a result of `sysid identify` with its recordings.

    Args:
        folder: With result.json, parameters.yaml and estimate.yaml.
        data: Where recordings are looked for that aren't where they were.

    Raises:
        SysIdError: It is no arm's result, or files are missing or have changed.
    """
    result = read_json(folder / "result.json", RESULT)
    inputs = result.get("inputs") if isinstance(result, dict) else None
    if not (isinstance(inputs, dict) and inputs.get("options")):
        raise RESULT.refusal(folder / "result.json", "does not list its input files")
    if not (folder / "parameters.yaml").is_file():
        raise EstimationError(
            f"'{folder}' has no parameters.yaml: only results of `sysid identify` can be exported.",
            remedy="Give a folder that `sysid identify` wrote.",
        )
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
        load_identification(
            folder / "parameters.yaml",
            model,
            Estimate.load(folder / "estimate.yaml"),
        ),
        read(settings.recordings),
        read(settings.validate),
        files,
        meshes,
    )


def mesh_places(robot: str) -> tuple[Path, ...]:
    """Folders that may contain the meshes of a robot: that of its description, if this is a file."""
    description = Path(example_robots().get(robot, robot))
    return (description.resolve().parent,) if description.is_file() else ()


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
        folder: That `sysid identify` wrote.
        targets: What to write.
        out: Folder of the exports and of proof.json.
        data: Where recordings are looked for that aren't where they were.
        carried: What the robot holds.
        progress: Shows steps.

    Raises:
        SysIdError: The result can't be read, or has something that a target can't express.
    """
    progress(Step.READING)
    result = replace(load_result(folder, data), carried=carried)
    return export_arm(result, targets, out, folder=folder, progress=progress)


@contextmanager
def _all_or_none(out: Path) -> Iterator[Path]:
    """A folder whose files go to `out` once all of them are written and judged; else none.

    Raises:
        SysIdError: Nothing can be written to `out`.
    """
    new = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out) as hidden:
            yield Path(hidden)
            files = sorted(path for path in Path(hidden).rglob("*") if path.is_file())
            places = [out / file.relative_to(hidden) for file in files]
            for place in places:
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.is_dir():
                    raise IsADirectoryError(f"'{place}' is a folder")
            for file, place in zip(files, places, strict=True):
                move_whole(file, place)
    except BaseException as err:
        with suppress(OSError):
            for path in new:
                path.rmdir()
        if isinstance(err, OSError):
            raise SysIdError(
                f"The results cannot be written to '{out}': {err.strerror or err}.",
                remedy="Give another --out.",
            ) from err
        raise


def export_arm(
    result: ArmResult,
    targets: Sequence[Target],
    out: Path,
    *,
    folder: Path | None = None,
    progress: Progress = silent,
) -> tuple[ExportedTarget, ...]:
    """Export an identified arm, with a proof of its accuracy.

    Args:
        result: The identified robot with its recordings.
        targets: What to write.
        out: Folder of the exports and of proof.json.
        folder: Of the result; None where it is only in memory: `verify_export` can't repeat it then.
        progress: Shows steps.

    Raises:
        SysIdError: The result has something that a target can't express.
    """
    model = result.identification.model
    for target in targets:
        require_target(target, model)
    with _all_or_none(out) as hidden:
        made, proofs = [], []
        for target in targets:
            progress(Step.WRITING)
            in_terms = projections(result.identification, result.fitted, target)
            written = write_target(
                target,
                in_terms.robot if result.carried is None else result.carried.on(in_terms.robot),
                hidden,
                places=result.places,
                remarks=remarks_on(result.identification),
                stays=out,
            )
            file = written.files[0]
            differences, tolerance, error = _judged(result, target, file, in_terms)
            stays = out / file.relative_to(hidden)
            made.append(
                ExportedTarget(target, stays, error, differences, tolerance, written.losses)
            )
            proofs.append(
                {
                    "target": target.value,
                    "files": [_hashed(path, hidden) for path in written.files],
                    "tolerance": tolerance,
                    "largest_difference": differences,
                    "errors": error.to_dict(),
                    "losses": [loss.to_dict() for loss in written.losses],
                }
            )
        proof = _proof(result, folder, proofs)
        (hidden / PROOF).write_text(json_text(proof), encoding="utf-8")
    return tuple(made)


def _proof(
    result: ArmResult, folder: Path | None, exports: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """Contents of proof.json."""
    model, carried = result.identification.model, result.carried
    return {
        "schema": PROOF_SCHEMA,
        "robot": model.name,
        "urdf_hash": model.urdf_hash,
        "result": None if folder is None else str(folder.resolve()),
        "model": None if folder is None else _hashed(folder / "parameters.yaml", folder),
        "carried": None if carried is None else _told(carried),
        "data": [dict(file) for file in result.files],
        "states": STATES,
        "seed": SEED,
        "exports": list(exports),
    }


def _told(carried: Carried) -> dict[str, str]:
    if carried.folder is None:
        return {"frame": carried.frame}
    file = _hashed(carried.folder / "estimate.yaml", carried.folder)
    return {**file, "folder": str(carried.folder.resolve()), "frame": carried.frame}


def verify_export(
    path: Path, *, data: Path | None = None, progress: Progress = silent
) -> list[CertificateCheck]:
    """Repeat the checks of a proof: hashes of the files, torques at the same states, errors from
    the data.

    Args:
        path: proof.json.
        data: Where recordings are looked for that aren't where they were.
        progress: Shows steps.

    Raises:
        SysIdError: It is no proof, or its result can't be read.
    """
    proof = validated(read_json(path, _PROOF), _ProofFile, _PROOF, path)
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
        in_terms = projections(result.identification, result.fitted, target)
        file = path.parent / one.files[0].path
        differences, tolerance, error = _judged(
            result, target, file, in_terms, proof.states, proof.seed
        )
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


def _judged(
    result: ArmResult,
    target: Target,
    file: Path,
    in_terms: Projections,
    states: int = STATES,
    seed: int = SEED,
) -> tuple[dict[str, float], float, ExportedError]:
    """Differences of torques by joint, what is allowed, and errors inside and as exported.

    The runs were recorded without the carried load, so that its torques are subtracted before the
    errors are computed.
    """
    robot = in_terms.robot
    written = robot if result.carried is None else result.carried.on(robot)
    reader = reader_of(target, file, written)
    differences, torque = largest_differences(
        reader, written, whole=target.holds_all, states=states, seed=seed
    )
    runs = result.others or result.fitted

    def unloaded(q: Array, v: Array, a: Array) -> Array:
        return reader.torques(q, v, a) - written.torques(q, v, a) + robot.torques(q, v, a)

    error = judge_export(
        result.identification,
        target,
        reader.torques if result.carried is None else unloaded,
        runs,
        [predict_recording(result.identification, run) for run in runs],
        held_out=bool(result.others),
        projections=in_terms,
    )
    return differences, target.tolerance(torque), error


def _found(file: Mapping[str, str], data: Path | None) -> Mapping[str, str]:
    """The file where it was, or below the folder with data; its content must be the same."""
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


def is_proof(path: Path) -> bool:
    """True if a file is the proof of an export."""
    try:
        found = read_json(path, RESULT)
    except SysIdError:
        return False
    return isinstance(found, dict) and found.get("schema") == PROOF_SCHEMA


def _hashed(path: Path, base: Path) -> dict[str, str]:
    return {"path": str(path.relative_to(base)), "sha256": hash_of(path)}


def _same(file: _File, base: Path, what: str) -> CertificateCheck:
    path = base / file.path
    ok = path.is_file() and hash_of(path) == file.sha256
    return CertificateCheck(f"{what}: {file.path}", ok, file.sha256[:16] if ok else "has changed")
