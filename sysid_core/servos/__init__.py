# SPDX-License-Identifier: Apache-2.0
"""Position servos without torque sensors: from commands and encoders to a simulator."""

from sysid_core.servos.columns import ServoColumns
from sysid_core.servos.doors import read_recordings
from sysid_core.servos.identify import ServoIdentification, identify_servos
from sysid_core.servos.mjcf import replay_in_mujoco, servo_mjcf, servo_plant
from sysid_core.servos.model import TERMS, JointServo, ServoModel, Term
from sysid_core.servos.recording import ServoRecording, match_joints
from sysid_core.servos.replay import Replay, overall, replay, servo_report
from sysid_core.servos.saved import load_servos, save_servos

__all__ = [
    "TERMS",
    "JointServo",
    "Replay",
    "ServoColumns",
    "ServoIdentification",
    "ServoModel",
    "ServoRecording",
    "Term",
    "identify_servos",
    "load_servos",
    "match_joints",
    "overall",
    "read_recordings",
    "replay",
    "replay_in_mujoco",
    "save_servos",
    "servo_mjcf",
    "servo_plant",
    "servo_report",
]
