# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`: a whole robot's parameters from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sysid_cli.app import app, console, copy_json, errors, require_folder
from sysid_cli.identify.settings import IdentifySettings
from sysid_cli.settings import command

if TYPE_CHECKING:
    from pathlib import Path

    from sysid_cli.identify.data import ArmData
    from sysid_cli.identify.fit import Fit
    from sysid_core.judgement import Judgement


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
        judgement = _judge(settings, data, found)
        status.update("writing the report")
        urdf = _write(settings, data, found, judgement)
    text = json_text(_result(settings, data, found, judgement))
    (settings.out / "result.json").write_text(text + "\n", encoding="utf-8")
    if not copy_json(text, settings.json_path):
        _show(settings, found, judgement, urdf)
    raise typer.Exit(judgement.exit_status)


def _judge(settings: IdentifySettings, data: ArmData, found: Fit) -> Judgement:
    """The verdict, which the report is headed with."""
    from sysid_cli.verdict import next_steps
    from sysid_core.report import prediction_sentence
    from sysid_core.validation import judge_identification

    training, validation = list(found.training), list(found.validation)
    judgement = judge_identification(
        found.identification, training, validation, data.examination, found.spread
    )
    found.report.judged(
        judgement,
        prediction_sentence(validation or training),
        asked=f"parameters of {data.model.name} from {len(data.runs)} recording(s), by"
        f" {settings.method}",
        next_steps=next_steps(judgement, settings.method, validated=bool(validation)),
    )
    return judgement


def _write(
    settings: IdentifySettings, data: ArmData, found: Fit, judgement: Judgement
) -> Path | None:
    """All files but result.json; returns the URDF's path, if it was written."""
    from sysid_cli.identify.load import write_columns
    from sysid_core.pipeline import write_back
    from sysid_core.report import save_and_list

    out, result = settings.out, found.identification
    out.mkdir(parents=True, exist_ok=True)
    if found.loaded is not None:
        write_columns(settings.columns, found.loaded, data.runs[0], out / "columns.yaml")
    result.estimate.save(out / "estimate.yaml")
    save_and_list(found.report, out / "report.html")
    return write_back(result, out, urdf=judgement.ok or settings.force)


def _result(
    settings: IdentifySettings, data: ArmData, found: Fit, judgement: Judgement
) -> dict[str, Any]:
    """Contents of result.json."""
    from sysid_cli.identify.result import result_dict
    from sysid_core.validation import unexplained

    training, validation = list(found.training), list(found.validation)
    return {
        "inputs": settings.inputs(),
        "verdict": judgement.to_dict(),
        "unexplained": unexplained(training) if training else None,
        "gravity": data.model.gravity.tolist(),
        **result_dict(found.identification, training, validation),
        **found.extra,
    }


def _show(settings: IdentifySettings, found: Fit, judgement: Judgement, urdf: Path | None) -> None:
    """Verdict, errors run by run, and the names of the files."""
    from sysid_cli.identify.result import print_summary
    from sysid_cli.verdict import print_judgement

    print_judgement(judgement, "" if urdf else "identified.urdf isn't written without --force.")
    print_summary(found.identification, list(found.training), list(found.validation))
    for line in found.sentences:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    files = ["estimate.yaml", "parameters.yaml", "result.json", "report.html"]
    files += [urdf.name] if urdf else []
    files += ["columns.yaml"] if found.loaded is not None else []
    console.print(f"written to {settings.out}: {', '.join(files)}", soft_wrap=True, markup=False)
