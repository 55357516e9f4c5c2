# SPDX-License-Identifier: Apache-2.0
"""Sequential identification, one joint at a time (Lin 1992)."""

from sysid_core.estimation.sequential.identify import (
    SequentialLeastSquares,
)
from sysid_core.estimation.sequential.motion import SequentialIdentification, motion_segments

__all__ = [
    "SequentialIdentification",
    "SequentialLeastSquares",
    "motion_segments",
]
