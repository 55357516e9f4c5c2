# SPDX-License-Identifier: Apache-2.0
"""Payload estimators for wrench data: Nadeau et al. (2022) and the methods that they compare with."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.estimation.payload.data import CompressedWrenches, PayloadData
    from sysid_core.estimation.payload.density_prior import DensityPrior
    from sysid_core.estimation.payload.estimators import rivals
    from sysid_core.estimation.payload.point_mass import PointMassDiscretization
    from sysid_core.estimation.payload.result import PayloadSummary

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "CompressedWrenches",
    "DensityPrior",
    "PayloadData",
    "PayloadSummary",
    "PointMassDiscretization",
    "rivals",
]
