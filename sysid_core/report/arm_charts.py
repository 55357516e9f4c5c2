# SPDX-License-Identifier: Apache-2.0
"""Charts of an identified arm: efforts, residuals, parameters, and the robot in space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification
from sysid_core.report.charts import (
    COLOURS,
    add_line,
    curves,
    dots_with_bars,
    ellipsoid,
    histogram,
    label_time,
    panels,
    scene,
    spectra,
)
from sysid_core.robot import Array, is_physically_consistent, pseudo_inertia_from_pi
from sysid_core.validation import Prediction

if TYPE_CHECKING:
    import plotly.graph_objects as go


NOMINAL = "URDF's inertials"


def prediction_chart(prediction: Prediction) -> go.Figure:
    """Measured, predicted and remaining effort of every joint over time; all axes zoom together."""
    joints = prediction.joints()
    titles = [
        f"{name}: RMS {joints[name]['rms']:.3g} {prediction.unit}"
        + (f", R² {joints[name]['r2']:.4f}" if prediction.motion.any() else ", at rest")
        for name in prediction.joint_names
    ]
    figure = panels(titles)
    for j in range(len(prediction.joint_names)):
        measured, predicted = prediction.measured[:, j], prediction.predicted[:, j]
        lines = {"measured": (measured, COLOURS[5])}
        if prediction.nominal is not None:
            lines[NOMINAL] = (prediction.nominal[:, j], "#8a8f98")
        lines["predicted"] = (predicted, COLOURS[2])
        lines["difference"] = (measured - predicted, COLOURS[1])
        for name, (values, colour) in lines.items():
            dash = "dot" if name == NOMINAL else "solid"
            add_line(
                figure, j, prediction.time, values, name=name, colour=colour, width=1.0, dash=dash
            )
        if np.any(prediction.motion):
            inside = prediction.time[prediction.motion]
            figure.add_vrect(
                x0=float(inside[0]), x1=float(inside[-1]), row=j + 1, col=1,
                fillcolor="#888888", opacity=0.08, line_width=0,
            )  # fmt: skip
    figure.update_yaxes(title_text=prediction.unit)
    label_time(figure)
    return figure


def residual_charts(prediction: Prediction) -> Iterator[tuple[go.Figure, str]]:
    """Spectrum and distribution of what the model leaves over in motion, with captions."""
    rows = np.isfinite(prediction.predicted).all(axis=1)
    if prediction.motion.any():
        rows &= prediction.motion
    residual = (prediction.measured - prediction.predicted)[rows]
    residual = residual[np.isfinite(residual).all(axis=1)]
    if len(residual) < 64:
        return
    rate = (len(prediction.time) - 1) / float(prediction.time[-1] - prediction.time[0])
    yield (
        spectra(residual, rate, prediction.joint_names, prediction.unit),
        f"{prediction.source}: where in frequency the residual lies. A line is a wave of gears or"
        " motors, a slope at low frequency is model error, a flat end is sensor noise.",
    )
    yield (
        histogram(residual, prediction.joint_names, prediction.unit),
        f"{prediction.source}: distribution of the residual of every joint.",
    )


def parameter_charts(identification: Identification) -> Iterator[tuple[go.Figure, str]]:
    """Estimates with ± 2 sd beside the URDF's values, one chart a unit, with captions."""
    estimate = identification.estimate
    terms = [terms_of(estimate, name) for name in estimate.names]
    labels = [
        name + (f" and {len(of) - 1} more" if len(of) > 1 else "")
        for name, of in zip(estimate.names, terms, strict=True)
    ]
    links = set(identification.names[: 10 * identification.model.n_bodies])
    kinds = [(n in links, u) for n, u in zip(estimate.names, estimate.units, strict=True)]
    for inertial, unit in dict.fromkeys(kinds):
        rows = [i for i, kind in enumerate(kinds) if kind == (inertial, unit)]
        reference = [nominal_value(identification, terms[i]) for i in rows]
        chart = dots_with_bars(
            [labels[i] for i in rows],
            estimate.values[rows],
            estimate.standard_deviations[rows],
            reference=reference if np.isfinite(reference).any() else None,
            groups=[estimate.verdicts[i].value for i in rows],
            details=[combination_of(terms[i]) for i in rows],
            unit=unit,
        )
        beside = " Grey marks: the URDF." if np.isfinite(reference).any() else ""
        of = "Links" if inertial else "Friction and drives"
        yield chart, f"{of}, {unit}, ± 2 standard deviations; colour: verdict.{beside}"


def convergence_chart(changes: Sequence[float]) -> go.Figure:
    """Change of the values in every round of an iterated fit, in deviations."""
    rounds = np.arange(1, len(changes) + 1)
    floor = np.finfo(float).tiny  # a round that changed nothing has a place on the axis too
    line = (rounds, np.maximum(np.asarray(changes), floor))
    return curves(
        {"": {"change": line}}, xlabel="round", ylabel="change [sd]", log_y=True, points=True
    )


def terms_of(estimate: Estimate, name: str) -> Mapping[str, float]:
    """What a parameter stands for: itself, or the combination of a base parameter."""
    return estimate.combinations.get(name) or {name: 1.0}


def combination_of(terms: Mapping[str, float]) -> str:
    """`link2.mx + 0.43 link3.m - ...`."""
    return " ".join(f"{c:+.3g} {n}" for n, c in terms.items()).removeprefix("+1 ")


def nominal_value(identification: Identification, terms: Mapping[str, float]) -> float:
    """The URDF's value of a combination; NaN where friction or drives are in it: URDFs have none."""
    links = identification.names[: 10 * identification.model.n_bodies]
    nominal = dict(zip(links, identification.model.pi.ravel().tolist(), strict=True))
    return float(sum(c * nominal.get(name, float("nan")) for name, c in terms.items()))


def robot_scene(identification: Identification) -> go.Figure:
    """The arm at its zero posture: links, centres of mass (URDF and identified), inertia ellipsoids.

    An ellipsoid is the uniform solid with the link's mass and inertia: the identified ones where
    every link is physically consistent, else the URDF's. Wider ones than the whole arm are hidden at
    first: they would hide it.
    """
    import pinocchio as pin
    import plotly.graph_objects as go

    model = identification.model
    data = model.pin_model.createData()
    pin.forwardKinematics(model.pin_model, data, model.configuration(model.home))
    poses = [data.oMi[j] for j in range(1, model.pin_model.njoints)]
    lines: list[list[float | None]] = [[], [], []]
    for j in range(1, model.pin_model.njoints):
        parent = model.pin_model.parents[j]
        for line, start, end in zip(
            lines, data.oMi[parent].translation, data.oMi[j].translation, strict=True
        ):
            line += [float(start), float(end), None]
    traces = [
        go.Scatter3d(
            x=lines[0], y=lines[1], z=lines[2], mode="lines",
            line={"color": "#888888", "width": 7}, name="joint to joint",
        )
    ]  # fmt: skip
    whole = bool(np.all(is_physically_consistent(identification.pi)))
    drawn = identification.pi if whole else model.pi
    consistent = np.atleast_1d(is_physically_consistent(drawn))
    for label, pi, symbol, colour in (
        ("centre of mass, URDF", model.pi, "circle-open", "#888888"),
        ("centre of mass, identified", identification.pi, "diamond", COLOURS[1]),
    ):
        if pi is not model.pi and not whole:
            continue
        known = [k for k in range(model.n_bodies) if pi[k, 0] > 1e-6]
        points = np.array([poses[k].act(pi[k, 1:4] / pi[k, 0]) for k in known]).reshape(-1, 3)
        traces.append(
            go.Scatter3d(
                x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers", name=label,
                marker={"symbol": symbol, "size": 5, "color": colour},
                text=[f"{model.body_names[k]}: {pi[k, 0]:.3g} kg" for k in known],
            )
        )  # fmt: skip
    solids = [
        _solid(drawn[k], poses[k], model.body_names[k], COLOURS[k % len(COLOURS)])
        for k in np.flatnonzero(consistent & (drawn[:, 0] > 1e-6))
    ]
    joints = np.array([pose.translation for pose in poses])
    widest = float(np.linalg.norm(np.ptp(joints, axis=0)))
    for solid, width in solids:
        solid.visible = "legendonly" if width > widest > 0 else True
        traces.append(solid)
    return scene(traces)


def _solid(pi: Array, X_WB: Any, name: str, colour: str) -> tuple[Any, float]:
    """The uniform ellipsoid with a body's mass and inertia, and its width [m].

    Args:
        pi: Inertial parameters of the body, shape (10,).
        X_WB: Its pose.
        name: Its name.
        colour: That it is drawn in.
    """
    c = pi[1:4] / pi[0]
    spread = 5.0 * (pseudo_inertia_from_pi(pi)[:3, :3] / pi[0] - np.outer(c, c))
    R = X_WB.rotation
    drawn = ellipsoid(X_WB.act(c), R @ spread @ R.T, name=name, colour=colour, opacity=0.25)
    return drawn, 2.0 * float(np.sqrt(np.linalg.eigvalsh(spread)[-1]))
