# SPDX-License-Identifier: Apache-2.0
"""The page: self-contained, small, escaped, drawn without an error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest

from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.report import Figure, Report, with_deviation

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with everything on it."""
    time = np.linspace(0.0, 60.0, 60001)
    lines = {"a <joint>": {"measured": np.sin(time), "predicted": np.cos(time)}}
    report = Report("Robot <1>", "subtitle & more")
    report.headline(Outcome.WARN, "1.116 ± 0.007 kg", asked="its mass", next_steps=["Move faster."])
    report.table(("quantity", "value"), [("mass </table>", 1.116)], "All", folded=True)
    report.figure(Figure.time_series(time, lines, ylabel="N m", columns=1), "Efforts </script>")
    report.provenance({"robot": "URDF 1234"})
    return report.save(tmp_path_factory.mktemp("page") / "report.html")


def test_nothing_is_loaded_from_outside_and_the_page_stays_small(page) -> None:
    text = page.read_text(encoding="utf-8")
    body = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", body)
    assert len(text) < 5e6


def test_markup_in_names_stays_text(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert "Robot &lt;1&gt;" in text and "mass &lt;/table&gt;" in text
    assert "Efforts </script>" not in text


def test_the_answer_stands_first_and_is_machine_readable(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.index("1.116 ± 0.007 kg") < text.index("<main>")
    summary = re.search(r'name="robot-sysid" content="([^"]*)"', text)
    assert summary is not None
    assert json.loads(unescape(summary[1]))["level"] == "warn"


def test_a_browser_draws_every_chart(page) -> None:
    if BROWSER is None:
        pytest.skip("no chromium here: apt install chromium")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000",
         "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 'data-charts="1 of 1"' in done.stdout


@pytest.mark.parametrize(
    ("value", "sd", "text"),
    [
        (1.11592, 0.0069, "1.1159 ± 0.0069"),
        (12.95, 0.41, "12.95 ± 0.41"),
        (153.2, 21.0, "153 ± 21"),
        (-0.004321, 0.00012, "-0.00432 ± 0.00012"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (1.3, float("inf"), "1.3 ± inf"),
    ],
)
def test_value_and_deviation_have_matched_digits(value, sd, text) -> None:
    assert with_deviation(value, sd) == text


def test_the_page_below_does_not_repeat_the_reasons_of_the_headline(tmp_path) -> None:
    reason = Reason.warning("efforts-late", ms=12.0, sd=1.0)
    report = Report("A", "b", details="c/report.html")
    report.bullets([reason.advice, "Another remark."])
    report.bullets([reason.text])
    report.judged(Verdict((reason,)), "It holds.")
    text = report.save(tmp_path / "a.html").read_text(encoding="utf-8")
    main = text[text.index("<main>") : text.index("</main>")]
    assert reason.text in text and reason.text not in unescape(main)
    assert main.count("<li>") == 1 and '<a href="c/report.html">details</a>' in text


def test_a_line_of_one_meaning_has_one_colour_in_all_charts() -> None:
    from sysid_core.report.charts import ROLES

    x = np.arange(3.0)
    lines = {"difference": x, "predicted": x, "measured": x}
    series = Figure.time_series(x, {"a": lines}, ylabel="")
    curves = Figure.curves({"a": {name: (x, y) for name, y in lines.items()}})
    for figure in (series, curves):
        assert {t["name"]: t["colour"] for t in figure.data} == {n: ROLES[n] for n in lines}


def test_no_peak_is_lost_when_lines_are_thinned() -> None:

    line = np.zeros(100_000)
    line[54_321] = 7.0
    kept = Figure.thinned(line)
    assert 54_321 in kept and len(kept) < 8000


def test_a_page_without_headline_gets_it_from_its_verdicts(tmp_path) -> None:
    report = Report("Loops")
    report.verdict(True, "It assembles.")
    report.verdict(Outcome.WARN, "It nearly doesn't.")
    text = report.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<b>WARN</b> · It nearly doesn" in text and text.count("It assembles.") == 1


def test_runs_below_results_are_listed_and_nothing_else_is_overwritten(tmp_path) -> None:
    from sysid_core.errors import SignalError
    from sysid_core.report import ReportIndex

    report = Report("Run <1>")
    report.headline(Outcome.FAIL, "It must not be used.")
    ReportIndex.add(report, tmp_path / "results" / "a" / "report.html")
    text = (tmp_path / "results" / "index.html").read_text(encoding="utf-8")
    assert 'href="a/report.html"' in text and "It must not be used." in text
    ReportIndex.add(report, tmp_path / "elsewhere" / "a" / "report.html")
    assert not (tmp_path / "elsewhere" / "index.html").exists()
    foreign = tmp_path / "elsewhere" / "index.html"
    foreign.write_text("mine", encoding="utf-8")
    with pytest.raises(SignalError, match="not a list of reports"):
        ReportIndex.write(tmp_path / "elsewhere")
    assert foreign.read_text(encoding="utf-8") == "mine"


def test_a_warning_says_what_it_means_and_what_to_do(tmp_path) -> None:
    from sysid_core.reasons import TEXTS, Reason, Verdict

    weak = Reason.warning("prediction-weak", left=0.12, which="a run")
    judged = Verdict((weak, Reason.held("estimate-sound"), Reason.not_judged("unseen-missing")))
    report = Report("Arm")
    report.judged(judged, "Error 12 %.")
    report.table(("joint", "F_c"), [("elbow", 2.0)])
    text = report.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"{TEXTS[weak.code].title}: what to do" in text and "Checks passed (1)" in text
    assert "Not judged (1)" in text and "<dt>F_c</dt>" in text and "<dt>F_v</dt>" not in text


def test_the_glossary_has_every_friction_symbol() -> None:
    from sysid_core.report.html import GLOSSARY
    from sysid_core.robot import FrictionTerm

    known = {word for words in GLOSSARY for word in words.split("|")}
    assert {symbol for term in FrictionTerm for symbol in term.symbols} <= known


def test_the_strongest_correlations_are_listed_first() -> None:
    from sysid_core.report.charts import strong_correlations

    covariance = np.array([[1.0, 0.95, 0.0], [0.95, 1.0, -1.96], [0.0, -1.96, 4.0]])
    listed = strong_correlations(["a", "b", "c"], covariance)
    assert listed == ["b and c: -0.98", "a and b: +0.95"]
    assert strong_correlations([*"abcde"], np.ones((5, 5)))[-1] == "… 2 more pairs"
