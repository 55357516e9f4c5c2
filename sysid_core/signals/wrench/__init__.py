# SPDX-License-Identifier: Apache-2.0
"""Force-torque signals: bias, tare, mounting, delay, filter."""

from sysid_core.signals.wrench.calibrate import FullCalibration, calibrate_static
from sysid_core.signals.wrench.checks import (
    require_sensor_frame,
    require_sound_wrench,
    slow_note,
    slow_part,
    wrench_faults,
)
from sysid_core.signals.wrench.clock import ClockOffset, clock_of_recording, estimate_clock
from sysid_core.signals.wrench.convention import (
    UNLIKELY,
    WrenchAxes,
    WrenchConvention,
    WrenchSign,
    find_convention,
    inverted_motion,
)
from sysid_core.signals.wrench.delay import delay_of_recording, estimate_delay
from sysid_core.signals.wrench.filter import FilteredWrench, WrenchFilter, filter_wrench
from sysid_core.signals.wrench.frames import check_wrench_frame, mount_sensor
from sysid_core.signals.wrench.hum import wrench_hum
from sysid_core.signals.wrench.mounting import check_mounting, is_reversed, require_weight
from sysid_core.signals.wrench.noise import Stretches, learned_noise
from sysid_core.signals.wrench.readings import usable_readings
from sysid_core.signals.wrench.retare import retare
from sysid_core.signals.wrench.sensor import (
    WRENCH_AXES,
    SensorCalibration,
    compensate,
    static_regressor,
)
from sysid_core.signals.wrench.tare import (
    StaticPostures,
    static_postures,
    tare_single,
    tare_static,
)

__all__ = [
    "UNLIKELY",
    "WRENCH_AXES",
    "ClockOffset",
    "FilteredWrench",
    "FullCalibration",
    "SensorCalibration",
    "StaticPostures",
    "Stretches",
    "WrenchAxes",
    "WrenchConvention",
    "WrenchFilter",
    "WrenchSign",
    "calibrate_static",
    "check_mounting",
    "check_wrench_frame",
    "clock_of_recording",
    "compensate",
    "delay_of_recording",
    "estimate_clock",
    "estimate_delay",
    "filter_wrench",
    "find_convention",
    "inverted_motion",
    "is_reversed",
    "learned_noise",
    "mount_sensor",
    "require_sensor_frame",
    "require_sound_wrench",
    "require_weight",
    "retare",
    "slow_note",
    "slow_part",
    "static_postures",
    "static_regressor",
    "tare_single",
    "tare_static",
    "usable_readings",
    "wrench_faults",
    "wrench_hum",
]
