# SPDX-License-Identifier: Apache-2.0
"""The tables of predictions, and what they leave out."""

from __future__ import annotations

import json

import numpy as np

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification, Processing
from sysid_core.estimation.payload.result import PAYLOAD_NAMES
from sysid_core.reasons import Reason, Verdict
from sysid_core.report import Report, validation_report
from sysid_core.report.arm_charts import robot_scene
from sysid_core.report.charts import Dots, dots_with_bars
from sysid_core.report.payload import add_headline
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.validation import Prediction


def test_a_run_at_rest_has_no_r_squared(tmp_path, rng):
    """R² of a constant is a large negative number that says nothing."""
    time = np.arange(0.0, 2.0, 0.01)
    measured = 1.0 + 0.01 * rng.normal(size=(len(time), 1))
    still = Prediction(
        source="still.csv",
        joint_names=("elbow",),
        unit="A",
        time=time,
        measured=measured,
        predicted=np.full_like(measured, 1.2),
        velocity=np.zeros_like(measured),
        motion=np.zeros(len(time), dtype=bool),
    )
    report = validation_report(Verdict(), _two_links(), [still], "results/arm")
    page = report.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "at rest in the whole recording" in page and "R²" not in page and "RMS [A]" in page


def test_undetermined_friction_is_drawn_in_its_band_around_zero() -> None:
    """The URDF has no friction: the band is the natural scale on both sides of zero."""
    found = Dots(
        "N m",
        ("elbow.F_c", "wrist.F_c"),
        values=np.array([2.0, 0.5]),
        sd=np.array([0.1, np.nan]),
        reference=np.full(2, np.nan),
        band=np.array([10.0, 3.0]),
        details=("", ""),
        unit="N m",
    )
    traces = {t["name"]: t for t in json.loads(dots_with_bars([found]).json())["data"]}
    band = traces["plausible before the measurement"]
    assert (band["y"], band["x"]) == (["wrist.F_c"], [0.0])
    assert band["bars"] == [3.0]
    low, high = dots_with_bars([found]).layout["panels"][0]["x"]["range"]
    assert 0.4 < low < 0.5 and 2.2 < high < 2.3  # the determined value and its bar, not the band


def _two_links() -> Identification:
    """Robot with two joints, of whose links only the last has a shape."""
    box = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"'
        f' ixy="0" ixz="0" iyz="0"/></inertial>{box if k == 2 else ""}</link>'
        for k in range(3)
    )
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><axis'
        ' xyz="0 1 0"/><origin xyz="0 0 0.5"/><limit lower="-1" upper="1" velocity="1"'
        ' effort="9"/></joint>'
        for k in range(2)
    )
    model = RobotModel.from_urdf(f'<robot name="r">{links}{joints}</robot>')
    friction = FrictionModel(DriveTrain.direct(model.joint_names), ())
    values, p = model.pi.ravel(), model.pi.size
    estimate = Estimate("ols", (), np.zeros(0), (), np.zeros((0, 0)), ())
    return Identification(
        model, friction, Processing(), estimate, values, model.parameter_names[:p]
    )


def test_the_robot_is_drawn_also_if_only_one_link_has_a_shape() -> None:
    drawn = robot_scene(_two_links()).json()
    assert "lines between joints" in drawn and "solid3d" in drawn


def test_a_weighing_that_failed_says_so_before_its_numbers(tmp_path) -> None:
    pi = np.array([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    verdicts = (ParameterVerdict.IDENTIFIABLE,) * 10
    estimate = Estimate("map", PAYLOAD_NAMES, pi, ("kg",) * 10, 1e-6 * np.eye(10), verdicts)
    failed = Verdict((Reason.failure("wrench-ambiguous", masses="1, 2"),))
    pages = []
    for name, verdict in (("failed", failed), ("passed", Verdict())):
        report = Report(name)
        add_headline(report, estimate, verdict, "payload")
        pages.append(report.save(tmp_path / f"{name}.html").read_text(encoding="utf-8"))
    assert "Not usable (ambiguous load): 1.0" in pages[0] and "tare before you grasp" in pages[0]
    assert "Not usable" not in pages[1] and "1.0000 \\u00b1 0.0010 kg" in pages[1]
