# SPDX-License-Identifier: Apache-2.0
"""`sysid payload` identifies the payload of a robot with a force-torque sensor from a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.base import app, console, copy_json, errors, remark, require_folder
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows, print_settings, print_verdict
from sysid_core import workflows
from sysid_core.errors import SignalError, SysIdError
from sysid_core.files import write_json
from sysid_core.workflows import WeighSettings

if TYPE_CHECKING:
    from sysid_core.estimation import Estimate
    from sysid_core.workflows import FoundPart, WeighedRecording


_GAUGE = (0.1, 0.3)  # of a tolerance: an acceptable gauge, and one that conditionally is (AIAG)


@command(
    app,
    example="sysid payload recording.mcap --sensor-frame link_eef --shape 'box 0.2 0.3 0.05' --out results/payload",
)
def payload(
    *,
    recording: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    settings: WeighSettings,
    repeat: Path | None = None,
    parts: Path | None = None,
    expect: str = "",
    out: Path = Path("results/payload"),
    json_path: JsonPathOption = "",
) -> None:
    """Identify a payload from a wrench and joint states, or from a wrench and sensor poses.

    Args:
        recording: rosbag2 folder, MCAP file, or a table (CSV, NPZ, Parquet, MAT).
        repeat: Folder with recordings of one object, to measure the repeatability.
        parts: File of known loads (YAML) to be recognised; needs --calibration.
        expect: Name of the expected load in the file of --parts.
        out: Folder for estimate, result and report.
    """
    if (recording is None) == (repeat is None):
        raise SignalError(
            "Exactly one of a recording and --repeat is needed.",
            remedy="Give a bag, or --repeat with a folder of bags.",
        )
    if parts is not None and recording is not None:
        which = workflows.FoundPart.of(recording, settings, parts, expect)
        for sentence in which.remarks:
            remark("note:", sentence, to=errors)
        show_part(which, json_path)
        raise typer.Exit(which.verdict.exit_status)
    require_folder(out)

    def weigh(recording: Path) -> WeighedRecording:
        with errors.progress("reading recordings") as status:
            found = workflows.WeighedRecording.from_file(recording, settings, status.step)
        for sentence in found.remarks:
            remark("note:", sentence, to=errors)
        return found

    if repeat is not None:
        weigh_again(repeat, lambda bag: weigh(bag).estimate, out, json_path)
        return
    assert recording is not None
    found = weigh(recording)
    found.write(out)
    if not copy_json(found.to_dict(), json_path):
        show(found)
        console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    raise typer.Exit(found.verdict.exit_status)


def show_part(found: FoundPart, json_path: str) -> None:
    """Print the probabilities of the known loads, and the decision."""
    result = {"probabilities": dict(found.probabilities), "verdict": found.verdict.to_dict()}
    if copy_json(result, json_path):
        return
    for name, probability in found.probabilities.items():
        console.print(f"{probability:6.3f}  {name}", markup=False, highlight=False)
    print_verdict(found.verdict)


def show(answer: WeighedRecording) -> None:
    """Print the payload table, remarks and controller settings."""
    from sysid_core.estimation.payload import PayloadSummary

    estimate = answer.estimate
    rows = PayloadSummary.compared(estimate, answer.truth)
    _print_table(rows, known=answer.truth is not None)
    for reason in estimate.certify():
        remark("note:", reason.advice)
    remark("more accurate:", answer.advice, "green")
    console.print(
        f"This is the result of the method '{answer.method}'; the report also contains those of the other methods.",
        soft_wrap=True,
    )
    frame = answer.flange_frame or answer.weighing.sensor_frame
    print_settings(answer.settings, frame)
    print_verdict(answer.verdict)


def _print_table(rows: Sequence[Sequence[Any]], *, known: bool) -> None:
    from sysid_core.report import Report, with_deviation

    names = ("quantity", "unit", "estimate ± sd", "truth", "error", "verdict")
    shown = [i for i, name in enumerate(names) if known or name not in ("truth", "error")]
    cells = ([*row[:2], with_deviation(row[2], row[3]), *row[4:]] for row in rows)
    print_rows(
        [names[i] for i in shown],
        ([Report.cell_text(row[i]) for i in shown] for row in cells),
        left=("unit", "verdict"),
        title="Payload in the sensor frame, inertia about its centre of mass",
    )


def weigh_again(folder: Path, weigh: Callable[[Path], Estimate], out: Path, json_path: str) -> None:
    """Estimate the payload in every recording of a folder, and print the results with their
    scatter.

    Raises:
        SignalError: The folder contains fewer than two usable recordings.
    """
    from sysid_core.estimation.payload import PayloadSummary
    from sysid_core.estimation.payload_live import Weighing

    bags = sorted(x for x in folder.iterdir() if x.is_dir() or x.suffix in (".mcap", ".db3"))
    rows: list[list[str]] = []
    estimates: dict[str, Estimate] = {}
    for bag in bags:
        try:
            estimate = weigh(bag)
        except SysIdError as err:
            remark("left out:", f"{bag.name}: {err}", to=errors)
            continue
        estimates[bag.name] = estimate
        p = PayloadSummary.of(estimate)
        com = " ".join(f"{1e3 * x:.2f}" for x in p.com)
        sd = " ".join(f"{1e3 * x:.2f}" for x in p.com_sd)
        rows.append([bag.name, f"{p.mass:.4f}", f"{p.mass_sd:.4f}", com, sd])
    if len(estimates) < 2:
        raise SignalError(
            f"'{folder}' holds too few usable recordings: {len(estimates)}.",
            remedy="Record the same object twice or more, one bag each, into one folder.",
        )
    found = Weighing.repeatability(list(estimates.values()))
    result = {
        "schema": "robot_sysid/repeatability/1",
        "recordings": {name: e.values.tolist() for name, e in estimates.items()},
        "mass_scatter": found.mass_scatter,
        "com_scatter": found.com_scatter.tolist(),
        "scatter_in_told_deviations": found.chi,
        "mass_tolerance": {str(share): found.mass_tolerance(share) for share in _GAUGE},
    }
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "repeatability.json", result)
    if copy_json(result, json_path):
        return
    print_rows(
        ("recording", "mass [kg]", "± sd", "com [mm]", "± sd"),
        rows,
        title="Repeated results for one object (sensor frame)",
    )
    com = ", ".join(f"{1e3 * x:.2f}" for x in found.com_scatter)
    console.print(
        f"{len(estimates)} results: mass {found.mass.mean():.4f} kg, scatter"
        f" {100 * found.mass_scatter:.2f} %; centre of mass scatter [{com}] mm"
        f" ({found.chi:.1f} times the reported deviations). For mass tolerances of"
        f" {found.mass_tolerance(_GAUGE[0]):.2g} kg and more (full width of the tolerance interval), the repeatability is at most"
        f" {_GAUGE[0]:.0%} of the tolerance; from {found.mass_tolerance(_GAUGE[1]):.2g} kg on {_GAUGE[1]:.0%}.",
        soft_wrap=True,
        highlight=False,
    )
