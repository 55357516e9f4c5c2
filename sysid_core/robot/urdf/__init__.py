# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions: sources and validation."""

from sysid_core.robot.urdf.check import doubtful_units, sound_urdf
from sysid_core.robot.urdf.source import (
    example_robots,
    example_share,
    received_urdf,
    urdf_digest,
    urdf_text,
)
from sysid_core.robot.urdf.srdf import allowed_contacts

__all__ = [
    "allowed_contacts",
    "doubtful_units",
    "example_robots",
    "example_share",
    "received_urdf",
    "sound_urdf",
    "urdf_digest",
    "urdf_text",
]
