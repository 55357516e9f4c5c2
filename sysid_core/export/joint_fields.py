# SPDX-License-Identifier: Apache-2.0
"""Drives of the joints as simulators describe them: armature, friction, springs, servos."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.export.projection import Projection
from sysid_core.robot.loops import ClosedChain


@dataclass(frozen=True)
class PositionServo:
    """Position servo with the force `kp (ctrl - q) - kv v`, limited to its force range.

    Attributes:
        kp: Position gain [N m/rad or N/m].
        kv: Velocity gain [N m s/rad or N s/m].
        force: Largest torque or force [N m or N]; infinite: unknown.
        delay: Dead time of the commanded position [s].
    """

    kp: float
    kv: float = 0.0
    force: float = float("inf")
    delay: float = 0.0


@dataclass(frozen=True)
class LinearSpring:
    """Spring at a joint whose force is linear in its extension.

    Attributes:
        preload: Force at extension zero [N]; a spring at the joint itself has none.
        stiffness: Stiffness [N/m, or N m/rad at the joint itself].
        zero: Position at which the extension is zero [rad or m].
        anchors: Distances of the two ends of the spring from the axis [m]; None: spring at the
            joint itself.
    """

    preload: float
    stiffness: float
    zero: float
    anchors: tuple[float, float] | None


@dataclass(frozen=True)
class JointFields:
    """Attributes of an MJCF joint, without its geometry.

    Attributes:
        armature: Inertia of the drive, seen at the joint [kg m^2 or kg].
        damping: Viscous friction [N m s/rad or N s/m].
        frictionloss: Dry friction [N m or N].
        offset: Torque of the drive at zero command [N m or N].
        servo: Position servo; None: a motor, whose control input is the torque.
        driven: True if the joint has an actuator.
        spring: Spring in parallel to the drive; in MJCF, a spring that acts on the joint itself is
            written as a motor.
        limits: Smallest and largest position [rad or m]; None: those of the robot.
    """

    armature: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0
    offset: float = 0.0
    servo: PositionServo | None = None
    driven: bool = True
    spring: LinearSpring | None = None
    limits: tuple[float, float] | None = None


def joint_fields(projection: Projection) -> dict[str, JointFields]:
    """Return the attributes of every MJCF joint from the friction terms that MJCF supports."""
    symbols = ("I_a", "F_v", "F_c", "beta", "S_p", "S_k")
    columns = [projection.of(symbol).tolist() for symbol in symbols]
    springs = {spring.axis: spring for spring in projection.friction.drives.springs}
    out = {}
    for joint, row in zip(projection.model.joint_names, zip(*columns, strict=True), strict=True):
        armature, damping, dry, offset, preload, stiffness = row
        spring = springs.get(joint)
        held = None
        if spring is not None:
            held = LinearSpring(preload, stiffness, spring.zero, spring.anchors)
        out[joint] = JointFields(armature, damping, dry, offset, spring=held)
    return out


def chain_fields(chain: ClosedChain) -> dict[str, JointFields]:
    """Return the attributes of every joint of an identified closed chain; passive joints have no
    drive.
    """
    out = {}
    for joint in chain.model.joint_names:
        drive = chain.drive(joint)
        out[joint] = JointFields(
            drive.I_a, drive.F_v, drive.F_c, drive.beta, driven=joint in chain.actuated
        )
    return out
