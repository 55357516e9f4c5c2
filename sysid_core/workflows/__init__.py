# SPDX-License-Identifier: Apache-2.0
"""Complete tasks, from settings to results with verdicts and files; a callback reports the steps.

The command line, the nodes, the benchmark and the fleet call these.
"""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.workflows.arm_data import ArmData
    from sysid_core.workflows.certificate import certify
    from sysid_core.workflows.export import (
        export_result,
        verify,
    )
    from sysid_core.workflows.identification import IdentifiedArm
    from sysid_core.workflows.inputs import inputs_of, work_key
    from sysid_core.workflows.motion_planning import plan
    from sysid_core.workflows.plan_settings import PLANS
    from sysid_core.workflows.servo_export import export_servos
    from sysid_core.workflows.servos import identify_servos
    from sysid_core.workflows.settings import (
        IdentifySettings,
        SequentialSettings,
        ServoFiles,
        ServoSettings,
        TareSettings,
        TorqueWeighingSettings,
        ValidateSettings,
        WeighSettings,
    )
    from sysid_core.workflows.taring import Tared
    from sysid_core.workflows.torque_weighing import weigh_by_torques
    from sysid_core.workflows.validation import ValidatedArm
    from sysid_core.workflows.weighing import FoundPart, Weighed, WeighedRecording

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "PLANS",
    "ArmData",
    "FoundPart",
    "IdentifiedArm",
    "IdentifySettings",
    "SequentialSettings",
    "ServoFiles",
    "ServoSettings",
    "TareSettings",
    "Tared",
    "TorqueWeighingSettings",
    "ValidateSettings",
    "ValidatedArm",
    "WeighSettings",
    "Weighed",
    "WeighedRecording",
    "certify",
    "export_result",
    "export_servos",
    "identify_servos",
    "inputs_of",
    "plan",
    "verify",
    "weigh_by_torques",
    "work_key",
]
