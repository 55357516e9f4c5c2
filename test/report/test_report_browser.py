# SPDX-License-Identifier: Apache-2.0
"""A browser clicks through one page of each kind, on a screen and on a phone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_core.cli.app import app
from sysid_core.report import Report, curves, write_index

ROOT = Path(__file__).resolve().parents[2]
UR5 = ROOT / "examples" / "ur5"
SIZES = {"screen": (1280, 900), "phone": (390, 844)}
# Charts whose traces have no data, of every chart on the page.
EMPTY = """[...document.querySelectorAll('.chart')].filter(chart => !chart.data?.length
  || chart.data.some(t => !((t.z ?? t.y ?? t.x)?.length || Object.keys(t.y ?? t.z ?? {}).length)))
  .map(chart => chart.getAttribute('aria-label'))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A motion, an identification, loops, structure, a study's curves, a comparison, the list of all."""
    out = tmp_path_factory.mktemp("pages")
    ur5 = ["--robot", "ur5", "--columns", str(UR5 / "columns.yaml")]
    commands = {
        "motion/report": ["plan", "payload", "xarm7", "--out", str(out / "motion")],
        "arm/report": ["identify", str(UR5 / "train.csv"), *ur5, "--out", str(out / "arm")],
        "comparison/report": [
            *("report", "compare", *(2 * [str(out / "arm")])),
            "--out",
            str(out / "comparison"),
        ],
        "structure": ["identifiability", "puma560", "--html", str(out / "structure.html")],
        "loops": [
            "loops",
            "check",
            "own-leg",
            "--samples",
            "30",
            "--html",
            str(out / "loops.html"),
        ],
    }
    for command in commands.values():
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    study = Report("Study")
    x = np.linspace(0.1, 10.0)
    study.figure(curves({"a": {"b": (x, x**2)}, "c": {"b": (x, x)}}, columns=2, log_y=True), "c")
    study.save(out / "study.html")
    write_index(out)
    return {name: out / f"{name}.html" for name in (*commands, "study", "index")}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium here: apt install chromium")
    # A view in space is drawn by WebGL, here in software.
    flags = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    with playwright.sync_playwright() as driver:
        program = driver.chromium.launch(executable_path=program, args=flags)
        yield program
        program.close()


@pytest.mark.parametrize("size", SIZES)
def test_every_page_works(browser, pages, size) -> None:
    """No error, every chart has data, nothing scrolls sideways, links, folds and play work."""
    width, height = SIZES[size]
    tab = browser.new_page(viewport={"width": width, "height": height})
    errors: list[str] = []
    tab.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    for name, file in pages.items():
        tab.goto(file.as_uri())
        tab.wait_for_function(
            "document.body.dataset.charts || !document.querySelector('.chart')", timeout=60_000
        )
        assert tab.evaluate(EMPTY) == [], name
        for fold in tab.query_selector_all("summary"):
            fold.click()
        for link in tab.query_selector_all("nav a"):
            link.click()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, name
        assert tab.query_selector(".headline") or name == "study"
        assert errors == [], name
    tab.goto(pages["motion/report"].as_uri())
    tab.wait_for_function("document.body.dataset.charts", timeout=60_000)
    robot = "[...document.querySelectorAll('.chart')].find(c => c.data[0].type == 'scatter3d')"
    before = tab.evaluate(f"JSON.stringify({robot}.data[0].x)")
    tab.get_by_text("▶ play").click()
    tab.wait_for_function(f"JSON.stringify({robot}.data[0].x) != {before!r}", timeout=60_000)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")  # charts fit a sheet, folds are open
    widths = "[...document.querySelectorAll('.chart')].map(c => c.layout.width)"
    assert set(tab.evaluate(widths)) == {690}
    assert tab.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    tab.close()


def test_a_payload_plan_says_how_well_an_object_will_be_known(pages) -> None:
    text = pages["motion/report"].read_text(encoding="utf-8")
    mass = re.search(r"shape unknown: mass ± ([\d.]+) %, centre of mass ± ([\d.]+) mm", text)
    assert mass is not None and 0.1 < float(mass[1]) < 3.0 and 0.05 < float(mass[2]) < 5.0


def test_the_index_leads_to_every_report(browser, pages) -> None:
    tab = browser.new_page()
    tab.goto(pages["index"].as_uri())
    links = tab.evaluate("[...document.querySelectorAll('td a')].map(a => a.href)")
    assert {Path(link).name for link in links} >= {"report.html", "structure.html", "loops.html"}
    tab.click("td a")
    assert tab.query_selector("h1") is not None
    tab.close()
