# SPDX-License-Identifier: Apache-2.0
"""Known and unknown payloads, estimated from joint torques."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.estimation.loaded_arm.carried_body import (
        CarriedBody,
    )
    from sysid_core.estimation.loaded_arm.drive_gains import DriveGains
    from sysid_core.estimation.loaded_arm.identify import (
        LoadedIdentification,
    )
    from sysid_core.estimation.loaded_arm.known_load import KnownLoad
    from sysid_core.estimation.loaded_arm.payload_from_torques import (
        LoadedArm,
        PayloadFromTorques,
    )

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "CarriedBody",
    "DriveGains",
    "KnownLoad",
    "LoadedArm",
    "LoadedIdentification",
    "PayloadFromTorques",
]
