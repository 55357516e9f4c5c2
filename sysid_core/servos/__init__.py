# SPDX-License-Identifier: Apache-2.0
"""Position servos without torque sensors: from commands and encoders to a simulator."""

from sysid_core.servos.columns import ServoColumns
from sysid_core.servos.doors import read_recordings
from sysid_core.servos.identify import ServoIdentification, identify_servos
from sysid_core.servos.mjcf import ServoMjcf
from sysid_core.servos.model import TERMS, JointServo, ServoModel, Term
from sysid_core.servos.recording import ServoRecording
from sysid_core.servos.replay import Replay, servo_report
from sysid_core.servos.saved import load_servos, save_servos

__all__ = [
    "TERMS",
    "JointServo",
    "Replay",
    "ServoColumns",
    "ServoIdentification",
    "ServoMjcf",
    "ServoModel",
    "ServoRecording",
    "Term",
    "identify_servos",
    "load_servos",
    "read_recordings",
    "save_servos",
    "servo_report",
]
