# SPDX-License-Identifier: Apache-2.0
"""The rated load of a robot: permissible mass as a function of the distance of the centre of mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.reasons import Reason
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class LoadDiagram:
    """Load diagram of a robot's manual: corners, with linear interpolation between them.

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
            f"'{text}' is no load diagram.",
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
