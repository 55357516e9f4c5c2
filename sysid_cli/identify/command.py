# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`: a whole robot's parameters from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sysid_cli.app import app, console, copy_json, errors, require_folder
from sysid_cli.identify.settings import IdentifySettings
from sysid_cli.settings import command

if TYPE_CHECKING:
    from sysid_cli.identify.data import ArmData
    from sysid_cli.identify.fit import Fit
    from sysid_core.export import Description
    from sysid_core.reasons import Verdict

URDF = "identified.urdf"


@command(
    app,
    example="sysid identify examples/ur5/train.csv --robot ur5 --columns examples/ur5/columns.yaml --validate examples/ur5/validate.csv --out results/ur5",
)
def identify(settings: IdentifySettings) -> None:
    """Identify inertial, friction and drive parameters of a robot from recorded motion."""
    run_identify(settings)


def run_identify(settings: IdentifySettings) -> None:
    """Identify as the settings say.

    Raises:
        typer.Exit: With the verdict's status, after everything is written.
    """
    require_folder(settings.out)
    settings.require_compatible()
    if settings.loops:
        from sysid_cli.identify.loops import identify_closed_chain

        identify_closed_chain(settings)
    else:
        _identify_arm(settings)


def _identify_arm(settings: IdentifySettings) -> None:
    from sysid_cli.identify.data import ArmData, ArmSetup
    from sysid_cli.identify.fit import fit
    from sysid_cli.identify.result import json_text

    setup = ArmSetup.of(settings)
    with errors.status("reading recordings") as status:
        data = ArmData.read(settings, setup, status)
        found = fit(settings, data, status)
        verdict = _judge(data, found)
        description = _describe(data, found) if verdict.ok or settings.force else None
        verdict = _headed(settings, data, found, verdict, description)
        status.update("writing the report")
        _write(settings, data, found, description)
    text = json_text(_result(settings, data, found, verdict, description))
    (settings.out / "result.json").write_text(text + "\n", encoding="utf-8")
    if not copy_json(text, settings.json_path):
        _show(settings, found, verdict, description)
    raise typer.Exit(verdict.exit_status)


def _judge(data: ArmData, found: Fit) -> Verdict:
    """The verdict on the identified model."""
    from sysid_core.validation import judge_identification

    return judge_identification(
        found.identification,
        list(found.training),
        list(found.validation),
        data.examination,
        found.spread,
    )


def _describe(data: ArmData, found: Fit) -> Description | None:
    """The robot's description, judged by the runs that weren't fitted, or else by the fitted."""
    from sysid_core.export import describe
    from sysid_core.validation import predict_recording

    held_out = bool(data.others)
    judged = data.others if held_out else data.runs
    return describe(
        found.identification,
        data.runs,
        judged,
        [predict_recording(found.identification, run) for run in judged],
        held_out=held_out,
    )


def _headed(
    settings: IdentifySettings,
    data: ArmData,
    found: Fit,
    verdict: Verdict,
    description: Description | None,
) -> Verdict:
    """The verdict with what the exported file adds; the report is headed with it."""
    from sysid_cli.verdict import next_steps
    from sysid_core.report import export_section, export_warnings, prediction_sentence

    exports = [] if description is None else [(description.error, URDF)]
    verdict += export_warnings(exports)
    training, validation = list(found.training), list(found.validation)
    export_section(found.report, exports)
    found.report.judged(
        verdict,
        prediction_sentence(validation or training),
        asked=f"parameters of {data.model.name} from {len(data.runs)} recording(s), by"
        f" {settings.method}",
        next_steps=next_steps(verdict, settings.method, validated=bool(validation)),
    )
    return verdict


def _write(
    settings: IdentifySettings, data: ArmData, found: Fit, description: Description | None
) -> None:
    """All files but result.json; an older URDF, of another result, is removed."""
    from sysid_cli.identify.load import write_columns
    from sysid_core.estimation.arm import save_identification
    from sysid_core.report import save_and_list
    from sysid_core.robot import write_urdf

    out, result = settings.out, found.identification
    out.mkdir(parents=True, exist_ok=True)
    if found.loaded is not None:
        write_columns(settings.columns, found.loaded, data.runs[0], out / "columns.yaml")
    result.estimate.save(out / "estimate.yaml")
    save_and_list(found.report, out / "report.html")
    save_identification(result, out / "parameters.yaml")
    (out / URDF).unlink(missing_ok=True)
    if description is not None:
        write_urdf(out / URDF, description.xml)


def _result(
    settings: IdentifySettings,
    data: ArmData,
    found: Fit,
    verdict: Verdict,
    description: Description | None,
) -> dict[str, Any]:
    """Contents of result.json."""
    from sysid_cli.identify.result import result_dict
    from sysid_core.validation import unexplained

    training, validation = list(found.training), list(found.validation)
    return {
        "inputs": settings.inputs(),
        "verdict": verdict.to_dict(),
        "unexplained": unexplained(training) if training else None,
        "gravity": data.model.gravity.tolist(),
        **result_dict(found.identification, training, validation),
        "exports": [] if description is None else [description.error.to_dict()],
        **found.extra,
    }


def _show(
    settings: IdentifySettings,
    found: Fit,
    verdict: Verdict,
    description: Description | None,
) -> None:
    """Verdict, errors run by run, and the names of the files."""
    from sysid_cli.identify.result import print_summary
    from sysid_cli.verdict import print_verdict
    from sysid_core.report import export_sentence

    unwritten = not (verdict.ok or settings.force)
    print_verdict(verdict, f"{URDF} isn't written without --force." if unwritten else "")
    print_summary(found.identification, list(found.training), list(found.validation))
    for line in found.sentences:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    if description is not None:
        console.print(export_sentence(description.error, URDF), highlight=False, soft_wrap=True)
    files = ["estimate.yaml", "parameters.yaml", "result.json", "report.html"]
    files += [URDF] if description is not None else []
    files += ["columns.yaml"] if found.loaded is not None else []
    console.print(f"written to {settings.out}: {', '.join(files)}", soft_wrap=True, markup=False)
