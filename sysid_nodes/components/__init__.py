# SPDX-License-Identifier: Apache-2.0
"""What the estimator is composed of: the running payload, and identification on request."""

from sysid_nodes.components.config import EstimatorConfig
from sysid_nodes.components.identification import IdentificationComponent
from sysid_nodes.components.payload import PayloadComponent

__all__ = ["EstimatorConfig", "IdentificationComponent", "PayloadComponent"]
