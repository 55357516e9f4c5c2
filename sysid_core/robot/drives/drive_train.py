# SPDX-License-Identifier: Apache-2.0
"""Drive train between the reading of a motor and the torque at its joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.drives.springs import Spring
from sysid_core.robot.inertia import Array

WAVE_KINDS = ("ripple", "runout", "speed_ripple", "speed_runout")


@dataclass(frozen=True, eq=False)
class DriveTrain:
    r"""Gears, gains and springs of a robot's drives, in the order of `joint_names`.

    Attributes:
        joint_names: The n joints.
        gains: Torque at the joint per unit of effort, shape (n,): N m/A for motor currents,
            1 where the effort is a torque already.
        couplings: Further axes that drives turn, as combinations of the joints: name to
            {joint: factor}. A motor that turns with joints 5 and 6 together resists both.
        waves: Torque waves per turn of an axis that it may have, for each of the friction terms
            in `WAVE_KINDS`: `{"ripple": {axis: [...]}}`. Gears run out of true once or twice per
            turn, shafts once per turn of the motor, strain wave gears twice; magnets cog at
            multiples of their pole pairs.
        springs: Springs and counterbalances that act beside the drives.
    """

    joint_names: tuple[str, ...]
    gains: Array
    couplings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    waves: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    springs: tuple[Spring, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        n = len(self.joint_names)
        gains = np.array(self.gains, dtype=float)
        if gains.shape != (n,):
            raise ModelError(
                f"'gains' of the drives has shape {gains.shape}, expected ({n},).",
                remedy=f"Give one value for each of the joints {', '.join(self.joint_names)}.",
            )
        gains.setflags(write=False)
        object.__setattr__(self, "gains", gains)
        if not np.all(np.isfinite(self.gains) & (self.gains != 0.0)):
            raise ModelError(
                "Drive gains must be finite and not zero.",
                gains=self.gains,
                remedy="Give N m/A at the joint; 1 if the effort is already a torque.",
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
        """DriveTrain whose efforts are the joint torques."""
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
        """Torques on the joints: those of the drives and of known springs.

        Args:
            efforts: As recorded, shape (K, n).
            q: Joint positions, shape (K, n) [rad or m].
        """
        return np.asarray(efforts, dtype=float) * self.gains + self._of_springs(q)

    def efforts(self, torques: ArrayLike, q: ArrayLike) -> Array:
        """Efforts of the drives that, together with known springs, produce given torques, shape (K,
        n).
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
        """Numbers of waves per turn of an axis, for one of the `WAVE_KINDS`."""
        return tuple(self.waves.get(kind, {}).get(axis, ()))

    def ordered(self, names: Sequence[str]) -> DriveTrain:
        """Copy with the joints in another order.

        Raises:
            ModelError: A joint is missing.
        """
        missing = [name for name in names if name not in self.joint_names]
        if missing:
            raise ModelError(
                f"There are no drive data for the joints {missing}.",
                remedy="Add them to the column map.",
                missing=missing,
            )
        k = [self.joint_names.index(name) for name in names]
        return replace(self, joint_names=tuple(names), gains=self.gains[k])

    def with_gains(self, gains: ArrayLike) -> DriveTrain:
        """Copy with other gains, shape (n,)."""
        return replace(self, gains=np.asarray(gains, dtype=float))
