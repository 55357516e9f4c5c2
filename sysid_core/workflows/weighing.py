# SPDX-License-Identifier: Apache-2.0
"""Payloads of robots with a force-torque sensor, estimated and judged."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from sysid_core.controller_payload import ControllerSetting, LoadDiagram
from sysid_core.errors import SignalError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.loaded_arm import CarriedBody
from sysid_core.estimation.payload import PayloadSummary, rivals
from sysid_core.estimation.payload_live import (
    KnownLoads,
    PayloadKnowledge,
    Weighing,
    held_data,
    weigh_motion,
)
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.files import FileKind, FileSchema, Number, write_json
from sysid_core.lazy import lazy_import
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Reason, Verdict
from sysid_core.report import Report, ReportIndex, payload_report
from sysid_core.robot import Array, PoseRobot, RobotModel
from sysid_core.robot.shapes import Shape, load_shape
from sysid_core.settings import words
from sysid_core.signals import Recording, WrenchColumns, bags, require_sound_units
from sysid_core.signals.wrench import (
    SensorCalibration,
    SensorFrame,
    WrenchAxes,
    WrenchCheck,
    WrenchConvention,
    WrenchSign,
)
from sysid_core.workflows.inputs import inputs_of
from sysid_core.workflows.settings import SensorSettings, TableSettings, WeighSettings

if TYPE_CHECKING:
    from sysid_core import diagnosis
else:
    diagnosis = lazy_import("sysid_core.diagnosis")

_MANY = 100_000  # samples, of which means may have been taken
_AROUND_NS = 5_000_000_000  # of the marked part that is kept


@dataclass(frozen=True, eq=False)
class Weighed:
    """Identified payload with its verdict.

    Attributes:
        estimate: Estimate of the ten parameters about the origin of the sensor, with covariance.
        verdict: Verdict on whether the payload may be sent to a controller.
    """

    estimate: Estimate
    verdict: Verdict

    @property
    def summary(self) -> PayloadSummary:
        """Mass, centre of mass, and inertia about the centre of mass, with standard deviations.

        Raises:
            EstimationError: The mass is not positive.
        """
        return PayloadSummary.of(self.estimate)


@dataclass(frozen=True, eq=False)
class WeighedRecording(Weighed):
    """Payload identified from a recording, by all requested methods.

    Attributes:
        estimate, verdict: As in `Weighed`, by the requested method.
        recording: Path of the recording.
        run: Recorded streams.
        model: Robot model.
        weighing: Result of the default estimator (MAP).
        method: Name of the requested method.
        others: Estimates of the other methods, by method name.
        shape: Shape of the object; None: unknown.
        truth: True parameters pi, shape (10,); None: unknown.
        flange_frame: Name of the controller's payload frame; empty: the sensor frame.
        remarks: Assumptions, findings and corrections, one sentence each.
        inputs: Files with their hashes, settings, and the key that identifies the computation.
    """

    recording: Path
    run: Recording
    model: RobotModel
    weighing: Weighing
    method: str
    others: Mapping[str, Estimate]
    shape: Shape | None
    truth: Array | None
    flange_frame: str
    remarks: tuple[str, ...]
    inputs: Mapping[str, Any]

    @property
    def methods(self) -> dict[str, Estimate]:
        """Estimates of all methods by name, that of the default method first."""
        return {"map": self.weighing.estimate, **self.others}

    @property
    def knowledge(self) -> PayloadKnowledge:
        """Payload estimate, and which of its parameters are known accurately enough."""
        return PayloadKnowledge(self.estimate, self.shape)

    @property
    def advice(self) -> str:
        """Advice in one sentence: which motion gives the most information about the unknown
        parameters.
        """
        return self.knowledge.advice(self.weighing.data)

    @property
    def settings(self) -> tuple[ControllerSetting, ...]:
        """Payload settings for the vendors' controllers; empty without a load, or if the verdict is
        fail.
        """
        X = np.eye(4)
        if self.flange_frame:
            X = self.model.fixed_pose(self.flange_frame, self.weighing.sensor_frame)
        return ControllerSetting.all_of(
            self.estimate.values, self.estimate.covariance, self.verdict, X
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for result.json."""
        errors = None
        if self.truth is not None:
            size = self.summary.box_lengths if self.shape is None else self.shape.size
            errors = PayloadSummary.errors_percent(self.estimate.values, self.truth, size)
        return {
            "recording": str(self.recording),
            "inputs": self.inputs,
            "verdict": self.verdict.to_dict(),
            "estimate": self.estimate.to_dict(),
            "notes": list(self.weighing.notes),
            "state": self.knowledge.state.value,
            "advice": self.advice,
            "errors_percent": errors,
            "methods": {name: other.values.tolist() for name, other in self.methods.items()},
            "controllers": {s.vendor: s.to_dict() for s in self.settings},
        }

    def write(self, folder: Path) -> None:
        """Write estimate.yaml, sensor_calibration.yaml, result.json and report.html."""
        folder.mkdir(parents=True, exist_ok=True)
        self.estimate.save(folder / "estimate.yaml")
        if self.weighing.calibration is not None:
            self.weighing.calibration.save(folder / "sensor_calibration.yaml")
        write_json(folder / "result.json", self.to_dict())
        ReportIndex.add(_report(self), folder / "report.html")

    @staticmethod
    def from_file(
        recording: Path, settings: WeighSettings, progress: Progress = silent
    ) -> WeighedRecording:
        """Estimate the payload of a robot with a force-torque sensor from a recording.

        Args:
            recording: Path of a rosbag2 folder, MCAP file or table.
            settings: Settings of sensor, shape and method.
            progress: Function called with each step.

        Raises:
            SysIdError: The recording cannot be read or used, or a setting is invalid.
        """
        progress(Step.READING)
        diagram = LoadDiagram.from_text(settings.load_diagram) if settings.load_diagram else None
        truth = None if settings.truth is None else _read_truth(settings.truth)
        run, model, weighing, body, remarks = _weighing(recording, settings, progress)
        solid = None if body is None or body.fingers is not None else body
        compared = settings.compare or settings.method != "map"
        others = _others(settings.method, weighing, solid) if compared else {}
        estimate = others.get(settings.method, weighing.estimate)
        q, pi = run.joints.ordered(model.joint_names).q, estimate.values
        verdict = Weighing.judge(estimate, weighing.calibration, weighing.changes)
        verdict += Verdict((*weighing.reasons, *_other_order(recording, settings, weighing)))
        if run.units_assumed:
            verdict += Verdict((Reason.not_judged("force-unit-assumed"),))
        carried = CarriedBody(model, weighing.sensor_frame, pi)
        verdict += carried.judged(q)
        if run.joints.effort_kind.is_torque and not (
            weighing.smoothed and carried.torques_agree(weighing.smoothed, run.joints)
        ):
            verdict += diagnosis.compare_with_torques(model, run, float(pi[0]))
        if diagram is not None and pi[0] > 0:
            sensor_frame = weighing.sensor_frame
            X = model.fixed_pose(settings.flange_frame or sensor_frame, sensor_frame)
            verdict += Verdict((_rated(diagram, PayloadSummary.of(estimate), X),))
        progress(Step.WRITING)
        return WeighedRecording(
            estimate,
            verdict,
            recording,
            run,
            model,
            weighing,
            settings.method,
            others,
            solid,
            truth,
            settings.flange_frame,
            remarks,
            inputs_of(settings, recording=(recording,)),
        )


def _weighing(
    recording: Path, settings: WeighSettings, progress: Progress = silent
) -> tuple[Recording, RobotModel, Weighing, Shape | None, tuple[str, ...]]:
    """Recording, robot, result of the default estimator, shape, and remarks."""
    body = load_shape(settings.shape) if settings.shape else None
    if body is not None and settings.shape_sd is not None:
        body = body.of_size_sd(settings.shape_sd)
    quality = SensorModel.named(settings.sensor)
    known = SensorCalibration.load(settings.calibration) if settings.calibration else None
    run, model, frame, still, remarks = open_wrench(
        recording,
        settings.sensor_robot,
        settings.table,
        settings.sensor_frame,
        tared=known is not None,
    )
    progress(Step.FITTING)
    weighing = weigh_motion(
        run,
        model,
        frame,
        body,
        sensor=quality,
        calibration=known,
        sign=WrenchSign.named(settings.sensor_robot.wrench_sign, "The wrench's sign", SignalError),
        axes=_axes(settings.table),
        clock=settings.clock == "estimate",
        still=still,
    )
    return run, model, weighing, body, (*remarks, *weighing.notes)


def _other_order(
    recording: Path, settings: WeighSettings, weighing: Weighing
) -> tuple[Reason, ...]:
    """Failure if the wrench contradicts the description less with quaternions in the other order.

    A wrong order inverts and turns all orientations, which a turned sensor can imitate.
    """
    order = {"xyzw": "wxyz", "wxyz": "xyzw"}.get(settings.table.rotation)
    if order is None or not (errors := _errors(weighing)):
        return ()
    other = replace(settings, table=replace(settings.table, rotation=order))
    with suppress(SysIdError):
        found = _weighing(recording, other)[2]
        ambiguous = "wrench-ambiguous" in {doubt.code for doubt in found.doubts}
        if _errors(found) < errors and not ambiguous:
            return (Reason.failure("quaternion-order", order=order),)
    return ()


def _errors(weighing: Weighing) -> int:
    """Number of errors of the description that the wrench shows."""
    return sum(n for x in weighing.doubts if isinstance(n := x.data.get("count"), int))


def _rated(diagram: LoadDiagram, payload: PayloadSummary, X: Array) -> Reason:
    """Verdict from the robot's load diagram, with the pose X (4, 4) of the sensor in the flange
    frame.
    """
    com = X[:3, :3] @ payload.com + X[:3, 3]
    distance = float(np.linalg.norm(com))
    away = X[:3, :3].T @ com / max(distance, np.finfo(float).tiny)
    sd = float(np.sqrt(away @ payload.covariance[1:4, 1:4] @ away))
    return diagram.judge((payload.mass, payload.mass_sd), (distance, sd))


@dataclass(frozen=True)
class FoundPart:
    """Decision among several known loads.

    Attributes:
        probabilities: Probabilities by load, including none and unknown, most probable first.
        verdict: Verdict on the presence of the expected load.
        remarks: Assumptions, findings and corrections, one sentence each.
    """

    probabilities: Mapping[str, float]
    verdict: Verdict
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, recording: Path, settings: WeighSettings, parts: Path, expected: str = ""
    ) -> FoundPart:
        """Decide which known load the robot held, from a few tenths of a second of data.

        Args:
            recording: Path of a rosbag2 folder, MCAP file or table, with one load.
            settings: Settings of the sensor, including its calibration from a tare with no object held.
            parts: Path of the file of known loads (see `KnownLoads.load`).
            expected: Name of the expected load; empty: any known load or none.

        Raises:
            SysIdError: A file cannot be read, or the sensor is not tared.
        """
        known = KnownLoads.load(parts)
        if settings.calibration is None:
            raise SignalError(
                "The recognition of parts needs a tare.", remedy="Give --calibration."
            )
        run, model, frame, still, remarks = open_wrench(
            recording, settings.sensor_robot, settings.table, settings.sensor_frame, tared=True
        )
        data, sensor = held_data(
            run,
            model,
            frame,
            SensorCalibration.load(settings.calibration),
            sensor=SensorModel.named(settings.sensor),
            still=still,
        )
        found = known.probabilities(data, sensor)
        return cls(found, Verdict((KnownLoads.judge(found, expected),)), (*run.notes, *remarks))


def _axes(table: TableSettings) -> WrenchAxes:
    """Declared axes of the wrench; AUTO if they are not declared."""
    return WrenchAxes.named(table.wrench_axes, "The wrench's axes", SignalError)


def open_wrench(
    path: Path, robot: SensorSettings, table: TableSettings, frame: str, *, tared: bool = False
) -> tuple[Recording, RobotModel, str, bool, tuple[str, ...]]:
    """Read a recording with a wrench, and the robot.

    Args:
        path: Path of a rosbag2 folder, MCAP file or table.
        robot: Settings of the robot and the mounting of the sensor.
        table: Settings of the columns of a table.
        frame: Name of the link with the axes of the sensor; "" for a table of poses.
        tared: True if the wrench is to be returned in the sensor's axes for a tare, even if the
            base's axes are declared.

    Returns:
        Recording with its wrench in the sensor frame, robot, name of this frame, whether the
        recording contains only static postures, and remarks.

    Raises:
        SignalError: There is no robot description, or the wrench is in another frame.
        ModelError: A joint or link is unknown.
    """
    still = False
    if path.suffix.lower() in WrenchColumns.ENDINGS:
        joints = RobotModel.from_urdf(robot.robot).joint_names if robot.robot else ()
        run, still = _columns(table).read(path, joint_names=joints)
        frame = PoseRobot.FRAME if run.urdf_xml else frame
    else:
        stored = bags.StoredBag.open(path)
        run = bags.read_bag(stored, window_ns=_marked(stored))
    if not frame:
        raise SignalError("No sensor frame is given.", remedy="Give --sensor-frame FRAME.")
    remarks: list[str] = []
    if run.wrench is not None and not still:
        remarks = [f"{fault.text} {fault.remedy}" for fault in WrenchCheck(run.wrench).faults()]
        hum = WrenchCheck(run.wrench).hum()
        remarks += [] if hum is None else [hum.text]
    remarks += [Reason.not_judged("force-unit-assumed").text] if run.units_assumed else []
    run, model, assumed = _on_sensor(run, robot, frame)
    if run.wrench is not None and _axes(table) is WrenchAxes.BASE and (tared or run.marks):
        moved = run.joints.ordered(model.joint_names)
        stamps = run.wrench.stamps_ns
        q = np.column_stack([np.interp(stamps, moved.stamps_ns, x) for x in moved.q.T])
        R_WS = model.frame_motion(frame, q, np.zeros_like(q), np.zeros_like(q)).R_WF
        turned = WrenchConvention(axes=WrenchAxes.BASE).apply(run.wrench.wrench, R_WS)
        run = replace(run, wrench=replace(run.wrench, wrench=turned))
    return run, model, frame, still, (*remarks, *assumed)


def _on_sensor(
    run: Recording, settings: SensorSettings, frame: str
) -> tuple[Recording, RobotModel, tuple[str, ...]]:
    """Recording with its wrench in the sensor frame, robot with this frame, and assumptions."""
    if not settings.robot and not run.urdf_xml:
        raise SignalError(
            "The recording contains no robot_description.", remedy="Give the URDF with --robot."
        )
    model = RobotModel.from_urdf(settings.robot or run.urdf_xml)
    model = model.mounted(settings.gravity, settings.mount)
    model = model.holding(lock=settings.lock, measured=run.joints.names)
    require_sound_units(replace(run.joints, v=None), model, run.source)
    sensor = SensorFrame.mounted(
        model, frame, run.transforms, parent=settings.sensor_parent, pose=settings.pose
    )
    sentences = [model.held_text, sensor.remark]
    if run.wrench is not None:
        sentences.append(sensor.check(run.wrench.frame, settings.wrench_frame))
        run = replace(run, wrench=replace(run.wrench, frame=frame))
    return run, sensor.model, tuple(filter(None, sentences))


def _columns(table: TableSettings) -> WrenchColumns:
    return WrenchColumns(
        time=table.time_column,
        rate_hz=table.rate,
        wrench=words(table.wrench_columns),
        joints=words(table.joint_columns),
        pose=words(table.pose_columns),
        rotation=table.rotation,
        units=words(table.wrench_units),
        still=table.still,
    )


def _marked(bag: bags.StoredBag) -> tuple[int, int] | None:
    """Marked part of a long bag, of which every sample is read; None without marks."""
    if max((topic.count for topic in bag.topics), default=0) < _MANY:
        return None
    stamps = [mark.stamp_ns for mark in bags.read_marks(bag)]
    if len(stamps) < 2:
        return None
    window = (min(stamps) - _AROUND_NS, max(stamps) + _AROUND_NS)
    return window if window[1] - window[0] < 0.8e9 * bag.seconds else None


def _others(method: str, weighing: Weighing, shape: Shape | None) -> dict[str, Estimate]:
    """Estimates of the other methods, by their names on the command line."""
    estimators = rivals(shape)
    if method not in (*estimators, "map", "map-running"):
        raise SignalError(f"The method '{method}' needs a shape.", remedy="Give --shape.")
    if weighing.running is None and method == "map-running":
        raise SignalError(
            "The running estimate needs a tare.",
            remedy="Omit --method, or give --calibration.",
        )
    results = {} if weighing.running is None else {"map-running": weighing.running}
    for name, make in estimators.items():
        try:
            results[name] = make().fit(weighing.data)
        except SysIdError:  # beside the answer it is only a comparison
            if name == method:
                raise
    return results


class _Truth(FileSchema):
    pi: Annotated[list[Number], Field(min_length=10, max_length=10)]


def _read_truth(path: Path) -> Array:
    """True values of the ten parameters, with which a result is compared, shape (10,)."""
    kind = FileKind(
        "file of true parameters",
        "Write: pi: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], about the sensor's origin.",
        SignalError,
    )
    pi = np.array(kind.read_schema(path, _Truth).pi)
    if pi[0] <= 0:
        raise kind.refusal(path, "the mass is not positive")
    return pi


def _report(answer: WeighedRecording) -> Report:
    estimate = answer.estimate
    frame = answer.weighing.sensor_frame
    title = "Payload" if answer.model.name == "poses" else f"Payload on {answer.model.name}"
    report = Report(title, f"{answer.recording.name}, {estimate.method}")
    payload_report(
        report,
        answer.verdict,
        estimate=estimate,
        data=answer.weighing.data,
        shape=answer.shape,
        recording=answer.run,
        smoothed=answer.weighing.smoothed,
        truth=answer.truth,
        others=[other for name, other in answer.methods.items() if name != answer.method],
        settings=answer.settings,
        controller_frame=answer.flange_frame or frame,
    )
    model = answer.model
    report.provenance(
        {
            "robot": f"{model.name}, URDF {model.urdf_hash}",
            "recording": answer.recording,
            "sensor frame": frame,
            "method": answer.method,
        }
    )
    return report
