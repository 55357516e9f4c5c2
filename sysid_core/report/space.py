# SPDX-License-Identifier: Apache-2.0
"""3D views: bodies, ellipsoids, a robot that moves, and its cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import SysIdError
from sysid_core.report.charts import COLOURS, Figure
from sysid_core.robot import Array, RobotModel

if TYPE_CHECKING:
    from sysid_core.planning import MotionLimits, Obstacle
    from sysid_core.robot.loops import ClosedChain

Trace = dict[str, Any]
LINKS = ("#b9c4cf", "#8fa3b5")  # of neighbouring links, readable on light and dark pages
DIRECTIONS = 80  # in which a link's outermost points are drawn: a link is some 100 px wide
CELL = "#8899aa"
CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
ROUND = 24  # points around a circle
MOST_POINTS = 400  # of a mesh


def scene(traces: Sequence[Trace], height: int = 480) -> Figure:
    """Return the 3D view with equal axes [m]."""
    figure = Figure(height=height)
    figure.data = list(traces)
    return figure


def points(where: Array, name: str, **style: Any) -> Trace:
    """Return the trace of points (K, 3) [m], or of lines if `mode` is lines; NaN interrupts a line."""
    x, y, z = np.round(np.asarray(where, dtype=float).reshape(-1, 3), 4).T
    return {"type": "points3d", "x": x, "y": y, "z": z, "name": name, **style}


def ellipsoid(
    centre: ArrayLike, matrix: ArrayLike, *, name: str, colour: str, opacity: float = 0.35
) -> Trace:
    """Return the trace of the surface `(x - c)^T M^-1 (x - c) = 1`: M is 4 P for two standard
    deviations of a covariance P.

    Args:
        centre: Centre c, shape (3,) [m].
        matrix: Matrix M, shape (3, 3) [m^2].
        name: Name in the legend.
        colour: Colour of the surface (CSS).
        opacity: Opacity of the surface, 0 to 1.
    """
    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ball = np.stack([np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)])
    values, vectors = np.linalg.eigh(np.asarray(matrix, dtype=float))
    surface = np.einsum("ij,jkl->ikl", vectors * np.sqrt(np.maximum(values, 0)), ball)
    x, y, z = surface + np.asarray(centre, dtype=float)[:, None, None]
    look = {"name": name, "colour": colour, "opacity": opacity}
    return {"type": "surface", "x": x, "y": y, "z": z, **look}


def skeleton(
    model: RobotModel, q: Array, frame: str = "", chain: ClosedChain | None = None
) -> Array:
    """Return the coordinates of lines from joint to joint, and to the points where loops close, in
    every posture, shape (K, rows, 3), separated by NaN [m].

    Args:
        model: Robot model.
        q: Postures, shape (K, n).
        frame: Frame on the last body, such as that of the tool; empty: none.
        chain: Closed chain of the robot; None: an open chain.
    """
    robot = model.pin_model
    data = robot.createData()
    zero = np.zeros(3)
    bars = [(robot.parents[j], zero, j, zero) for j in range(1, robot.njoints)]
    for a, b in (
        () if chain is None else chain.attachments
    ):  # two points coincide; a rod is between them
        i, j = a.joint + 1, b.joint + 1
        bars += [(i, zero, i, a.p_BF), (i, a.p_BF, j, b.p_BF), (j, b.p_BF, j, zero)]
    if frame:
        tool = robot.frames[model.frame_id(frame)]
        bars.append((tool.parentJoint, zero, tool.parentJoint, tool.placement.translation))
    lines = []
    for configuration in model.configuration(np.atleast_2d(q)):
        pin.forwardKinematics(robot, data, configuration)
        rows: list[Array] = []
        for i, p_i, j, p_j in bars:
            rows += [data.oMi[i].act(p_i), data.oMi[j].act(p_j), np.full(3, np.nan)]
        lines.append(rows)
    return np.asarray(lines)


def hull(where: Array, *, name: str, colour: str, opacity: float = 1.0) -> Trace:
    """Return the trace of the convex hull of points (K, 3) [m]."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = np.asarray(ConvexHull(where).simplices)
    except QhullError:  # flat
        corners = np.array([[0, k, k + 1] for k in range(1, len(where) - 1)])
    return _solid(where, corners, name=name, colour=colour, opacity=opacity)


def _solid(where: Array, corners: Array, **style: Any) -> Trace:
    """Triangles (n, 3) of points (K, 3)."""
    (x, y, z), (i, j, k) = np.round(where, 4).T, corners.T
    mesh = {"x": x, "y": y, "z": z, "i": i, "j": j, "k": k}
    return {"type": "solid3d", **mesh, "legend": False, **style}


def link_points(model: RobotModel) -> list[tuple[int, Array]]:
    """Return the joint of every collision shape, and the outermost points of the shape in many
    directions, (K, 3) [m].

    The result is empty if the description has no shapes, or if its meshes are not on this computer.
    """
    from sysid_core.planning import RobotGeometry

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
        (joint, np.asarray(some[np.unique(np.argmax(some @ directions.T, axis=0))]))
        for joint, some in shapes
        if len(some) >= 4
    ]


def solid_robot(model: RobotModel, q: Array, opacity: float = 1.0) -> list[Trace]:
    """Return the traces of a robot in one posture, (n,): its links as convex hulls of their
    collision shapes.
    """
    placed = _placed(model, link_points(model), np.atleast_2d(q))[0]
    return [
        hull(some, name=model.name, colour=LINKS[k % 2], opacity=opacity)
        for k, some in enumerate(placed)
    ]


def _placed(model: RobotModel, shapes: Sequence[tuple[int, Array]], q: Array) -> list[list[Array]]:
    """Points of every shape in every posture."""
    data = model.pin_model.createData()
    found = []
    for configuration in model.configuration(q):
        pin.forwardKinematics(model.pin_model, data, configuration)
        found.append(
            [some @ data.oMi[j].rotation.T + data.oMi[j].translation for j, some in shapes]
        )
    return found


def moving_robot(
    model: RobotModel,
    time: Array,
    q: Array,
    *,
    frame: str = "",
    beside: Array | None = None,
    chain: ClosedChain | None = None,
    traces: Sequence[Trace] = (),
    most: int = 60,
) -> Figure:
    """Return the traces of a robot as solids or as lines from joint to joint, animated over time
    with a button and a slider.

    Args:
        model: Robot model.
        time: Times, shape (K,) [s].
        q: Joint positions in the robot's order, shape (K, n) [rad or m].
        frame: Name of the tool frame; empty: none.
        beside: Other positions at the same times, drawn as lines between joints, shape (K, n).
        chain: Closed chain of the robot; None: an open chain.
        traces: Static objects in the scene, such as the path of the tool.
        most: Maximum number of postures drawn.
    """
    rows = np.unique(np.linspace(0, len(time) - 1, most).astype(int))
    lines = skeleton(model, q[rows], frame, chain)
    placed = _placed(model, link_points(model), q[rows])
    look = {"mode": "lines+markers", "size": 4, "width": 3 if placed[0] else 9}
    through = 1.0 if beside is None else 0.4  # the other robot stands within this one
    links = [
        hull(p, name=model.name, colour=LINKS[k % 2], opacity=through)
        for k, p in enumerate(placed[0])
    ]
    robot = points(lines[0], model.name, colour=COLOURS[1], **look)
    others = [] if beside is None else [skeleton(model, beside[rows], frame, chain)]
    more = [
        points(other[0], "beside", colour=COLOURS[3], **look | {"width": 7}) for other in others
    ]
    figure = scene([robot, *links, *more, *traces], height=560)
    figure.frames = [
        {
            "name": f"{time[row]:.1f} s",
            "data": [
                dict(zip("xyz", np.round(p, 4).T, strict=True))
                for p in (lines[k], *placed[k], *(other[k] for other in others))
            ],
        }
        for k, row in enumerate(rows)
    ]
    everything = np.concatenate(
        [
            lines.reshape(-1, 3),
            *(some for shapes in placed for some in shapes),
            *(np.column_stack([np.ravel(t[a]) for a in "xyz"]) for t in traces),
        ]
    )
    low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    margin = 0.03 * float((high - low).max())
    step = min(
        1e3 * float(time[-1] - time[0]) / max(1, len(rows)), 250.0
    )  # [ms], at most real time
    figure.layout |= {"low": low - margin, "high": high + margin, "step": step, "legend": False}
    return figure


def cell_traces(limits: MotionLimits, around: Array) -> list[Trace]:
    """Return the traces of the obstacles in the robot's cell.

    Args:
        limits: Limits with the obstacles, ground, planes and workspace.
        around: Points of the robot and its path, shape (K, 3) [m], which determine the drawn part
            of planes.
    """
    traces = [
        hull(_points(o, limits.package_dirs), name=o.name, colour=COLOURS[3], opacity=0.45)
        for o in limits.obstacles
    ]
    centre = (around.min(axis=0) + around.max(axis=0)) / 2.0
    reach = 0.6 * float(np.ptp(around, axis=0).max())
    planes = [(p.name, np.array(p.normal), p.offset) for p in limits.planes]
    if limits.ground_height is not None:
        planes.append(("ground", np.array([0.0, 0.0, 1.0]), limits.ground_height))
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * reach
    for name, normal, offset in planes:  # a part of an endless plane
        foot = centre + (offset - normal @ centre) * normal
        side = np.linalg.svd(normal[None])[2][1:]  # two directions within the plane
        triangles = np.array([[0, 1, 2], [0, 2, 3]])
        traces.append(_solid(foot + signs @ side, triangles, name=name, colour=CELL, opacity=0.25))
    if limits.workspace is not None:  # a frame of twelve edges
        lower, upper = (np.array(corner) for corner in limits.workspace)
        ends = (CORNERS + 0.5) * (upper - lower) + lower
        edges = [
            [ends[a], ends[b], np.full(3, np.nan)]
            for a, b in product(range(8), repeat=2)
            if a < b and np.count_nonzero(CORNERS[a] - CORNERS[b]) == 1
        ]
        traces.append(points(np.array(edges), "workspace", mode="lines", width=2, colour=CELL))
    return traces


def _points(obstacle: Obstacle, folders: tuple[str, ...]) -> Array:
    """Points whose hull looks like the obstacle, in the base frame, shape (K, 3) [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    if obstacle.box is not None:
        where = CORNERS * obstacle.box
    elif obstacle.sphere is not None:
        rings = [circle * np.sqrt(1.0 - z * z) + [0.0, 0.0, z] for z in np.linspace(-1, 1, 12)]
        where = np.concatenate(rings) * float(obstacle.sphere)
    elif obstacle.cylinder is not None:
        radius, length = obstacle.cylinder
        where = np.concatenate([circle * radius + [0, 0, z * length] for z in (-0.5, 0.5)])
    else:
        vertices: Any = obstacle.shape(folders)  # of coal, whose meshes have vertices
        where = np.asarray(vertices.vertices())
        where = where[:: max(1, len(where) // MOST_POINTS)]
    X = obstacle.placement
    return np.asarray(where @ X.rotation.T + X.translation)
