# SPDX-License-Identifier: Apache-2.0
"""Export of an identified arm in several formats, all or none, with a proof of their accuracy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from sysid_core.errors import EstimationError, ModelError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification
from sysid_core.estimation.loaded_arm import CarriedBody
from sysid_core.export.files import (
    Loss,
    Written,
    largest_differences,
    reader_of,
    require_target,
    write_target,
)
from sysid_core.export.judged import ExportedError, judge_export, judging_runs
from sysid_core.export.projection import Projection, Target, projections
from sysid_core.export.urdf import remarks_on
from sysid_core.files import hash_of, move_whole, write_json
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import Array, RobotModel, is_physically_consistent
from sysid_core.signals import Recording

PROOF = "proof.json"


class Proof:
    """Proof of an export: torques at random states, errors, and hashes of the files.

    Attributes:
        SCHEMA: Schema of proof.json.
        STATES: Number of random states at which torques are compared.
        SEED: Seed of the random states.
    """

    SCHEMA: ClassVar[str] = "robot_sysid/export_proof/1"
    STATES: ClassVar[int] = 1000
    SEED: ClassVar[int] = 20261122

    @staticmethod
    def hashed(path: Path, base: Path) -> dict[str, str]:
        """Return the path of a file relative to a folder, and its hash."""
        return {"path": str(path.relative_to(base)), "sha256": hash_of(path)}

    @classmethod
    def of(
        cls,
        model: RobotModel,
        folder: Path | None,
        parameters: str,
        exports: Sequence[Mapping[str, object]],
        **more: object,
    ) -> dict[str, object]:
        """Return the contents of proof.json.

        Args:
            model: Exported robot.
            folder: Folder of the result; None: a result in memory.
            parameters: Name of the file in this folder that contains the identified parameters.
            exports: Contents of the proof for each exported file.
            **more: Further entries.
        """
        return {
            "schema": cls.SCHEMA,
            "robot": model.name,
            "urdf_hash": model.urdf_hash,
            "result": None if folder is None else str(folder.resolve()),
            "model": None if folder is None else cls.hashed(folder / parameters, folder),
            **more,
            "states": cls.STATES,
            "seed": cls.SEED,
            "exports": list(exports),
        }


@dataclass(frozen=True)
class Carried:
    """Payload as a body fixed to a frame of the robot.

    Attributes:
        estimate: Estimate of the payload's ten inertial parameters.
        frame: Frame of the robot in which the parameters are given (the sensor frame).
        folder: Folder written by `sysid payload`; None: the result is only in memory.
    """

    estimate: Estimate
    frame: str
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path, frame: str) -> Carried:
        """Load a payload from the result of `sysid payload`.

        Raises:
            SysIdError: The folder contains no valid estimate.
        """
        return cls(Estimate.load(folder / "estimate.yaml"), frame, folder)

    def on(self, robot: Projection) -> Projection:
        """Return a copy of a robot that carries the payload.

        Raises:
            SysIdError: The estimate is not that of a payload, the body is not physically
                consistent, or the frame does not move.
        """
        values = self.estimate.values
        names = tuple(name.rsplit(".", 1)[-1] for name in self.estimate.names)
        if names != RobotModel.INERTIAL_NAMES or not is_physically_consistent(values):
            where = "The estimate" if self.folder is None else f"'{self.folder}'"
            raise EstimationError(
                f"{where} contains no physically possible payload.",
                remedy="Give a result of `sysid payload` whose estimate is physically consistent.",
            )
        return replace(robot, model=CarriedBody(robot.model, self.frame, values).robot)


@dataclass(frozen=True, eq=False)
class ArmResult:
    """Result of `sysid identify` with its recordings, loaded from its folder.

    Attributes:
        identification: Identified robot.
        fitted: Recordings that were used in the fit.
        others: Recordings that were not used in the fit.
        files: Role, path and sha256 of all inputs.
        places: Folders that are searched for meshes.
        carried: Payload of the exported robot; None: no payload.
    """

    identification: Identification
    fitted: tuple[Recording, ...]
    others: tuple[Recording, ...]
    files: tuple[Mapping[str, str], ...]
    places: tuple[Path, ...]
    carried: Carried | None = None

    def export(
        self,
        targets: Sequence[Target],
        out: Path,
        *,
        folder: Path | None = None,
        progress: Progress = silent,
    ) -> tuple[ExportedTarget, ...]:
        """Export an identified arm, with a proof of its accuracy.

        Args:
            targets: Formats to be written.
            out: Folder of the exports and of proof.json.
            folder: Folder of the result; None: a result in memory, which `sysid verify` cannot repeat.
            progress: Function called with a description of each step.

        Raises:
            SysIdError: A format cannot represent the robot of the result, or the torques of a file
                differ from those of the model.
        """
        model = self.identification.model
        for target in targets:
            require_target(target, model)
        with _all_or_none(out) as hidden:
            made, proofs = [], []
            for target in targets:
                progress(Step.WRITING)
                written = self.write(target, hidden, out)
                one = self.judge(target, written.files[0], written.losses)
                one.require_equal()
                made.append(replace(one, file=out / one.file.relative_to(hidden)))
                files = [Proof.hashed(path, hidden) for path in written.files]
                proofs.append(made[-1].stated() | {"files": files})
            carried = self.carried
            more = {
                "carried": None if carried is None else _told(carried),
                "data": [dict(file) for file in self.files],
            }
            write_json(hidden / PROOF, Proof.of(model, folder, "parameters.yaml", proofs, **more))
        return tuple(made)

    def write(self, target: Target, out: Path, stays: Path | None = None) -> Written:
        """Write the identified robot with its payload in one format; see `write_target`."""
        return write_target(
            target,
            self._carrying(projections(self.identification, self.fitted, target).robot),
            out,
            places=self.places,
            remarks=remarks_on(self.identification),
            stays=stays,
        )

    def _carrying(self, robot: Projection) -> Projection:
        return robot if self.carried is None else self.carried.on(robot)

    def judge(
        self,
        target: Target,
        file: Path,
        losses: tuple[Loss, ...],
        states: int = Proof.STATES,
        seed: int = Proof.SEED,
    ) -> ExportedTarget:
        """Compare an exported file with the model: torques and errors.

        The recordings contain no torques of the carried load; these are therefore subtracted from
        the predictions before the errors are computed.

        Args:
            target: Format of the file.
            file: File that other software loads.
            losses: Properties of the model that the file lacks.
            states: Number of random states at which torques are compared.
            seed: Seed of the random states.
        """
        in_terms = projections(self.identification, self.fitted, target)
        robot = in_terms.robot
        written = self._carrying(robot)
        reader = reader_of(target, file, written)
        differences, torque = largest_differences(reader, written, states=states, seed=seed)
        runs, predictions, held_out = judging_runs(self.identification, self.fitted, self.others)

        def unloaded(q: Array, v: Array, a: Array) -> Array:
            return reader.torques(q, v, a) - written.torques(q, v, a) + robot.torques(q, v, a)

        error = judge_export(
            self.identification,
            target,
            reader.torques if self.carried is None else unloaded,
            runs,
            predictions,
            held_out=held_out,
            projections=in_terms,
        )
        return ExportedTarget(target, file, error, differences, target.tolerance(torque), losses)


@dataclass(frozen=True)
class ExportedTarget:
    """Exported file in one format.

    Attributes:
        target: Format of the file.
        file: File that other software loads.
        error: Held-out errors of the model before the export and of the exported file.
        differences: Largest torque difference between model and file, by joint name [N m].
        tolerance: Largest torque difference that rounding explains [N m].
        losses: Properties that the files lack, other than friction terms.
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
        """True if the torques of the exported file equal those of the model within `tolerance`."""
        return all(difference <= self.tolerance for difference in self.differences.values())

    def require_equal(self) -> None:
        """Refuse a file whose torques differ from those of the model.

        Raises:
            ModelError: They differ by more than `tolerance`.
        """
        if not self.equal:
            differences = ", ".join(f"{n} {x:.1e}" for n, x in self.differences.items())
            raise ModelError(
                f"The torques of '{self.name}' differ from those of the model [N m]: {differences}."
                f" Rounding explains {self.tolerance:.0e} N m.",
                remedy="Correct unusual values in the robot's description, or report this error"
                " together with it.",
            )

    def stated(self) -> dict[str, object]:
        """Return the numbers of proof.json."""
        return {
            "target": self.target.value,
            "tolerance": self.tolerance,
            "largest_difference": dict(self.differences),
            "errors": self.error.to_dict(),
            "losses": [loss.to_dict() for loss in self.losses],
        }


@contextmanager
def _all_or_none(out: Path) -> Iterator[Path]:
    """Provide a temporary folder, whose files are moved to `out` only if all of them were written
    and checked.

    Raises:
        SysIdError: The folder `out` is not writable.
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


def _told(carried: Carried) -> dict[str, str]:
    if carried.folder is None:
        return {"frame": carried.frame}
    file = Proof.hashed(carried.folder / "estimate.yaml", carried.folder)
    return {**file, "folder": str(carried.folder.resolve()), "frame": carried.frame}
