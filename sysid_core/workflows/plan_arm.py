# SPDX-License-Identifier: Apache-2.0
"""Planning of the motion that determines all parameters of an arm best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.diagnosis import RecordedMotion
from sysid_core.errors import ExcitationError
from sysid_core.estimation import Estimate
from sysid_core.planning import ArmPlan, Trajectory, joints_beside_arm
from sysid_core.planning.design import Unknowns
from sysid_core.report import Figure
from sysid_core.robot import FrictionTerm, RobotModel
from sysid_core.settings import numbers
from sysid_core.signals import ColumnMap
from sysid_core.workflows.arm_data import ArmData
from sysid_core.workflows.plan_settings import ArmPlanSettings
from sysid_core.workflows.planned import Planned, Planning

RATE_HZ = 50.0  # of a trajectory's samples whose information is counted
MOVING = 0.01  # [rad/s or m/s], slower is standing still


def search_arm(settings: ArmPlanSettings, planning: Planning) -> Planned:
    """Plan an exciting motion of a whole arm, and a validation motion if requested."""
    unknowns = _unknowns(settings, planning.model)
    found = _search(settings, planning, unknowns)
    others = {}
    if settings.validation:
        others["validation"] = _other_motion(settings, planning, found)
    return _planned_motion(found, unknowns, f"{found.basis}", others)


def _unknowns(settings: ArmPlanSettings, model: RobotModel) -> Unknowns:
    """Parameters to be estimated, with the information from earlier data."""
    _refuse_fingers(model)
    sd = (
        numbers(settings.effort_sd, (1, model.nv), "--effort-sd", ExcitationError)
        if settings.effort_sd
        else None
    )
    terms = FrictionTerm.listed(settings.friction) if settings.friction != "none" else ()
    unknowns = Unknowns.of_arm(model, terms=terms, effort_sd=sd)
    for path in settings.after:
        unknowns = _known_before(unknowns, path, settings.columns)
    return unknowns


def _search(settings: ArmPlanSettings, planning: Planning, unknowns: Unknowns) -> ArmPlan:
    model, s = planning.model, settings
    names, task = _targets(model, s.target)
    return ArmPlan.of(
        model,
        planning.limits,
        unknowns=unknowns,
        criterion="target" if s.target and s.criterion == "d" else s.criterion,
        targets=names,
        task=task,
        period=s.period,
        n_harmonics=s.harmonics or None,
        n_spans=s.spans or None,
        seed=planning.seed,
        n_candidates=s.candidates,
        n_starts=s.starts,
        n_iterations=s.iterations,
        workers=s.workers,
        still=s.still,
        rate_hz=planning.rate_hz,
        progress=planning.progress,
    )


def _other_motion(settings: ArmPlanSettings, planning: Planning, found: ArmPlan) -> Trajectory:
    planning.progress(0.95, "planning the motion for validation")
    return ArmPlan.validation_motion(
        planning.model,
        planning.limits,
        found.trajectory,
        still=settings.still,
        rate_hz=planning.rate_hz,
    )


def _refuse_fingers(model: RobotModel) -> None:
    """Raise an error for joints of grippers and for wheels, which no motion of the arm excites, and
    name the options that lock them.

    Raises:
        ExcitationError: The robot has joints of a gripper, or wheels; the message lists them.
    """
    fingers, wheels = joints_beside_arm(model)
    if fingers:
        raise ExcitationError(
            f"The joints {list(fingers)} of '{model.name}' are a gripper's: they have no room to move.",
            remedy=f"Lock them: {RobotModel.lock_options(fingers)}.",
        )
    if wheels:
        raise ExcitationError(
            f"The joints {wheels} of '{model.name}' rotate without end and do not carry the tool:"
            " they are wheels, on which the robot would drive.",
            remedy=f"Lock them: {RobotModel.lock_options(wheels)}.",
        )


def _targets(model: RobotModel, given: Sequence[str]) -> tuple[tuple[str, ...], Any]:
    """Names of parameters, or the motion in a file."""
    files = [text for text in given if Path(text).suffix == ".npz"]
    if not files:
        return tuple(given), None
    if len(given) > 1:
        raise ExcitationError(
            "--target is given more than once, and one of the values is a trajectory.",
            remedy="Give base parameters, or one trajectory.",
        )
    task = Trajectory.load(files[0])
    task.belongs_to(model)
    step = max(1, len(task.time) // 500)
    columns = model.columns_from(task.joint_names)
    return (), tuple(x[::step, columns] for x in (task.q, task.v, task.a))


def _known_before(unknowns: Unknowns, path: Path, columns: Path | None = None) -> Unknowns:
    """Unknown parameters after the information of an earlier file is used.

    Args:
        unknowns: Unknown parameters before the file is used.
        path: `estimate.yaml`, whose covariance is used; or an executed trajectory or a recording,
            of whose motion the information is used.
        columns: Column map, for recordings that are tables.

    Raises:
        ExcitationError: The file is none of these, or contains other parameters.
    """
    model = unknowns.model
    if path.suffix in (".yaml", ".yml") and not path.is_dir():
        estimate = Estimate.load(path)
        return unknowns.after(estimate.names, estimate.covariance)
    if path.suffix == ".npz":
        played = Trajectory.load(path)
        played.belongs_to(model)
        time = np.arange(played.time[0], played.time[-1], 1.0 / RATE_HZ)
        states = np.array([played.at(t) for t in time])
        states = states[:, :, model.columns_from(played.joint_names)]
        states = states[np.any(np.abs(states[:, 1]) > MOVING, axis=1)]
        q, v, a, duration = *np.moveaxis(states, 1, 0), len(states) / RATE_HZ
    else:
        run = ArmData.recording(path, ColumnMap.load(columns) if columns else None)
        motion = RecordedMotion.of(model, run.joints)
        q, v, a, duration = motion.q, motion.v, motion.a, motion.duration
    if not len(q):
        raise ExcitationError(
            f"Nothing moves in '{path}'.", remedy="Remove this file from --after."
        )
    return unknowns.after_information(unknowns.information(q, v, a, duration))


def _planned_motion(
    found: ArmPlan, unknowns: Unknowns, series: str, others: Mapping[str, Trajectory]
) -> Planned:
    """Plan with the texts and figures for display and files.

    Args:
        found: Planned motion with its expected accuracy.
        unknowns: Parameters to be estimated.
        series: Description of the series.
        others: Further motions, by name of their file.
    """
    expectation = found.expectation
    random = _random_deviation(found)
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/arm_plan/2",
        result=_result(found, unknowns),
        title="Exciting motion",
        facts={
            "excitation": str(found.conditioning),
            "series": series,
            "expected": str(expectation),
            "mean expected deviation": f"{100 * expectation.mean_deviation:.2g} % of the natural"
            f" size (best of a few random motions: {100 * random:.2g} %)",
            "efforts": "noise "
            + ", ".join(f"{x:.3g}" for x in unknowns.effort_sd)
            + f" N m, correlated over {unknowns.correlation:g} s",
        },
        remarks=[
            "Deviations are expected standard deviations; well: below 10 % of the parameter's"
            " natural size (the URDF's mass and lengths), roughly: below 50 %."
        ],
        tables=[
            (
                "Expected accuracy",
                ("base parameter", "sd before", "sd after", "known"),
                [(n, f"{b:.3g}", f"{a:.3g}", w) for n, b, a, w in expectation.rows()],
            ),
            ("Longer or faster", ("change", "mean deviation", "known well"), _curve(found)),
        ],
        figures=[(_progress_figure(found), "Criterion during the optimisation.")]
        if found.history
        else [],
        lines=[str(found.conditioning), str(expectation)],
        others=others,
    )


def _result(found: ArmPlan, unknowns: Unknowns) -> dict[str, object]:
    """Entries of plan.json for this kind of motion."""
    excitation, expectation = found.conditioning.excitation, found.expectation
    return {
        "criterion": found.criterion.value,
        "rank": excitation.rank,
        "structural_rank": excitation.structural_rank,
        "maximally_exciting": excitation.maximally_exciting,
        "condition_number": found.conditioning.unit,
        "eigenvalue_ratio": found.conditioning.eigenvalue_ratio,
        "mean_deviation": expectation.mean_deviation,
        "mean_friction_deviation": expectation.mean_friction_deviation,
        "random_mean_deviation": _random_deviation(found),
        "base_parameters": [
            {"name": n, "before": before, "after": later, "known": word}
            for n, before, later, word in expectation.rows()
        ],
        "effort_sd": unknowns.effort_sd.tolist(),
        "period": found.basis.period,
        found.basis.size_name: found.basis.size,
        "centre": found.centre.tolist(),
        "coefficients": found.coefficients.tolist(),
    }


def _random_deviation(found: ArmPlan) -> float:
    """Mean standard deviation after the best of a few random motions."""
    return found.random.mean_deviation if found.random else float("nan")


def _curve(found: ArmPlan) -> list[tuple[str, str, str]]:
    """Expected standard deviations for a longer or faster motion of the same shape."""
    rows = []
    for label, expectation in found.alternatives():
        well = int((expectation.relative <= 0.1).sum())
        rows.append(
            (
                label,
                f"{100 * expectation.mean_deviation:.2g} %",
                f"{well} of {len(expectation.names)}",
            )
        )
    return rows


def _progress_figure(found: ArmPlan) -> Figure:
    """Chart of the criterion over the iterations of the best search run."""
    name = f"criterion '{found.criterion.value}'"
    return Figure.curves(
        {name: {name: (range(len(found.history)), found.history)}}, xlabel="iteration", height=220
    )
