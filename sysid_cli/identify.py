# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`, `validate`, `certify` and `verify` identify a whole robot from recordings, and
test the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sysid_cli.base import app, console, copy_json, errors, remark, require_folder, tick
from sysid_cli.export import export_targets
from sysid_cli.settings import JsonPathOption, PathOption, command
from sysid_cli.tables import print_exports, print_table, print_verdict
from sysid_core import workflows
from sysid_core.files import write_json
from sysid_core.workflows import IdentifySettings, ValidateSettings

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Identification
    from sysid_core.estimation.arm_fit import ArmFit
    from sysid_core.estimation.loaded_arm import LoadedIdentification
    from sysid_core.estimation.sequential import SequentialIdentification
    from sysid_core.validation import Prediction
    from sysid_core.workflows import IdentifiedArm, ValidatedArm


@command(
    app,
    example="sysid identify examples/ur5/train.csv --robot ur5 --columns examples/ur5/columns.yaml --validate examples/ur5/validate.csv --out results/ur5",
)
def identify(
    *, settings: IdentifySettings, out: PathOption, to: str = "", json_path: JsonPathOption = ""
) -> None:
    """Identify inertial, friction and drive parameters of a robot from recorded motion.

    Args:
        out: Folder for estimate, result and report.
        to: Further formats, as in `sysid export`; the files are written to OUT/exports.
    """
    require_folder(out)
    with errors.progress("reading recordings") as status:
        targets = export_targets(to) if to else []
        found = workflows.IdentifiedArm.from_files(settings, status.step)
        if targets and (found.verdict.ok or settings.force):
            found = found.exported(out, targets)
        files = found.write(out)
    print_remarks(found)
    if not copy_json(found.to_dict(), json_path):
        print_identified(found)
        written = f"written to {out}: {', '.join(files)}"
        print_line(written)
    raise typer.Exit(found.verdict.exit_status)


@command(
    app,
    example="sysid validate results/ur5 examples/ur5/validate.csv --robot ur5 --columns examples/ur5/columns.yaml",
)
def validate(
    *, settings: ValidateSettings, out: Path | None = None, json_path: JsonPathOption = ""
) -> None:
    """Predict the efforts of recordings with an identified robot, and compare them with the
    measured efforts.

    Args:
        out: Folder for validation.json and .html.
    """
    with errors.progress("predicting efforts") as status:
        found = workflows.ValidatedArm.from_files(settings, status.step)
        if out is not None:
            found.write(out)
    if not copy_json(found.to_dict(), json_path):
        print_validated(found)
    raise typer.Exit(found.verdict.exit_status)


@command(app, example="sysid certify results/ur5 --out certificate.json")
def certify(
    *,
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    robot_id: str = "",
    as_found: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    out: Path | None = None,
) -> None:
    """Repeat an identification, and write a certificate with the prediction errors before it (as
    found) and after it (as left), the uncertainty budget, hashes of data and model, and versions.

    Args:
        folder: Result folder of `sysid identify`.
        robot_id: Serial number or name of the robot.
        as_found: Result folder of an earlier identification, whose model gives the prediction
            errors as found; default: a model with the masses of the URDF.
        out: Certificate to write; default: DIR/certificate.json.
    """
    with errors.progress("repeating the identification") as status:
        content = workflows.certify(folder, robot=robot_id, earlier=as_found, progress=status.step)
        path = out or folder / "certificate.json"
        write_json(path, content)
    unit = " N m" if "loops" in {file["role"] for file in content["files"]} else ""
    for run in content["recordings"]:
        found, left = (
            f"{run[key]:.3g}{unit}" if unit else f"{100 * run[key]:.2f} %"
            for key in ("as_found", "as_left")
        )
        fitted = " (fitted)" if run["fitted"] else ""
        console.print(f"{run['name']}{fitted}: as found {found}, as left {left}", highlight=False)
    console.print(f"written: {path}", soft_wrap=True)


@command(app, example="sysid verify certificate.json --data recordings")
def verify(*, certificate: Path, data: Path | None = None) -> None:
    """Verify the certificate of a result, or the `proof.json` of an export.

    The hashes of all files are compared, and all numbers are computed again from the data. Exit
    status 1 if a hash or a number differs. A successful verification shows that the numbers follow
    from the data, but not who issued the file; for this purpose, sign the file (`gpg
    --detach-sign`).

    Args:
        certificate: File from `sysid certify` or `sysid export`.
        data: Folder with the recordings, if they were moved.
    """
    with errors.progress("computing the numbers again") as status:
        checks = workflows.verify(certificate, data=data, progress=status.step)
    for check in checks:
        console.print(tick(check.ok), check.name, check.detail, highlight=False, soft_wrap=True)
    raise typer.Exit(int(not all(check.ok for check in checks)))


def print_line(text: str) -> None:
    """Print a line of text without formatting."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)


def print_remarks(found: IdentifiedArm) -> None:
    """Print to standard error the remarks on the description and, if requested, the gravity vector."""
    for warning in found.data.model.warnings:
        remark("warning:", warning, to=errors)
    gravity = found.data.gravity
    if gravity is not None:
        shown = ",".join(f"{x:.3f}" for x in gravity.gravity)
        errors.print(
            f"Gravity in the base frame: {shown} m/s^2, ± {math.degrees(gravity.angle_sd):.2f}°;"
            f" {math.degrees(gravity.angle):.1f}° from the URDF's.",
            highlight=False,
            soft_wrap=True,
        )


def print_identified(found: IdentifiedArm) -> None:
    """Print the verdict, the prediction errors of each recording, and notes."""
    lacks = found.description is None and not found.verdict.ok
    print_verdict(found.verdict, "identified.urdf is only written with --force." if lacks else "")
    print_summary(found.identification, found.training, found.validation)
    for line in _sentences(found.fit):
        print_line(line)
    print_exports(found.exported_errors)


def print_validated(found: ValidatedArm) -> None:
    """Print the verdict and the prediction errors of each recording."""
    print_verdict(found.verdict)
    title = f"{found.identification.model.name}: raw efforts against prediction"
    _print_predictions(title, {"": found.predictions})


def print_summary(
    result: Identification, training: Sequence[Prediction], validation: Sequence[Prediction]
) -> None:
    """Print the prediction errors of each recording, and the warnings."""
    estimate = result.estimate
    title = f"{estimate.robot}, {estimate.method}: raw efforts against prediction"
    _print_predictions(title, {"fitted: ": training, "not fitted: ": validation})
    console.print(
        f"rank {estimate.rank} of {estimate.structural_rank}, condition number"
        f" {estimate.condition_number:.0f}; {result.consistency}",
        soft_wrap=True,
    )
    for note in estimate.notes:
        console.print(f"· {note}", highlight=False, soft_wrap=True, markup=False)


def _print_predictions(title: str, runs: Mapping[str, Sequence[Prediction]]) -> None:
    """Print the prediction errors of recordings; each line begins with the name of the group."""
    table = Table(title=title)
    for column in ("joint", "RMS", "URDF's RMS", "R²", "R² whole run"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    for kind, p in ((kind, p) for kind, predictions in runs.items() for p in predictions):
        still = not p.motion.any()  # R² of a constant says nothing
        beside = p if p.nominal is None else p.beside()
        whole, nominal = p.joints(whole=True), beside.joints()
        shares = (p.relative_error(), beside.relative_error(), p.relative_error(whole=True))
        error, other, all_of_it = (f"{100 * share:.2f} %" for share in shares)
        table.add_row(
            f"{kind}{Path(p.source).stem}{' (at rest)' if still else ''}",
            *(f"{error} (whole run {all_of_it})", other),
            style="bold",
        )
        for i, (name, stats) in enumerate(p.joints().items(), 1):
            table.add_row(
                name,
                f"{stats['rms']:.4g} {p.unit}",
                f"{nominal[name]['rms']:.4g} {p.unit}",
                *("–" if still else f"{s[name]['r2']:.4f}" for s in (p.joints(), whole)),
                end_section=i == len(p.joint_names),
            )
    print_table(table)


def _sentences(fit: ArmFit | SequentialIdentification) -> list[str]:
    """Sentences on the delay, the source of the velocities, the gains and the load; empty for a
    sequential fit.
    """
    from sysid_core.estimation.arm_fit import ArmFit

    if not isinstance(fit, ArmFit):
        return []
    processing, errors_of = fit.identification.processing, fit.differentiations
    if processing.delay:
        what = "corrected"
    elif fit.lags.common.worth_correcting:
        what = "not corrected: use --delay auto"
    else:
        what = "not corrected, because this would not improve the prediction of held-out data"
    ms, sd = 1e3 * fit.lags.common.seconds, 1e3 * fit.lags.common.sd
    lines = [
        "the motion does not determine the delay of the efforts"
        if not fit.lags.common.shows
        else f"the efforts {'lag' if ms >= 0.0 else 'lead'} by {abs(ms):.1f} ± {sd:.1f} ms relative to"
        f" the positions ({what})"
    ]
    way = processing.differentiate.value
    if way == "positions" and way in errors_of:
        lines.append(
            "measured velocities are not used: with positions alone, the prediction error on held-out"
            f" blocks is {100 * errors_of[way]:.1f} % instead of {100 * errors_of['filter']:.1f} %"
        )
    if fit.identification.feedback is not None:
        without, within = fit.feedback_errors
        lines.append(
            "the efforts contain the reaction of the controllers to velocity noise: with a model of this reaction,"
            f" the prediction error on held-out blocks is {100 * within:.1f} % instead of {100 * without:.1f} %"
        )
    return lines if fit.loaded is None else lines + _load_sentences(fit.loaded)


def _load_sentences(found: LoadedIdentification) -> list[str]:
    from sysid_core.estimation.payload import PayloadSummary

    load = PayloadSummary.of(found.payload)
    joints = found.identification.model.joint_names
    gains = ", ".join(
        f"{joint} {gain:.4g} ± {sd:.2g}"
        for joint, gain, sd in zip(joints, found.gains.gains, found.gains.sd, strict=True)
    )
    com = ", ".join(f"{c:.3f} ± {sd:.3f}" for c, sd in zip(load.com, load.com_sd, strict=True))
    return [
        f"drive gains [N m per unit of effort]: {gains}",
        f"the load's centre of mass [m]: {com}",
    ]
