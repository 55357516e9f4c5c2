# SPDX-License-Identifier: Apache-2.0
"""Charts of predictions, and the table of exported files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification
from sysid_core.export import ExportedError
from sysid_core.report.charts import COLOURS, GREY, ROLES, Dots, Figure, dots_with_bars, spectra
from sysid_core.report.html import Report
from sysid_core.report.space import ellipsoid, points, scene, skeleton, solid_robot
from sysid_core.robot import (
    Array,
    is_physically_consistent,
    pseudo_inertia_from_pi,
)
from sysid_core.robot.loops import DrivenRobot
from sysid_core.validation import Prediction

NOMINAL = "masses of the URDF"
SOLIDS = "uniform solids of the same inertia"


def prediction_chart(prediction: Prediction) -> Figure:
    """Return a chart of the measured effort, predicted effort and residual of every joint over
    time; all time axes zoom together.
    """
    joints = prediction.joints()
    titles = [
        f"{name}: RMS {joints[name]['rms']:.3g} {prediction.unit}"
        + (f", R² {joints[name]['r2']:.4f}" if prediction.motion.any() else ", at rest")
        for name in prediction.joint_names
    ]
    figure = Figure(titles, linked=True)
    for j in range(len(prediction.joint_names)):
        measured, predicted = prediction.measured[:, j], prediction.predicted[:, j]
        figure.line(j, prediction.time, measured, "measured", ROLES["measured"], width=1)
        if prediction.nominal is not None:
            nominal = prediction.nominal[:, j]
            figure.line(j, prediction.time, nominal, NOMINAL, GREY, width=1, dash="dot")
        figure.line(j, prediction.time, predicted, "predicted", ROLES["predicted"], width=1)
        difference = measured - predicted
        figure.line(j, prediction.time, difference, "difference", ROLES["difference"], width=1)
        if np.any(prediction.motion):
            inside = prediction.time[prediction.motion]
            figure.mark(j, "x", float(inside[0]), float(inside[-1]))
    figure.axis("y", title=prediction.unit)
    figure.label_time()
    return figure


def residual_chart(prediction: Prediction) -> Figure | None:
    """Return a chart with the spectra of the residuals during motion; None if there are too few
    samples.
    """
    rows = np.isfinite(prediction.predicted).all(axis=1)
    if prediction.motion.any():
        rows &= prediction.motion
    residual = (prediction.measured - prediction.predicted)[rows]
    residual = residual[np.isfinite(residual).all(axis=1)]
    if len(residual) < 64:
        return None
    rate = (len(prediction.time) - 1) / float(prediction.time[-1] - prediction.time[0])
    return spectra(residual, rate, prediction.joint_names, prediction.unit)


def parameter_chart(
    identification: Identification, estimate: Estimate, *, inertial: bool
) -> Figure | None:
    """Return a chart of estimates and URDF values, one panel per unit.

    Args:
        identification: Identified robot, with the natural scale of its parameters.
        estimate: Estimate of all parameters, or of the measured combinations.
        inertial: True for the links' parameters, False for those of friction and drives.
    """
    found_scale, model = identification.scale, identification.model
    natural = model.inertial_scale if found_scale is None else found_scale
    scale = dict(zip(identification.names, natural.tolist(), strict=False))
    links = set(identification.names[: 10 * model.n_bodies])
    rows = [i for i, name in enumerate(estimate.names) if (name in links) == inertial]
    found = []
    for unit in dict.fromkeys(estimate.units[i] for i in rows):
        some = [i for i in rows if estimate.units[i] == unit]
        terms = [terms_of(estimate, estimate.names[i]) for i in some]
        found.append(
            Dots(
                unit.replace("^2", "²"),
                [
                    estimate.names[i] + (f" + {len(of) - 1} terms" if len(of) > 1 else "")
                    for i, of in zip(some, terms, strict=True)
                ],
                estimate.values[some],
                np.array([_deviation(estimate, i) for i in some]),
                np.array([nominal_value(identification, of) for of in terms]),
                np.array([scale.get(estimate.names[i], np.nan) for i in some]),
                [combination_of(of) for of in terms],
                unit.replace("^2", "²"),
            )
        )
    return dots_with_bars(found) if found else None


def _deviation(estimate: Estimate, i: int) -> float:
    """Standard deviation of a parameter; NaN if the data alone do not determine it."""
    combined = estimate.verdicts[i] is ParameterVerdict.COMBINATION
    alone = len(terms_of(estimate, estimate.names[i])) == 1
    if estimate.verdicts[i] is ParameterVerdict.UNIDENTIFIABLE or (
        combined and alone and estimate.names[i] not in estimate.combinations
    ):
        return float("nan")
    return float(estimate.standard_deviations[i])


def convergence_chart(changes: Sequence[float]) -> Figure:
    """Return a chart of the change of the parameters in each iteration, in standard deviations."""
    rounds = np.arange(1, len(changes) + 1)
    floor = np.finfo(float).tiny  # a round that changed nothing has a place on the axis too
    line = (rounds, np.maximum(np.asarray(changes), floor))
    return Figure.curves(
        {"": {"change": line}}, xlabel="round", ylabel="change [sd]", log_y=True, points=True
    )


def terms_of(estimate: Estimate, name: str) -> Mapping[str, float]:
    """Return the linear combination that a parameter of the result stands for: the parameter
    itself, or that of a base parameter.
    """
    return estimate.combinations.get(name) or {name: 1.0}


def combination_of(terms: Mapping[str, float]) -> str:
    """Return the linear combination as text: `link2.mx + 0.43 link3.m - ...`."""
    return " ".join(f"{c:+.3g} {n}" for n, c in terms.items()).removeprefix("+1 ")


def nominal_value(identification: Identification, terms: Mapping[str, float]) -> float:
    """Return the value of a combination in the URDF; NaN if it contains friction or drive
    parameters, which URDFs lack.
    """
    links = identification.names[: 10 * identification.model.n_bodies]
    nominal = dict(zip(links, identification.model.pi.ravel().tolist(), strict=True))
    return float(sum(c * nominal.get(name, float("nan")) for name, c in terms.items()))


def robot_scene(identification: Identification) -> Figure:
    """Return the 3D view of the arm in its home posture with its centres of mass in the URDF and as
    identified.

    Uniform ellipsoids with the mass and inertia of each link are shown on demand, with the
    identified values if every link is physically consistent, otherwise with those of the URDF.
    """
    import pinocchio as pin

    model = identification.model
    data = model.pin_model.createData()
    pin.forwardKinematics(model.pin_model, data, model.configuration(model.home))
    poses = [data.oMi[j] for j in range(1, model.pin_model.njoints)]
    chain = model.chain if isinstance(model, DrivenRobot) else None
    lines = skeleton(model, model.home, chain=chain)[0]
    traces: list[Any] = [
        points(lines, "lines between joints", mode="lines", colour=GREY, width=4),
        *solid_robot(model, model.home, opacity=0.25),  # of the shapes on this computer
    ]
    whole = bool(np.all(is_physically_consistent(identification.pi)))
    drawn = identification.pi if whole else model.pi
    consistent = np.atleast_1d(is_physically_consistent(drawn))
    for label, pi, symbol, colour in (
        ("centre of mass, URDF", model.pi, "circle-open", GREY),
        ("centre of mass, identified", identification.pi, "diamond", COLOURS[1]),
    ):
        if pi is not model.pi and not whole:
            continue
        known = [k for k in range(model.n_bodies) if pi[k, 0] > 1e-6]
        centres = np.array([poses[k].act(pi[k, 1:4] / pi[k, 0]) for k in known])
        traces.append(points(centres, label, symbol=symbol, size=5, colour=colour))
    solids = [
        _solid(drawn[k], poses[k], COLOURS[k % len(COLOURS)])
        for k in np.flatnonzero(consistent & (drawn[:, 0] > 1e-6))
    ]
    return scene([*traces, *solids])


def _solid(pi: Array, X_WB: Any, colour: str) -> Any:
    """Uniform ellipsoid with the mass and inertia of a body, hidden at first.

    Args:
        pi: Inertial parameters of the body, shape (10,).
        X_WB: Pose of the body in the world.
        colour: Colour of the line.
    """
    c = pi[1:4] / pi[0]
    spread = 5.0 * (pseudo_inertia_from_pi(pi)[:3, :3] / pi[0] - np.outer(c, c))
    R = X_WB.rotation
    solid = ellipsoid(X_WB.act(c), R @ spread @ R.T, name=SOLIDS, colour=colour, opacity=0.25)
    return solid | {"hidden": True}


def export_table(
    errors: Sequence[tuple[ExportedError, str]],
) -> tuple[str, tuple[str, ...], list[list[str]]]:
    """Return a caption, columns and rows of a table with the errors of the model and of each
    exported file, and the effect of lost terms.
    """
    columns = ("file", "model error", "exported error", "ratio", "cost of the missing terms")
    rows = [
        [
            file,
            f"{100 * error.inside:.2f} %",
            f"{100 * error.exported:.2f} %",
            f"{error.rise:.2f}",
            error.stated_costs,
        ]
        for error, file in errors
    ]
    runs = "held-out recordings" if all(e.held_out for e, _ in errors) else "the fitted recordings"
    caption = (
        f"Relative error of the efforts in {runs}, of the identified model and of the exported file"
        " as read by other software. Last column: increase of the error due to each term that the"
        " format lacks."
    )
    return caption, columns, rows


def export_section(report: Report, errors: Sequence[tuple[ExportedError, str]]) -> None:
    """Report section on the exported files."""
    if not errors:
        return
    report.heading("Exported files", folded=True)
    caption, columns, rows = export_table(errors)
    report.table(columns, rows, caption=caption)
    for error, file in errors:
        report.table(
            ["joint", "RMS of the identified model", f"RMS of {file}"],
            [[name, *pair] for name, pair in error.joints.items()],
            caption="Errors during motion, in the unit of the efforts.",
        )
