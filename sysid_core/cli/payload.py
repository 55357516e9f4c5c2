"""`sysid payload`: what a robot with a force-torque sensor held in a recording."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sysid_core.cli.app import app, console, errors, require_folder
from sysid_core.cli.sensor import (
    LockOption,
    SensorParentOption,
    SensorPoseOption,
    WrenchFrameOption,
    sensor_robot,
)
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.robot import Array
    from sysid_core.robot.shapes import Shape
    from sysid_core.signals.wrench import SensorCalibration

METHODS = ("map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous")


@app.command()
def payload(
    recording: Annotated[Path, typer.Argument(help="rosbag2 folder or MCAP file.")],
    shape: Annotated[
        str,
        typer.Option(
            help="Shape of the object in the sensor frame: 'box 0.2 0.3 0.05', 'cylinder R L',"
            " 'sphere R' (metres), each with 'at X Y Z' where its centre isn't the sensor's origin;"
            " a mesh, or a YAML file (see config/shapes)."
        ),
    ],
    sensor_frame: Annotated[str, typer.Option(help="Frame of the force-torque sensor.")],
    robot: Annotated[
        str, typer.Option(help="URDF file or name; default: the description in the bag.")
    ] = "",
    lock: LockOption = None,
    wrench_frame: WrenchFrameOption = None,
    sensor_parent: SensorParentOption = "",
    sensor_pose: SensorPoseOption = "",
    method: Annotated[str, typer.Option(help=f"Estimator: {', '.join(METHODS)}.")] = "map",
    calibration: Annotated[
        Path | None, typer.Option(help="Sensor calibration of an earlier tare.")
    ] = None,
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
    from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession, replay_payload
    from sysid_core.estimation.payload_map import smoothed_payload_data
    from sysid_core.report import Report, comparison_rows, error_summary, payload_report
    from sysid_core.robot.shapes import load_shape
    from sysid_core.signals.bags import read_bag
    from sysid_core.signals.wrench import SensorCalibration, wrench_faults

    require_folder(out)
    run = read_bag(recording)
    for fault in wrench_faults(run.wrench) if run.wrench is not None else ():
        text = f"[yellow]warning:[/] {fault.text} {fault.remedy}"
        errors.print(text, highlight=False, soft_wrap=True)
    model = sensor_robot(
        run,
        robot,
        sensor_frame,
        lock=lock or (),
        accepted=wrench_frame or (),
        parent=sensor_parent,
        pose=sensor_pose,
    )
    body = load_shape(shape)
    true_pi = None if truth is None else _read_truth(truth)
    if method not in METHODS:
        raise SignalError(f"No method '{method}'.", remedy=f"Choose one of: {', '.join(METHODS)}.")
    session = PayloadSession(
        model,
        sensor_frame,
        OnlinePayload(body),
        calibration=SensorCalibration.load(calibration) if calibration else None,
    )
    waiting = contextlib.nullcontext() if json_out == "-" else console.status("Replaying")
    with waiting:
        filtered = replay_payload(run, session)
        data = session.data()
        estimators = payload_estimators(body, session.calibration)
        results = {"map-running": session.online.estimate()} | {
            name: estimator.fit(data) for name, estimator in estimators.items() if name != "map"
        }
        results["map"] = estimators["map"].fit(
            *smoothed_payload_data(
                model,
                sensor_frame,
                run.joints,
                session.motion_stamps_ns(),
                data.wrench,
                source=str(recording),
            )
        )
    estimate = results[method]
    out.mkdir(parents=True, exist_ok=True)
    estimate.save(out / "estimate.yaml")
    if session.calibration is not None:
        session.calibration.save(out / "sensor_calibration.yaml")
    result = {
        "recording": str(recording),
        "estimate": estimate.to_dict(),
        "state": session.online.state.value,
        "advice": session.online.advice,
        "errors_percent": None if true_pi is None else error_summary(estimate, true_pi, body.size),
        "methods": {name: other.values.tolist() for name, other in results.items()},
    }
    text = json.dumps(result, indent=1)
    (out / "result.json").write_text(text, encoding="utf-8")
    report = Report(f"Payload of {model.name}", f"{recording}, {estimate.method}")
    payload_report(
        report,
        estimate=estimate,
        data=data,
        shape=body,
        history=session.history,
        recording=run,
        filtered=filtered,
        truth=true_pi,
        others=[other for name, other in results.items() if name != method],
    )
    report.save(out / "report.html")
    if json_out == "-":
        print(text)
        return
    if json_out:
        Path(json_out).write_text(text, encoding="utf-8")
    _print_table(comparison_rows(estimate, true_pi), known=true_pi is not None)
    for note in (*estimate.notes, *estimate.certify()):
        console.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    console.print(
        f"While it ran: {session.online.state.value}. {session.online.advice}", soft_wrap=True
    )
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)


def payload_estimators(shape: Shape, calibration: SensorCalibration | None) -> dict[str, Any]:
    """Payload estimators by their names on the command line; `map-running` is the session's own."""
    from sysid_core.estimation import payload as e
    from sysid_core.estimation.payload_map import PayloadMAP, SensorModel

    return {
        "map": PayloadMAP(
            shape, sensor=None if calibration is None else SensorModel().tared(calibration)
        ),
        "pmd": e.PointMassDiscretization(shape),
        "pmd-squared": e.PointMassDiscretization(shape, squared=True),
        "ols": e.OrdinaryLeastSquares(),
        "rtls": e.RecursiveTotalLeastSquares(),
        "geo": e.EntropicRegression(shape),
        "lmi": e.PhysicalLeastSquares(),
        "homogeneous": e.HomogeneousBody(shape),
    }


def _read_truth(path: Path) -> Array:
    """The ten parameters that a result is compared with, shape (10,)."""
    import numpy as np

    from sysid_core.files import FileKind, read_yaml

    kind = FileKind(
        "file of true parameters",
        "Write: pi: [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], about the sensor's origin.",
        SignalError,
    )
    raw = read_yaml(path, kind)
    try:
        pi = np.asarray(raw["pi"], dtype=float)
    except (KeyError, TypeError, ValueError) as err:
        raise kind.refusal(path, "it holds no list `pi` of numbers") from err
    if pi.shape != (10,) or not np.isfinite(pi).all() or pi[0] <= 0:
        raise kind.refusal(path, "`pi` isn't ten finite numbers with a positive mass")
    return pi


def _print_table(rows: Sequence[Sequence[object]], *, known: bool) -> None:
    from rich.table import Table

    from sysid_core.report import cell_text

    table = Table(title="Payload in the sensor frame, inertia about its centre of mass")
    names = ("quantity", "unit", "estimate", "sd", "truth", "error", "verdict")
    shown = [i for i, name in enumerate(names) if known or name not in ("truth", "error")]
    for i in shown:
        table.add_column(names[i], justify="right" if 2 <= i < 6 else "left")
    for row in rows:
        table.add_row(*(cell_text(row[i]) for i in shown))
    console.print(table)
