# SPDX-License-Identifier: Apache-2.0
"""A browser clicks through pages on a screen and on a phone.

Identifications, validations, payloads, sequential ones, comparisons, benches and fleets are clicked
where they are made: whoever uses the fixture `clicks`.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from page_clicks import SIZES, Clicks
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.report import Figure, Report, ReportIndex


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A motion, loops, structure, a study's curves, the list of all."""
    out = tmp_path_factory.mktemp("pages")
    commands = {
        "motion/report": ["plan", "payload", "xarm7", "--out", str(out / "motion")],
        "structure": ["identifiability", "puma560", "--html", str(out / "structure.html")],
        "loops": ["loops", "check", "own-leg", "--samples", "30"],
    }
    commands["loops"] += ["--html", str(out / "loops.html")]
    for command in commands.values():
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    study = Report("Study")
    study.headline(None, "Curves.")
    x = np.linspace(0.1, 10.0)
    study.figure(
        Figure.curves({"a": {"b": (x, x**2)}, "c": {"b": (x, x)}}, columns=2, log_y=True), "c"
    )
    study.save(out / "study.html")
    ReportIndex.write(out)
    return {name: out / f"{name}.html" for name in (*commands, "study", "index")}


def test_a_browser_is_here() -> None:
    if why := Clicks.missing():
        pytest.skip(f"pages aren't clicked: {why}")


@pytest.mark.parametrize("name", ["motion/report", "structure", "loops", "study"])
def test_every_page_works(clicks, pages, name) -> None:
    """No error, every chart has data, nothing scrolls sideways, links, folds and play work."""
    clicks(pages[name], *(SIZES if name != "study" else ()))


def test_a_payload_plan_says_how_well_an_object_will_be_known(pages) -> None:
    text = pages["motion/report"].read_text(encoding="utf-8")
    mass = re.search(r"shape unknown: mass ± ([\d.]+) %, centre of mass ± ([\d.]+) mm", text)
    assert mass is not None and 0.1 < float(mass[1]) < 3.0 and 0.05 < float(mass[2]) < 5.0


def test_the_index_leads_to_every_report(clicks, pages) -> None:
    names = re.findall(r'<a href="([^"#]+\.html)"', pages["index"].read_text(encoding="utf-8"))
    assert {Path(name).name for name in names} >= {"report.html", "structure.html", "loops.html"}
    clicks(pages["index"], *SIZES)
