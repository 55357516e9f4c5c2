"""Options that every planning command shares: what the motion must keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.errors import ExcitationError

if TYPE_CHECKING:
    from sysid_core.excitation import MotionLimits
    from sysid_core.robot import RobotModel

TcpFrame = Annotated[
    str, typer.Option(metavar="LINK", help="Link whose speed is limited; default: the last one.")
]
TcpSpeed = Annotated[float, typer.Option(min=0.001, help="TCP speed limit [m/s].")]
Acceleration = Annotated[
    float, typer.Option(min=0.001, help="Limit for every joint [rad/s² or m/s²]; URDFs have none.")
]
Jerk = Annotated[
    float | None, typer.Option(min=0.001, help="Limit for every joint [rad/s³ or m/s³].")
]
VelocityShare = Annotated[
    float, typer.Option(min=0.001, max=1.0, help="Share of the URDF's velocity limits to use.")
]
EffortShare = Annotated[
    float,
    typer.Option(min=0.001, max=1.0, help="Share of the URDF's effort limits for the bare robot."),
]
PositionMargin = Annotated[
    float, typer.Option(min=0.0, help="Kept from the URDF's position limits [rad or m].")
]
Ground = Annotated[
    float | None, typer.Option(help="Height of the ground in the base frame [m]; default: none.")
]
Workspace = Annotated[
    str,
    typer.Option(
        metavar="X0,Y0,Z0,X1,Y1,Z1", help="Box in the base frame that holds the moving robot [m]."
    ),
]
Held = Annotated[
    str,
    typer.Option(
        metavar="DX,DY,DZ[,X,Y,Z]",
        help="Size of what the robot holds, and its centre in the TCP frame [m].",
    ),
]
Lock = Annotated[
    list[str] | None, typer.Option(metavar="JOINT", help="Joint to hold still; may be repeated.")
]


def numbers(text: str, counts: tuple[int, ...], option: str) -> list[float]:
    """Numbers with commas between them.

    Raises:
        ExcitationError: Another count, or not numbers.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError as err:
        raise ExcitationError(f"{option} '{text}' is not a list of numbers.") from err
    if len(values) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ExcitationError(f"{option} has {len(values)} numbers, expected {wanted}.")
    return values


def limits_from(
    model: RobotModel,
    *,
    tcp_frame: str,
    tcp_speed: float,
    acceleration: float,
    jerk: float | None,
    velocity_share: float,
    effort_share: float,
    position_margin: float,
    ground: float | None,
    workspace: str,
    held: str,
) -> MotionLimits:
    """The limits that the options describe."""
    from sysid_core.excitation import HeldBox, MotionLimits

    box = None
    if held:
        v = numbers(held, (3, 6), "--held") + [0.0, 0.0, 0.0]
        box = HeldBox((v[0], v[1], v[2]), (v[3], v[4], v[5]))
    corners = None
    if workspace:
        w = numbers(workspace, (6,), "--workspace")
        corners = ((w[0], w[1], w[2]), (w[3], w[4], w[5]))
    return MotionLimits.from_model(
        model,
        acceleration=acceleration,
        jerk=jerk,
        velocity_share=velocity_share,
        effort_share=effort_share,
        position_margin=position_margin,
        tcp_frame=tcp_frame or None,
        tcp_speed=tcp_speed,
        workspace=corners,
        ground_height=ground,
        held=box,
    )
