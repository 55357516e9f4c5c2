# SPDX-License-Identifier: Apache-2.0
"""The panels with the real rqt and a live graph; layouts name only what the messages have."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from live_nodes import EXECUTOR, FRAME, simulated

from sysid_nodes.bringup import demo_graph

ROOT = Path(__file__).resolve().parents[3]
TOPICS = {
    "/trajectory_executor/state": "robot_sysid.msg.ExecutorState",
    "/estimator/payload_estimate": "robot_sysid.msg.PayloadEstimate",
    "/data_logger/wrench": "robot_sysid.msg.FilteredWrench",
    "/data_logger/statistics": "robot_sysid.msg.StreamStatistics",
}


def has_path(topic: str, fields: list[str]) -> bool:
    module, _, name = TOPICS[topic].rpartition(".")
    value = getattr(importlib.import_module(module), name)()
    for field in fields:
        if not hasattr(value, field):
            return False
        value = getattr(value, field)
    return isinstance(value, (int, float, str))


def test_every_curve_of_the_plotjuggler_layout_exists() -> None:
    layout = (ROOT / "config" / "plotjuggler.xml").read_text()
    curves = re.findall(r'curve name="([^"]*)"', layout)
    assert len(curves) > 10
    (selected,) = re.findall(r'<selected_topics value="([^"]*)"/>', layout)
    assert sorted(selected.split(";")) == sorted(TOPICS)  # nobody has to tick them
    for curve in curves:
        topic = next(t for t in TOPICS if curve.startswith(f"{t}/"))
        assert has_path(topic, curve[len(topic) + 1 :].split("/")), curve


def test_every_path_of_the_foxglove_layout_exists() -> None:
    layout = json.loads((ROOT / "config" / "foxglove.json").read_text(encoding="utf-8"))
    paths = [p["value"] for c in layout["configById"].values() for p in c.get("paths", [])]
    assert len(paths) > 10
    for path in paths:
        topic, _, fields = path.partition(".")
        assert has_path(topic, fields.split(".")), path


def panels_named(text: str) -> set[str]:
    return set(re.findall(r'class name="(\w+)" type="sysid_rqt', text))


def test_the_perspective_opens_the_plugins_that_are_exported() -> None:
    perspective = json.loads((ROOT / "config" / "monitor.perspective").read_text(encoding="utf-8"))
    running = perspective["groups"]["pluginmanager"]["keys"]["running-plugins"]["repr"]
    names = panels_named((ROOT / "plugin.xml").read_text(encoding="utf-8"))
    assert names == set(re.findall(r"robot_sysid/(\w+)'", running)) == {"Robot", "Estimate", "Send"}


def test_the_panels_use_only_what_every_binding_has() -> None:
    """PyQt5 and PySide2 differ in names of their own; `python_qt_binding` has what both have."""
    for file in (ROOT / "sysid_rqt").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\b(PyQt\d|PySide\d?|sip|shiboken\d?|pyqt\w+)\b", text), file


def test_point_masses_of_the_panel_have_the_moments_of_the_estimate() -> None:
    import numpy as np

    from sysid_rqt.drawings import point_masses

    points = np.random.default_rng(0).uniform(-0.1, 0.1, (60, 3))
    true = np.random.default_rng(1).uniform(0.0, 0.05, 60)
    mass = true.sum()
    com = true @ points / mass
    spread = (points - com).T * true @ (points - com) / mass
    found = point_masses(points, mass, com, spread)
    assert found.min() >= 0 and found.sum() == pytest.approx(mass, rel=1e-3)
    assert found @ points / mass == pytest.approx(com, abs=1e-3)
    again = (points - com).T * found @ (points - com) / mass
    assert again == pytest.approx(spread, abs=2e-4)


@pytest.fixture
def gui(real_ros: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Environment for Qt without a display."""
    home = {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    probe = "import python_qt_binding.QtWidgets, rqt_gui_py.plugin"
    done = subprocess.run(
        [sys.executable, "-c", probe], env=real_ros | home, capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("needs rqt and a Qt binding: sudo apt install ros-$ROS_DISTRO-rqt-gui-py")
    return real_ros | home


@pytest.mark.ros
def test_rqt_lists_the_plugins(gui: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from rqt_gui.main import main; main()", "--force-discover",
         "--list-plugins"],
        env=gui, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "robot sysid" in done.stdout.lower() or "sysid_rqt" in done.stdout, done.stderr[-800:]


@pytest.mark.ros
@pytest.mark.slow
def test_the_buttons_of_the_panels_record_play_and_stop(
    gui: dict[str, str], start_nodes, short_plan, tmp_path: Path
) -> None:
    path, plan = short_plan
    client, _ = start_nodes(
        demo_graph(
            robot=simulated(plan.trajectory),
            executor=EXECUTOR,
            logger={"effort_kind": "actuator_torque", "directory": str(tmp_path)},
            estimator={"sensor_frame": FRAME, "shape": "box 0.26 0.26 0.2 at 0 0.02 0.03"},
        )
    )
    for name in ("trajectory_executor", "data_logger", "estimator"):
        client.wait_for_active(name)
    pictures = Path(os.environ.get("SYSID_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(exist_ok=True)
    script = str(Path(__file__).with_name("press_buttons.py"))
    domain = {"ROS_DOMAIN_ID": os.environ["ROS_DOMAIN_ID"]}
    done = subprocess.run(
        [sys.executable, script, str(path), str(tmp_path / "bag"), str(pictures)],
        env=gui | domain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    for key in ("nodes", "streams", "moving", "payload", "stopped", "margins", "recorded", "shape",
                "residuals", "curves"):  # fmt: skip
        assert found[key], json.dumps(found)
    assert "payload_bridge" in found["no_bridge"]
    assert {p.name for p in pictures.glob("*.png")} == {
        f"{name}.png" for name in ("robot", "estimate", "object", "residuals", "send")
    }
    assert "trajectory_executor" in (pictures / "watch.svg").read_text(encoding="utf-8")


@pytest.fixture
def binding(tmp_path: Path) -> dict[str, str]:
    """Environment in which panels can be made: PyQt5 stands in where ROS's binding isn't there."""
    pytest.importorskip("PyQt5.QtWidgets")
    paths = [str(Path(__file__).with_name("binding")), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": os.pathsep.join(paths)}


@pytest.mark.ros
def test_malformed_messages_are_shown_as_such_and_stop_stays_where_it_is(
    binding: dict[str, str],
) -> None:
    script = str(Path(__file__).with_name("show_malformed.py"))
    done = subprocess.run(
        [sys.executable, script], env=binding, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert all("failed: " in text for text in found["shown"].values()), found
    assert found["payload beside it"] == "1.3" and found["arm beside it"] == "1.0"
    assert found["after good ones"] == "" and "77" in found["bridge"]
    assert found["progress"] == 1000
    assert "motion failed: ValueError" in found["watch"] and "[/red]" in found["watch"]
    assert found["stop moved"] == [0, 0]
    assert found["width"] < 1280
    assert found["restored"] == "plan/trajectory.npz"
