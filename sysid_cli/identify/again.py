# SPDX-License-Identifier: Apache-2.0
"""An identification once more, from the options that its result lists, for certificates."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import typer

from sysid_cli.identify.command import run_identify
from sysid_cli.identify.settings import IdentifySettings
from sysid_cli.settings import build_settings


def identify_again(options: Mapping[str, Any], places: Mapping[str, Path], out: Path) -> None:
    """Run `sysid identify` with the same options, without output.

    Args:
        options: `options` of the inputs in result.json.
        places: Where files are now, by where they were.
        out: Folder of the results.

    Raises:
        SysIdError: As the command.
    """

    def now(value: Any) -> Any:
        if isinstance(value, dict):
            return places.get(value["path"], Path(value["path"]))
        if isinstance(value, list):
            return [now(one) for one in value]
        if isinstance(value, str) and value and str(Path(value).resolve()) in places:
            return str(places[str(Path(value).resolve())])
        return value

    given = {name: now(value) for name, value in options.items()}
    settings = build_settings(IdentifySettings, {**given, "out": out, "json_path": ""})
    with redirect_stdout(StringIO()), suppress(typer.Exit):
        run_identify(settings)
