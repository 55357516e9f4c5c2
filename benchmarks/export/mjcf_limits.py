# SPDX-License-Identifier: Apache-2.0
"""Smallest errors that MuJoCo's friction terms permit on recordings of an arm, by set of terms.

    python benchmarks/export/mjcf_limits.py RESULT

RESULT was written by `sysid identify --validate RECORDING --to mjcf`. MuJoCo computes the torques of
the bodies of the exported MJCF; the constants of the terms are fitted here, to each joint's efforts
in the fitted recordings, and to those in the validation recordings themselves (no fit to other data
can have a smaller error there). `yield`: one elastoplastic spring (`springyield`) for each joint;
`ten yields`: ten of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mujoco
import numpy as np
from scipy.optimize import lsq_linear

from sysid_core.robot import DriveTrain
from sysid_core.validation import Prediction
from sysid_core.workflows.export import load_result

YIELD = {f"yield {x:.0e}": x for x in np.geomspace(2e-5, 2e-2, 10).tolist()}  # [rad]
NON_NEGATIVE = ("sign", "soft", "v", "a", "load", *YIELD)
LINEAR, POLYNOMIAL = ("v", "a", "one"), ("v |v|", "v^3")
SETS = {
    "frictionloss": [("sign", *LINEAR)],
    "and polynomial damping": [("sign", *LINEAR, *POLYNOMIAL)],
    "and yield": [("sign", *LINEAR, *POLYNOMIAL, name) for name in YIELD],
    "and ten yields, soft": [("sign", "soft", *LINEAR, *POLYNOMIAL, *YIELD)],
    "yield and load": [("sign", *LINEAR, *POLYNOMIAL, name, "load") for name in YIELD],
}


def bodies(path, names):
    """Torques of the bodies of an MJCF, without friction, drive inertia and actuators."""
    model = mujoco.MjModel.from_xml_path(str(path))
    for field in (model.dof_frictionloss, model.dof_damping, model.dof_armature):
        field[:] = 0.0
    data, at = mujoco.MjData(model), [int(model.joint(name).dofadr[0]) for name in names]

    def torques(q, v, a):
        out = np.empty_like(q)
        for k in range(len(q)):
            data.qpos[at], data.qvel[at], data.qacc[at] = q[k], v[k], a[k]
            mujoco.mj_inverse(model, data)
            out[k] = data.qfrc_inverse[at]
        return out

    return torques


def yielding(width):
    """Share of its friction that a spring with a yield width transmits, -1 to 1."""

    def share(q, v, a):
        out = np.zeros_like(q)
        for k, step in enumerate(np.diff(q, axis=0) / width):
            out[k + 1] = np.clip(out[k] + step, -1.0, 1.0)
        return out

    return share


def fitted(train, judged, sets):
    """Efforts (K, n) of the judged runs, with the best of several sets of terms for each joint."""
    out = judged["bodies"].copy()
    for j in range(out.shape[1]):
        rest = (train["measured"] - train["bodies"])[:, j]
        found = []
        for terms in sets:
            A = np.stack([train[term][:, j] for term in terms], axis=1)
            size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
            lower = [0.0 if term in NON_NEGATIVE else -np.inf for term in terms]
            fit = lsq_linear(A / size, rest, (lower, np.inf))
            found.append((fit.cost, terms, fit.x / size))
        _, terms, x = min(found, key=lambda one: one[0])
        out[:, j] += np.stack([judged[term][:, j] for term in terms], axis=1) @ x
    return out


def main() -> None:
    folder = Path(sys.argv[1])
    arm = load_result(folder)
    found, [path] = arm.identification, (folder / "exports" / "mjcf").glob("*.xml")
    rigid, v_0 = found.model.with_pi(found.pi), found.friction.coulomb_velocity
    made_of = {
        "bodies": bodies(path, found.model.joint_names),
        "sign": lambda q, v, a: np.sign(v),
        "soft": lambda q, v, a: np.tanh(v / v_0),
        "v": lambda q, v, a: v,
        "v |v|": lambda q, v, a: v * np.abs(v),
        "v^3": lambda q, v, a: v**3,
        "a": lambda q, v, a: a,
        "one": lambda q, v, a: np.ones_like(v),
        "load": lambda q, v, a: np.abs(rigid.inverse_dynamics(q, v, a)) * np.tanh(v / v_0),
        **{name: yielding(width) for name, width in YIELD.items()},
    }
    drives = DriveTrain(found.friction.drives.joint_names, found.friction.drives.gains)
    tables = []
    for runs in (arm.fitted, arm.others):
        rows = {key: [] for key in ("measured", "inside", *made_of)}
        for run in runs:
            own = Prediction.of(found, run)
            kept = own.motion & np.isfinite(own.predicted).all(axis=1)
            made = found.processing.predicted_efforts(
                found.model, run, drives, lambda *motion: [f(*motion) for f in made_of.values()]
            )
            for key, x in zip(rows, (own.measured, own.predicted, *made), strict=True):
                rows[key].append(x[kept])
        tables.append({key: np.concatenate(x) for key, x in rows.items()})
    train, judged = tables
    error = lambda x: np.linalg.norm(judged["measured"] - x) / np.linalg.norm(judged["measured"])  # noqa: E731
    inside = error(judged["inside"])
    print(f"inside {100 * inside:.2f} %")
    for name, sets in SETS.items():
        both = [error(fitted(table, judged, sets)) for table in (train, judged)]
        print(name, *(f"{100 * x:.2f} % ({x / inside:.2f})" for x in both), sep=" | ")


if __name__ == "__main__":
    main()
