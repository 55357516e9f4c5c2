# SPDX-License-Identifier: Apache-2.0
"""Kalman filters and zero-phase filters."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.signals.filters.joint_filter import (
        FilteredJointStream,
        FilteredSample,
        JointFilter,
    )
    from sysid_core.signals.filters.zero_phase import ZeroPhaseFilter

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "FilteredJointStream",
    "FilteredSample",
    "JointFilter",
    "ZeroPhaseFilter",
]
