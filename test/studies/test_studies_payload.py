# SPDX-License-Identifier: Apache-2.0
"""The payload study: objects, metrics, MuJoCo as a second opinion, and the command."""

import json

import numpy as np
import pytest
import trimesh
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import EstimationError
from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_map import PayloadMAP
from sysid_core.robot import (
    is_physically_consistent,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
)
from sysid_core.robot.shapes import Shape
from sysid_studies.payload import modular_objects, payload_study
from sysid_studies.payload.objects import modular_shape, random_objects
from sysid_studies.payload.runs import PAYLOAD_METHODS, Case, run_case, simulate
from sysid_studies.payload.study import record_arm, stop_and_go_table


def test_the_eight_objects_have_their_published_truth(shared_data):
    path = shared_data / "modular_object" / "modular_object.yaml"
    published = yaml.safe_load(path.read_text())["configurations"]
    objects = modular_objects()
    assert len(objects) == len(published) == 8
    for name, thing in objects.items():
        truth = published[name.replace("-N-", "N")]
        mass, com, inertia = mass_com_inertia_from_pi(thing.pi)
        assert mass == pytest.approx(truth["mass"])
        assert np.allclose(com, truth["com"], atol=1e-9)
        assert np.allclose(inertia.ravel(), truth["inertia_com"], atol=1e-9)


def test_the_shape_has_the_papers_56_or_126_points():
    assert len(modular_shape(56)) == 56
    assert len(modular_shape(126)) == 126


def test_errors_follow_equations_10_to_12():
    size = np.array([0.2, 0.3, 0.05])
    truth = pi_from_mass_com_inertia(2.0, np.zeros(3), np.diag([0.02, 0.01, 0.03]))
    off = np.array([[0.02, 0.001, 0], [0.001, 0.01, 0], [0, 0, 0.03]])
    guess = pi_from_mass_com_inertia(2.1, [0.02, 0.0, 0.0], off)
    errors = PayloadSummary.errors_percent(guess, truth, size)
    assert errors["mass"] == pytest.approx(5.0)
    assert errors["com"] == pytest.approx(100 * 0.02 / 0.2 / 3)
    assert errors["inertia"] == pytest.approx(100 * 0.001 / (2.0 / 12 * 0.2 * 0.3) / 6)


def test_random_objects_are_consistent_and_fit_their_shapes(rng):
    for thing in random_objects(20, rng):
        assert is_physically_consistent(thing.pi)
        _, com, _ = mass_com_inertia_from_pi(thing.pi)
        assert np.all(com > thing.shape.lower) and np.all(com < thing.shape.upper)


def test_the_same_case_gives_the_same_result():
    case = Case("Tee", 1.5, "moderate", "encoders", 1.0, 3)
    first, second = (run_case(case, ("MAP", "PMD")) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert (a.mass, a.com, a.inertia) == (b.mass, b.com, b.inertia)


def test_the_default_beats_every_rival_on_the_papers_case():
    results = [
        {r.method: r for r in run_case(Case(name, 2.0, "moderate", "encoders", 1.5, 0))}
        for name in ("Hammer", "Rod")
    ]
    assert set(results[0]) == set(PAYLOAD_METHODS)
    for key in ("com", "inertia"):
        mean = {m: np.mean([getattr(r[m], key) for r in results]) for m in PAYLOAD_METHODS}
        assert min(mean, key=mean.get) == "MAP"
    assert all(r["MAP"].consistent for r in results)


def test_mujoco_confirms_the_whole_chain(rng):
    """Another engine's wrench, encoders alone for the motion, every sensor error: truth is found."""
    thing = modular_objects()["Hammer"]
    run = record_arm(thing, rng)
    model = run.smoothed.regressor @ thing.pi
    assert np.allclose(model[10:-10, :3], run.true_wrench[10:-10, :3], atol=0.03)
    assert np.allclose(model[10:-10, 3:], run.true_wrench[10:-10, 3:], atol=0.003)
    payload = PayloadSummary.of(PayloadMAP(thing.shape).fit(run.smoothed, run.belief))
    mass, com, _ = mass_com_inertia_from_pi(thing.pi)
    assert abs(payload.mass - mass) < 3 * payload.mass_sd
    assert np.all(np.abs(payload.com - com) < 3.5 * payload.com_sd)


def test_standing_still_weighs_and_balances_exactly():
    table = stop_and_go_table()
    worst = {(method, noise): errors for method, noise, *errors in table.rows}
    assert len(worst) == 4
    assert max(worst["MAP", "none"]) < 1e-6 and max(worst["MAP", "moderate"]) < 0.1


@pytest.mark.parametrize("kind", ["hull", "turned", "shifted", "elsewhere"])
def test_a_wrong_shape_costs_inertia_but_keeps_mass_and_centre(kind):
    """Reported, not silent: standard deviations grow no smaller, and mass and COM stay right."""
    thing, experiment = simulate(Case("Hammer", 2.0, "moderate", "encoders", 1.5, 1))
    X = np.eye(4)
    if kind == "turned":
        c, s = np.cos(np.radians(5.0)), np.sin(np.radians(5.0))
        X[:2, :2] = [[c, -s], [s, c]]
    if kind == "shifted":
        X[:3, 3] = [0.005, -0.005, 0.0]
    if kind == "elsewhere":
        X[:3, 3] = [0.0, 0.0, 0.08]
    shape = thing.shape.posed(X)
    if kind == "hull":
        corners = np.array(np.meshgrid([-0.1, 0.1], [-0.15, 0.15], [0.0, 0.05])).reshape(3, -1).T
        shape = Shape.from_mesh(trimesh.Trimesh(corners), hull=True)
    estimate = PayloadMAP(shape).fit(experiment.smoothed, experiment.belief)
    errors = PayloadSummary.errors_percent(estimate.values, thing.pi, thing.size)
    assert errors["mass"] < 1.5 and errors["com"] < 1.0 and errors["inertia"] < 25.0
    assert estimate.physically_consistent
    assert (kind == "elsewhere") == any(w.code == "shape-differs" for w in estimate.warnings)
    assert not any(w.code == "wrench-misfit" for w in estimate.warnings)
    assert estimate["payload.m"] == pytest.approx(
        thing.pi[0], abs=4 * estimate.standard_deviations[0]
    )


def test_an_unknown_object_is_refused():
    with pytest.raises(EstimationError, match="no objects"):
        payload_study(objects=["Anvil"])


@pytest.mark.slow
def test_the_command_prints_pure_json_and_writes_its_report(tmp_path):
    report = tmp_path / "study.html"
    arguments = ["reproduce", "payload", "--quick", "--objects", "Hammer", "--json", "-"]
    result = CliRunner().invoke(app, [*arguments, "--html", str(report), "--workers", "1"])
    assert result.exit_code == 0, result.output
    study = json.loads(result.stdout)
    assert study["schema"] == "robot_sysid/payload_study/1"
    titles = [table["title"] for table in study["tables"]]
    assert "Table III" in titles and any(title.startswith("Table IV") for title in titles)
    assert "Table III" in report.read_text()
