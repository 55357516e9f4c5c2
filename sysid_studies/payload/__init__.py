# SPDX-License-Identifier: Apache-2.0
"""Nadeau et al.'s experiments."""

from sysid_studies.payload.arm import record_arm
from sysid_studies.payload.checks import stop_and_go_table
from sysid_studies.payload.families import CHOICE_FAMILIES, FAMILIES, given_shape
from sysid_studies.payload.objects import (
    StudyObject,
    modular_objects,
    modular_shape,
    random_objects,
)
from sysid_studies.payload.robustness import (
    nuisance_outcomes,
    robustness_study,
    shape_outcomes,
)
from sysid_studies.payload.robustness_tables import (
    Outcome,
    RobustnessStudy,
    RobustnessTable,
)
from sysid_studies.payload.runs import (
    PAYLOAD_METHODS,
    Case,
    normalised_squared_error,
    run_case,
    simulate,
)
from sysid_studies.payload.scene import (
    GOAL_FAULTS,
    NOISE_LEVELS,
    Experiment,
    accelerometer_experiment,
    encoder_experiment,
    robot,
    swing,
)
from sysid_studies.payload.study import payload_study
from sysid_studies.payload.tables import StudyTable

__all__ = [
    "CHOICE_FAMILIES",
    "FAMILIES",
    "GOAL_FAULTS",
    "NOISE_LEVELS",
    "PAYLOAD_METHODS",
    "Case",
    "Experiment",
    "Outcome",
    "RobustnessStudy",
    "RobustnessTable",
    "StudyObject",
    "StudyTable",
    "accelerometer_experiment",
    "encoder_experiment",
    "given_shape",
    "modular_objects",
    "modular_shape",
    "normalised_squared_error",
    "nuisance_outcomes",
    "payload_study",
    "random_objects",
    "record_arm",
    "robot",
    "robustness_study",
    "run_case",
    "shape_outcomes",
    "simulate",
    "stop_and_go_table",
    "swing",
]
