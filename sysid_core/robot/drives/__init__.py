# SPDX-License-Identifier: Apache-2.0
"""Drive train between motor and joint: gains, couplings, springs."""

from sysid_core.robot.drives.drive_train import WAVE_KINDS, DriveTrain
from sysid_core.robot.drives.springs import Spring, SpringLaw

__all__ = ["WAVE_KINDS", "DriveTrain", "Spring", "SpringLaw"]
