# SPDX-License-Identifier: Apache-2.0
"""`sysid certify` and `sysid verify`: signed records of identifications."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, console, errors, example, tick


@app.command(epilog=example("sysid certify results/ur5 --key key.pem --out certificate.json"))
def certify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `sysid identify` wrote.")
    ],
    key: Annotated[
        Path, typer.Option(help="Private key (PEM, Ed25519); made when it isn't there.")
    ],
    robot_id: Annotated[str, typer.Option(help="Serial number or name of this very robot.")] = "",
    as_found: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Identification that was in use before; default: the URDF's masses."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Default: DIR/certificate.json.")] = None,
) -> None:
    """Repeat an identification, and sign what it states: errors as found and as left, uncertainty
    budget, hashes of data and model, versions.
    """
    from sysid_cli.identify import identify_again
    from sysid_core.certificate import (
        Certificate,
        build_content,
        fingerprint,
        load_or_make_key,
        public_key,
    )

    private, made = load_or_make_key(key)
    if made:
        console.print(f"made the key {key} (keep it secret) and {key.with_suffix('.pub')}")
    with errors.status("repeating the identification"):
        content = build_content(folder, robot=robot_id, earlier=as_found, again=identify_again)
        path = out or folder / "certificate.json"
        Certificate.signed(content, private).save(path)
    for run in content["recordings"]:
        console.print(
            f"{run['name']}{' (fitted)' if run['fitted'] else ''}: as found"
            f" {100 * run['as_found']:.2f} %, as left {100 * run['as_left']:.2f} %",
            highlight=False,
        )
    console.print(f"signed by key {fingerprint(public_key(private))}: {path}", soft_wrap=True)


@app.command(epilog=example("sysid verify certificate.json --public-key key.pub"))
def verify(
    certificate: Annotated[Path, typer.Argument(help="File that `sysid certify` wrote.")],
    public: Annotated[
        Path | None, typer.Option("--public-key", help="Key of who should have signed (PEM).")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the recordings, if they were moved.")
    ] = None,
) -> None:
    """Check a certificate's signature and files, and repeat its numbers from the data; or repeat the
    proof of an export (`proof.json`).

    Exit status 1 where anything doesn't hold.
    """
    from sysid_cli.export import is_proof, verify_proof
    from sysid_cli.identify import identify_again

    if is_proof(certificate):
        verify_proof(certificate, data)
    from sysid_core.certificate import public_key, verify_certificate

    with errors.status("repeating the identification"):
        checks = verify_certificate(
            certificate,
            trusted=None if public is None else public_key(public),
            data=data,
            again=identify_again,
        )
    for check in checks:
        mark = "–" if check.ok is None else tick(check.ok)
        console.print(mark, check.name, check.detail, highlight=False, soft_wrap=True)
    raise typer.Exit(int(any(check.ok is False for check in checks)))
