# SPDX-License-Identifier: Apache-2.0
"""Figures 4 to 8 of the payload study."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sysid_core.estimation.payload import CompressedWrenches, PointMassDiscretization
from sysid_core.report import COLOURS, new_figure
from sysid_core.robot import wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.studies.payload.arm import ArmRun, solve_arm
from sysid_core.studies.payload.objects import StudyObject, modular_objects
from sysid_core.studies.payload.runs import Case, Result, simulate
from sysid_core.studies.payload.tables import StudyTable
from sysid_core.validation import payload_errors

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
    figure, axes = new_figure(1, 2, height=2.8)
    points = [row[0] for row in rows]
    axes[0].plot(points, [row[2] for row in rows], "o-", label="COM")
    axes[0].plot(points, [row[3] for row in rows], "s-", label="inertia")
    axes[0].axvline(56, color="grey", linewidth=0.8, linestyle=":")
    axes[0].set_ylabel("error [%]")
    axes[0].legend(frameon=False, fontsize=8)
    axes[1].plot(points, [row[4] for row in rows], "o-")
    axes[1].set_ylabel("solve [ms]")
    for axis in axes:
        axis.set_xlabel("point masses")
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_ylim(0, None)
    return figure, table


def weight_figure(
    speeds: Sequence[float], seconds: Sequence[float], names: Sequence[str]
) -> Figure:
    """Figure 5: inertia error of PMD over time, by speed, for several c_1."""
    scales = (5.0, 300.0, 3000.0, 25000.0)
    figure, axes = new_figure(1, len(scales), height=2.8, width=11.0)
    for axis, scale in zip(axes, scales, strict=True):
        for colour, speed in zip(COLOURS, speeds, strict=False):
            curves = []
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
                curves.append(curve)
            mean = np.mean(curves, axis=0)
            axis.plot(seconds, mean, "o-", color=colour, markersize=3, label=f"{speed:g} rad/s")
        axis.set_title(f"c1 = {scale:g}", fontsize=9)
    _compare(figure, axes, "data [s]")
    return figure


def noise_figure(results: Sequence[Result], methods: Sequence[str]) -> Figure:
    """Figure 6: inertia error against speed at three noise levels."""
    groups: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for r in results:
        groups[r.case.noise, r.method, r.case.speed].append(r.inertia)
    noises = [n for n in ("low", "moderate", "high") if any(r.case.noise == n for r in results)]
    speeds = sorted({r.case.speed for r in results})
    figure, axes = new_figure(1, len(noises), height=3.0, width=10.0)
    for axis, noise in zip(axes, noises, strict=True):
        for colour, method in zip(COLOURS, methods, strict=False):
            values = [float(np.mean(groups[noise, method, s])) for s in speeds]
            axis.semilogy(speeds, values, _style(method), color=colour, label=method, markersize=3)
        axis.axvline(ISO_SPEED, color="grey", linewidth=0.8)
        axis.set_title(f"{noise} noise", fontsize=9)
    _compare(figure, axes, "mean angular speed [rad/s]")
    return figure


def time_figure(results: Sequence[Result], methods: Sequence[str]) -> Figure:
    """Figure 7: inertia error over time at moderate noise, one picture per speed."""
    groups: dict[tuple[float, str, float], list[float]] = defaultdict(list)
    for r in results:
        groups[r.case.speed, r.method, r.case.seconds].append(r.inertia)
    speeds = sorted({r.case.speed for r in results})
    seconds = sorted({r.case.seconds for r in results})
    figure, axes = new_figure(1, len(speeds), height=3.0, width=max(9.0, 2.4 * len(speeds)))
    for axis, speed in zip(axes, speeds, strict=True):
        for colour, method in zip(COLOURS, methods, strict=False):
            values = [float(np.mean(groups[speed, method, s])) for s in seconds]
            axis.semilogy(seconds, values, _style(method), color=colour, label=method, markersize=3)
        axis.set_title(f"{speed:g} rad/s", fontsize=9)
    _compare(figure, axes, "data [s]")
    return figure


def _style(method: str) -> str:
    """RTLS lies on OLS where motion is exact: it is dashed so that both are seen."""
    return "o--" if method == "RTLS" else "o-"


def _legend(figure: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)


def _compare(figure: Figure, axes: Sequence[Axes], xlabel: str) -> None:
    """Inertia errors side by side: one scale, plain numbers, one legend."""
    low = min(axis.get_ylim()[0] for axis in axes)
    high = max(axis.get_ylim()[1] for axis in axes)
    logarithmic = axes[0].get_yscale() == "log"
    for axis in axes:
        axis.set_ylim(low if logarithmic else 0.0, high)
        axis.set_xlabel(xlabel)
        if logarithmic:
            axis.yaxis.set_major_formatter("{x:g}")
    axes[0].set_ylabel("inertia error [%]")
    _legend(figure, axes[0])


def torque_figure(thing: StudyObject, run: ArmRun) -> Figure:
    """Figure 8: torques of the simulated arm's sensor, true and predicted from the estimates."""
    estimates = solve_arm(thing, run)
    data = run.smoothed
    A = wrench_regressor(data.a, data.omega, data.alpha)
    figure, axes = new_figure(1, 2, height=3.0, width=10.0)
    for axis, method in zip(axes, ("PMD c1=5000", "MAP"), strict=True):
        predicted = A @ estimates[method].values
        for i, (colour, name) in enumerate(zip(COLOURS, "xyz", strict=False)):
            axis.plot(data.time - data.time[0], run.true_wrench[:, 3 + i], color=colour, label=name)
            axis.plot(data.time - data.time[0], predicted[:, 3 + i], "--", color=colour)
        axis.set_title(method.replace("c1=", "c1 = "), fontsize=9)
        axis.set_xlabel("time [s]")
    axes[0].set_ylabel("torque [N m]")
    _legend(figure, axes[0])
    return figure
