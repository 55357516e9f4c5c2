# SPDX-License-Identifier: Apache-2.0
"""Fleets: what nightly recordings of ordinary work say, and what drifts."""

from sysid_core.fleet.recording import Task, recording_rows
from sysid_core.fleet.registry import Registry, load_registry, settings_hash

__all__ = ["Registry", "Task", "load_registry", "recording_rows", "settings_hash"]
