# SPDX-License-Identifier: Apache-2.0
"""`sysid plan payload`: a motion that shows what a robot holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_core.cli.app import plan
from sysid_core.cli.plan.run import Planned, Planning, run_plan
from sysid_core.cli.plan.settings import (
    PlanOutOption,
    PlanRobotArgument,
    PlanSettings,
    StillOption,
    numbers,
)
from sysid_core.cli.settings import command


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
    from sysid_core.excitation.payload import plan_payload_motion

    model, s = planning.model, settings
    found = plan_payload_motion(
        model,
        planning.limits,
        posture=numbers(s.posture, (model.nv,), "--posture") if s.posture else None,
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
            "amplitude": f"{s.amplitude_deg:g}°",
            "mean angular speed of the last link": f"{s.speed:g} rad/s",
            "posture [rad]": ", ".join(f"{x:.3f}" for x in found.posture),
        },
        remarks=[
            "The static postures separate the sensor's bias from the load's weight; the"
            " oscillation (Nadeau, Giamou and Kelly 2022) shows its inertia.",
        ],
    )
