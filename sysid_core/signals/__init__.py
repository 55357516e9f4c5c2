"""Recordings and what is done to them before a fit."""

from sysid_core.signals.recording import EffortKind, JointStream, Mark, Recording, WrenchStream
from sysid_core.signals.tare import StaticPostures, static_postures, tare_single, tare_static
from sysid_core.signals.wrench import SensorCalibration, compensate, static_regressor
from sysid_core.signals.wrench_checks import WrenchFault, require_sound_wrench, wrench_faults
from sysid_core.signals.wrench_delay import DelayEstimate, estimate_delay
from sysid_core.signals.wrench_mounting import Mounting, check_mounting

__all__ = [
    "DelayEstimate",
    "EffortKind",
    "JointStream",
    "Mark",
    "Mounting",
    "Recording",
    "SensorCalibration",
    "StaticPostures",
    "WrenchFault",
    "WrenchStream",
    "check_mounting",
    "compensate",
    "estimate_delay",
    "require_sound_wrench",
    "static_postures",
    "static_regressor",
    "tare_single",
    "tare_static",
    "wrench_faults",
]
