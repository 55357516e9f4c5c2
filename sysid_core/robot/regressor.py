# SPDX-License-Identifier: Apache-2.0
"""Geared rotors of motors, and the joint torques due to their inertia."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.files import FileKind, FileSchema, Name, Number, Positive
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import RobotModel

_REFERENCE = Path(__file__).parent / "reference_robots"
_FILE = FileKind(
    "rotor file", "Write: rotors: [{joint: joint1, ratio: 100}, …]; see `Rotor`.", ModelError
)


@dataclass(frozen=True)
class Rotor:
    """Rotor of a motor, symmetric about its axis, on the parent link of the joint that it drives.

    Wensing, Niemeyer and Slotine (2023), eqs. (56), (57), (58).

    The mass and the transverse inertia move with the parent link and cannot be separated from it.
    One parameter remains: the inertia about the axis, with the name `<joint>.Im` (Wensing,
    Niemeyer, Slotine 2023, section 8).

    Attributes:
        joint: Name of the driven joint.
        ratio: Turns of the rotor per turn (or metre) of the joint; may be negative.
        axis: Unit vector of the rotor's axis in the joint's frame at zero position (the frame of
            the URDF's `<axis>`), shape (3,); None: the joint's own axis.
        position: Centre of the rotor in the same frame, shape (3,) [m].
        inertia: Moment of inertia about the rotor's axis [kg m^2]; None if unknown.
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS

    joint: Name
    ratio: Number
    axis: tuple[Number, Number, Number] | None = None
    position: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    inertia: Positive | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.ratio) or self.ratio == 0.0:
            raise ModelError(
                f"The gear ratio {self.ratio} of the rotor of joint '{self.joint}' is invalid.",
                remedy="Give the turns of the rotor per turn of the joint, not zero.",
            )
        if self.axis is not None:
            norm = float(np.linalg.norm(self.axis))
            if len(self.axis) != 3 or not norm > 0.0:
                raise ModelError(
                    f"The axis {self.axis} of the rotor of joint '{self.joint}' is invalid.",
                    remedy="Give a direction [x, y, z] that isn't zero.",
                )
            x, y, z = (float(c) / norm for c in self.axis)
            object.__setattr__(self, "axis", (x, y, z))

    @property
    def parameter_name(self) -> str:
        """Name of the rotor's inertia in tables."""
        return f"{self.joint}.Im"

    @staticmethod
    def load(path: str | Path) -> tuple[Rotor, ...]:
        """Read a YAML file with a list `rotors`, each with the fields of `Rotor`.

        Raises:
            ModelError: The file cannot be read, or is not such a list.
        """
        return _FILE.read_schema(path, _RotorsFile).rotors

    @staticmethod
    def of_reference(name: str) -> tuple[Rotor, ...]:
        """Return the rotors of a reference robot; empty if none are known."""
        path = _REFERENCE / f"{name}_rotors.yaml"
        return Rotor.load(path) if path.is_file() else ()

    @staticmethod
    def in_urdf(urdf_xml: str) -> tuple[Rotor, ...]:
        """Return the rotors described by the `<transmission>` elements of a URDF.

        The ratio is the `<mechanicalReduction>` of the actuator or transmission; the axis is
        assumed to be that of the joint. Transmissions without a reduction, or with several joints,
        are ignored.

        Raises:
            ModelError: A reduction is not a number.
        """
        rotors: dict[str, Rotor] = {}
        if "<transmission" not in urdf_xml:
            return ()
        for transmission in ET.fromstring(urdf_xml).iter("transmission"):
            joints = transmission.findall("joint")
            reduction = next(transmission.iter("mechanicalReduction"), None)
            if len(joints) != 1 or reduction is None or not (reduction.text or "").strip():
                continue
            try:
                ratio = float(str(reduction.text))
            except ValueError as err:
                raise ModelError(
                    f"The transmission of joint '{joints[0].get('name')}' has the mechanicalReduction"
                    f" '{reduction.text}'.",
                    remedy="Expand the xacro expressions of the URDF first.",
                ) from err
            if ratio != 0.0:
                name = str(joints[0].get("name"))
                rotors[name] = Rotor(name, ratio)
        return tuple(rotors.values())

    @staticmethod
    def by_joint(model: RobotModel, rotors: Sequence[Rotor]) -> dict[int, Rotor]:
        """Return the rotors and their axes, keyed by the joint index of pinocchio.

        Raises:
            ModelError: The joint of a rotor is unknown, has several degrees of freedom or has two
                rotors.
        """
        found: dict[int, Rotor] = {}
        for rotor in rotors:
            if rotor.joint not in model.joint_names:
                raise ModelError(
                    f"The rotor's joint '{rotor.joint}' is not a moving joint of '{model.name}'.",
                    remedy=f"Joints: {', '.join(model.joint_names)}.",
                    joint=rotor.joint,
                )
            j = int(model.pin_model.getJointId(rotor.joint))
            joint = model.pin_model.joints[j]
            if joint.nv != 1 or j in found:
                raise ModelError(
                    f"Joint '{rotor.joint}' has {joint.nv} degrees of freedom"
                    f" and {1 + (j in found)} rotor(s).",
                    remedy="Give at most one rotor per joint, and only for joints with one degree of freedom.",
                    joint=rotor.joint,
                )
            if rotor.axis is None:
                data = joint.createData()
                joint.calc(data, pin.neutral(model.pin_model)[joint.idx_q : joint.idx_q + joint.nq])
                S = np.asarray(data.S).reshape(6)
                direction = S[3:] if np.any(S[3:]) else S[:3]
                x, y, z = (float(c) for c in direction)
                rotor = Rotor(rotor.joint, rotor.ratio, (x, y, z), rotor.position, rotor.inertia)
            found[j] = rotor
        return found

    @staticmethod
    def regressor(
        model: RobotModel, rotors: Sequence[Rotor], q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> Array:
        r"""Return the joint torques per unit of inertia of each rotor about its axis.

        Let z be the axis, which is fixed to the parent link p, and `w = z.omega_p + n qdot` the
        spin about it, with time derivative w'. Then the rotor's angular momentum is `Im w z`, and
        the torques are `J_p^T (w' z + w omega_p x z) + n w' e_joint` per unit of Im.

        Args:
            model: The robot, with n = nv degrees of freedom.
            rotors: List of R rotors.
            q: Joint positions, shape (K, nv) or (K, nq) [rad or m].
            v: Joint velocities, shape (K, nv) [rad/s or m/s].
            a: Joint accelerations, shape (K, nv) [rad/s^2 or m/s^2].

        Returns:
            Torques per unit of inertia, shape (K, n, R).
        """
        q_pin = model.configuration(q)
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        placed = Rotor.by_joint(model, rotors)
        order = [int(model.pin_model.getJointId(rotor.joint)) for rotor in rotors]
        data = model.pin_model.createData()
        Y = np.zeros((len(q_pin), model.nv, len(order)))
        for k in range(len(q_pin)):
            pin.computeJointJacobians(model.pin_model, data, q_pin[k])
            pin.forwardKinematics(model.pin_model, data, q_pin[k], v[k], a[k])
            for column, j in enumerate(order):
                parent = model.pin_model.parents[j]
                z = model.pin_model.jointPlacements[j].rotation @ np.array(placed[j].axis)
                n, iv = placed[j].ratio, model.pin_model.joints[j].idx_v
                omega, alpha = data.v[parent].angular, data.a[parent].angular
                spin, spin_rate = z @ omega + n * v[k, iv], z @ alpha + n * a[k, iv]
                moment = spin_rate * z + spin * np.cross(omega, z)
                if parent > 0:
                    J = pin.getJointJacobian(
                        model.pin_model, data, parent, pin.ReferenceFrame.LOCAL
                    )
                    Y[k, :, column] = J[3:].T @ moment
                Y[k, iv, column] += n * spin_rate
        return Y


class _RotorsFile(FileSchema):
    rotors: tuple[Rotor, ...]
