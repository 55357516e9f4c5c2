# SPDX-License-Identifier: Apache-2.0
r"""Springs and counterbalances that support part of a robot's weight, parallel to its drives.

With the extension x(q) of a spring and its pull F(x), the torque on the joint is `-F(x) dx/dq`
(virtual work). A spring at the joint itself has `x = q - zero` and pulls in N m; one between two
anchors, at distances d_1 and d_2 from the joint's axis, is shortest at `q = zero`:
`l^2 = d_1^2 + d_2^2 - 2 d_1 d_2 cos(q - zero)`, `x = l - |d_1 - d_2|`, and pulls in N. Its
stiffness turns the joint by `k d_1 d_2 sin(q - zero)` as a weight does: what the data separate from a
weight is `preload - k |d_1 - d_2|`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.kinds import Kind
from sysid_core.robot.inertia import Array


class SpringLaw(Kind):
    """Force law of a spring as a function of its extension."""

    LINEAR = "linear"  # F = preload + stiffness x
    PNEUMATIC = "pneumatic"  # F = preload / (1 - x / stroke)^exponent: gas that is compressed


@dataclass(frozen=True)
class Spring:
    """Spring or counterbalance at one axis, with known or unknown parameters.

    Attributes:
        axis: Joint (or coupled axis) that it turns.
        law: Pull over extension.
        preload: Pull at extension zero [N, or N m at the joint itself].
        stiffness: Stiffness of the linear law [N/m, or N m/rad at the joint itself].
        stroke: Stroke of the pneumatic law, volume of the gas over area of the piston [m, or rad].
        exponent: Exponent of the pneumatic law: 1 where the gas keeps its temperature, 1.4 without exchange
            of heat.
        anchors: Distances of its two ends from the axis [m]; None where it sits at the joint.
        zero: Position at which the extension is zero [rad or m].
        identified: Whether preload and stiffness are found from the data.
    """

    axis: str
    law: SpringLaw = SpringLaw.LINEAR
    preload: float = 0.0
    stiffness: float = 0.0
    stroke: float = 0.0
    exponent: float = 1.0
    anchors: tuple[float, float] | None = None
    zero: float = 0.0
    identified: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", SpringLaw(self.law))
        pneumatic = self.law is SpringLaw.PNEUMATIC
        if pneumatic and not (self.stroke > self._longest and self.exponent > 0.0):
            raise ModelError(
                f"The pneumatic spring at '{self.axis}' has a stroke of {self.stroke:g}, but extends"
                f" by up to {self._longest:.3g}.",
                remedy="Give `stroke`, the volume of the gas over the area of the piston [m].",
            )
        if self.anchors is not None and not (min(self.anchors) > 0.0 and len(self.anchors) == 2):
            raise ModelError(
                f"The anchors of the spring at '{self.axis}' are {self.anchors}.",
                remedy="Give the two ends' distances from the joint's axis, in metres.",
            )
        if not self.identified and self.preload == 0.0 and self.stiffness == 0.0:
            raise ModelError(
                f"The spring at '{self.axis}' has neither preload nor stiffness.",
                remedy="Give the known values, or `identified: true` to estimate it from the data.",
            )

    @property
    def _longest(self) -> float:
        return 0.0 if self.anchors is None else 2.0 * min(self.anchors)

    def extension(self, q: Array) -> tuple[Array, Array]:
        """Extension x and its derivative dx/dq at positions q of the axis, each of the shape of q."""
        angle = q - self.zero
        if self.anchors is None:
            return angle, np.ones_like(angle)
        d1, d2 = self.anchors
        length = np.sqrt(d1**2 + d2**2 - 2.0 * d1 * d2 * np.cos(angle))
        length = np.maximum(length, 1e-9 * (d1 + d2))  # equal anchors meet
        return length - abs(d1 - d2), d1 * d2 * np.sin(angle) / length

    def functions(self, q: Array) -> tuple[Array, ...]:
        """Regressor functions of preload and stiffness in the torque on the axis.

        A preload at the joint itself is its constant offset and no function of its own.
        """
        x, slope = self.extension(q)
        if self.law is SpringLaw.PNEUMATIC:
            return (-slope / np.maximum(1.0 - x / self.stroke, 1e-3) ** self.exponent,)
        return (-x,) if self.anchors is None else (-slope, -x * slope)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of the parameters that belong to `functions`."""
        if self.law is SpringLaw.PNEUMATIC:
            return ("S_p",)
        return ("S_k",) if self.anchors is None else ("S_p", "S_k")

    @property
    def units(self) -> tuple[str, ...]:
        """Units of these parameters, for a revolute axis."""
        force = "N m" if self.anchors is None else "N"
        per = "rad" if self.anchors is None else "m"
        return tuple(f"{force}/{per}" if s == "S_k" else force for s in self.symbols)

    def torque(self, q: Array) -> Array:
        """Torque of a known spring on its axis, with the shape of q; zero if the spring is to be
        identified.
        """
        if self.identified:
            return np.zeros_like(q)
        given = {"S_p": self.preload, "S_k": self.stiffness}
        functions = zip(self.symbols, self.functions(q), strict=True)
        total = np.sum([given[symbol] * values for symbol, values in functions], axis=0)
        if self.law is SpringLaw.LINEAR and self.anchors is None:
            total = total - self.preload
        return np.asarray(total)
