# SPDX-License-Identifier: Apache-2.0
"""Force-torque signals: bias, tare, mounting, delay, filter."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.signals.wrench.calibrate import FullCalibration
    from sysid_core.signals.wrench.checks import WrenchCheck
    from sysid_core.signals.wrench.clock import ClockOffset
    from sysid_core.signals.wrench.convention import (
        WrenchAxes,
        WrenchConvention,
        WrenchSign,
    )
    from sysid_core.signals.wrench.filter import FilteredWrench, WrenchFilter
    from sysid_core.signals.wrench.noise import learned_noise
    from sysid_core.signals.wrench.sensor import SensorCalibration
    from sysid_core.signals.wrench.sensor_frame import SensorFrame
    from sysid_core.signals.wrench.tare import StaticPostures

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "ClockOffset",
    "FilteredWrench",
    "FullCalibration",
    "SensorCalibration",
    "SensorFrame",
    "StaticPostures",
    "WrenchAxes",
    "WrenchCheck",
    "WrenchConvention",
    "WrenchFilter",
    "WrenchSign",
    "learned_noise",
]
