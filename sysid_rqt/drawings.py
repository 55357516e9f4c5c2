# SPDX-License-Identifier: Apache-2.0
"""Figures of the panels, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from sysid_monitor.graph_view import Snapshot

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8A8F98"
JOINTS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito


def convergence(snapshot: Snapshot) -> object:
    """Return a figure of mass and centre of mass over time with two standard deviations."""
    from matplotlib.figure import Figure

    history = snapshot.history[-600:]
    time = np.array([m.time for m in history])
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    for axis, (name, values, sds) in zip(
        figure.subplots(1, 2),
        (
            ("mass [kg]", [[m.mass] for m in history], [[m.mass_sd] for m in history]),
            (
                "centre of mass [mm]",
                [[1e3 * c for c in m.com] for m in history],
                [[1e3 * s for s in m.com_sd] for m in history],
            ),
        ),
        strict=True,
    ):
        for x, sd, colour in zip(
            np.transpose(values), np.transpose(sds), ("#0072B2", "#D55E00", "#009E73"), strict=False
        ):
            axis.plot(time, x, color=colour, linewidth=1.5)
            axis.fill_between(time, x - 2 * sd, x + 2 * sd, color=colour, alpha=0.2)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("time [s]", fontsize=8)
        axis.grid(alpha=0.3)
    return figure


def residual_curves(time: Any, residuals: Any, names: Sequence[str]) -> object:
    """Return a figure of the residual torque of every joint over time.

    Args:
        time: Times relative to the present, shape (K,) [s].
        residuals: Residuals, shape (K, n) [N m, N or A].
        names: Names of the n joints.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axis = figure.subplots()
    for name, values, colour in zip(names, np.transpose(residuals), cycle(JOINTS), strict=False):
        axis.plot(time, values, color=colour, linewidth=1.2, label=name)
    axis.axhline(0.0, color=GREY, linewidth=0.8)
    axis.set_xlabel("time [s]", fontsize=8)
    axis.set_title("measured - predicted effort", fontsize=9)
    axis.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    return figure


def object_views(message: Any, shape: Any = None) -> object:
    """Return a figure of the held object in three views: shape, point masses, centre of mass,
    inertia.

    Orange: the centre of mass with its ellipsoid of two standard deviations. Blue: the uniform
    solid of the same mass and inertia. Dots: point masses inside the shape with the moments of the
    estimate.

    Args:
        message: Message of the type PayloadEstimate.
        shape: Shape of the object in the sensor frame, or None.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Ellipse

    body, sd = message.inertia, message.inertia_sd
    com = np.array([body.com.x, body.com.y, body.com.z])
    com_sd = np.array([sd.com.x, sd.com.y, sd.com.z])
    inertia = np.array(
        [
            [body.ixx, body.ixy, body.ixz],
            [body.ixy, body.iyy, body.iyz],
            [body.ixz, body.iyz, body.izz],
        ]
    )
    spread = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / max(body.m, 1e-9)  # of the mass
    masses = None if shape is None else point_masses(shape.points, body.m, com, spread)
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    for axis, (i, j) in zip(figure.subplots(2, 2).flat, ((0, 1), (0, 2), (1, 2)), strict=False):
        if shape is not None and masses is not None:
            sizes = 250 * masses / max(float(masses.max()), 1e-12)
            axis.scatter(*shape.points[:, [i, j]].T, s=4, color="#d5dae0")
            axis.scatter(*shape.points[:, [i, j]].T, s=sizes, color=GREY, alpha=0.5, lw=0)
        for matrix, colour, filled in (
            (5 * spread, BLUE, False),
            (np.diag(4 * com_sd**2), ORANGE, True),
        ):
            size, turn = np.linalg.eigh(matrix[np.ix_([i, j], [i, j])])
            width, height = 2 * np.sqrt(np.maximum(size, 0))
            angle = np.degrees(np.arctan2(turn[1, 0], turn[0, 0]))
            axis.add_patch(
                Ellipse(com[[i, j]], width, height, angle=angle, ec=colour, fc=colour if filled else "none",
                        alpha=0.8, lw=1.5)
            )  # fmt: skip
        axis.plot(*com[[i, j]], "x", color=ORANGE)
        axis.set(xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]")
        axis.axis("equal")
        axis.grid(alpha=0.3)
    words = figure.axes[3]
    words.axis("off")
    words.text(0, 0.9, f"{body.m:.4g} ± {2 * sd.m:.2g} kg (2 sd)", fontsize=11)
    for row, (text, colour) in enumerate(
        (
            ("centre of mass, ± 2 sd", ORANGE),
            ("uniform solid of this inertia", BLUE),
            ("point masses in the shape", GREY),
        )
    ):
        words.text(0, 0.7 - 0.14 * row, f"● {text}", color=colour)
    return figure


def point_masses(points: Any, mass: float, com: Any, spread: Any) -> Any:
    """Return the non-negative point masses with the mass, centre of mass and second moments of a
    given body, (n,) [kg].

    Args:
        points: Positions of the point masses, shape (n, 3) [m].
        mass: Total mass [kg].
        com: Centre of mass, shape (3,) [m].
        spread: Covariance of the mass distribution about the centre of mass, shape (3, 3) [m^2].
    """
    from scipy.optimize import nnls

    r = (np.asarray(points) - com) / max(float(np.ptp(points, axis=0).max()), 1e-9)
    scale = max(float(np.ptp(points, axis=0).max()), 1e-9)
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    A = np.vstack([np.ones(len(r)), r.T, *(r[:, a] * r[:, b] for a, b in pairs)])
    wanted = np.array([1.0, 0, 0, 0, *(spread[a, b] / scale**2 for a, b in pairs)])
    even = 1e-3 * np.sqrt(len(r)) * np.eye(len(r))  # of all such masses the most even ones
    found, _ = nnls(np.vstack([A, even]), np.concatenate([wanted, even.sum(axis=0) / len(r)]))
    return mass * found


def nominal_values(description: Any) -> dict[str, float]:
    """Return the inertial parameters of a `robot_description` by name; empty if it contains none."""
    from sysid_core.errors import SysIdError
    from sysid_core.robot import RobotModel, received_urdf

    try:
        text = None if description is None else received_urdf(description.data)
        model = None if text is None else RobotModel.from_urdf(text)
    except SysIdError:
        return {}
    rows = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    if model is None:
        return {}
    names = [f"{body}.{row}" for body in model.body_names for row in rows]
    return dict(zip(names, model.pi.ravel().tolist(), strict=True))


def arm_bars(message: Any, nominal: Mapping[str, float]) -> object:
    """Return a figure of the difference of every parameter from the URDF, in standard deviations.

    Args:
        message: Message of the type InertialEstimate.
        nominal: Values of the URDF by name; parameters without a value are omitted.
    """
    from matplotlib.figure import Figure

    p = len(message.names)
    sd = np.sqrt(np.clip(np.diag(np.array(message.covariance).reshape(p, p)), 0.0, None))
    rows = [k for k, name in enumerate(message.names) if name in nominal and sd[k] > 0]
    figure = Figure(figsize=(6.4, 1.0 + 0.17 * max(len(rows), 4)), layout="constrained")
    axis = figure.subplots()
    if not rows:
        axis.axis("off")
        axis.text(0.0, 0.5, "none of these parameters has a value in the URDF")
        return figure
    colours = (GREEN, BLUE, GREY, ORANGE)  # by verdict
    ratios = [(message.values[k] - nominal[message.names[k]]) / sd[k] for k in rows]
    axis.barh(
        range(len(rows)),
        np.clip(ratios, -20, 20),
        color=[colours[int(message.verdicts[k])] for k in rows],
    )
    axis.axvspan(-2, 2, color=GREY, alpha=0.15)
    axis.set_yticks(range(len(rows)), [message.names[k] for k in rows], fontsize=7)
    axis.invert_yaxis()
    axis.set_xlabel("(identified - URDF) / standard deviation; grey: within two")
    axis.set_title("green: identifiable, blue: in combination, orange: prior-dominated", fontsize=8)
    return figure
