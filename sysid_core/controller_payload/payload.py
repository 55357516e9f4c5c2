# SPDX-License-Identifier: Apache-2.0
"""Payload in the form that robot controllers expect, and a check of its plausibility.

The payload of a controller is everything mounted on the flange (sensor, gripper and object
together). All controllers require the mass and the centre of mass in the flange frame, and some
also the inertia about the centre of mass in the axes of the flange.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError, SignalError
from sysid_core.reasons import Reason
from sysid_core.robot import (
    Array,
    is_physically_consistent,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
)


@dataclass(frozen=True, eq=False)
class ControllerPayload:
    """Payload of a robot controller, in the flange frame.

    Attributes:
        mass: Mass [kg].
        com: Centre of mass in the flange frame, shape (3,) [m].
        inertia: Inertia about the centre of mass in the axes of the flange, shape (3, 3) [kg m^2].
    """

    mass: float
    com: Array
    inertia: Array

    def __post_init__(self) -> None:
        com, inertia = np.array(self.com, dtype=float), np.array(self.inertia, dtype=float)
        numbers = np.concatenate([[self.mass], com.ravel(), inertia.ravel()])
        if com.shape != (3,) or inertia.shape != (3, 3) or not np.all(np.isfinite(numbers)):
            raise ModelError(
                "A payload needs a finite mass, three coordinates and a 3 x 3 inertia.",
                remedy="Wait for an estimate, or check the node that publishes it.",
            )
        for key, array in (("com", com), ("inertia", 0.5 * (inertia + inertia.T))):
            array.setflags(write=False)
            object.__setattr__(self, key, array)

    @classmethod
    def from_pi(cls, pi: ArrayLike) -> ControllerPayload:
        """Return the payload from inertial parameters in the flange frame, shape (10,).

        Raises:
            ModelError: The mass is not positive.
        """
        pi = np.asarray(pi, dtype=float)
        if not pi[0] > 0.0:
            raise ModelError(
                f"A payload of {pi[0]:.4g} kg has no centre of mass.",
                remedy="For an empty gripper, use `ControllerPayload.none`.",
            )
        mass, com, inertia = mass_com_inertia_from_pi(pi)
        return cls(float(mass), com, inertia)

    @classmethod
    def none(cls) -> ControllerPayload:
        """Return the payload of an empty flange: zero mass."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @property
    def pi(self) -> Array:
        """Inertial parameters about the origin of the flange frame, shape (10,)."""
        return pi_from_mass_com_inertia(self.mass, self.com, self.inertia)

    def differences(self, other: ControllerPayload, with_inertia: bool) -> list[str]:
        """Return the differences between two payloads that exceed single-precision rounding; empty
        if there are none.

        Args:
            other: Payload to compare with, such as that reported by the controller.
            with_inertia: True to compare the inertia as well.
        """
        out = []
        if abs(self.mass - other.mass) > 1e-3 * max(1.0, self.mass):
            out.append(f"mass {other.mass:.4g} instead of {self.mass:.4g} kg")
        if float(np.max(np.abs(self.com - other.com))) > 1e-3:
            out.append(f"centre of mass {_row(other.com)} instead of {_row(self.com)} m")
        scale = max(float(np.trace(self.inertia)), 1e-3)
        if with_inertia and float(np.max(np.abs(self.inertia - other.inertia))) > 1e-2 * scale:
            out.append("another inertia")
        return out

    def __str__(self) -> str:
        ixx, iyy, izz = np.diag(self.inertia)
        return (
            f"{self.mass:.3f} kg at {_row(self.com)} m,"
            f" Ixx {ixx:.4g}, Iyy {iyy:.4g}, Izz {izz:.4g} kg m^2"
        )


@dataclass(frozen=True)
class PayloadLimits:
    """Plausibility limits for payloads, checked before one is sent to a controller.

    Attributes:
        max_mass: Rated payload of the robot [kg].
        max_com: Largest distance of the centre of mass from the flange [m].
        max_radius: Largest radius of gyration about the centre of mass [m].
    """

    max_mass: float
    max_com: float = 0.5
    max_radius: float = 0.3

    def complaints(self, payload: ControllerPayload) -> list[str]:
        """Return the reasons why a payload is implausible; empty if it is plausible."""
        out = []
        distance = float(np.linalg.norm(payload.com))
        if not 0.0 <= payload.mass <= self.max_mass:
            out.append(f"the mass {payload.mass:.3f} kg is outside 0 … {self.max_mass:g} kg")
        if distance > self.max_com:
            out.append(
                f"the centre of mass is {distance:.3f} m from the flange, more than"
                f" {self.max_com:g} m"
            )
        if payload.mass > 0.0:
            radius = np.sqrt(max(float(np.trace(payload.inertia)), 0.0) / (2.0 * payload.mass))
            if radius > self.max_radius:
                out.append(f"the radius of gyration {radius:.3f} m exceeds {self.max_radius:g} m")
            if np.any(payload.inertia) and not is_physically_consistent(payload.pi, 1e-6):
                out.append("no body has this inertia (not physically consistent)")
        return out

    def require(self, payload: ControllerPayload) -> None:
        """Raise an error if the payload is not plausible.

        Raises:
            ModelError: The payload is implausible; the error lists all reasons.
        """
        complaints = self.complaints(payload)
        if complaints:
            raise ModelError(
                f"The payload is not plausible: {'; '.join(complaints)}.",
                remedy="Check the estimate, the flange frame and the tool; raise the limit only"
                " when the robot can carry it.",
                complaints=complaints,
            )


def _row(values: Array) -> str:
    return f"[{', '.join(f'{x:.4f}' for x in values)}]"


@dataclass(frozen=True, eq=False)
class LoadDiagram:
    """Load diagram from a robot's manual: corners, with linear interpolation between them.

    Attributes:
        distance: Distances of the centre of mass from the flange, increasing, shape (K,) [m].
        mass: Permissible masses at the distances, shape (K,) [kg]; zero beyond the last corner.
    """

    distance: Array
    mass: Array

    @classmethod
    def from_text(cls, text: str) -> LoadDiagram:
        """Read the corners from the text 'DISTANCE:MASS,...' [m, kg].

        Raises:
            SignalError: The text contains no valid corners.
        """
        try:
            corners = [tuple(map(float, corner.split(":"))) for corner in text.split(",")]
            distance, mass = np.array(corners, dtype=float).reshape(len(corners), 2).T
        except ValueError as err:
            raise cls._refusal(text) from err
        if not (np.all(np.diff(distance) > 0) and np.all(mass >= 0) and np.isfinite(mass).all()):
            raise cls._refusal(text)
        return cls(distance, mass)

    @staticmethod
    def _refusal(text: str) -> SignalError:
        return SignalError(
            f"'{text}' is not a load diagram.",
            remedy="Give corners DISTANCE:MASS in m and kg, such as '0:5,0.3:5,0.6:2.5'.",
        )

    def permitted(self, distance: float) -> float:
        """Return the permissible mass [kg] if the centre of mass is at this distance from the
        flange [m].
        """
        return float(np.interp(distance, self.distance, self.mass, right=0.0))

    def judge(self, mass: tuple[float, float], distance: tuple[float, float]) -> Reason:
        """Compare a payload with the diagram. The result is a failure if the mass exceeds the
        diagram, and a warning if it is within two standard deviations of the diagram.

        Args:
            mass: Mass and its standard deviation [kg].
            distance: Distance of the centre of mass from the flange and its standard deviation [m].
        """
        permitted = self.permitted(distance[0])
        data = {"mass": mass[0], "distance": distance[0], "permitted": permitted}
        if mass[0] > permitted:
            return Reason.failure("load-beyond-rating", **data)
        if mass[0] + 2.0 * mass[1] > self.permitted(distance[0] + 2.0 * distance[1]):
            return Reason.warning("load-beyond-rating", **data)
        return Reason.held("load-within-rating", **data)
