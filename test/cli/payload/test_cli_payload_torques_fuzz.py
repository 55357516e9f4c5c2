# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques` on wrong recordings: the right mass, a warning, or a refusal; never a silent number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from two_joint_arm import URDF, call, columns, swing

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia

MASS = 2.0
TIME, Q, V, EFFORT = [0], [1, 2], [3, 4], [5, 6]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """Loaded and unloaded runs of an arm of two joints, as torques."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "r.urdf").write_text(URDF)
    (folder / "c.yaml").write_text(yaml.safe_dump(columns("actuator_torque")))
    arm, out = RobotModel.from_urdf(URDF), {}
    pi = arm.pi.copy()
    pi[1] += pi_from_mass_com_inertia(MASS, [0.1, 0.0, 0.03], np.eye(3) * 0.01)
    for seed, (name, robot) in enumerate((("loaded", arm.with_pi(pi)), ("unloaded", arm))):
        rng = np.random.default_rng(seed)
        t, q, v, a = swing(rng, 8.0)
        tau = robot.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v
        tau += 0.02 * rng.normal(size=tau.shape)
        out[name] = np.column_stack([t, q, v, tau])
    return folder, out


def weighed(folder: Path, tables: dict[str, np.ndarray]) -> tuple[str, float, float]:
    """Outcome, mass and deviation [kg]."""
    for name, table in tables.items():
        np.savetxt(folder / f"{name}.csv", table, delimiter=",")
    _, text = call(
        *("payload-torques", folder / "loaded.csv", "--unloaded", folder / "unloaded.csv"),
        *("--robot", folder / "r.urdf", "--frame", "b", "--columns", folder / "c.yaml"),
        *("--friction", "usual", "--out", folder / "out", "--json", "-"),
    )
    found = json.loads(text)
    return found["verdict"]["outcome"], found.get("mass", 0.0), found.get("mass_sd", 0.0)


def test_the_right_tables_give_the_right_mass(tables: tuple[Path, dict[str, np.ndarray]]) -> None:
    outcome, mass, sd = weighed(*tables)
    assert outcome != "fail"
    assert abs(mass - MASS) < 3.0 * sd


def wrong(table: np.ndarray, data: st.DataObject) -> np.ndarray:
    """The table with one fault of any size."""
    out = table.copy()
    some = data.draw(st.sampled_from([TIME, Q, V, EFFORT, EFFORT, EFFORT, [5], [6], [1], [2]]))
    what = data.draw(st.sampled_from(["scale", "scale", "sign", "add", "swap", "still", "cut"]))
    if what == "scale":
        out[:, some] *= 10.0 ** data.draw(st.floats(-4.0, 4.0))
    elif what == "sign":
        out[:, some] *= -1.0
    elif what == "add":
        out[:, some] += data.draw(st.floats(-1e3, 1e3))
    elif what == "swap":
        out[:, some] = out[:, some[::-1]] if len(some) > 1 else out[:, [(some[0] + 1) % 7]]
    elif what == "still":
        out[data.draw(st.integers(0, 700)) :, some] = data.draw(st.sampled_from([0.0, 1.0, np.nan]))
    else:
        out = out[: data.draw(st.integers(0, 800))]
    return out


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_wrong_mass_is_given_in_silence(
    tables: tuple[Path, dict[str, np.ndarray]], data: st.DataObject
) -> None:
    folder, right = tables
    which = data.draw(st.sampled_from([("loaded",), ("unloaded",), ("loaded", "unloaded")]))
    made = {name: wrong(x, data) if name in which else x for name, x in right.items()}
    try:
        outcome, mass, sd = weighed(folder, made)
    except SysIdError as error:
        assert error.remedy
        return
    assert outcome != "pass" or abs(mass - MASS) < 3.0 * sd
