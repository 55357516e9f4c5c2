# SPDX-License-Identifier: Apache-2.0
"""Joints coupled by a linear equation: mimic joints, parallelograms, cables, gears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sysid_core.errors import ModelError


@dataclass(frozen=True, eq=False)
class Coupling:
    """Linear coupling of joints: `sum_j k_j q_j = offset`.

    A parallelogram that keeps a link's direction has coefficients 1; a joint that follows another,
    `q_j = m q_i + b`, has 1 and -m.

    Attributes:
        name: For messages.
        joints: Joint to its coefficient k_j, none of them zero.
        offset: Right side [rad or m].
    """

    name: str
    joints: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", MappingProxyType(dict(self.joints)))
        if len(self.joints) < 2 or not all(self.joints.values()):
            raise ModelError(
                f"Coupling '{self.name}' doesn't tie two joints.",
                remedy="Give `joints: {a: 1.0, b: -2.0}`: two joints at least, none with a factor of 0.",
            )

    @property
    def size(self) -> int:
        """Number of scalar equations."""
        return 1
