# SPDX-License-Identifier: Apache-2.0
"""`sysid certify` and `sysid verify`: records of identifications that repeat their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, console, errors, example, tick
from sysid_cli.progress import shown_by
from sysid_core import workflows


@app.command(epilog=example("sysid certify results/ur5 --out certificate.json"))
def certify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `sysid identify` wrote.")
    ],
    robot_id: Annotated[str, typer.Option(help="Serial number or name of this very robot.")] = "",
    as_found: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Identification that was in use before; default: the URDF."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Default: DIR/certificate.json.")] = None,
) -> None:
    """Repeat an identification, and write down what it states: errors as found and as left,
    uncertainty budget, hashes of data and model, versions.
    """
    with errors.status("repeating the identification") as status:
        content = workflows.certify(
            folder, robot=robot_id, earlier=as_found, progress=shown_by(status)
        )
        path = out or folder / "certificate.json"
        path.write_text(workflows.json_text(content), encoding="utf-8")
    unit = " N m" if "loops" in {file["role"] for file in content["files"]} else ""
    for run in content["recordings"]:
        found, left = (
            f"{run[key]:.3g}{unit}" if unit else f"{100 * run[key]:.2f} %"
            for key in ("as_found", "as_left")
        )
        fitted = " (fitted)" if run["fitted"] else ""
        console.print(f"{run['name']}{fitted}: as found {found}, as left {left}", highlight=False)
    console.print(f"written: {path}", soft_wrap=True)


@app.command(epilog=example("sysid verify certificate.json --data recordings"))
def verify(
    certificate: Annotated[
        Path, typer.Argument(help="File that `sysid certify` or `sysid export` wrote.")
    ],
    data: Annotated[
        Path | None, typer.Option(help="Folder with the recordings, if they were moved.")
    ] = None,
) -> None:
    """Check the files of a certificate, or of an export's `proof.json`, by their hashes, and repeat
    its numbers from the data.

    Exit status 1 where anything doesn't hold.
    """
    proof = workflows.is_proof(certificate)
    repeat = workflows.verify_export if proof else workflows.verify
    with errors.status(f"repeating the {'proof' if proof else 'identification'}") as status:
        checks = repeat(certificate, data=data, progress=shown_by(status))
    for check in checks:
        console.print(tick(check.ok), check.name, check.detail, highlight=False, soft_wrap=True)
    raise typer.Exit(int(not all(check.ok for check in checks)))
