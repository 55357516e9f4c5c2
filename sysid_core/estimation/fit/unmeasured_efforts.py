# SPDX-License-Identifier: Apache-2.0
"""Joints with efforts of zero throughout, because their driver does not measure efforts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.robot import Array


def unmeasured_joints(efforts: Sequence[Array]) -> NDArray[np.bool_]:
    """Mask of joints without measured efforts, shape (n,).

    Args:
        efforts: Efforts of every span, each (K_i, n).
    """
    return ~np.any([np.any(effort != 0.0, axis=0) for effort in efforts], axis=0)


def refuse_unmeasured(unmeasured: NDArray[np.bool_]) -> None:
    """Raise an error if no joint has measured efforts.

    Raises:
        EstimationError: No joint's effort is measured.
    """
    if np.all(unmeasured):
        raise EstimationError(
            "All efforts are zero: the driver does not measure efforts.",
            remedy="Record from a driver that reports torques or currents.",
        )


def unmeasured_notes(names: Sequence[str], unmeasured: NDArray[np.bool_]) -> tuple[str, ...]:
    """Sentence for the result about joints without measured efforts; empty if there are none."""
    joints = [name for name, none in zip(names, unmeasured, strict=True) if none]
    if not joints:
        return ()
    return (
        f"The efforts of {', '.join(joints)} are zero throughout: parameters that only they determine remain undetermined."
        "",
    )
