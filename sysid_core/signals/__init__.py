"""Recordings and what is done to them before a fit."""

from sysid_core.signals.recording import EffortKind, JointStream, Mark, Recording, WrenchStream
from sysid_core.signals.wrench import (
    SensorCalibration,
    compensate,
    static_regressor,
    tare_single,
    tare_static,
)
from sysid_core.signals.wrench_mounting import Mounting, check_mounting

__all__ = [
    "EffortKind",
    "JointStream",
    "Mark",
    "Mounting",
    "Recording",
    "SensorCalibration",
    "WrenchStream",
    "check_mounting",
    "compensate",
    "static_regressor",
    "tare_single",
    "tare_static",
]
