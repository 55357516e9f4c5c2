# SPDX-License-Identifier: Apache-2.0
"""Components of the estimator node: payload, identification, residual torques."""

from sysid_nodes.components.config import EstimatorConfig
from sysid_nodes.components.identification import IdentificationComponent
from sysid_nodes.components.payload import PayloadComponent
from sysid_nodes.components.torque_residuals import TorqueResidualsComponent

__all__ = [
    "EstimatorConfig",
    "IdentificationComponent",
    "PayloadComponent",
    "TorqueResidualsComponent",
]
