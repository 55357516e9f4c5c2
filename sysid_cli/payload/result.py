# SPDX-License-Identifier: Apache-2.0
"""What `sysid payload` writes and shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysid_cli.app import console, remark
from sysid_cli.tables import print_table
from sysid_cli.verdict import print_verdict
from sysid_core.errors import SignalError
from sysid_core.reasons import advice_of

if TYPE_CHECKING:
    from sysid_core.controller_payload import ControllerSetting
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.payload_live import Weighing
    from sysid_core.reasons import Verdict
    from sysid_core.report import Report
    from sysid_core.robot import Array, RobotModel
    from sysid_core.robot.shapes import Shape
    from sysid_core.signals import Recording


@dataclass(frozen=True, eq=False)
class Answer:
    """Everything about one weighed recording.

    Attributes:
        recording: Its path.
        run: Its content.
        model: The robot.
        weighing: By the default estimator.
        method: Name of the method that was asked for.
        others: Estimates of the other methods.
        shape: Shape of the object, or None.
        truth: pi, shape (10,), or None.
        flange_frame: The controller's frame; "": the sensor's.
    """

    recording: Path
    run: Recording
    model: RobotModel
    weighing: Weighing
    method: str
    others: dict[str, Any]
    shape: Shape | None
    truth: Array | None
    flange_frame: str

    @property
    def estimate(self) -> Estimate:
        """By the method that was asked for."""
        found: Estimate = self.others.get(self.method, self.weighing.estimate)
        return found

    @property
    def methods(self) -> dict[str, Any]:
        """Estimates of all methods, the default's first, by their names."""
        return {"map": self.weighing.estimate} | self.others

    @cached_property
    def verdict(self) -> Verdict:
        """Whether it may be sent to a controller."""
        from sysid_core.diagnosis import compare_with_torques, judge_carried_mass
        from sysid_core.estimation.payload_live import judge_weighing

        found = self.weighing
        q, pi = self.run.joints.ordered(self.model.joint_names).q, self.estimate.values
        weighed = judge_weighing(self.estimate, found.calibration, found.changes)
        weighed += judge_carried_mass(self.model, found.sensor_frame, pi, q)
        return weighed + compare_with_torques(self.model, self.run, float(pi[0]))

    @property
    def settings(self) -> tuple[ControllerSetting, ...]:
        """For the vendors' controllers; empty when nothing that weighs is held."""
        from sysid_core.controller_payload import (
            ControllerPayload,
            controller_settings,
            fixed_pose,
        )
        from sysid_core.robot import transform_pi

        pi = self.estimate.values
        if not pi[0] > 0:
            return ()
        if self.flange_frame:
            sensor = self.weighing.sensor_frame
            pi = transform_pi(fixed_pose(self.model, self.flange_frame, sensor), pi)
        return controller_settings(ControllerPayload.from_pi(pi))


def write(answer: Answer, out: Path) -> str:
    """Estimate, calibration, result and report into a folder; the result's text."""
    from sysid_core.report import save_and_list

    answer.estimate.save(out / "estimate.yaml")
    calibration = answer.weighing.calibration
    if calibration is not None:
        calibration.save(out / "sensor_calibration.yaml")
    text = json.dumps(_result(answer), indent=1)
    (out / "result.json").write_text(text, encoding="utf-8")
    save_and_list(_report(answer), out / "report.html")
    return text


def _result(answer: Answer) -> dict[str, object]:
    """Contents of result.json."""
    from sysid_core.estimation.payload import summarise_payload
    from sysid_core.estimation.payload_live import object_size
    from sysid_core.report import error_summary

    estimate, live = answer.estimate, answer.weighing.session
    errors = None
    if answer.truth is not None:
        payload = summarise_payload(estimate)
        size = object_size(payload) if answer.shape is None else answer.shape.size
        errors = error_summary(estimate, answer.truth, size)
    return {
        "recording": str(answer.recording),
        "verdict": answer.verdict.to_dict(),
        "estimate": estimate.to_dict(),
        "notes": list(answer.weighing.notes),
        "state": None if live is None else live.online.state.value,
        "advice": None if live is None else live.online.advice,
        "errors_percent": errors,
        "methods": {name: other.values.tolist() for name, other in answer.methods.items()},
        "controllers": {
            s.vendor: {"setting": s.text, "error_torque": s.error_torque} for s in answer.settings
        },
    }


def _report(answer: Answer) -> Report:
    from sysid_core.report import Report, payload_report, payload_sentence

    estimate, session = answer.estimate, answer.weighing.session
    frame = answer.weighing.sensor_frame
    report = Report(f"Payload on {answer.model.name}", f"{answer.recording}, {estimate.method}")
    report.judged(
        answer.verdict,
        payload_sentence(estimate),
        asked=f"what the robot holds, in the frame of its sensor ({estimate.method})",
        next_steps=[
            "Send it to the controller: numbers for each vendor stand at the end of this page."
        ]
        if answer.verdict.ok
        else ["Don't send it to the controller: mend what the reasons name and weigh again."],
    )
    payload_report(
        report,
        estimate=estimate,
        data=answer.weighing.data,
        shape=answer.shape,
        history=() if session is None else session.history,
        recording=answer.run,
        filtered=answer.weighing.filtered,
        truth=answer.truth,
        others=[other for name, other in answer.methods.items() if name != answer.method],
    )
    if answer.settings:
        report.table(
            ("controller", "what to set", "error torque left [N m]"),
            [(s.vendor, s.text, s.error_torque) for s in answer.settings],
            f"In the frame '{answer.flange_frame or frame}'; what hangs before it must be added.",
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


def show(answer: Answer) -> None:
    """Table, remarks and settings on the console."""
    from sysid_core.report import comparison_rows

    estimate, live = answer.estimate, answer.weighing.session
    _print_table(comparison_rows(estimate, answer.truth), known=answer.truth is not None)
    for reason in estimate.certify():
        remark("note:", advice_of(reason))
    if live is not None:
        state, advice = live.online.state.value, live.online.advice
        console.print(f"While it ran: {state}. {advice}", soft_wrap=True)
    console.print(
        f"This is the answer of '{answer.method}'; the report has the other methods' beside it.",
        soft_wrap=True,
    )
    frame = answer.flange_frame or answer.weighing.sensor_frame
    settings = answer.settings if answer.verdict.ok else ()
    if settings:
        console.print(f"For controllers, in '{frame}' (what hangs before it must be added):")
    for s in settings:
        console.print(
            f"  {s.vendor:7} {s.text}  leaves {s.error_torque:.1g} N m",
            highlight=False,
            soft_wrap=True,
        )
    print_verdict(answer.verdict)


def read_truth(path: Path) -> Array:
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


def _print_table(rows: Sequence[Sequence[Any]], *, known: bool) -> None:
    from rich.table import Table

    from sysid_core.report import cell_text, with_deviation

    table = Table(title="Payload in the sensor frame, inertia about its centre of mass")
    names = ("quantity", "unit", "estimate ± sd", "truth", "error", "verdict")
    shown = [i for i, name in enumerate(names) if known or name not in ("truth", "error")]
    for i in shown:
        table.add_column(names[i], justify="right" if 2 <= i < 5 else "left")
    for row in rows:
        cells = [*row[:2], with_deviation(row[2], row[3]), *row[4:]]
        table.add_row(*(cell_text(cells[i]) for i in shown))
    print_table(table)
