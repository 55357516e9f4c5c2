# SPDX-License-Identifier: Apache-2.0
"""`sysid payload`: what a robot with a force-torque sensor held in a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sysid_cli.app import app, console, copy_json, errors, remark, require_folder
from sysid_cli.payload.settings import PayloadSettings
from sysid_cli.settings import command
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.estimation.payload_live import Weighing
    from sysid_core.estimation.payload_map import SensorModel
    from sysid_core.robot import RobotModel
    from sysid_core.robot.shapes import Shape
    from sysid_core.signals import Recording
    from sysid_core.signals.bags import StoredBag
    from sysid_core.signals.wrench import SensorCalibration

_MANY = 100_000  # samples, of which means may have been taken
_AROUND_NS = 5_000_000_000  # of the marked part that is kept


@command(
    app,
    example="sysid payload recording.mcap --sensor-frame link_eef --shape 'box 0.2 0.3 0.05' --out results/payload",
)
def payload(settings: PayloadSettings) -> None:
    """Identify the payload from joint states, or poses, and a wrench."""
    from sysid_cli.payload.repeat import weigh_again
    from sysid_cli.payload.result import Answer, read_truth, show, write
    from sysid_core.estimation.payload_map import SensorModel
    from sysid_core.robot.shapes import load_shape

    settings.require_complete()
    out, method = settings.out, settings.method
    require_folder(out)
    body = load_shape(settings.shape) if settings.shape else None
    solid = None if body is None or body.fingers is not None else body
    quality = SensorModel.named(settings.sensor)
    true_pi = None if settings.truth is None else read_truth(settings.truth)

    def weigh(bag: Path) -> tuple[Weighing, Recording, RobotModel]:
        return _weigh(settings, bag, body, quality)

    if settings.repeat is not None:
        weigh_again(settings.repeat, lambda bag: weigh(bag)[0].estimate, out, settings.json_out)
        return
    assert settings.recording is not None
    with errors.status("Replaying"):
        weighing, run, model = weigh(settings.recording)
        compared = settings.compare or method != "map"
        others = _others(method, weighing, solid) if compared else {}
    answer = Answer(
        settings.recording,
        run,
        model,
        weighing,
        method,
        others,
        solid,
        true_pi,
        settings.flange_frame,
    )
    out.mkdir(parents=True, exist_ok=True)
    text = write(answer, out)
    if not copy_json(text, settings.json_out):
        show(answer)
        console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    raise typer.Exit(answer.verdict.exit_status)


def _weigh(
    settings: PayloadSettings, path: Path, shape: Shape | None, quality: SensorModel
) -> tuple[Weighing, Recording, RobotModel]:
    """What a recording's robot held, with the recording and the robot."""
    from sysid_core.estimation.payload_live import motion_window, weigh_motion
    from sysid_core.signals.wrench import SensorCalibration

    known = SensorCalibration.load(settings.calibration) if settings.calibration else None
    run, model, frame, still = _opened(settings, path)
    if motion_window(run) is None:
        weighing = weigh_motion(
            run,
            model,
            frame,
            shape,
            sensor=quality,
            calibration=known,
            sign=settings.sensor_robot.sign,
            axes=settings.table.axes,
            clock=settings.clock == "estimate",
            still=still,
        )
        for note in weighing.notes:
            remark("note:", note, to=errors)
        return weighing, run, model
    if settings.clock == "estimate":
        run = _on_one_clock(run, model, frame, known)
    return _weighed(run, model, frame, shape, quality, known), run, model


def _opened(settings: PayloadSettings, path: Path) -> tuple[Recording, RobotModel, str, bool]:
    """Recording, robot, frame of the sensor, and whether there are still postures only; faults are said."""
    from sysid_core.robot import POSE_FRAME, RobotModel
    from sysid_core.signals import TABLE_ENDINGS, read_wrench_table
    from sysid_core.signals.bags import open_bag, read_bag
    from sysid_core.signals.wrench import wrench_faults, wrench_hum

    still, robot, frame = False, settings.sensor_robot.robot, settings.sensor_frame
    if path.suffix.lower() in TABLE_ENDINGS:
        joints = RobotModel.from_urdf(robot).joint_names if robot else ()
        run, still = read_wrench_table(path, settings.table.columns, joint_names=joints)
        frame = POSE_FRAME if run.urdf_xml else frame
    else:
        stored = open_bag(path)
        run = read_bag(stored, window_ns=_marked(stored))
        if not frame:
            raise SignalError("No sensor frame is given.", remedy="Say --sensor-frame FRAME.")
    for fault in wrench_faults(run.wrench) if run.wrench is not None and not still else ():
        remark("warning:", f"{fault.text} {fault.remedy}", to=errors)
    hum = None if run.wrench is None or still else wrench_hum(run.wrench)
    if hum is not None:
        remark("warning:", hum.text, to=errors)
    return *settings.sensor_robot.on_sensor(run, frame), frame, still


def _marked(bag: StoredBag) -> tuple[int, int] | None:
    """The marked part of a long bag, which is all that is read of it, every sample; else None."""
    from sysid_core.signals.bags import read_marks

    if max((topic.count for topic in bag.topics), default=0) < _MANY:
        return None
    stamps = [mark.stamp_ns for mark in read_marks(bag)]
    if len(stamps) < 2:
        return None
    window = (min(stamps) - _AROUND_NS, max(stamps) + _AROUND_NS)
    return window if window[1] - window[0] < 0.8e9 * bag.seconds else None


def _on_one_clock(
    run: Recording, model: RobotModel, frame: str, calibration: SensorCalibration | None
) -> Recording:
    """The wrench on the joints' clock; what was done is said."""
    from sysid_core.estimation.payload_live import on_one_clock

    out, _ = on_one_clock(run, model, frame, calibration)
    for note in out.notes[len(run.notes) :]:
        remark("warning:", note, to=errors)
    return out


def _weighed(
    run: Recording,
    model: RobotModel,
    sensor_frame: str,
    shape: Shape | None,
    quality: SensorModel,
    calibration: SensorCalibration | None,
) -> Weighing:
    from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession, weigh_recording

    session = PayloadSession(
        model,
        sensor_frame,
        OnlinePayload(shape, sensor=quality),
        calibration=calibration,
    )
    return weigh_recording(run, session, shape, sensor=quality)


def _others(method: str, weighing: Weighing, shape: Shape | None) -> dict[str, Any]:
    """The answers of the other methods, by their names on the command line."""
    from sysid_core.estimation import payload as e

    estimators: dict[str, Callable[[], Any]] = {
        "ols": e.PayloadOLS,
        "rtls": e.RecursiveTotalLeastSquares,
        "lmi": e.PayloadLMI,
    }
    if shape is not None:
        estimators |= {
            "pmd": lambda: e.PointMassDiscretization(shape),
            "pmd-squared": lambda: e.PointMassDiscretization(shape, squared=True),
            "geo": lambda: e.EntropicRegression(shape),
            "homogeneous": lambda: e.HomogeneousBody(shape),
        }
    elif method not in (*estimators, "map", "map-running"):
        raise SignalError(f"The method '{method}' needs a shape.", remedy="Give --shape.")
    results = {name: make().fit(weighing.data) for name, make in estimators.items()}
    if weighing.session is None:
        return results
    return {"map-running": weighing.session.online.estimate()} | results
