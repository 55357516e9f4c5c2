# SPDX-License-Identifier: Apache-2.0
"""Interactive views in space: bodies, ellipsoids, and a robot that moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import SysIdError
from sysid_core.planning import RobotGeometry
from sysid_core.report.charts.curves import COLOURS
from sysid_core.robot import Array, RobotModel

if TYPE_CHECKING:
    import plotly.graph_objects as go

LINKS = ("#b9c4cf", "#8fa3b5")  # of neighbouring links, readable on light and dark pages
DIRECTIONS = 80  # in which a link's outermost points are drawn: a link is some 100 px wide


def scene(traces: Sequence[Any], height: int = 480) -> go.Figure:
    """A view in space with equal axes [m]."""
    import plotly.graph_objects as go

    figure = go.Figure(list(traces))
    axis = {"backgroundcolor": "rgba(0,0,0,0)", "gridcolor": "#99aabb"}
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 0, "r": 0, "t": 10, "b": 0},
        scene={
            "aspectmode": "data",
            "camera": {
                "eye": {"x": 1.5, "y": 1.5, "z": 1.1},
                "center": {"x": 0, "y": 0, "z": -0.1},
            },
            "xaxis": {**axis, "title": "x [m]"},
            "yaxis": {**axis, "title": "y [m]"},
            "zaxis": {**axis, "title": "z [m]"},
        },
        legend={"orientation": "h"},
    )
    return figure


def ellipsoid(
    centre: ArrayLike, matrix: ArrayLike, *, name: str, colour: str, opacity: float = 0.35
) -> Any:
    """Surface of `(x - c)^T M^-1 (x - c) = 1`: M is 4 P for two standard deviations of a covariance P.

    Args:
        centre: c, shape (3,) [m].
        matrix: M, shape (3, 3) [m^2].
        name: Legend.
        colour: Colour of the surface.
        opacity: Opacity of the surface.
    """
    import plotly.graph_objects as go

    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ball = np.stack([np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)])
    values, vectors = np.linalg.eigh(np.asarray(matrix, dtype=float))
    points = np.einsum("ij,jkl->ikl", vectors * np.sqrt(np.maximum(values, 0)), ball)
    x, y, z = points + np.asarray(centre, dtype=float)[:, None, None]
    return go.Surface(
        x=x,
        y=y,
        z=z,
        showscale=False,
        opacity=opacity,
        name=name,
        showlegend=True,
        colorscale=[[0, colour], [1, colour]],
        hoverinfo="name",
    )


def skeleton(model: RobotModel, q: Array, frame: str = "") -> Array:
    """Lines from joint to joint in every posture, shape (K, rows, 3), NaN between two lines [m].

    Args:
        model: The robot.
        q: Postures, shape (K, n).
        frame: A frame that the last body carries, such as the tool; default: none.
    """
    robot = model.pin_model
    data = robot.createData()
    end = model.frame_id(frame) if frame else None
    lines = []
    for configuration in model.configuration(np.atleast_2d(q)):
        pin.framesForwardKinematics(robot, data, configuration)
        rows: list[Array] = []
        for j in range(1, robot.njoints):
            parent = data.oMi[robot.parents[j]].translation
            rows += [parent.copy(), data.oMi[j].translation.copy(), np.full(3, np.nan)]
        if end is not None:
            carrier = data.oMi[robot.frames[end].parentJoint].translation
            rows += [carrier.copy(), data.oMf[end].translation.copy(), np.full(3, np.nan)]
        lines.append(rows)
    return np.asarray(lines)


def hull(points: Array, *, name: str, colour: str, opacity: float = 1.0) -> go.Mesh3d:
    """The convex hull of points (K, 3) [m] as a solid."""
    import plotly.graph_objects as go
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = np.asarray(ConvexHull(points).simplices)
    except QhullError:  # flat
        corners = np.array([[0, k, k + 1] for k in range(1, len(points) - 1)])
    x, y, z = np.round(points, 4).T
    i, j, k = corners.T
    return go.Mesh3d(
        x=x, y=y, z=z, i=i, j=j, k=k, color=colour, opacity=opacity, name=name,
        showlegend=False, hoverinfo="name",
    )  # fmt: skip


def link_points(model: RobotModel) -> list[tuple[int, Array]]:
    """Joint and the outermost points of every collision shape in many directions, (K, 3) [m].

    Empty where the description has no shapes, or its meshes aren't on this machine.
    """
    try:
        shapes = RobotGeometry(model, model.body_names[-1], self_collision=False).surfaces
    except SysIdError:
        return []
    k = np.arange(DIRECTIONS)
    z = 1.0 - (2.0 * k + 1.0) / DIRECTIONS
    turn = np.pi * (3.0 - np.sqrt(5.0)) * k  # a Fibonacci sphere
    r = np.sqrt(1.0 - z * z)
    directions = np.column_stack([r * np.cos(turn), r * np.sin(turn), z])
    return [
        (joint, np.asarray(points[np.unique(np.argmax(points @ directions.T, axis=0))]))
        for joint, points in shapes
        if len(points) >= 4
    ]


def solid_robot(model: RobotModel, q: Array, opacity: float = 1.0) -> list[Any]:
    """The robot's links in one posture, (n,), as the hulls of their collision shapes."""
    placed = _placed(model, link_points(model), np.atleast_2d(q))[0]
    return [
        hull(points, name=model.name, colour=LINKS[k % 2], opacity=opacity)
        for k, points in enumerate(placed)
    ]


def _placed(model: RobotModel, shapes: Sequence[tuple[int, Array]], q: Array) -> list[list[Array]]:
    """Points of every shape in every posture."""
    data = model.pin_model.createData()
    found = []
    for configuration in model.configuration(q):
        pin.forwardKinematics(model.pin_model, data, configuration)
        found.append(
            [points @ data.oMi[j].rotation.T + data.oMi[j].translation for j, points in shapes]
        )
    return found


def moving_robot(
    model: RobotModel,
    time: Array,
    q: Array,
    *,
    frame: str,
    traces: Sequence[Any] = (),
    most: int = 60,
) -> go.Figure:
    """The robot's solids, or lines from joint to joint, played over time by a button and a slider.

    Args:
        model: The robot.
        time: Shape (K,) [s].
        q: Shape (K, n), in the robot's order.
        frame: Tool frame.
        traces: What stands still in the scene, such as the tool's path.
        most: Postures that are drawn.
    """
    import plotly.graph_objects as go

    rows = np.unique(np.linspace(0, len(time) - 1, most).astype(int))
    lines = np.round(skeleton(model, q[rows], frame), 4)
    placed = _placed(model, link_points(model), q[rows])
    width = 3 if placed[0] else 9

    def robot(k: int) -> list[Any]:
        x, y, z = ([None if np.isnan(v) else float(v) for v in lines[k][:, i]] for i in range(3))
        line = go.Scatter3d(
            x=x, y=y, z=z, mode="lines+markers", name=model.name,
            line={"width": width, "color": COLOURS[1]}, marker={"size": 4, "color": COLOURS[0]},
        )  # fmt: skip
        if k == 0:
            return [
                line,
                *(
                    hull(points, name=model.name, colour=LINKS[i % 2])
                    for i, points in enumerate(placed[0])
                ),
            ]
        return [line, *(go.Mesh3d(x=p[:, 0], y=p[:, 1], z=p[:, 2]) for p in placed[k])]

    figure = scene([*robot(0), *traces], height=560)
    moved = list(range(1 + len(placed[0])))
    figure.frames = [
        go.Frame(data=robot(k), traces=moved, name=f"{time[row]:.1f} s")
        for k, row in enumerate(rows)
    ]
    everything = np.concatenate(
        [
            lines.reshape(-1, 3),
            *(points for some in placed for points in some),
            *(np.column_stack([t.x, t.y, t.z]) for t in traces),
        ]
    ).astype(float)
    low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    margin = 0.03 * float((high - low).max())
    for axis, a, b in zip("xyz", low - margin, high + margin, strict=True):
        figure.layout.scene[f"{axis}axis"].range = [float(a), float(b)]
    step = min(
        1e3 * float(time[-1] - time[0]) / max(1, len(rows)), 250.0
    )  # [ms], at most real time
    play = {"label": "play", "method": "animate", "args": [None, {"frame": {"duration": step}}]}
    figure.update_layout(showlegend=False, updatemenus=[{"type": "buttons", "buttons": [play]}])
    return figure
