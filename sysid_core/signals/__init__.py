"""Recordings and what is done to them before a fit."""

from sysid_core.signals.bag import read_bag
from sysid_core.signals.bag_recovery import recover_bag
from sysid_core.signals.bag_storage import StoredBag, StoredMessage, StoredTopic, open_bag
from sysid_core.signals.bag_types import build_typestore, message_decoder, message_definitions
from sysid_core.signals.bag_writer import BagWriter, OfferedQos
from sysid_core.signals.column_map import SCHEMA as COLUMNS_SCHEMA
from sysid_core.signals.column_map import ColumnMap
from sysid_core.signals.delay import SignalDelay, signal_delay
from sysid_core.signals.filtered import FilteredJointStream, FilteredSample
from sysid_core.signals.joint_filter import JointFilter, filter_joints
from sysid_core.signals.kalman import KinematicBank
from sysid_core.signals.noise import NoiseEstimator, NoiseLevels, estimate_noise, estimate_rate_sd
from sysid_core.signals.recording import EffortKind, JointStream, Mark, Recording, WrenchStream
from sysid_core.signals.smoother import smooth_joints
from sysid_core.signals.statistics import StreamMonitor, StreamStatistics
from sysid_core.signals.stream_clock import FilterCounts, SampleOutcome
from sysid_core.signals.table import read_table
from sysid_core.signals.tare import StaticPostures, static_postures, tare_single, tare_static
from sysid_core.signals.timing import TimingReport, check_timing, in_order, interpolate_at
from sysid_core.signals.unit_checks import require_sound_units, velocity_ratio
from sysid_core.signals.wrench import WRENCH_AXES, SensorCalibration, compensate, static_regressor
from sysid_core.signals.wrench_checks import WrenchFault, require_sound_wrench, wrench_faults
from sysid_core.signals.wrench_delay import DelayEstimate, delay_of_recording, estimate_delay
from sysid_core.signals.wrench_filter import FilteredWrench, WrenchFilter, filter_wrench
from sysid_core.signals.wrench_mounting import Mounting, check_mounting, require_weight
from sysid_core.signals.zero_phase import (
    ZeroPhaseFilter,
    central_difference,
    resample,
    smooth_motion,
    split_at_gaps,
)

__all__ = [
    "COLUMNS_SCHEMA",
    "WRENCH_AXES",
    "BagWriter",
    "ColumnMap",
    "DelayEstimate",
    "EffortKind",
    "FilterCounts",
    "FilteredJointStream",
    "FilteredSample",
    "FilteredWrench",
    "JointFilter",
    "JointStream",
    "KinematicBank",
    "Mark",
    "Mounting",
    "NoiseEstimator",
    "NoiseLevels",
    "OfferedQos",
    "Recording",
    "SampleOutcome",
    "SensorCalibration",
    "SignalDelay",
    "StaticPostures",
    "StoredBag",
    "StoredMessage",
    "StoredTopic",
    "StreamMonitor",
    "StreamStatistics",
    "TimingReport",
    "WrenchFault",
    "WrenchFilter",
    "WrenchStream",
    "ZeroPhaseFilter",
    "build_typestore",
    "central_difference",
    "check_mounting",
    "check_timing",
    "compensate",
    "delay_of_recording",
    "estimate_delay",
    "estimate_noise",
    "estimate_rate_sd",
    "filter_joints",
    "filter_wrench",
    "in_order",
    "interpolate_at",
    "message_decoder",
    "message_definitions",
    "open_bag",
    "read_bag",
    "read_table",
    "recover_bag",
    "require_sound_units",
    "require_sound_wrench",
    "require_weight",
    "resample",
    "signal_delay",
    "smooth_joints",
    "smooth_motion",
    "split_at_gaps",
    "static_postures",
    "static_regressor",
    "tare_single",
    "tare_static",
    "velocity_ratio",
    "wrench_faults",
]
