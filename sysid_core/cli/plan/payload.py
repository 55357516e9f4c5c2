# SPDX-License-Identifier: Apache-2.0
"""`sysid plan payload`: a motion that tells what a robot holds."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from sysid_core.cli.plan.options import Planned, Planning, numbers, planning_command


@planning_command("payload", example="sysid plan payload xarm7 --ground 0 --out plan")
def plan_payload(
    planning: Planning,
    speed: Annotated[
        float, typer.Option(min=0.01, help="Mean angular speed of the last link [rad/s].")
    ] = 1.0,
    duration: Annotated[float, typer.Option(min=1.0, help="Of the oscillation [s].")] = 15.0,
    amplitude_deg: Annotated[
        float, typer.Option(min=1.0, max=180.0, help="Of the three wrist joints.")
    ] = 45.0,
    tare: Annotated[
        int, typer.Option(min=0, help="Static postures before it (0, or 3 and more).")
    ] = 4,
    still: Annotated[float, typer.Option(min=0.1, help="Each still phase [s].")] = 1.0,
    posture: Annotated[
        str, typer.Option(help="Centre, one number per joint with commas [rad]; default: chosen.")
    ] = "",
) -> Planned:
    """Plan a payload motion: static postures, then an oscillation of the last three joints.

    Nothing is written unless the motion passes every check.
    """
    from sysid_core.excitation.payload import plan_payload_motion

    model = planning.model
    found = plan_payload_motion(
        model,
        planning.limits,
        posture=numbers(posture, (model.nv,), "--posture") if posture else None,
        mean_angular_speed=speed,
        duration=duration,
        amplitude=math.radians(amplitude_deg),
        n_tare=tare,
        still=still,
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
                {"label": s.label, "start": s.start, "end": s.end}
                for s in found.trajectory.segments
            ],
        },
        title="Payload motion",
        facts={
            "oscillating joints": ", ".join(found.wrist_joints),
            "frequencies": ", ".join(f"{f:.3f} Hz" for f in found.frequencies_hz),
            "amplitude": f"{amplitude_deg:g}°",
            "mean angular speed of the last link": f"{speed:g} rad/s",
            "posture [rad]": ", ".join(f"{x:.3f}" for x in found.posture),
        },
        remarks=[
            "The static postures separate the sensor's bias from the load's weight; the"
            " oscillation (Nadeau, Giamou and Kelly 2022) tells its inertia.",
        ],
    )
