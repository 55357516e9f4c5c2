"""Recordings and what is done to them before a fit."""

from sysid_core.signals.recording import EffortKind, JointStream, Mark, Recording, WrenchStream

__all__ = ["EffortKind", "JointStream", "Mark", "Recording", "WrenchStream"]
