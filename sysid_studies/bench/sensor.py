# SPDX-License-Identifier: Apache-2.0
"""Benchmark of force-torque sensors: static postures, half of them held out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.errors import BatchError
from sysid_core.robot import Array
from sysid_core.signals.wrench import (
    SensorCalibration,
    calibrate_static,
    static_regressor,
    tare_static,
)
from sysid_studies.bench.recipe import Recipe

_GRAVITY = np.array([0.0, 0.0, -9.81])


def sensor_rows(recipe: Recipe, data: Path) -> list[dict[str, Any]]:
    """Relative force errors on held-out static postures, with a model of weight and bias, and with
    gains as well.

    The recipe's first file to fit has positions and orientations (x y z, quaternion x y z w) of
    postures, the second the readings (force, torque) in the base's axes; every second posture is
    held out.

    Raises:
        BatchError: Tables of another shape.
    """
    poses, readings = (_table(data / recipe.folder / part.path) for part in recipe.fit)
    if poses.shape[1:] != (7,) or readings.shape != (len(poses), 6):
        raise BatchError(
            f"'{recipe.name}': tables of shapes {poses.shape} and {readings.shape}.",
            remedy="Expected (postures, 7) and (postures, 6).",
        )
    readings = -readings if recipe.negate else readings
    R_WS = Rotation.from_quat(poses[:, 3:]).as_matrix()
    wrench = np.concatenate(
        [np.einsum("kji,kj->ki", R_WS, readings[:, k : k + 3]) for k in (0, 3)], axis=1
    )
    gravity = np.einsum("kji,j->ki", R_WS, _GRAVITY)
    when = np.arange(len(poses), dtype=float)
    fit, held = when % 2 == 0, when % 2 == 1
    rows = []
    for method in ("default", "ols"):
        begun = time.perf_counter()
        if method == "default":
            full = calibrate_static(wrench[fit], gravity[fit], R_WS[fit], when[fit])
            found, moved = full.calibration, full.bias_at(when[held]) - full.calibration.bias
        else:
            found, moved = tare_static(wrench[fit], gravity[fit], R_WS=R_WS[fit]), np.zeros(6)
        left = _left(found, wrench[held] - moved, gravity[held])
        size = wrench[held, :3] - np.mean(wrench[held, :3], axis=0)
        values = {
            "moving": float(np.linalg.norm(left[:, :3]) / np.linalg.norm(size)),
            "force_rms": float(np.sqrt(np.mean(np.sum(left[:, :3] ** 2, axis=1)))),
            "seconds": time.perf_counter() - begun,
        }
        rows += [{"parameter": f"{method}.{k}", "value": v} for k, v in values.items()]
    return rows


def _table(path: Path) -> Array:
    """Numbers of a text table, separated by commas or blanks."""
    lines = path.read_text(encoding="utf-8").replace(",", " ").splitlines()
    try:
        return np.array([[float(x) for x in line.split()] for line in lines if line.strip()])
    except ValueError as err:
        raise BatchError(
            f"'{path}' isn't a table of numbers: {err}.", remedy="Check the recipe."
        ) from err


def _left(found: SensorCalibration, wrench: Array, gravity: Array) -> Array:
    """Readings minus bias and tool, with corrected gains, shape (K, 6)."""
    load = static_regressor(gravity) @ found.tare_load
    return np.asarray((wrench - found.bias) @ found.matrix.T - load)
