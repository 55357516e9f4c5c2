# SPDX-License-Identifier: Apache-2.0
"""Pages of closed chains: their checks, and how they are drawn."""

from __future__ import annotations

import numpy as np
import yaml
from loop_mechanisms import four_bar
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.report.space import skeleton


def test_two_ways_to_close_are_a_failure_only_without_a_home_posture(tmp_path):
    (tmp_path / "robot.urdf").write_text(four_bar("point").model.urdf_xml)
    loops = {
        "urdf": "robot.urdf",
        "actuated": ["drive"],
        "loops": [
            {
                "name": "pin",
                "type": "point",
                "a": {"link": "coupler", "xyz": [0.4, 0, 0]},
                "b": {"link": "rocker", "xyz": [0, 0, 0.2]},
            }
        ],
    }
    page, file = tmp_path / "loops.html", tmp_path / "loops.yaml"
    for home, status, word in (
        ({}, 1, "FAIL"),
        ({"drive": 0.3, "far": 0.3, "middle": -0.3}, 0, "WARN"),
    ):
        file.write_text(yaml.safe_dump(loops | {"home": home}))
        said = CliRunner().invoke(
            app, ["loops", "check", str(file), "--html", str(page), "--samples", "60"]
        )
        assert said.exit_code == status and f"{word.lower()}: Some postures" in said.output, (
            said.output
        )
        text = page.read_text()
        assert f"<b>{word}</b> · Some postures" in text and "`" not in text[: text.index("<script")]
        assert "self." not in said.output + text[text.index("<body") : text.index("<script")]
        assert "white areas" not in text and "Positions of the passive joints" in text


def test_a_closed_chain_is_drawn_to_the_points_where_its_loops_close():
    bar = four_bar("point")
    lines = skeleton(bar.model, bar.assemble(np.array([0.3])), chain=bar)[0]
    pin = np.array([0.4 + 0.2 * np.sin(0.3), 0.0, 0.2 * np.cos(0.3)])
    assert sum(np.allclose(point, pin) for point in lines) >= 2  # ends of coupler and rocker
    rod = four_bar("rod")
    lines = skeleton(rod.model, rod.assemble(np.zeros(2)), chain=rod)[0]
    spans = lines[1::3] - lines[::3]
    assert sum(np.allclose(np.abs(span), [0.4, 0.0, 0.0]) for span in spans) == 2  # ground and rod
