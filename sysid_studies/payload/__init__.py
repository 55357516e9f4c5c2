# SPDX-License-Identifier: Apache-2.0
"""Nadeau et al.'s experiments."""

from sysid_studies.payload.objects import modular_objects
from sysid_studies.payload.study import payload_study

__all__ = ["modular_objects", "payload_study"]
