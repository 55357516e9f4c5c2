# SPDX-License-Identifier: Apache-2.0
"""Identified parameters on their way into the controller."""

from __future__ import annotations

from enum import Enum

import numpy as np
from robot_sysid.msg import InertialEstimate

from sysid_core.errors import SysIdError
from sysid_core.estimation.closed_chain import identified_chain
from sysid_core.robot.loops import ClosedChain
from sysid_core.validation import TorqueController
from sysid_nodes import conversions


class ParameterSource(str, Enum):
    """Where the parameters in use come from."""

    NOMINAL = "nominal"  # the URDF and the loops file
    IDENTIFIED = "identified"  # an estimate


class IdentifiedParameters:
    """The last estimate that fits the robot, until it is used.

    Args:
        nominal: The mechanism with its nominal parameters.

    Attributes:
        offered: The mechanism with the estimate's parameters; None: there is nothing new.
    """

    def __init__(self, nominal: ClosedChain) -> None:
        self._nominal = nominal
        self.offered: ClosedChain | None = None

    def offer(self, message: InertialEstimate) -> None:
        """Keep an estimate ready; that of a payload is left out.

        Raises:
            SysIdError: It is another robot's, not physically consistent, or not finite.
        """
        if message.model != "robot":
            return
        if message.urdf_hash not in ("", self._nominal.model.urdf_hash):
            raise SysIdError(
                f"The estimate is of another robot, '{message.robot}'.",
                remedy="Estimator and controller must use the same robot_description.",
            )
        if message.consistency_known and not message.physically_consistent:
            raise SysIdError(
                "The estimate isn't physically consistent: it stays unused.",
                remedy="Identify with method lmi or entropic.",
            )
        if not np.all(np.isfinite(message.values)):
            raise SysIdError(
                "The estimate holds values that aren't finite: the last good set stays.",
                remedy="Identify again.",
            )
        estimate = conversions.estimate_from_message(message)
        self.offered = identified_chain(self._nominal, estimate)

    def use(self, controller: TorqueController, now: float) -> None:
        """Give the offered parameters to the controller.

        Args:
            controller: That takes them, at rest only.
            now: The clock [s].

        Raises:
            SysIdError: Nothing is offered, or the robot moves.
        """
        if self.offered is None:
            raise SysIdError(
                "There are no identified parameters.", remedy="Call estimator/identify first."
            )
        controller.use(now, self.offered)
        self.offered = None
