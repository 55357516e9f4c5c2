# SPDX-License-Identifier: Apache-2.0
"""Position-controlled drives without torque sensors: from commands and encoders to a simulator."""

from sysid_core.servos.bodies import BodyTree, Loads
from sysid_core.servos.doors import read_recordings
from sysid_core.servos.examine import Finding, ServoReason
from sysid_core.servos.identify import JointResult, ServoIdentification, identify_servos
from sysid_core.servos.mjcf import ServoMjcf, servo_mjcf
from sysid_core.servos.model import TERMS, JointServo, ServoModel, Term, TermFacts
from sysid_core.servos.recording import ServoRecording, match_joints
from sysid_core.servos.replay import Replay, overall, replay
from sysid_core.servos.report import servo_report, term_in_words
from sysid_core.servos.saved import load_servos, save_servos

__all__ = [
    "TERMS",
    "BodyTree",
    "Finding",
    "JointResult",
    "JointServo",
    "Loads",
    "Replay",
    "ServoIdentification",
    "ServoMjcf",
    "ServoModel",
    "ServoReason",
    "ServoRecording",
    "Term",
    "TermFacts",
    "identify_servos",
    "load_servos",
    "match_joints",
    "overall",
    "read_recordings",
    "replay",
    "save_servos",
    "servo_mjcf",
    "servo_report",
    "term_in_words",
]
