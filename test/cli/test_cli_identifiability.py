# SPDX-License-Identifier: Apache-2.0
"""`sysid identifiability`, `sysid reproduce identifiability`, `sysid reproduce cheetah3`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import IdentifiabilityError, ModelError

runner = CliRunner()
KEYS = {
    "robot",
    "n_joints",
    "n_parameters",
    "n_base",
    "n_base_with_rotors",
    "floating_base",
    "gravity",
    "bodies",
    "parameters",
    "regroupings",
    "warnings",
}


def answer(*arguments):
    result = runner.invoke(app, ["identifiability", *arguments, "--json", "-"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_has_the_documented_keys_and_the_papers_counts():
    puma = answer("puma560")

    assert set(puma) >= KEYS
    assert (puma["n_joints"], puma["n_parameters"]) == (6, 60)
    assert (puma["n_base"], puma["n_base_with_rotors"]) == (36, 40)
    assert puma["gravity"] == [0, 0, -9.81]
    assert puma["floating_base"] is False
    assert set(puma["bodies"][1]) == {
        "name",
        "parent",
        "joint",
        "joint_type",
        "dim_v",
        "dim_k",
        "dim_transfer",
    }
    assert (puma["bodies"][1]["parent"], puma["bodies"][1]["dim_v"]) == ("link1", 5)
    assert len(puma["parameters"]) == 66
    assert sum(p["base"] for p in puma["parameters"]) == 40
    assert {p["verdict"] for p in puma["parameters"]} == {
        "alone",
        "base",
        "absorbed",
        "unidentifiable",
    }
    by_base = {r["base"]: r["terms"] for r in puma["regroupings"]}
    assert len(by_base) == 40
    assert by_base["link2.mx"]["link3.m"] == pytest.approx(0.4318)


@pytest.mark.parametrize(
    ("arguments", "n_base"),
    [
        (["puma560", "--no-gravity"], 34),
        (["puma560", "--gravity", "0", "0", "0"], 34),
        (["puma560", "--floating-base"], 52),
        (["scara"], 8),
        (["cheetah3-leg"], 17),
        (["cheetah3-leg", "--floating-base"], 31),
        (["two-link-parallel"], 4),
        (["two-link-perpendicular"], 8),
        (["stanford"], 33),
        (["tx40"], 36),
        (["ur5"], 36),
        (["xarm7"], 43),
        (["panda", "--mimic", "independent"], 51),
        (["panda"], 48),
    ],
)
def test_counts_follow_the_options(arguments, n_base):
    assert answer(*arguments)["n_base"] == n_base


def test_rotor_file_and_transmissions_give_the_second_count(tmp_path):
    path = tmp_path / "rotors.yaml"
    path.write_text("rotors: [{joint: panda_joint4, ratio: 100}]")

    assert answer("panda", "--rotors", str(path))["n_base_with_rotors"] == 49
    assert answer("panda")["n_base_with_rotors"] is None
    assert answer("ur5")["n_base_with_rotors"] is not None  # its URDF has transmissions


def test_table_shows_symbols_dimensions_and_regroupings(tmp_path):
    page, data = tmp_path / "puma.html", tmp_path / "puma.json"
    result = runner.invoke(
        app, ["identifiability", "puma560", "--html", str(page), "--json", str(data), "--all"]
    )

    assert result.exit_code == 0
    assert all(symbol in result.stdout for symbol in "★●○✕")
    assert "36 of 60" in result.stdout
    assert "Without gravity: 34" in result.stdout
    assert "3 (5)" in result.stdout
    assert "link6.Ixx - link6.Iyy" in result.stdout
    assert "★" in page.read_text()
    assert json.loads(data.read_text())["n_base"] == 36


def test_robots_with_many_bodies_get_one_line_per_body():
    result = runner.invoke(app, ["identifiability", "go2", "--floating-base"])
    assert result.exit_code == 0
    assert "dim V" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["no-such-robot"], ModelError, "Reference robots: .*puma560"),
        (["puma560", "--no-gravity", "--gravity", "0", "0", "1"], IdentifiabilityError, "one of"),
        (["puma560", "--mimic", "somehow"], IdentifiabilityError, "coupled"),
        (["alex_psyonic_hands"], IdentifiabilityError, "--mimic independent"),
    ],
)
def test_misuse_is_refused_with_a_remedy(arguments, error, message):
    result = runner.invoke(app, ["identifiability", *arguments])
    assert isinstance(result.exception, error)
    with pytest.raises(error, match=message):
        raise result.exception


def test_reproduced_tables_are_the_papers(tmp_path):
    page = tmp_path / "tables.html"
    result = runner.invoke(
        app, ["reproduce", "identifiability", "--html", str(page), "--json", "-"]
    )
    study = json.loads(result.stdout)

    assert study["agrees"]
    assert len(study["comparisons"]) >= 25
    assert "Table 2: PUMA 560" in page.read_text()


def test_reproduced_cheetah_has_its_zeros_where_the_paper_has_them(tmp_path):
    page = tmp_path / "cheetah.html"
    result = runner.invoke(app, ["reproduce", "cheetah3", "--html", str(page), "--json", "-"])
    study = json.loads(result.stdout)
    locked = study["errors"]["locked torso"]

    assert study["pattern_matches"]
    assert study["is_maximally_exciting"]
    assert study["ranks"]["floating torso"]["structural"] == 106
    assert study["ranks"]["locked torso"]["numerical"] == 18
    # The knee is right, what carries it is not.
    abad, hip, knee = locked["galloping, leg torques"]
    assert knee < 1e-9 < 1e-2 < min(abad, hip)
    assert np.min(locked["galloping, body forces"]) > 1e-2
    assert np.max(study["errors"]["floating torso"]["galloping, body torques"]) < 1e-9
    assert page.stat().st_size > 50_000


def test_a_mount_on_the_wall_shows_a_planar_arms_weight():
    assert answer("two-link-parallel")["n_base"] == 4  # turns about the vertical
    assert answer("two-link-parallel", "--mount", "0,1.5708,0")["n_base"] == 6
    with pytest.raises(IdentifiabilityError, match="Give only one of"):
        runner.invoke(
            app,
            ["identifiability", "puma560", "--mount", "0,0,0", "--no-gravity"],
            catch_exceptions=False,
        )
