# SPDX-License-Identifier: Apache-2.0
"""The cell around a robot in space: obstacles, ground, planes, workspace."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.planning import MotionLimits, Obstacle
from sysid_core.report.charts.curves import COLOURS
from sysid_core.report.charts.space import hull
from sysid_core.robot import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go

CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
ROUND = 24  # points around a circle
MOST_POINTS = 400  # of a mesh


def cell_traces(limits: MotionLimits, around: Array) -> list[Any]:
    """What stands in the cell, for a view in space.

    Args:
        limits: Its obstacles, ground, planes and workspace.
        around: Points of the robot and its path, shape (K, 3): how far endless planes are drawn [m].
    """
    traces: list[Any] = [
        hull(
            _points(obstacle, limits.package_dirs),
            name=obstacle.name,
            colour=COLOURS[3],
            opacity=0.45,
        )
        for obstacle in limits.obstacles
    ]
    centre = (around.min(axis=0) + around.max(axis=0)) / 2.0
    reach = 0.6 * float(np.ptp(around, axis=0).max())
    planes = [(p.name, np.array(p.normal), p.offset) for p in limits.planes]
    if limits.ground_height is not None:
        planes.append(("ground", np.array([0.0, 0.0, 1.0]), limits.ground_height))
    traces += [_square(*plane, centre, reach) for plane in planes]
    if limits.workspace is not None:
        traces.append(_edges(*(np.array(corner) for corner in limits.workspace)))
    return traces


def _points(obstacle: Obstacle, folders: tuple[str, ...]) -> Array:
    """Points whose hull looks like the obstacle, in the base frame, shape (K, 3) [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    if obstacle.box is not None:
        points = CORNERS * obstacle.box
    elif obstacle.sphere is not None:
        rings = np.linspace(-1.0, 1.0, ROUND // 2)
        points = np.concatenate(
            [circle * np.sqrt(1.0 - z * z) + [0.0, 0.0, z] for z in rings]
        ) * float(obstacle.sphere)
    elif obstacle.cylinder is not None:
        radius, length = obstacle.cylinder
        points = np.concatenate([circle * radius + [0, 0, z * length] for z in (-0.5, 0.5)])
    else:
        vertices: Any = obstacle.shape(folders)  # of coal, whose meshes have vertices
        points = np.asarray(vertices.vertices())
        points = points[:: max(1, len(points) // MOST_POINTS)]
    X = obstacle.placement
    return np.asarray(points @ X.rotation.T + X.translation)


def _square(name: str, normal: Array, offset: float, centre: Array, reach: float) -> go.Mesh3d:
    """A part of an endless plane."""
    import plotly.graph_objects as go

    foot = centre + (offset - normal @ centre) * normal
    side = np.linalg.svd(normal[None])[2][1:]  # two directions within the plane
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * reach
    x, y, z = np.round(foot + signs @ side, 4).T
    return go.Mesh3d(
        x=x, y=y, z=z, i=[0, 0], j=[1, 2], k=[2, 3], color="#8899aa", opacity=0.25, name=name,
        hoverinfo="name",
    )  # fmt: skip


def _edges(lower: Array, upper: Array) -> go.Scatter3d:
    """The workspace as a frame of twelve edges."""
    import plotly.graph_objects as go

    rows: list[list[float | None]] = []
    for a, b in product(range(8), repeat=2):
        if a < b and np.count_nonzero(CORNERS[a] - CORNERS[b]) == 1:
            ends = (CORNERS[[a, b]] + 0.5) * (upper - lower) + lower
            rows += [*ends.tolist(), [None] * 3]
    x, y, z = zip(*rows, strict=True)
    return go.Scatter3d(
        x=x, y=y, z=z, mode="lines", line={"width": 2, "color": "#8899aa"}, name="workspace",
        hoverinfo="name",
    )  # fmt: skip
