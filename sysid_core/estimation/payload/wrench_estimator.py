# SPDX-License-Identifier: Apache-2.0
"""Common interface of the payload estimators that use only compressed wrenches."""

from __future__ import annotations

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.data import CompressedWrenches, PayloadData


class WrenchEstimator(ABC):
    """Base class of estimators that compress a recording before they fit it.

    Attributes:
        dynamism_scale: Constant `c_1` with which the wrenches must be weighted (Nadeau et al. 2022,
            eq. 9); None: no weights.
    """

    dynamism_scale: float | None = None

    @property
    @abstractmethod
    def method(self) -> str:
        """Name of the method in reports."""

    @abstractmethod
    def solve(self, wrenches: CompressedWrenches, *, source: str = "") -> Estimate:
        """Estimate from compressed wrenches."""

    def fit(self, data: PayloadData, *, residual_frame: ArrayLike | None = None) -> Estimate:
        """Estimate the payload from a whole recording.

        Args:
            data: Wrenches and motions of the recording.
            residual_frame: Poses of the sensor, shape (K, 4, 4), see
                `CompressedWrenches.from_data`; None: sensor axes.
        """
        wrenches = CompressedWrenches.from_data(
            data, self.dynamism_scale, residual_frame=residual_frame
        )
        return self.solve(wrenches, source=data.source)
