# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the payload experiments of Nadeau, Giamou and Kelly (2022)."""

from sysid_studies.payload.objects import modular_objects
from sysid_studies.payload.study import payload_study

__all__ = ["modular_objects", "payload_study"]
