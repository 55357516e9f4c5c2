# SPDX-License-Identifier: Apache-2.0
"""Gains, units and time scales that the URDF's masses contradict, from one regression."""

from __future__ import annotations

import numpy as np
import scipy

from sysid_core.diagnosis.samples import Samples
from sysid_core.diagnosis.scores import NominalFit, nominal_fit
from sysid_core.reasons import Reason, failure, warning
from sysid_core.robot import Array, with_gravity

_CLEAR = 0.1  # share of variance that may be left where a slope counts
_LOADED = 0.1  # of the most loaded joint's rigid torque: less is friction and URDF errors
# A factor of two and an URDF that is up to a root of two too light look alike from here on.
FAIL_FACTOR, WARN_FACTOR = float(np.sqrt(2.0)), 1.3
TIME_FACTOR = 1.4
_UNITS = {
    "kgf m": 1.0 / 9.80665,
    "kgf cm": 100.0 / 9.80665,
    "lbf ft": 1.0 / 1.355818,
    "lbf in": 12.0 / 1.355818,
    "N cm": 100.0,
    "ozf in": 192.0 / 1.355818,
}  # of torque, how many make a newton metre
_UNIT_FACTOR = 1.3  # by which masses may be off where a unit is named
_FELT = 0.3  # share of the URDF's torque that a loaded joint's effort must hold


def scale_faults(samples: Samples, gains: Array | None = None) -> tuple[Reason, ...]:
    """Compare measured torques with the URDF's in size, where the shape agrees.

    Args:
        samples: With the faults mended that were found.
        gains: Gains of the drives, shape (n,); None where they are to be found.
    """
    found: list[Reason] = []
    factor, sd = inertial_time_factor(samples)
    if max(factor, 1.0 / factor) > TIME_FACTOR * (1.0 + 4.0 * sd):
        found.append(failure("stamps-inertia", ratio=factor**2, factor=factor))
        samples = samples.scaled(rate=factor)
    rigid = samples.model.inverse_dynamics(samples.q, samples.v, samples.a)
    fit = nominal_fit(samples, rigid)
    joints = _telling(fit, rigid)
    if gains is not None:
        found += _missing_load(samples, fit, rigid)
    if gains is not None and len(joints):
        found += _gain_faults(samples, fit, joints, gains)
    return tuple(found)


def _missing_load(samples: Samples, fit: NominalFit, rigid: Array) -> list[Reason]:
    """Loaded joints whose torque doesn't feel the load, though friction explains it."""
    load = np.std(rigid, axis=0)
    loaded = np.flatnonzero((load > 0.3 * load.max()) & samples.used)
    lacking = (fit.unexplained < 0.5) & (fit.slope + 3.0 * fit.slope_sd < _FELT)
    if len(loaded) < 2 or not np.all(lacking[loaded]):  # one joint may have a counterbalance
        return []
    names = [samples.model.joint_names[j] for j in loaded]
    return [failure("weight-lacking", joints=names, share=_FELT)]


def _telling(fit: NominalFit, rigid: Array) -> Array:
    """Joints whose slope means something, indices."""
    load = np.std(rigid, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        sure = fit.slope_sd < 0.15 * np.abs(fit.slope)
        return np.flatnonzero(
            (fit.unexplained < _CLEAR) & sure & (fit.slope > 0.0) & (load > _LOADED * load.max())
        )


def _gain_faults(samples: Samples, fit: NominalFit, joints: Array, gains: Array) -> list[Reason]:
    names = samples.model.joint_names
    slopes = fit.slope[joints]
    middle = float(np.median(slopes))
    found: list[Reason] = []
    size = max(middle, 1.0 / middle)
    even = bool(np.all(np.maximum(slopes / middle, middle / slopes) < 1.6))
    if len(joints) > 1 and even and size > WARN_FACTOR:
        say = failure if size > FAIL_FACTOR else warning
        code, more = _explanation(middle, slopes, gains[joints])
        found.append(say(code, factor=middle, slopes=slopes, **more))
    else:
        for k, (j, slope) in enumerate(zip(joints, slopes, strict=True)):
            others = np.delete(slopes, k)
            near = float(np.median(others)) if len(others) else 1.0
            ratio = slope / near
            off, off_near = max(slope, 1.0 / slope), max(near, 1.0 / near)
            if max(ratio, 1.0 / ratio) > 2.0 and off > max(FAIL_FACTOR, off_near):
                found.append(failure("joint-scale", joint=names[j], factor=slope, others=near))
    return found


def _explanation(middle: float, slopes: Array, gains: Array) -> tuple[str, dict[str, object]]:
    """Code of what makes all torques too large or small, with its data."""
    if any(0.5 < middle / factor < 2.0 for factor in (1e3, 1e-3)):
        return "effort-thousandths", {}
    if np.all(gains == 1.0):
        units = [
            f"{name} ({size:.3g} to the N m)"
            for name, size in _UNITS.items()
            if max(middle / size, size / middle) < _UNIT_FACTOR
        ]
        return "effort-unit", {"units": " or ".join([*units, "motor currents"])}
    ratio = slopes / gains
    if np.all((ratio > 0.7) & (ratio < 1.4)):
        return "efforts-are-torques", {}
    return "effort-scale", {}


def inertial_time_factor(samples: Samples) -> tuple[float, float]:
    r"""By which factor time seems to run fast, and its relative standard deviation.

    `tau_j = s_g g_j(q) + s_i (M qdd + C qd)_j + friction` with the URDF's masses, the factors s_g
    and s_i common to all joints: stamps that run k times too fast make s_i / s_g = k^2.

    Returns:
        (1, inf) where the torques show too little inertia.
    """
    model, used = samples.model, np.flatnonzero(samples.used)
    still = np.zeros_like(samples.v)
    weight = model.inverse_dynamics(samples.q, still, still)
    inertia = with_gravity(model, np.zeros(3)).inverse_dynamics(samples.q, samples.v, samples.a)
    parts, sides, blocks = [], [], []
    for j in used.tolist():
        rows = samples.moving[:, j]
        F = samples.friction(j)[rows]
        Q = np.linalg.qr(F / np.maximum(np.linalg.norm(F, axis=0), 1e-300))[0]
        X = np.column_stack([weight[rows, j], inertia[rows, j], samples.tau[rows, j]])
        X -= Q @ (Q.T @ X)
        own = scipy.linalg.lstsq(X[:, :2], X[:, 2])[0]
        noise = np.std(X[:, 2] - X[:, :2] @ own) + 0.05 * np.std(samples.tau[rows, j])
        parts.append(X[:, :2] / noise)
        sides.append(X[:, 2] / noise)
        blocks.append(samples.block[rows])
    if not parts:
        return 1.0, float("inf")
    A, y = np.vstack(parts), np.concatenate(sides)
    x = scipy.linalg.lstsq(A, y)[0]
    left = y - A @ x
    block = np.concatenate(blocks)
    scores = np.array([A[block == b].T @ left[block == b] for b in np.unique(block)])
    bread = np.linalg.pinv(A.T @ A)
    sd = np.sqrt(np.maximum(np.diag(bread @ (scores.T @ scores) @ bread), 0.0))
    # Where weights don't agree with the URDF, its inertia says nothing.
    if not np.all(x > 3.0 * sd) or not 0.5 < x[0] < 2.0:
        return 1.0, float("inf")
    ratio = x[1] / x[0]
    spread = 0.5 * float(np.hypot(sd[0] / x[0], sd[1] / x[1]))
    return float(np.sqrt(ratio)), spread
