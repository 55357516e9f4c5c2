# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: what chance explains isn't called a difference, what was changed is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation import Estimate, EstimateDifference, ParameterVerdict
from sysid_core.report.runs import SavedRun, comparison_report, differences_from_first

NAMES = tuple(f"link{k}.m" for k in range(12))
TRUE = np.linspace(0.5, 3.0, len(NAMES))


def fitted(rng: np.random.Generator, change: float = 0.0) -> Estimate:
    """Least squares of a run of its own; the third parameter may have changed."""
    Y = rng.normal(size=(200, len(NAMES))) @ (np.eye(len(NAMES)) + 0.5)
    pi = TRUE + change * (np.arange(len(NAMES)) == 2)
    covariance = 0.3**2 * np.linalg.inv(Y.T @ Y)
    values = np.linalg.lstsq(Y, Y @ pi + 0.3 * rng.normal(size=200), rcond=None)[0]
    verdicts = (ParameterVerdict.IDENTIFIABLE,) * len(NAMES)
    return Estimate("ols", NAMES, values, ("kg",) * len(NAMES), covariance, verdicts, robot="arm")


def test_what_chance_explains_is_distributed_as_chance() -> None:
    rng = np.random.default_rng(1)
    found = [EstimateDifference.of(fitted(rng), fitted(rng)) for _ in range(300)]
    z = np.concatenate([f.z for f in found])
    assert z.std() == pytest.approx(1.0, abs=0.05)
    assert kstest([chi2.sf(f.chi2, f.dof) for f in found], "uniform").pvalue > 0.01
    assert np.mean([bool(f.differing) for f in found]) < 0.03, "one list in a hundred"
    assert found[0].limit == pytest.approx(norm.isf(0.005 / len(NAMES)))


def test_what_was_changed_is_named_and_nothing_else() -> None:
    rng = np.random.default_rng(2)
    found = EstimateDifference.of(fitted(rng), fitted(rng, change=0.5))
    assert found.differing == ("link2.m",)
    assert chi2.sf(found.chi2, found.dof) < 1e-6
    k = found.names.index("link2.m")
    assert found.change[k] == pytest.approx(0.5, abs=4 * found.sd[k])


def test_parameters_that_stand_for_other_combinations_are_not_compared() -> None:
    a = fitted(np.random.default_rng(3))
    b = replace(a, combinations={"link0.m": {"link0.m": 1.0, "link1.m": 0.3}})
    assert EstimateDifference.of(a, b).other_meaning == ("link0.m",)
    stranger = replace(a, names=tuple(f"joint{k}.F_c" for k in range(len(NAMES))))
    with pytest.raises(EstimationError, match="no parameter in common"):
        EstimateDifference.of(a, stranger)


def saved(folder: Path, estimate: Estimate, error: float, **settings: object) -> SavedRun:
    folder.mkdir()
    estimate.save(folder / "estimate.yaml")
    result = {
        "verdict": {"outcome": "warn", "failures": [], "warnings": [f"Reason of {folder.name}."]},
        "validation": [{"source": "/data/held_out.csv", "relative_error": error}],
        "inputs": {
            "files": [{"role": "recordings", "path": "train.csv", "sha256": "a" * 64}],
            "options": settings,
        },
    }
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return SavedRun.read(folder)


def test_the_page_shows_parameters_errors_verdicts_and_the_settings_that_differ(
    tmp_path: Path, clicks
) -> None:
    rng = np.random.default_rng(4)
    runs = [
        saved(tmp_path / "monday", fitted(rng), 0.05, delay="0", fix=[]),
        saved(tmp_path / "friday", fitted(rng, change=0.5), 0.07, delay="auto", fix=[]),
        saved(tmp_path / "sunday", fitted(rng), 0.051, delay="0", fix=[]),
    ]
    page = (
        comparison_report(runs, differences_from_first(runs))
        .save(tmp_path / "page.html")
        .read_text(encoding="utf-8")
    )
    clicks(tmp_path / "page.html", "screen", "phone")
    assert (
        "friday: 1 of 12 parameters differ significantly from monday" in page
        and "(link2.m)" in page
    )
    assert "error of held_out 7.00 % instead of 5.00 %" in page
    assert "sunday: 0 of 12 parameters differ" in page
    assert "Reason of friday." in page and "fitted to the same recordings" in page
    differing = page[
        page.index("Different settings") : page.index("Settings that agree in all runs")
    ]
    assert "delay" in differing and "fix" not in differing
    with pytest.raises(SignalError, match="Only one run"):
        differences_from_first(runs[:1])
    with pytest.raises(SignalError, match=r"no estimate\.yaml"):
        SavedRun.read(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("inputs", {"files": [{"role": "recordings"}]}), ("verdict", "pass"), ("training", [5])],
)
def test_a_result_of_another_form_is_refused_with_its_key(
    tmp_path: Path, key: str, value: object
) -> None:
    run = saved(tmp_path / "run", fitted(np.random.default_rng(1)), 0.05)
    result = json.loads((run.folder / "result.json").read_text()) | {key: value}
    (run.folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(SignalError, match=key):
        SavedRun.read(run.folder)
