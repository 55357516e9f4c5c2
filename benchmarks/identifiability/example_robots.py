# SPDX-License-Identifier: Apache-2.0
"""Number of base parameters of every URDF of example-robot-data, as a Markdown table.

Run: python benchmarks/identifiability/example_robots.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from sysid_core.errors import IdentifiabilityError, ModelError
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, example_robots
from sysid_core.robot.loops import mimic_joints

HEAD = (
    "| robot | bodies | fixed base | sampled | floating base | sampled | no gravity"
    " | mimic joints coupled | exact angles |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def sampled_rank(model: RobotModel) -> int:
    """Rank of the regressor at random states."""
    rng = np.random.default_rng(0)
    K = -(-15 * model.n_bodies // model.nv) + 10
    neutral = pin.neutral(model.pin_model)
    q = [pin.integrate(model.pin_model, neutral, d) for d in rng.uniform(-1.5, 1.5, (K, model.nv))]
    v, a = 2 * rng.normal(size=(K, model.nv)), 5 * rng.normal(size=(K, model.nv))
    Y = model.torque_regressor(np.array(q), v, a).reshape(-1, 10 * model.n_bodies)
    scale = np.linalg.norm(Y, axis=0)
    seen = scale > 1e-12 * scale.max()
    s = np.linalg.svd(np.linalg.qr(Y[:, seen] / scale[seen], mode="r"), compute_uv=False)
    return int(np.count_nonzero(s > 1e-10 * s[0]))


def row(name: str, path: Path) -> str:
    """Return one line of the table."""
    cells = ["–"] * 8
    for floating, at in ((False, 1), (True, 3)):
        try:
            model = RobotModel.from_urdf(path, floating_base=floating)
        except ModelError:
            continue  # a single body has no joint without a floating base
        answer = structural_identifiability(model)
        cells[at], cells[at + 1] = str(answer.n_base), str(sampled_rank(model))
        if floating:
            continue
        cells[0] = str(model.n_bodies)
        cells[5] = str(structural_identifiability(model, gravity=(0, 0, 0)).n_base)
        if mimic_joints(model):
            try:
                coupled = structural_identifiability(model, mimic="coupled")
                cells[6] = f"{coupled.n_base} ({len(mimic_joints(model))} follow)"
            except IdentifiabilityError:
                cells[6] = "refused"
        if answer.exact_angles is not None:
            cells[7] = str(answer.exact_angles.n_base)
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    files = {path: name for name, path in sorted(example_robots().items())}
    print(HEAD)
    for path, name in sorted(files.items(), key=lambda item: item[1].lower()):
        print(row(name, path), flush=True)


if __name__ == "__main__":
    main()
