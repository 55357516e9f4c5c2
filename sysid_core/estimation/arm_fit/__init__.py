# SPDX-License-Identifier: Apache-2.0
"""Identification with settings that are chosen by cross-validation within the recordings."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.estimation.arm_fit.fit import ArmFit
    from sysid_core.estimation.arm_fit.settings import FitSettings

__getattr__ = names_of(__name__, __file__)

__all__ = ["ArmFit", "FitSettings"]
