# SPDX-License-Identifier: Apache-2.0
"""Joint accelerations and jerks published by vendors, which URDFs do not contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class VendorLimits:
    """Published limits of one type of arm.

    Attributes:
        joints: Their names in the vendor's URDF.
        source: Where the numbers are published.
        acceleration: One per joint, or one for all [rad/s^2].
        jerk: One per joint, or one for all [rad/s^3]; empty where none is published.
    """

    joints: tuple[str, ...]
    source: str
    acceleration: Numbers
    jerk: Numbers = ()


def _named(pattern: str, count: int) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(1, count + 1))


VENDORS = (
    VendorLimits(
        _named("panda_joint{}", 7),
        "Franka Control Interface documentation, limits of the Panda",
        (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
        (7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    ),
    VendorLimits(
        _named("fr3_joint{}", 7),
        "Franka Control Interface documentation, limits of the FR3",
        (10.0,),
        (5000.0,),
    ),
    VendorLimits(
        _named("joint{}", 7),
        "xArm user manual, 1145 deg/s² for every joint",
        (float(np.radians(1145.0)),),
    ),
)


def vendor_limits(robot: str, joint_names: Sequence[str]) -> VendorLimits | None:
    """Published limits of a robot, or None.

    Args:
        robot: Its name; joints called `joint1` are an xArm's only where the name says so.
        joint_names: Its joints; grippers' joints may be among them.
    """
    for entry in VENDORS:
        generic = entry.joints[0] == "joint1"
        if generic and "xarm" not in robot.lower().replace("_", ""):
            continue
        if any(name in entry.joints for name in joint_names):
            return entry
    return None


def vendor_values(
    entry: VendorLimits, kind: str, joint_names: Sequence[str], other: float
) -> list[float]:
    """Published `acceleration` or `jerk` by joint, and a default for further joints.

    Args:
        entry: The vendor's numbers.
        kind: "acceleration" or "jerk".
        joint_names: Joints in the order that is wanted.
        other: For joints that the vendor says nothing about.
    """
    values = getattr(entry, kind)
    if not values:
        return [other] * len(joint_names)
    known = dict(
        zip(entry.joints, values * (len(entry.joints) if len(values) == 1 else 1), strict=True)
    )
    return [float(known.get(name, other)) for name in joint_names]
