# SPDX-License-Identifier: Apache-2.0
"""Identification of a robot from recordings: from settings to a judged result with its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sysid_core.errors import EstimationError, ModelError, SignalError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Estimator, Identification
from sysid_core.estimation.arm_fit import ArmFit, FitSettings
from sysid_core.estimation.loaded_arm import LoadedIdentification
from sysid_core.estimation.sequential import SequentialIdentification, SequentialLeastSquares
from sysid_core.export import ArmResult, Carried, Description, ExportedError, ExportedTarget, Target
from sysid_core.files import FileKind, write_json, write_text, write_yaml
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Verdict
from sysid_core.report import ReportIndex, identification_report, sequential_report
from sysid_core.robot.loops import LoopsFile
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import Prediction, judge_identification
from sysid_core.workflows.arm_data import ArmData, require_unseen
from sysid_core.workflows.inputs import inputs_of, mesh_places
from sysid_core.workflows.settings import IdentifySettings

URDF, EXPORTS = "identified.urdf", "exports"


@dataclass(frozen=True, eq=False)
class IdentifiedArm:
    """Identified open or closed chain with its verdict.

    Attributes:
        data: Robot and recordings.
        settings: Settings of the fit.
        fit: Identification with the chosen settings.
        training: Predictions of the fitted recordings.
        validation: Predictions of the validation recordings.
        verdict: Verdict on whether the result may be used.
        description: Identified URDF with its errors; None: not permitted or not possible.
        inputs: Sources of the data; empty for data in memory.
        exports: Files in other formats, each with its error.
    """

    data: ArmData
    settings: FitSettings
    fit: ArmFit | SequentialIdentification
    training: tuple[Prediction, ...]
    validation: tuple[Prediction, ...]
    verdict: Verdict
    description: Description | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    exports: tuple[ExportedTarget, ...] = ()

    @property
    def exported_errors(self) -> list[tuple[ExportedError, str]]:
        """Errors of the identified model and of each exported file, with the name of the file's
        format.
        """
        own = [] if self.description is None else [(self.description.error, URDF)]
        return [*own, *((one.error, one.name) for one in self.exports)]

    @property
    def held_out(self) -> tuple[Prediction, ...]:
        """Predictions of the validation recordings with motion; recordings at rest say nothing
        about the accuracy of the model.
        """
        return tuple(p for p in self.validation if p.motion.any())

    @property
    def identification(self) -> Identification:
        """Identified robot model."""
        return self.fit.identification

    @property
    def estimate(self) -> Estimate:
        """Estimate with values, standard deviations, rank and verdict of each parameter."""
        return self.identification.estimate

    @property
    def gain_sd(self) -> float:
        """Relative standard deviation of the drive gains that the parameters' deviations do not
        include.
        """
        return self.data.gain_sd

    def errors(self) -> list[tuple[str, float, float, bool]]:
        """For each recording: name, relative prediction errors of the description and of the
        result, and True if it was used in the fit.
        """
        return [
            (
                Path(p.source).name,
                (p if p.nominal is None else p.beside()).relative_error(),
                p.relative_error(),
                some is self.training,
            )
            for some in (self.training, self.validation)
            for p in some
        ]

    def parameters(self) -> dict[str, float]:
        """Return the parameter values by name."""
        found = self.identification
        return dict(zip(found.names, found.parameters.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for result.json."""
        result, estimate = self.identification, self.estimate
        both = (("training", self.training), ("validation", self.validation))
        return {
            "schema": "robot_sysid/identification/1",
            "inputs": dict(self.inputs),
            "fitted_samples": self.data.fitted,
            "verdict": self.verdict.to_dict(),
            "unexplained": Prediction.unexplained(self.training) if self.training else None,
            "gravity": self.data.model.gravity.tolist(),
            "robot": estimate.robot,
            "urdf_hash": estimate.urdf_hash,
            "method": estimate.method,
            "friction_terms": {
                axis: [term.value for term in result.friction.terms_of(axis)]
                for axis in result.friction.drives.axis_names
            },
            "rank": estimate.rank,
            "structural_rank": estimate.structural_rank,
            "rank_tolerance": estimate.rank_tolerance,
            "condition_number": estimate.condition_number,
            "physically_consistent": result.physically_consistent,
            "n_samples": estimate.n_samples,
            "joints": {
                name: {kind: Prediction.pooled(some, name) for kind, some in both if some}
                for name in result.model.joint_names
            },
            **{kind: [p.to_dict() for p in some] for kind, some in both},
            "friction": result.friction_parameters,
            "warnings": [reason.to_dict() for reason in estimate.certify()],
            "notes": list(estimate.notes),
            "exports": [error.to_dict() for error, _ in self.exported_errors],
            **self.fit.to_dict(),
        }

    def write(self, folder: Path | str) -> tuple[str, ...]:
        """Write estimate, parameters, result, report and URDF, and return the names of the
        files.
        """
        folder = Path(folder)
        files = [*self._write_values(folder), "result.json", "report.html"]
        asked = f"parameters of {self.data.model.name}, recordings: {len(self.data.runs)}"
        if isinstance(self.fit, ArmFit):
            report = identification_report(
                self.verdict,
                self.identification,
                self.training,
                self.held_out,
                self.fit,
                asked=asked,
                exported=self.exported_errors,
            )
        else:
            report = sequential_report(
                self.verdict, self.fit, self.held_out, asked=asked, exported=self.exported_errors
            )
        ReportIndex.add(report, folder / "report.html")
        (folder / URDF).unlink(missing_ok=True)  # of another result
        if self.description is not None:
            places = mesh_places(self.inputs.get("robot", ""))
            write_text(folder / URDF, self.description.in_folder(folder, places))
            files.append(URDF)
        if isinstance(self.fit, ArmFit) and self.fit.loaded is not None:
            path = folder / "columns.yaml"
            _write_columns(self.data.columns_path, self.fit.loaded, self.data.runs[0], path)
            files.append(path.name)
        write_json(folder / "result.json", self.to_dict())
        return tuple(files)

    def _write_values(self, folder: Path) -> tuple[str, ...]:
        self.identification.save(folder)
        return "estimate.yaml", "parameters.yaml"

    def exported(self, folder: Path | str, targets: Sequence[Target]) -> IdentifiedArm:
        """Write the robot in other formats to the folder of a result, with a proof; inaccurate
        files cause warnings in the verdict.

        Args:
            folder: Result folder, completed by `write`.
            targets: Export formats.

        Raises:
            SysIdError: A format cannot represent the robot, or a library for reading the file is
                missing.
        """
        self._write_values(Path(folder))
        places = mesh_places(self.inputs.get("robot", ""))
        made = self.export(Path(folder) / EXPORTS, targets, meshes=places, result=Path(folder))
        warnings = (reason for one in made for reason in one.error.warnings(one.name))
        return replace(self, exports=made, verdict=self.verdict + tuple(warnings))

    def export(
        self,
        out: Path | str,
        targets: Sequence[Target | str] = (Target.URDF, Target.MJCF, Target.C),
        *,
        payload: Estimate | None = None,
        payload_frame: str = "",
        meshes: Sequence[Path | str] = (),
        result: Path | None = None,
    ) -> tuple[ExportedTarget, ...]:
        """Write the robot for simulators and controllers; each file is read back and its error
        measured.

        Args:
            out: Folder for the files and proof.json.
            targets: Export formats.
            payload: Payload, added as a body fixed to a link; None: no payload.
            payload_frame: Name of the sensor frame, to which the payload's parameters refer.
            meshes: Folders to search for the meshes of the description.
            result: Result folder from which `sysid verify` repeats the proof; None: unknown.

        Raises:
            SysIdError: The format or frame is unknown, the format cannot represent the robot, or a
                library for reading the file is missing.
        """
        named = [Target.named(target, "A target of the export", ModelError) for target in targets]
        carried = None if payload is None else Carried(payload, payload_frame)
        places = tuple(Path(folder) for folder in meshes)
        data, files = self.data, tuple(self.inputs.get("files", ()))
        arm = ArmResult(self.identification, data.runs, data.others, files, places, carried)
        return arm.export(named, Path(out), folder=result)

    @classmethod
    def of(
        cls,
        data: ArmData,
        settings: FitSettings,
        progress: Progress = silent,
        *,
        inputs: Mapping[str, Any] | None = None,
        force: bool = False,
        own: Estimator | None = None,
    ) -> IdentifiedArm:
        """Choose the settings, fit the parameters, predict the efforts, and judge the result.

        Args:
            data: Robot and recordings.
            settings: Settings of the fit.
            progress: Function called with each step.
            inputs: Sources of the data; None: data in memory.
            force: True to write a URDF even if the result must not be used.
            own: Estimator that replaces the one of `settings.method`; None: no replacement.

        Raises:
            SysIdError: The recordings do not determine the requested parameters.
        """
        require_unseen(data.others, data.fitted)
        fit = _fitted(data, settings, progress, own)
        training: tuple[Prediction, ...] = ()
        if isinstance(fit, ArmFit):
            progress(Step.PREDICTING)
            training = tuple(Prediction.of(fit.identification, run) for run in data.runs)
            if fit.loaded is not None:
                training += tuple(Prediction.of(fit.loaded.loaded, run) for run in data.loaded)
        others = tuple(Prediction.of(fit.identification, run) for run in data.others)
        spread, lags = (fit.spread, fit.lags) if isinstance(fit, ArmFit) else (None, None)
        verdict = judge_identification(
            fit.identification, training, others, data.examination, spread, lags
        )
        progress(Step.WRITING)
        description = None
        if verdict.ok or force:
            description = Description.of(
                fit.identification,
                data.runs,
                data.others,
            )
            if description is not None:
                verdict += description.error.warnings(URDF)
        return cls(data, settings, fit, training, others, verdict, description, inputs or {})

    @staticmethod
    def from_files(settings: IdentifySettings, progress: Progress = silent) -> IdentifiedArm:
        """Identify a robot from recordings in files.

        Args:
            settings: Settings of recordings, robot and fit.
            progress: Function called with each step.

        Raises:
            SysIdError: A file cannot be read, a recording does not belong to the robot, or settings are
                contradictory.
        """
        if not settings.robot:
            settings = replace(settings, robot=str(LoopsFile.urdf_of(settings.loops)))
        data = ArmData.read(settings, progress)
        inputs = inputs_of(settings)
        return IdentifiedArm.of(data, settings.fit, progress, inputs=inputs, force=settings.force)


def _fitted(
    data: ArmData, settings: FitSettings, progress: Progress, own: Estimator | None
) -> ArmFit | SequentialIdentification:
    """Fit the parameters; if this is impossible because the data contradict the description, raise
    the error of the fault that was found.
    """
    try:
        if settings.method == "sequential":
            estimator = SequentialLeastSquares.of_arm(data.model, data.runs, data.unexcited)
            processing = ArmFit.processing_of(settings)
            progress(Step.FITTING)
            return SequentialIdentification.of(
                data.model, data.runs, data.friction, estimator, processing, trajectory=data.plan
            )
        return ArmFit.of(
            data.model,
            data.runs,
            data.friction,
            settings,
            load=data.load,
            loaded=data.loaded,
            progress=progress,
            own=own,
        )
    except SysIdError as err:
        faults = data.examination.verdict.failures
        if not faults:
            raise
        raise EstimationError(faults[0].text, remedy=faults[0].remedy) from err


def _write_columns(
    columns: Path | None, loaded: LoadedIdentification, run: Recording, path: Path
) -> None:
    """Write a column map with the estimated gains, for further recordings of this robot.

    Args:
        columns: Column map of the user; None: none.
        loaded: Result with the gains and their standard deviations.
        run: Recording whose joints and efforts are written if there was no map.
        path: Path of the new map.
    """
    drives = loaded.identification.friction.drives
    if columns is None:
        raw: dict[str, Any] = {
            "schema": ColumnMap.SCHEMA,
            "joints": list(drives.joint_names),
            "effort": {"kind": run.joints.effort_kind.value},
        }
    else:
        raw = FileKind("column map", "Check the path.", SignalError).read_yaml(columns)
    section = dict(raw.get("drives") or {})
    old = section.get("gain")
    found = dict(zip(drives.joint_names, drives.gains.tolist(), strict=True))
    before = old if isinstance(old, list) else [1.0] * len(raw["joints"])
    section["gain"] = [
        found.get(joint, gain) for joint, gain in zip(raw["joints"], before, strict=True)
    ]
    sd = dict(zip(drives.joint_names, (loaded.gains.sd / drives.gains).tolist(), strict=True))
    section["gain_sd"] = [min(abs(sd.get(joint, 0.0)), 0.99) for joint in raw["joints"]]
    section["source"] = f"sysid identify --loaded, {loaded.identification.estimate.source}"
    head = "# With the drive gains that `sysid identify --loaded` found.\n"
    write_yaml(path, {**raw, "drives": section}, head=head)
