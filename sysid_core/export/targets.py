# SPDX-License-Identifier: Apache-2.0
"""Export formats, and the friction terms that each supports."""

from __future__ import annotations

from sysid_core.kinds import Kind
from sysid_core.robot import FrictionTerm


class Target(Kind):
    """File format of an export; its value is the name on the command line."""

    URDF = "urdf"
    MJCF = "mjcf"  # MuJoCo
    SDF = "sdf"  # Gazebo, Drake
    USD = "usd"  # Isaac Sim and Isaac Lab
    C = "c"  # a controller of one's own
    ROS2_CONTROL = "ros2_control"  # C, and parameters of this package's controllers on it

    @property
    def terms(self) -> tuple[FrictionTerm, ...]:
        """Friction terms that the format supports; only C supports torque ripple and terms with
        memory.
        """
        return _TERMS[self]

    @property
    def holds_all(self) -> bool:
        """True if the format supports every term, including springs and couplings."""
        return self in _WHOLE

    @property
    def holds_springs(self) -> bool:
        """True if the format supports one linear spring per joint."""
        return self in (*_WHOLE, Target.MJCF)

    def tolerance(self, torque: float) -> float:
        """Return the largest torque difference between the file and the identified model that is
        attributed to rounding [N m].

        The relative tolerance is 1e-9 for numbers in double precision, and 1e-5 for USD, whose
        numbers have single precision. For torques above 100 N m the tolerance grows in proportion,
        because rounding is relative.

        Args:
            torque: Largest compared torque [N m].
        """
        return (1e-5 if self is Target.USD else 1e-9) * max(1.0, torque / 100.0)


_DRY_AND_VISCOUS = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS)
_WITH_ARMATURE = (*_DRY_AND_VISCOUS, FrictionTerm.INERTIA)
_WHOLE = (Target.C, Target.ROS2_CONTROL)
_TERMS = {
    Target.URDF: _DRY_AND_VISCOUS,  # <dynamics friction damping>
    # frictionloss, damping, armature; the offset is the motor's bias
    Target.MJCF: (*_WITH_ARMATURE, FrictionTerm.OFFSET),
    Target.SDF: _DRY_AND_VISCOUS,  # <dynamics><friction><damping>
    Target.USD: _WITH_ARMATURE,  # physxJointAxis: friction efforts, viscous coefficient, armature
    Target.C: tuple(FrictionTerm),
    Target.ROS2_CONTROL: tuple(FrictionTerm),
}
