# SPDX-License-Identifier: Apache-2.0
"""`sysid payload`: what a robot with a force-torque sensor held in a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_core.cli.app import app, console, copy_json, errors, example, remark, require_folder
from sysid_core.cli.mounting import GravityOption, MountOption
from sysid_core.cli.recordings import BagRobotOption
from sysid_core.cli.sensor import (
    LockOption,
    SensorParentOption,
    SensorPoseOption,
    WrenchFrameOption,
    sensor_robot,
)
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.estimation.payload_live import Weighing
    from sysid_core.estimation.payload_map import SensorModel
    from sysid_core.robot import RobotModel
    from sysid_core.robot.shapes import Shape
    from sysid_core.signals import Recording
    from sysid_core.signals.wrench import SensorCalibration

_MANY = 100_000  # samples, of which means may have been taken
_AROUND_NS = 5_000_000_000  # of the marked part that is kept
CLOCKS = ("estimate", "as-stamped")
METHODS = ("map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous")


@app.command(
    epilog=example(
        "sysid payload recording.mcap --sensor-frame link_eef --shape 'box 0.2 0.3 0.05' --out results/payload"
    )
)
def payload(
    recording: Annotated[
        Path | None, typer.Argument(help="rosbag2 folder or MCAP file.", show_default=False)
    ] = None,
    sensor_frame: Annotated[str, typer.Option(help="Frame of the force-torque sensor.")] = "",
    shape: Annotated[
        str,
        typer.Option(
            help="Shape of the object in the sensor frame: 'box 0.2 0.3 0.05', 'cylinder R L',"
            " 'sphere R' (metres), each with 'at X Y Z' where its centre isn't the sensor's origin;"
            " a mesh or point cloud ('[hull] FILE [scale 0.001]'), or a YAML file (see"
            " config/shapes). Without one the inertia is known less well."
        ),
    ] = "",
    repeat: Annotated[
        Path | None,
        typer.Option(help="Folder of recordings of one object: how repeatable is the answer?"),
    ] = None,
    robot: BagRobotOption = "",
    lock: LockOption = None,
    wrench_frame: WrenchFrameOption = None,
    sensor_parent: SensorParentOption = "",
    sensor_pose: SensorPoseOption = "",
    gravity: GravityOption = "",
    mount: MountOption = "",
    method: Annotated[str, typer.Option(help=f"Estimator: {', '.join(METHODS)}.")] = "map",
    compare: Annotated[
        bool, typer.Option(help="Every other method on the same data too, for the report.")
    ] = True,
    sensor: Annotated[
        str,
        typer.Option(help="Quality of the sensor: ordinary, or calibrated (gains, delay, axes)."),
    ] = "ordinary",
    calibration: Annotated[
        Path | None, typer.Option(help="Sensor calibration of an earlier tare.")
    ] = None,
    clock: Annotated[
        str,
        typer.Option(
            help="Stamps of the wrench: estimate (offset and drift against the joints' clock,"
            " corrected where they are more than 5 ms) or as-stamped."
        ),
    ] = "estimate",
    flange_frame: Annotated[
        str, typer.Option(help="Frame in which the controller wants it; default: the sensor's.")
    ] = "",
    truth: Annotated[
        Path | None, typer.Option(help="YAML with `pi` (ten numbers), to compare with.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")] = Path(
        "results/payload"
    ),
    json_out: Annotated[
        str, typer.Option("--json", help="Also write the result here; - for standard output.")
    ] = "",
) -> None:
    """Identify the payload from a bag with joint states, wrench and marks."""
    from sysid_core.cli.payload.repeat import weigh_again
    from sysid_core.cli.payload.result import Answer, read_truth, show, write
    from sysid_core.estimation.payload_map import SensorModel
    from sysid_core.robot.shapes import load_shape
    from sysid_core.signals.wrench import SensorCalibration

    if (recording is None) == (repeat is None):
        raise SignalError(
            "Exactly one of a recording and --repeat is needed.",
            remedy="Give a bag, or --repeat with a folder of bags.",
        )
    if not sensor_frame:
        raise SignalError("No sensor frame is given.", remedy="Say --sensor-frame FRAME.")
    if method not in METHODS:
        raise SignalError(f"No method '{method}'.", remedy=f"Choose one of: {', '.join(METHODS)}.")
    if clock not in CLOCKS:
        raise SignalError(f"No clock '{clock}'.", remedy=f"Choose one of: {', '.join(CLOCKS)}.")
    require_folder(out)
    body = load_shape(shape) if shape else None
    quality = SensorModel.named(sensor)
    true_pi = None if truth is None else read_truth(truth)

    def weigh(bag: Path) -> tuple[Weighing, Recording, RobotModel]:
        run, model = _opened(
            bag,
            robot,
            sensor_frame,
            lock,
            wrench_frame,
            sensor_parent,
            sensor_pose,
            gravity,
            mount,
        )
        known = SensorCalibration.load(calibration) if calibration else None
        if clock == "estimate":
            run = _on_one_clock(run, model, sensor_frame, known)
        return _weighed(run, model, sensor_frame, body, quality, known), run, model

    if repeat is not None:
        weigh_again(repeat, lambda bag: weigh(bag)[0].estimate, out, json_out)
        return
    assert recording is not None
    with errors.status("Replaying"):
        weighing, run, model = weigh(recording)
        others = _others(method, weighing, body) if compare or method != "map" else {}
    answer = Answer(recording, run, model, weighing, method, others, body, true_pi, flange_frame)
    out.mkdir(parents=True, exist_ok=True)
    text = write(answer, out)
    if not copy_json(text, json_out):
        show(answer)
        console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    raise typer.Exit(answer.judgement.exit_status)


def _opened(
    bag: Path,
    robot: str,
    sensor_frame: str,
    lock: list[str] | None,
    wrench_frame: list[str] | None,
    parent: str,
    pose: str,
    gravity: str,
    mount: str,
) -> tuple[Recording, RobotModel]:
    """Recording and robot; faults of the sensor are said."""
    from sysid_core.signals.bags import read_bag
    from sysid_core.signals.wrench import wrench_faults

    run = read_bag(bag)
    window = _marked(run)
    if window is not None:
        run = read_bag(bag, window_ns=window)
    for fault in wrench_faults(run.wrench) if run.wrench is not None else ():
        remark("warning:", f"{fault.text} {fault.remedy}", to=errors)
    return run, sensor_robot(
        run,
        robot,
        sensor_frame,
        lock=lock or (),
        accepted=wrench_frame or (),
        parent=parent,
        pose=pose,
        gravity=gravity,
        mount=mount,
    )


def _marked(run: Recording) -> tuple[int, int] | None:
    """The marked part of a long recording, to read again with all its samples; else None."""
    stamps, joints = [mark.stamp_ns for mark in run.marks], run.joints.stamps_ns
    if len(joints) < _MANY or len(stamps) < 2:
        return None
    window = (min(stamps) - _AROUND_NS, max(stamps) + _AROUND_NS)
    return window if window[1] - window[0] < 0.8 * (joints[-1] - joints[0]) else None


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
    return {"map-running": weighing.session.online.estimate()} | results
