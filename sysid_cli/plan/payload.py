# SPDX-License-Identifier: Apache-2.0
"""`sysid plan payload`: a motion that shows what a robot holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import plan
from sysid_cli.plan.run import (
    Planned,
    Planning,
    PlanOutOption,
    PlanRobotArgument,
    PlanSettings,
    StillOption,
    numbers,
    run_plan,
)
from sysid_cli.settings import command

if TYPE_CHECKING:
    from sysid_core.planning import Trajectory
    from sysid_core.robot import RobotModel


@dataclass(frozen=True, kw_only=True)
class PayloadPlanSettings:
    """Everything that `sysid plan payload` is given."""

    robot: PlanRobotArgument
    out: PlanOutOption = Path("payload_motion")
    speed: Annotated[
        float, typer.Option(min=0.01, help="Mean angular speed of the last link [rad/s].")
    ] = 1.0
    duration: Annotated[float, typer.Option(min=1.0, help="Duration of the oscillation [s].")] = (
        15.0
    )
    amplitude_deg: Annotated[
        float, typer.Option(min=1.0, max=180.0, help="Amplitude of the three wrist joints [deg].")
    ] = 45.0
    tare: Annotated[
        int, typer.Option(min=0, help="Static postures before it (0, or 3 and more).")
    ] = 4
    free_frequencies: Annotated[
        bool,
        typer.Option("--free-frequencies", help="Choose the ratio of the three frequencies too."),
    ] = False
    still: StillOption = 1.0
    posture: Annotated[
        str, typer.Option(help="Centre, one number per joint with commas [rad]; default: chosen.")
    ] = ""
    common: PlanSettings


@command(plan, "payload", example="sysid plan payload xarm7 --ground 0 --out plan")
def plan_payload(settings: PayloadPlanSettings) -> None:
    """Plan a payload motion: static postures, then an oscillation of the last three joints.

    Nothing is written unless the motion passes every check.
    """
    run_plan(settings.robot, settings.out, settings.common, lambda p: _search(settings, p))


def _search(settings: PayloadPlanSettings, planning: Planning) -> Planned:
    from sysid_core.planning.payload import plan_payload_motion

    model, s = planning.model, settings
    found = plan_payload_motion(
        model,
        planning.limits,
        posture=numbers(s.posture, (model.nv,), "--posture") if s.posture else None,
        mean_angular_speed=s.speed,
        duration=s.duration,
        amplitude=math.radians(s.amplitude_deg),
        n_tare=s.tare,
        free_frequencies=s.free_frequencies,
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
            "known afterwards": expected_accuracy(
                model, planning.limits.tcp_frame, found.trajectory
            ),
            "amplitude": f"{s.amplitude_deg:g}°",
            "mean angular speed of the last link": f"{s.speed:g} rad/s",
            "posture [rad]": ", ".join(f"{x:.3f}" for x in found.posture),
        },
        remarks=[
            "The static postures separate the sensor's bias from the load's weight; the"
            " oscillation (Nadeau, Giamou and Kelly 2022) shows its inertia.",
        ],
    )


def expected_accuracy(model: RobotModel, frame: str, trajectory: Trajectory) -> str:
    """How well the motion will show an object of 1 kg and 0.2 m, with one standard deviation.

    The default estimator weighs it with simulated noise (moderate, of Nadeau et al. 2022) and an
    ordinary sensor's errors, without its shape.

    Args:
        model: The robot.
        frame: Frame of the sensor.
        trajectory: The motion.
    """
    from dataclasses import replace

    import numpy as np

    from sysid_core.estimation.payload import PayloadData, summarise_payload
    from sysid_core.estimation.payload_map import PayloadMAP, SensorModel
    from sysid_core.planning.payload import FORCE_NOISE, TORQUE_NOISE
    from sysid_core.robot import wrench_regressor
    from sysid_core.robot.shapes import Shape

    step = max(1, len(trajectory.time) // 1500)
    columns = model.columns_from(trajectory.joint_names)
    q, v, a = (x[::step, columns] for x in (trajectory.q, trajectory.v, trajectory.a))
    motion = model.frame_motion(frame, q, v, a)
    noise = np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    wrench = A @ Shape.box([0.2, 0.2, 0.2]).homogeneous(1.0)
    wrench = wrench + noise * np.random.default_rng(0).normal(size=wrench.shape)
    data = replace(PayloadData.of(trajectory.time[::step], wrench, motion), R_WS=None)
    found = summarise_payload(PayloadMAP(None, sensor=SensorModel()).fit(data))
    inertia = float(np.max(np.diag(found.inertia_sd) / np.diag(found.inertia)))
    return (
        "of 1 kg and 0.2 m, ordinary sensor, shape unknown:"
        f" mass ± {100 * found.mass_sd / found.mass:.2g} %,"
        f" centre of mass ± {1e3 * float(np.max(found.com_sd)):.2g} mm, inertia ± {100 * inertia:.2g} %"
    )
