# SPDX-License-Identifier: Apache-2.0
"""Payloads weighed, with their verdict."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadSummary, summarise_payload
from sysid_core.reasons import Verdict


@dataclass(frozen=True, eq=False)
class Weighed:
    """A weighed payload.

    Attributes:
        estimate: The ten parameters about the sensor's origin, with covariance.
        verdict: Whether it may be sent to a controller.
    """

    estimate: Estimate
    verdict: Verdict

    @property
    def summary(self) -> PayloadSummary:
        """Mass, centre of mass and inertia about it, with standard deviations.

        Raises:
            EstimationError: The mass isn't positive.
        """
        return summarise_payload(self.estimate)
