# SPDX-License-Identifier: Apache-2.0
"""A result exported to what others read, with a proof that both agree, and the proof repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysid_core.errors import EstimationError
from sysid_core.files import FileKind, read_text
from sysid_core.pipeline.recordings import load_recording

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Identification
    from sysid_core.export import ExportedError, Loss, Target
    from sysid_core.signals import Recording

PROOF = "proof.json"
PROOF_SCHEMA = "robot_sysid/export_proof/1"
STATES, SEED = 1000, 20261122
# Errors of a repeated proof may differ by this, relative: other versions of libraries round otherwise.
REPEATED = 1e-6
_RESULT = FileKind("result", "Give the folder that `sysid identify` wrote.", EstimationError)


@dataclass(frozen=True, eq=False)
class ArmResult:
    """What a folder of `sysid identify` says, with its recordings.

    Attributes:
        identification: The identified robot.
        fitted: Runs of the fit.
        others: Runs that weren't fitted.
        files: Role, path and sha256 of all inputs.
        places: Folders in which meshes may be.
    """

    identification: Identification
    fitted: tuple[Recording, ...]
    others: tuple[Recording, ...]
    files: tuple[Mapping[str, str], ...]
    places: tuple[Path, ...]


@dataclass(frozen=True)
class ExportedTarget:
    """One target of an export.

    Attributes:
        target: The format.
        file: What others load.
        error: Held-out errors inside and as exported.
        differences: Joint to the largest difference of torques [N m].
        losses: What the files lack beside terms of friction.
    """

    target: Target
    file: Path
    error: ExportedError
    differences: Mapping[str, float]
    losses: tuple[Loss, ...]

    @property
    def equal(self) -> bool:
        """Whether the file's torques are ours."""
        return max(self.differences.values()) <= self.target.tolerance


@dataclass(frozen=True)
class ProofCheck:
    """One thing that `verify_export` looked at.

    Attributes:
        name: What.
        ok: Whether it holds.
        detail: Numbers.
    """

    name: str
    ok: bool
    detail: str


def load_result(folder: Path, data: Path | None = None) -> ArmResult:
    """Read a result of `sysid identify` and its recordings.

    Args:
        folder: With result.json, parameters.yaml and estimate.yaml.
        data: Where recordings are looked for that aren't where they were.

    Raises:
        SysIdError: It is no arm's result, or files are missing or have changed.
    """
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.arm import load_identification
    from sysid_core.robot import RobotModel
    from sysid_core.signals import ColumnMap

    try:
        inputs = json.loads(read_text(folder / "result.json", _RESULT))["inputs"]
        listed, robot = [dict(file) for file in inputs["files"]], str(inputs["robot"])
        effort_kind = str(inputs["settings"].get("effort_kind", ""))
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise _RESULT.refusal(folder / "result.json", "it doesn't name its inputs") from err
    if not (folder / "parameters.yaml").is_file():
        raise EstimationError(
            f"'{folder}' has no parameters.yaml: only results of arms are exported.",
            remedy="Give a folder that `sysid identify` wrote without --loops.",
        )
    files = tuple(_found(file, data) for file in listed)
    by_role: dict[str, list[Path]] = {}
    for file in files:
        by_role.setdefault(file["role"], []).append(Path(file["path"]))
    description = by_role.get("robot", [None])[0]
    model = RobotModel.from_urdf(description or robot)
    estimate = Estimate.load(folder / "estimate.yaml")
    columns = ColumnMap.load(by_role["columns"][0]) if "columns" in by_role else None

    def read(role: str) -> tuple[Recording, ...]:
        return tuple(load_recording(p, columns, effort_kind) for p in by_role.get(role, ()))

    return ArmResult(
        load_identification(folder / "parameters.yaml", model, estimate),
        read("recordings"),
        read("validate"),
        files,
        _mesh_places(description, robot),
    )


def export_result(
    folder: Path,
    targets: Sequence[Target],
    out: Path,
    *,
    data: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[ExportedTarget, ...]:
    """Write a result for others, and a proof of what the files say.

    Args:
        folder: That `sysid identify` wrote.
        targets: What to write.
        out: Folder of the exports and of proof.json.
        data: Where recordings are looked for that aren't where they were.
        say: Shows progress.

    Raises:
        SysIdError: The result can't be read, or has something that a target can't express.
    """
    from sysid_core.export import projections, remarks_on, write_target

    say("reading the result and its recordings")
    result = load_result(folder, data)
    made, proofs = [], []
    for target in targets:
        say(f"writing {target.value}")
        robot, given_back = projections(result.identification, result.fitted, target)
        written = write_target(
            target,
            robot,
            out,
            places=result.places,
            remarks=remarks_on(result.identification),
        )
        differences, error = _judged(result, target, written.files[0], robot, given_back)
        made.append(ExportedTarget(target, written.files[0], error, differences, written.losses))
        proofs.append(
            {
                "target": target.value,
                "files": [_hashed(path, out) for path in written.files],
                "tolerance": target.tolerance,
                "largest_difference": differences,
                "errors": error.to_dict(),
                "losses": [loss.to_dict() for loss in written.losses],
            }
        )
    proof = {
        "schema": PROOF_SCHEMA,
        "robot": result.identification.model.name,
        "urdf_hash": result.identification.model.urdf_hash,
        "result": str(folder.resolve()),
        "model": _hashed(folder / "parameters.yaml", folder),
        "data": [dict(file) for file in result.files],
        "states": STATES,
        "seed": SEED,
        "exports": proofs,
    }
    (out / PROOF).write_text(json.dumps(proof, indent=2) + "\n", encoding="utf-8")
    return tuple(made)


def verify_export(
    path: Path, *, data: Path | None = None, say: Callable[[str], None] = lambda _: None
) -> list[ProofCheck]:
    """Repeat a proof: files by their hashes, torques at the same states, errors from the data.

    Args:
        path: proof.json.
        data: Where recordings are looked for that aren't where they were.
        say: Shows progress.

    Raises:
        SysIdError: It is no proof, or its result can't be read.
    """
    from sysid_core.export import Target, projections

    try:
        proof = json.loads(read_text(path, _RESULT))
        folder, model, exports = Path(proof["result"]), proof["model"], proof["exports"]
        states, seed = int(proof["states"]), int(proof["seed"])
    except (KeyError, TypeError, ValueError) as err:
        raise _RESULT.refusal(path, "it isn't the proof of an export") from err
    checks = [_same(model, folder, "model")]
    checks += [_same(f, path.parent, one["target"]) for one in exports for f in one["files"]]
    if not all(check.ok for check in checks):
        return checks
    result = load_result(folder, data)
    for one in exports:
        target = Target(one["target"])
        say(f"repeating {target.value}")
        robot, given_back = projections(result.identification, result.fitted, target)
        file = path.parent / one["files"][0]["path"]
        differences, error = _judged(result, target, file, robot, given_back, states, seed)
        worst = max(differences.values())
        checks.append(
            ProofCheck(
                f"{target.value}: torques",
                worst <= target.tolerance,
                f"{worst:.1e} N m at most in {states} states, allowed {target.tolerance:.0e}",
            )
        )
        told, found = one["errors"]["exported"], error.exported
        checks.append(
            ProofCheck(
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
    robot: Any,
    given_back: Mapping[str, Any],
    states: int = STATES,
    seed: int = SEED,
) -> tuple[dict[str, float], ExportedError]:
    """Differences of torques by joint, and errors inside and as exported."""
    from sysid_core.export import judge_export, largest_differences, reader_of
    from sysid_core.validation import predict_recording

    reader = reader_of(target, file, robot)
    differences = largest_differences(
        reader, robot, whole=target.holds_all, states=states, seed=seed
    )
    runs = result.others or result.fitted
    error = judge_export(
        result.identification,
        target,
        reader.torques,
        runs,
        [predict_recording(result.identification, run) for run in runs],
        held_out=bool(result.others),
        robot=robot,
        given_back=given_back,
    )
    return differences, error


def _found(file: Mapping[str, str], data: Path | None) -> Mapping[str, str]:
    """The file where it was, or below the folder with data; its content must be the same."""
    from sysid_core.batch import hash_of

    path = Path(file["path"])
    places = [path, *(sorted(data.rglob(path.name)) if data is not None else [])]
    here = next((place for place in places if place.exists()), None)
    if here is None:
        raise EstimationError(
            f"'{path}', which the result was made from, isn't there.",
            remedy="Give the folder that holds it now: --data FOLDER.",
        )
    if hash_of(here) != file["sha256"]:
        raise EstimationError(
            f"'{here}' has changed since the result was made from it.",
            remedy="Identify again, or give the folder with the file as it was: --data FOLDER.",
        )
    return {**file, "path": str(here.resolve())}


def _mesh_places(description: Path | None, robot: str) -> tuple[Path, ...]:
    from sysid_core.robot import example_robots

    path = description or example_robots().get(robot)
    return () if path is None else (Path(path).resolve().parent,)


def _hashed(path: Path, base: Path) -> dict[str, str]:
    from sysid_core.batch import hash_of

    return {"path": str(path.relative_to(base)), "sha256": hash_of(path)}


def _same(file: Mapping[str, str], base: Path, what: str) -> ProofCheck:
    from sysid_core.batch import hash_of

    path = base / file["path"]
    ok = path.is_file() and hash_of(path) == file["sha256"]
    return ProofCheck(f"{what}: {file['path']}", ok, file["sha256"][:16] if ok else "has changed")
