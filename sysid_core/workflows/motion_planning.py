# SPDX-License-Identifier: Apache-2.0
"""Planning of motions: from settings to a checked motion with its files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.estimation.payload import PayloadData, PayloadSummary
from sysid_core.estimation.payload_map import PayloadMAP, SensorModel
from sysid_core.files import FileKind
from sysid_core.planning import (
    LimitsFile,
    MotionChecker,
    PosturePlan,
    Trajectory,
    plan_servo_motion,
)
from sysid_core.planning.closed_chain import LoopExcitation, plan_loop_motion
from sysid_core.planning.design import Unknowns
from sysid_core.planning.payload import WRENCH_NOISE, plan_payload_motion
from sysid_core.planning.sequential import SequentialPlan
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel, wrench_regressor
from sysid_core.robot.loops import load_closed_chain
from sysid_core.robot.shapes import Shape
from sysid_core.settings import numbers, plain_settings
from sysid_core.workflows.inputs import inputs_of
from sysid_core.workflows.plan_arm import search_arm
from sysid_core.workflows.plan_settings import (
    ArmPlanSettings,
    LoopsPlanSettings,
    MotionSettings,
    PayloadPlanSettings,
    PosturePlanSettings,
    SequentialPlanSettings,
    ServoPlanSettings,
)
from sysid_core.workflows.planned import (
    Planned,
    PlannedMotion,
    Planning,
    PlanProgress,
    limits_of,
)

_COLUMNS = ("joint", "settles", "postpones", "condition")


def plan(
    robot: str, settings: MotionSettings, progress: PlanProgress | None = None
) -> PlannedMotion:
    """Plan a motion; the type of the settings selects its kind.

    Args:
        robot: URDF file, reference robot, robot of example-robot-data, or file of kinematic loops.
        settings: Settings of the motion, whose type selects its kind.
        progress: Function called with the completed share and a description of the step.

    Raises:
        SysIdError: The robot is unknown, settings contradict each other, or no motion respects the
            limits; the message lists them.
    """
    common = settings.common
    model = (
        load_closed_chain(robot, settings.urdf or None).model
        if isinstance(settings, LoopsPlanSettings)
        else RobotModel.from_urdf(robot)
    )
    model = LimitsFile.driven_robot(
        model, common.limits, lock=common.lock, gravity=common.gravity, mount=common.mount
    )
    say = progress or (lambda share, text: None)
    limits = limits_of(common, model)
    if isinstance(settings, ServoPlanSettings):  # torques of servos are neither known nor measured
        limits = limits.replace(effort=np.full(model.nv, np.inf))
    inputs = inputs_of({"robot": robot, **plain_settings(settings)})
    planning = Planning(robot, model, limits, common.rate_hz, common.seed, say, inputs)
    return PlannedMotion(planning, _SEARCHES[type(settings)](settings, planning))


def _payload(settings: PayloadPlanSettings, planning: Planning) -> Planned:
    model, s = planning.model, settings
    found = plan_payload_motion(
        model,
        planning.limits,
        posture=numbers(s.posture, (model.nv,), "--posture", ExcitationError)
        if s.posture
        else None,
        mean_angular_speed=s.speed,
        duration=s.duration,
        amplitude=math.radians(s.amplitude_deg),
        n_tare=s.tare,
        still=s.still,
        rate_hz=planning.rate_hz,
        seed=planning.seed,
        progress=lambda share: planning.progress(share, "choosing a posture"),
    )
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/payload_plan/1",
        result={
            "posture": found.posture.tolist(),
            "wrist_joints": list(found.wrist_joints),
            "frequencies_hz": list(found.frequencies_hz),
            "mean_angular_speed": found.mean_angular_speed,
            "segments": [
                {"label": x.label, "start": x.start, "end": x.end}
                for x in found.trajectory.segments
            ],
        },
        title="Payload motion",
        facts={
            "oscillating joints": ", ".join(found.wrist_joints),
            "frequencies": ", ".join(f"{f:.3f} Hz" for f in found.frequencies_hz),
            "expected accuracy": _expected_accuracy(
                model, planning.limits.tcp_frame, found.trajectory
            ),
            "amplitude": f"{s.amplitude_deg:g}°",
            "mean angular speed of the last link": f"{found.mean_angular_speed:g} rad/s",
            "posture [rad]": ", ".join(f"{x:.3f}" for x in found.posture),
        },
        remarks=[
            "The static postures separate the sensor's bias from the load's weight; the"
            " oscillation (Nadeau, Giamou and Kelly 2022) excites its inertia.",
        ],
    )


def _expected_accuracy(model: RobotModel, frame: str, trajectory: Trajectory) -> str:
    """Expected standard deviations for an object of 1 kg and 0.2 m, as text.

    The default estimator identifies this object from simulated data with noise (moderate, of Nadeau
    et al. 2022) and the errors of an ordinary sensor, without knowledge of the shape.

    Args:
        model: Robot model.
        frame: Frame of the sensor.
        trajectory: The motion.
    """
    step = max(1, len(trajectory.time) // 1500)
    columns = model.columns_from(trajectory.joint_names)
    q, v, a = (x[::step, columns] for x in (trajectory.q, trajectory.v, trajectory.a))
    motion = model.frame_motion(frame, q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    wrench = A @ Shape.box([0.2, 0.2, 0.2]).homogeneous(1.0)
    wrench = wrench + WRENCH_NOISE * np.random.default_rng(0).normal(size=wrench.shape)
    data = replace(PayloadData.of(trajectory.time[::step], wrench, motion), R_WS=None)
    found = PayloadSummary.of(PayloadMAP(None, sensor=SensorModel()).fit(data))
    inertia = float(np.max(np.diag(found.inertia_sd) / np.diag(found.inertia)))
    return (
        "for 1 kg, 0.2 m, an ordinary sensor, shape unknown: mass ±"
        f" {100 * found.mass_sd / found.mass:.2g} %, centre of mass ±"
        f" {1e3 * float(np.max(found.com_sd)):.2g} mm, inertia ± {100 * inertia:.2g} %"
    )


def _postures(settings: PosturePlanSettings, planning: Planning) -> Planned:
    checker = MotionChecker(planning.model, planning.limits)
    s = settings
    how = {"still": s.still, "rate_hz": planning.rate_hz, "seed": planning.seed}
    if s.through is not None:
        given = _read_postures(s.through, planning.model.joint_names)
        trajectory = PosturePlan.through(checker, given, **how)  # type: ignore[arg-type]
        return Planned(
            trajectory,
            checker.check(trajectory),
            schema="robot_sysid/posture_plan/1",
            result={"postures": given},
            title="Motion through given postures",
            facts={"postures": len(given)},
        )
    unknowns = Unknowns.of_arm(planning.model, terms=(FrictionTerm.OFFSET,))
    found = PosturePlan.of(
        checker,
        unknowns,
        s.count,
        progress=planning.progress,
        **how,  # type: ignore[arg-type]
    )
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/posture_plan/1",
        result={
            "postures": found.postures.tolist(),
            "base_parameters": [
                {"name": n, "before": before, "after": later, "known": word}
                for n, before, later, word in found.expectation.rows()
            ],
        },
        title="Static postures",
        facts={"postures": s.count, "expected": str(found.expectation)},
        remarks=[
            "At rest only gravity torques (first moments of mass) and offsets are identifiable."
        ],
        lines=[str(found.expectation)],
    )


def _read_postures(path: Path, joint_names: tuple[str, ...]) -> list[list[float]]:
    """Postures of a table with a column for each joint, in the robot's order.

    Raises:
        ExcitationError: The file cannot be read, or a joint or number is missing.
    """
    remedy = f"Write a first line {','.join(joint_names)} and a row for each posture."
    kind = FileKind("table of postures", remedy, ExcitationError)
    try:
        rows = csv.DictReader(kind.read_text(path).splitlines())
        return [[float(row[name]) for name in joint_names] for row in rows]
    except (csv.Error, KeyError, TypeError, ValueError) as err:
        raise kind.refusal(path, f"it holds no postures ({type(err).__name__} {err})") from err


def _sequential(settings: SequentialPlanSettings, planning: Planning) -> Planned:
    model, s = planning.model, settings
    swings = s.moves or 5 * model.nv
    planning.progress(
        0.0,
        f"some {swings} swings of {model.nv} joints, and more where friction hides torques: about"
        f" {max(1, round(swings * 25 / 60))} min of motion on the robot",
    )
    found = SequentialPlan.of(
        model,
        planning.limits,
        FrictionModel(DriveTrain.direct(model.joint_names), FrictionTerm.listed(s.friction)),
        np.random.default_rng(planning.seed),
        locked_measured=s.link_torque,
        q_start=numbers(s.start, (model.nv,), "--start", ExcitationError) if s.start else None,
        n_moves=s.moves or None,
        candidates=s.candidates,
        amplitude=s.amplitude,
        rate_hz=planning.rate_hz,
        seed=planning.seed,
        progress=lambda phase, share: planning.progress(share, phase),
    )
    return _of_swings(found, "behind the gears" if s.link_torque else "at the motors")


def _of_swings(found: SequentialPlan, torques: str) -> Planned:
    """Planned swings with their steps, and the place at which torques are measured."""
    steps = [(s.name, s.n_settled, s.n_postponed, s.condition) for s in found.steps]
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/sequential_plan/1",
        result={
            "parameters": list(found.constants),
            "worst_condition": found.worst_condition,
            "steps": [dict(zip(_COLUMNS, step, strict=True)) for step in steps],
            "swings": [
                {
                    "label": m.label,
                    "joints": [found.trajectory.joint_names[i] for i in m.joints],
                    "amplitude": list(m.amplitude),
                    "posture": m.posture.tolist(),
                    "duration": m.duration,
                }
                for m in found.moves
            ],
            "remarks": list(found.remarks),
        },
        title="One joint at a time",
        facts={
            "swings": f"{len(found.moves)}, of which {found.n_pairs} with two joints",
            "parameters": len(found.constants),
            "worst condition of a step": f"{found.worst_condition:.3g}",
            "torques": torques,
        },
        remarks=[
            "Sequential identification (Lin 1992): the last joint is solved first, and every step"
            " treats earlier results as known.",
            *found.remarks,
        ],
        tables=[
            ("Steps", _COLUMNS, steps),
            (
                "Swings",
                ("swing", "amplitude", "posture"),
                [(m.label, _radians(m.amplitude), _radians(m.posture)) for m in found.moves],
            ),
        ],
        lines=[
            f"{len(found.moves)} swings determine all {len(found.constants)} constants",
            *(f"note: {note}" for note in found.remarks),
        ],
    )


def _radians(q: object) -> str:
    return " ".join(f"{x:.2f}" for x in np.asarray(q))


def _servos(settings: ServoPlanSettings, planning: Planning) -> Planned:
    s = settings
    found = plan_servo_motion(
        planning.model,
        planning.limits,
        period=s.period,
        slow=s.slow,
        n_candidates=s.candidates,
        seed=planning.seed,
        still=s.still,
        rate_hz=planning.rate_hz,
        progress=planning.progress,
    )
    return Planned(
        found.trajectory,
        found.check,
        schema="robot_sysid/servo_plan/1",
        result={"information": found.information, "slow": s.slow, "period": s.period},
        title="Motion for position servos",
        facts={
            "series": f"{found.basis}, at {100 * s.slow:.0f} % of its speed, then at full speed",
            "information": f"{found.information:.2f} (mean log-determinant of a joint's regressors)",
        },
        remarks=[
            "Torques are neither used nor limited: a position servo does not measure them.",
            "The slow pass separates dry friction from damping; the rests show sticking.",
        ],
    )


def _loops(settings: LoopsPlanSettings, planning: Planning) -> Planned:
    s = settings
    chain = load_closed_chain(planning.robot, s.urdf or None)
    config = LoopExcitation(
        duration=s.duration,
        harmonics=s.harmonics,
        fill=0.7,
        velocity=s.velocity,
        population=s.candidates,
        generations=s.generations,
        inertials=True,
        rate_hz=planning.rate_hz,
    )
    trajectory, check = plan_loop_motion(
        chain,
        planning.limits,
        config,
        n_motions=s.motions,
        still=s.still,
        seed=planning.seed,
        progress=lambda share: planning.progress(share, "searching for exciting motions"),
    )
    return Planned(
        trajectory,
        check,
        schema="robot_sysid/loop_plan/1",
        result={
            "actuated": list(chain.actuated),
            "passive": list(chain.passive),
            "remarks": list(trajectory.notes),
        },
        title="Exciting motion",
        facts={
            "driven joints": ", ".join(chain.actuated),
            "joints that follow": ", ".join(chain.passive),
            "motions": f"{s.motions} of {s.duration:g} s, {s.harmonics} harmonics",
        },
        lines=list(trajectory.notes),
        chain=chain,
    )


_SEARCHES: dict[type, Callable[[Any, Planning], Planned]] = {
    ArmPlanSettings: search_arm,
    PayloadPlanSettings: _payload,
    PosturePlanSettings: _postures,
    SequentialPlanSettings: _sequential,
    ServoPlanSettings: _servos,
    LoopsPlanSettings: _loops,
}
