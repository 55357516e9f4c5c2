# SPDX-License-Identifier: Apache-2.0
"""Drive train between the reading of a motor and the torque at its joint: gains, couplings,
springs.

Springs and counterbalances support part of a robot's weight in parallel to its drives. With the
extension x(q) of a spring and its pull F(x), the torque on the joint is `-F(x) dx/dq` (virtual
work). A spring at the joint itself has `x = q - zero`, and its pull is a torque [N m]. A spring
between two anchors at distances d_1 and d_2 from the joint's axis is shortest at `q = zero`:
`l^2 = d_1^2 + d_2^2 - 2 d_1 d_2 cos(q - zero)`, `x = l - |d_1 - d_2|`; its pull is a force [N]. Its
stiffness contributes the torque `k d_1 d_2 sin(q - zero)`, which has the form of a gravity torque.
The data can separate only `preload - k |d_1 - d_2|` from a weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.arrays import own_arrays
from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.settings import Kind

WAVE_KINDS = ("ripple", "runout", "speed_ripple", "speed_runout")


class SpringLaw(Kind):
    """Force law of a spring as a function of its extension."""

    LINEAR = "linear"  # F = preload + stiffness x
    PNEUMATIC = "pneumatic"  # F = preload / (1 - x / stroke)^exponent: gas that is compressed


@dataclass(frozen=True)
class Spring:
    """Spring or counterbalance at one axis, with known or unknown parameters.

    Attributes:
        axis: Name of the joint (or coupled axis) on which the spring acts.
        law: Force law, pull as a function of the extension.
        preload: Pull at extension zero [N, or N m at the joint itself].
        stiffness: Stiffness of the linear law [N/m, or N m/rad at the joint itself].
        stroke: Stroke of the pneumatic law, volume of the gas over area of the piston [m, or rad].
        exponent: Exponent of the pneumatic law [-]: 1 for an isothermal gas, 1.4 for an adiabatic
            change.
        anchors: Distances of the spring's two ends from the axis [m]; None for a spring at the
            joint.
        zero: Position of the axis at which the extension is zero [rad or m].
        identified: True if preload and stiffness are estimated from the data.
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
                f"The pneumatic spring at '{self.axis}' has a stroke of {self.stroke:g}, but"
                f" extends by up to {self._longest:.3g}.",
                remedy="Give `stroke`, the volume of the gas over the area of the piston [m].",
            )
        if self.anchors is not None and not (min(self.anchors) > 0.0 and len(self.anchors) == 2):
            raise ModelError(
                f"The anchor distances {self.anchors} of the spring at '{self.axis}' are invalid.",
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
        """Return the extension x and its derivative dx/dq at positions q of the axis, each of the
        shape of q.
        """
        angle = q - self.zero
        if self.anchors is None:
            return angle, np.ones_like(angle)
        d1, d2 = self.anchors
        length = np.sqrt(d1**2 + d2**2 - 2.0 * d1 * d2 * np.cos(angle))
        length = np.maximum(length, 1e-9 * (d1 + d2))  # equal anchors meet
        return length - abs(d1 - d2), d1 * d2 * np.sin(angle) / length

    def functions(self, q: Array) -> tuple[Array, ...]:
        """Return the regressor functions of preload and stiffness in the torque on the axis, each
        of the shape of q.

        A preload at the joint itself is equivalent to its constant offset and has no separate
        function.
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
        """Units of the parameters in `symbols`, for a revolute axis."""
        force = "N m" if self.anchors is None else "N"
        per = "rad" if self.anchors is None else "m"
        return tuple(f"{force}/{per}" if s == "S_k" else force for s in self.symbols)

    def torque(self, q: Array) -> Array:
        """Return the torque of a known spring on its axis, with the shape of q; zero if the spring
        is to be identified.
        """
        if self.identified:
            return np.zeros_like(q)
        given = {"S_p": self.preload, "S_k": self.stiffness}
        functions = zip(self.symbols, self.functions(q), strict=True)
        total = np.sum([given[symbol] * values for symbol, values in functions], axis=0)
        if self.law is SpringLaw.LINEAR and self.anchors is None:
            total = total - self.preload
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class DriveTrain:
    r"""Gears, gains and springs of a robot's drives, in the order of `joint_names`.

    Attributes:
        joint_names: Names of the n joints.
        gains: Torque at the joint per unit of effort, shape (n,): N m/A for motor currents, 1 if
            the effort is already a torque.
        couplings: Factor of each joint in the velocity of a coupled axis, by name of the axis. An
            example of a coupled axis is a motor that turns with joints 5 and 6 together, and whose
            friction acts on both.
        waves: Possible numbers of torque-ripple periods (waves) per turn of an axis, for each of
            the friction terms in `WAVE_KINDS`: `{"ripple": {axis: [...]}}`. The runout of gears has
            one or two waves per turn, that of shafts one per turn of the motor, and that of strain
            wave gears two; cogging has multiples of the number of pole pairs.
        springs: Springs and counterbalances that act in parallel to the drives.
    """

    joint_names: tuple[str, ...]
    gains: Array
    couplings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    waves: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    springs: tuple[Spring, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        n = len(self.joint_names)
        remedy = f"Give one value for each of the joints {', '.join(self.joint_names)}."
        own_arrays(self, ModelError, remedy, "the drives", gains=(n,))
        if not np.all(np.isfinite(self.gains) & (self.gains != 0.0)):
            raise ModelError(
                "Drive gains must be finite and not zero.",
                gains=self.gains,
                remedy="Give the gain of each drive in N m/A at the joint; 1 if the effort is already a torque.",
            )
        for axis, factors in self.couplings.items():
            unknown = [joint for joint in factors if joint not in self.joint_names]
            if unknown or not factors:
                raise ModelError(
                    f"The coupled drive '{axis}' names {unknown or 'no joints'}.",
                    remedy=f"Joints: {', '.join(self.joint_names)}.",
                )
        object.__setattr__(self, "waves", self._checked_waves())
        object.__setattr__(self, "springs", tuple(self.springs))
        self._check_springs()

    def _check_springs(self) -> None:
        strangers = [s.axis for s in self.springs if s.axis not in self.axis_names]
        if strangers:
            raise ModelError(
                f"Springs are given for unknown axes {strangers}.",
                remedy=f"Axes: {', '.join(self.axis_names)}.",
            )
        found = [s.axis for s in self.springs if s.identified]
        if len(set(found)) < len(found):
            raise ModelError(
                f"Several springs of one axis are to be identified: {found}.",
                remedy="Give all but one of them, or join them into one.",
            )

    def _checked_waves(self) -> dict[str, dict[str, tuple[float, ...]]]:
        unknown = [kind for kind in self.waves if kind not in WAVE_KINDS]
        strangers = [a for axes in self.waves.values() for a in axes if a not in self.axis_names]
        if unknown or strangers:
            raise ModelError(
                f"Waves are given for unknown kinds or axes {unknown + strangers}.",
                remedy=f"Kinds: {', '.join(WAVE_KINDS)}; axes: {', '.join(self.axis_names)}.",
            )
        out = {
            kind: {axis: tuple(map(float, given)) for axis, given in axes.items()}
            for kind, axes in self.waves.items()
        }
        for kind, axes in out.items():
            for axis, waves in axes.items():
                if len(set(waves)) != len(waves) or not all(0.0 < w < np.inf for w in waves):
                    raise ModelError(
                        f"'{kind}' of '{axis}' must be positive numbers of waves, each given once:"
                        f" {list(waves)}.",
                        remedy="Give each number of waves per turn once.",
                    )
        return out

    @classmethod
    def direct(cls, joint_names: Sequence[str]) -> DriveTrain:
        """Return the DriveTrain whose efforts are the joint torques."""
        n = len(joint_names)
        return cls(tuple(joint_names), np.ones(n))

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the m axes with friction: every joint, then the coupled axes."""
        return self.joint_names + tuple(self.couplings)

    @property
    def axis_matrix(self) -> Array:
        r"""Matrix `S` from joint to axis velocities, `S @ v`; joint torque `S^T @ tau_axis`; shape
        (m, n).
        """
        extra = np.zeros((len(self.couplings), len(self.joint_names)))
        for row, factors in zip(extra, self.couplings.values(), strict=True):
            for joint, factor in factors.items():
                row[self.joint_names.index(joint)] = factor
        return np.vstack([np.eye(len(self.joint_names)), extra])

    def torques(self, efforts: ArrayLike, q: ArrayLike) -> Array:
        """Return the torques on the joints: those of the drives and of known springs.

        Args:
            efforts: Recorded efforts of the drives, shape (K, n) [unit of the efforts].
            q: Joint positions, shape (K, n) [rad or m].

        Returns:
            Torques on the joints, shape (K, n) [N m or N].
        """
        return np.asarray(efforts, dtype=float) * self.gains + self._of_springs(q)

    def efforts(self, torques: ArrayLike, q: ArrayLike) -> Array:
        """Return the efforts of the drives that, together with known springs, produce given
        torques, shape (K, n).
        """
        return (np.asarray(torques, dtype=float) - self._of_springs(q)) / self.gains

    def _of_springs(self, q: ArrayLike) -> Array | float:
        if not self.springs:
            return 0.0
        positions = np.asarray(q, dtype=float)
        out, S = np.zeros(positions.shape), self.axis_matrix
        for spring in self.springs:
            weights = S[self.axis_names.index(spring.axis)]
            out += spring.torque(positions @ weights)[..., None] * weights
        return out

    def waves_of(self, kind: str, axis: str) -> tuple[float, ...]:
        """Return the numbers of waves per turn of an axis, for one of the `WAVE_KINDS`."""
        return tuple(self.waves.get(kind, {}).get(axis, ()))

    def ordered(self, names: Sequence[str]) -> DriveTrain:
        """Return a copy with the joints in another order.

        Raises:
            ModelError: A joint is missing.
        """
        missing = [name for name in names if name not in self.joint_names]
        if missing:
            raise ModelError(
                f"There are no drive data for the joints {missing}.",
                remedy="Add the drive data of these joints to the column map.",
                missing=missing,
            )
        k = [self.joint_names.index(name) for name in names]
        return replace(self, joint_names=tuple(names), gains=self.gains[k])

    def with_gains(self, gains: ArrayLike) -> DriveTrain:
        """Return a copy with other gains, shape (n,)."""
        return replace(self, gains=np.asarray(gains, dtype=float))
