# SPDX-License-Identifier: Apache-2.0
"""Figures 4 to 8 of the payload study."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.estimation.payload import CompressedWrenches, PointMassDiscretization
from sysid_core.report import curves
from sysid_core.robot import wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.validation import payload_errors
from sysid_studies.payload.arm import ArmRun, solve_arm
from sysid_studies.payload.objects import StudyObject, modular_objects
from sysid_studies.payload.runs import Case, Result, simulate
from sysid_studies.payload.tables import StudyTable

if TYPE_CHECKING:
    from sysid_core.report import Figure

ISO_SPEED = 2.0 * 0.25 / 0.27  # [rad/s] where the TCP reaches ISO 10218's 0.25 m/s
# Cells per box (web, bars): from 6 to 560 in all; 56 and 126 are the paper's.
_DENSITIES = (
    ((1, 2, 1), (2, 1, 1)),
    ((1, 4, 1), (4, 1, 1)),
    ((2, 4, 2), (5, 2, 2)),
    ((3, 4, 3), (5, 3, 3)),
    ((4, 8, 4), (12, 4, 4)),
)


def density_figure(names: Sequence[str] | None = None) -> tuple[Figure, StudyTable]:
    """Figure 4: accuracy and solving time of PMD against the number of points."""
    boxes = (
        ((0.05, 0.2, 0.05), (0.0, 0.0, 0.025)),
        ((0.2, 0.05, 0.05), (0.0, 0.125, 0.025)),
        ((0.2, 0.05, 0.05), (0.0, -0.125, 0.025)),
    )
    objects = modular_objects()
    chosen = list(objects) if names is None else list(names)
    runs = {
        name: CompressedWrenches.from_data(
            simulate(Case(name, 1.5, "moderate", "encoders", 1.5, 0))[1].causal, 300.0
        )
        for name in chosen
    }
    rows = []
    for web, bar in _DENSITIES:
        shape = Shape.from_boxes(
            [(*box, cells) for box, cells in zip(boxes, (web, bar, bar), strict=True)]
        )
        errors, times = [], []
        for name in chosen:
            thing = objects[name]
            estimator = PointMassDiscretization(shape)
            start = time.process_time()
            m = estimator.masses(runs[name])
            times.append(1e3 * (time.process_time() - start))
            errors.append(payload_errors(shape.parameters_per_mass @ m, thing.pi, thing.size))
        mean = np.mean(errors, axis=0)
        density = len(shape) / (shape.volume * 1e6)
        rows.append((len(shape), density, float(mean[1]), float(mean[2]), float(np.min(times))))
    table = StudyTable(
        "Figure 4: PMD (c1 = 300) and the number of points",
        ("points", "points per cm³", "COM %", "inertia %", "solve ms"),
        tuple(rows),
        "The time doesn't depend on the number of samples: the data are compressed first.",
    )
    points = [row[0] for row in rows]
    figure = curves(
        {
            "error [%]": {
                "COM": (points, [row[2] for row in rows]),
                "inertia": (points, [row[3] for row in rows]),
            },
            "solve [ms]": {"time": (points, [row[4] for row in rows])},
        },
        xlabel="point masses (56: the paper's hammer)",
        columns=2,
        log_x=True,
        points=True,
    )
    return figure, table


def weight_figure(
    speeds: Sequence[float], seconds: Sequence[float], names: Sequence[str]
) -> Figure:
    """Figure 5: inertia error of PMD over time, by speed, for several c_1."""
    scales = (5.0, 300.0, 3000.0, 25000.0)
    groups: dict[str, dict[str, tuple[ArrayLike, ArrayLike]]] = {}
    for scale in scales:
        lines = groups[f"c1 = {scale:g}"] = {}
        for speed in speeds:
            curves_of = []
            for name in names:
                thing, experiment = simulate(
                    Case(name, speed, "moderate", "accelerations", max(seconds), 0)
                )
                estimator = PointMassDiscretization(thing.shape, dynamism_scale=scale)
                curve = []
                for s in seconds:
                    part = experiment.causal.select(slice(0, round(100 * s)))
                    information = CompressedWrenches.from_data(part, scale)
                    pi = thing.shape.parameters_per_mass @ estimator.masses(information)
                    curve.append(payload_errors(pi, thing.pi, thing.size)[2])
                curves_of.append(curve)
            lines[f"{speed:g} rad/s"] = (seconds, np.mean(curves_of, axis=0))
    return _compared(groups, "data [s]", log_y=False)


def noise_figure(results: Sequence[Result], methods: Sequence[str]) -> Figure:
    """Figure 6: inertia error against speed at three noise levels."""
    groups: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for r in results:
        groups[r.case.noise, r.method, r.case.speed].append(r.inertia)
    noises = [n for n in ("low", "moderate", "high") if any(r.case.noise == n for r in results)]
    speeds = sorted({r.case.speed for r in results})
    return _compared(
        {
            f"{noise} noise": {
                method: (speeds, [float(np.mean(groups[noise, method, s])) for s in speeds])
                for method in methods
            }
            for noise in noises
        },
        f"mean angular speed [rad/s] (ISO limit: {ISO_SPEED:g})",
    )


def time_figure(results: Sequence[Result], methods: Sequence[str]) -> Figure:
    """Figure 7: inertia error over time at moderate noise, one picture per speed."""
    groups: dict[tuple[float, str, float], list[float]] = defaultdict(list)
    for r in results:
        groups[r.case.speed, r.method, r.case.seconds].append(r.inertia)
    speeds = sorted({r.case.speed for r in results})
    seconds = sorted({r.case.seconds for r in results})
    return _compared(
        {
            f"{speed:g} rad/s": {
                method: (seconds, [float(np.mean(groups[speed, method, s])) for s in seconds])
                for method in methods
            }
            for speed in speeds
        },
        "data [s]",
    )


def _compared(
    groups: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]],
    xlabel: str,
    *,
    log_y: bool = True,
) -> Figure:
    """Inertia errors side by side. RTLS lies on OLS where motion is exact: it is dashed."""
    return curves(
        groups,
        xlabel=xlabel,
        ylabel="inertia error [%]",
        columns=min(len(groups), 3),
        log_y=log_y,
        points=True,
        dashed=("RTLS",),
        same_y=True,
    )


def torque_figure(thing: StudyObject, run: ArmRun) -> Figure:
    """Figure 8: torques of the simulated arm's sensor, true and predicted from the estimates."""
    estimates = solve_arm(thing, run)
    data = run.smoothed
    A = wrench_regressor(data.a, data.omega, data.alpha)
    time = data.time - data.time[0]
    groups = {}
    for method in ("PMD c1=5000", "MAP"):
        predicted = A @ estimates[method].values
        lines = {}
        for i, name in enumerate("xyz", 3):
            lines[name] = (time, run.true_wrench[:, i])
            lines[f"{name}, predicted"] = (time, predicted[:, i])
        groups[method.replace("c1=", "c1 = ")] = lines
    return curves(
        groups,
        xlabel="time [s]",
        ylabel="torque [N m]",
        columns=2,
        dashed=tuple(f"{name}, predicted" for name in "xyz"),
    )
