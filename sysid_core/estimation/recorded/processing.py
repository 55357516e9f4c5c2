# SPDX-License-Identifier: Apache-2.0
"""What is done to the recordings of any chain before the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sysid_core.errors import EstimationError
from sysid_core.files import Number
from sysid_core.signals.filters import ZeroPhaseFilter


@dataclass(frozen=True, kw_only=True)
class TorqueProcessing:
    """Filter and decimation of regressor and torque.

    Both pass the same filter, which leaves `tau = Y pi` true.

    Attributes:
        torque_cutoff_hz: Cut-off of the filter for regressor and torque.
        max_gap_s: Longer gaps split the recording [s].
        end_trim: Cut at both ends of a span, where filters and impacts spoil it [s].
        moving: A joint moves above this speed [rad/s]; at standstill friction is anywhere between
            its limits.
    """

    SAMPLES_PER_PERIOD: ClassVar[float] = 6.0
    _POSITIVE: ClassVar[tuple[str, ...]] = ("torque_cutoff_hz", "max_gap_s")

    torque_cutoff_hz: Number = 8.0
    max_gap_s: Number = 0.1
    end_trim: Number = 0.3
    moving: Number = 0.01

    def __post_init__(self) -> None:
        for key in self._POSITIVE:
            if not getattr(self, key) > 0.0:
                raise EstimationError(
                    f"'{key}' must be positive, not {getattr(self, key)}.",
                    remedy="Leave it out for the usual value.",
                )

    @property
    def low_pass(self) -> ZeroPhaseFilter:
        """The filter of regressor and torque."""
        return ZeroPhaseFilter(self.torque_cutoff_hz)

    def kept(self, K: int, rate_hz: float, step: int | None = None) -> slice:
        """Samples of a span of K that enter the fit.

        Args:
            K: Samples of the span.
            rate_hz: Samples per second.
            step: Every how many; default: a few per period of the filter's cut-off.
        """
        trim = min(int(self.end_trim * rate_hz), K // 8)
        few = max(1, int(rate_hz / (self.SAMPLES_PER_PERIOD * self.torque_cutoff_hz)))
        return slice(trim, K - trim, few if step is None else step)
