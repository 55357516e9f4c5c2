# SPDX-License-Identifier: Apache-2.0
"""Recordings of a real robot predicted by MuJoCo alone: nothing of the exporter's code is used."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from scipy.signal import butter, filtfilt
from two_joint_arm import call

RECIPE = Path(__file__).resolve().parents[2] / "sysid_studies/bench/recipes/rokae_ar5.yaml"


def error_in_mujoco(path: Path, t, q, v, effort) -> float:
    """Relative error of the efforts by `mj_inverse` along a low-passed motion, ends left out."""
    rate = (len(t) - 1) / (t[-1] - t[0])
    b, a = butter(2, 12.0 / (0.5 * rate))
    q, v = (filtfilt(b, a, x, axis=0) for x in (q, v))
    acceleration = np.gradient(v, 1.0 / rate, axis=0)
    model = mujoco.MjModel.from_xml_path(str(path))
    data, predicted = mujoco.MjData(model), np.empty_like(q)
    mujoco.mj_forward(model, data)
    bias = data.qfrc_actuator.copy()
    for k in range(len(t)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], acceleration[k]
        mujoco.mj_inverse(model, data)
        predicted[k] = data.qfrc_inverse - bias
    inside = slice(int(rate), -int(rate))
    left = (predicted - effort)[inside]
    return float(np.linalg.norm(left) / np.linalg.norm(effort[inside]))


@pytest.mark.slow
def test_a_real_arm_is_predicted_by_mujoco_as_well_as_by_us(shared_data, tmp_path):
    folder = shared_data / "rokae_ar5_real"
    lines = (folder / "dynamics_identification_data_real.csv").read_text().splitlines()
    cut = 1 + 2 * (len(lines) - 1) // 3
    for name, rows in (("fit", lines[1:cut]), ("judge", lines[cut:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    columns = yaml.safe_load(RECIPE.read_text())["columns"]
    (tmp_path / "columns.yaml").write_text(yaml.safe_dump(columns))
    status, output = call(
        *("identify", tmp_path / "fit.csv", "--robot", next(folder.glob("*.urdf"))),
        *("--columns", tmp_path / "columns.yaml", "--validate", tmp_path / "judge.csv"),
        *("--gravity", "estimate", "--friction", "usual,play,saturation"),
        *("--out", tmp_path / "result"),
    )
    assert status == 0, output
    status, output = call(
        "export", tmp_path / "result", "--to", "urdf,mjcf,c", "--out", tmp_path / "exports"
    )
    assert status == 0, output
    proof = json.loads((tmp_path / "exports" / "proof.json").read_text())
    errors = {one["target"]: one["errors"] for one in proof["exports"]}
    assert errors["mjcf"]["rise"] < 1.1 and errors["c"]["rise"] < 1.0 + 1e-9
    assert errors["urdf"]["rise"] < 2.0
    rows = np.array([[float(x) for x in line.split(",")] for line in lines[cut:]])
    heads = lines[0].split(",")
    t, q, v, tau = (
        rows[:, [heads.index(name) for name in names]]
        for names in (
            [columns["time"]["column"]],
            *(columns[key]["columns"] for key in ("position", "velocity", "effort")),
        )
    )
    [path] = (tmp_path / "exports" / "mjcf").glob("*.xml")
    assert error_in_mujoco(path, t[:, 0], q, v, tau) < 1.1 * errors["mjcf"]["inside"]
