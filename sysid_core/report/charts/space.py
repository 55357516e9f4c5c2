# SPDX-License-Identifier: Apache-2.0
"""Interactive views in space: bodies, ellipsoids, and a robot that moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.report.charts.curves import COLOURS
from sysid_core.robot import Array, RobotModel

if TYPE_CHECKING:
    import plotly.graph_objects as go


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


def moving_robot(
    model: RobotModel,
    time: Array,
    q: Array,
    *,
    frame: str,
    traces: Sequence[Any] = (),
    most: int = 90,
) -> go.Figure:
    """The robot as lines from joint to joint, played over time by a button and a slider.

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

    def robot(k: int) -> go.Scatter3d:
        x, y, z = ([None if np.isnan(v) else float(v) for v in lines[k][:, i]] for i in range(3))
        return go.Scatter3d(
            x=x, y=y, z=z, mode="lines+markers", name=model.name,
            line={"width": 9, "color": COLOURS[1]}, marker={"size": 4, "color": COLOURS[0]},
        )  # fmt: skip

    figure = scene([robot(0), *traces], height=560)
    names = [f"{time[row]:.1f} s" for row in rows]
    figure.frames = [
        go.Frame(data=[robot(k)], traces=[0], name=name) for k, name in enumerate(names)
    ]
    everything = np.concatenate(
        [lines.reshape(-1, 3), *(np.column_stack([t.x, t.y, t.z]) for t in traces)]
    ).astype(float)
    low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    margin = 0.08 * float((high - low).max())
    for axis, a, b in zip("xyz", low - margin, high + margin, strict=True):
        figure.layout.scene[f"{axis}axis"].range = [float(a), float(b)]
    figure.update_layout(
        scene_aspectmode="data",
        showlegend=False,
        margin={"l": 0, "r": 0, "t": 10, "b": 75},
        updatemenus=[_play_button(1e3 * float(time[-1] - time[0]) / max(1, len(rows)))],
        sliders=[_slider(names)],
    )
    return figure


def _play_button(step_ms: float) -> dict[str, Any]:
    """Plays in real time, at most four times as fast as a minute-long motion asks for."""
    step = min(step_ms, 250.0)
    still = {"frame": {"duration": 0, "redraw": True}, "mode": "immediate"}
    play = {
        "frame": {"duration": step, "redraw": True},
        "transition": {"duration": 0},
        "fromcurrent": True,
    }
    return {
        "type": "buttons", "direction": "left", "x": 0.0, "y": 0.0, "xanchor": "left",
        "yanchor": "top", "pad": {"t": 22},
        "buttons": [
            {"label": "▶ play", "method": "animate", "args": [None, play]},
            {"label": "❚❚ pause", "method": "animate", "args": [[None], still]},
        ],
    }  # fmt: skip


def _slider(names: Sequence[str]) -> dict[str, Any]:
    still = {"frame": {"duration": 0, "redraw": True}, "mode": "immediate"}
    return {
        "x": 0.3, "len": 0.7, "y": 0.0, "pad": {"t": 0}, "currentvalue": {"prefix": "at ", "font": {"size": 13}},
        "ticklen": 0, "font": {"size": 1}, "minorticklen": 0,
        "steps": [{"label": name, "method": "animate", "args": [[name], still]} for name in names],
    }  # fmt: skip
