"""Recordings and what is done to them before a fit."""

from sysid_core.signals.recording import EffortKind, JointStream, Mark, Recording, WrenchStream
from sysid_core.signals.table import ColumnMap, read_table
from sysid_core.signals.tare import StaticPostures, static_postures, tare_single, tare_static
from sysid_core.signals.wrench import SensorCalibration, compensate, static_regressor
from sysid_core.signals.wrench_checks import WrenchFault, require_sound_wrench, wrench_faults
from sysid_core.signals.wrench_delay import DelayEstimate, estimate_delay
from sysid_core.signals.wrench_mounting import Mounting, check_mounting
from sysid_core.signals.zero_phase import (
    ZeroPhaseFilter,
    central_difference,
    resample,
    smooth_motion,
    split_at_gaps,
)

__all__ = [
    "ColumnMap",
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
    "ZeroPhaseFilter",
    "central_difference",
    "check_mounting",
    "compensate",
    "estimate_delay",
    "read_table",
    "require_sound_wrench",
    "resample",
    "smooth_motion",
    "split_at_gaps",
    "static_postures",
    "static_regressor",
    "tare_single",
    "tare_static",
    "wrench_faults",
]
