# SPDX-License-Identifier: Apache-2.0
"""Identified parameters that the controller can use."""

from __future__ import annotations

from robot_sysid.msg import InertialEstimate

from sysid_core.control import TorqueController, judge_for_control
from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot.loops import ClosedChain
from sysid_core.settings import Kind
from sysid_core.validation import judge_estimate
from sysid_nodes import conversions


class ParameterSource(Kind):
    """Source of the controller's parameters."""

    NOMINAL = "nominal"  # the URDF and the file of kinematic loops
    IDENTIFIED = "identified"  # an estimate


class IdentifiedParameters:
    """Last estimate of the controlled robot, stored until it is used.

    Args:
        nominal: The mechanism with its nominal parameters.
        factor: Largest accepted ratio of the identified to the nominal gravity torques.

    Attributes:
        offered: Mechanism with the parameters of an estimate that has not been used yet; None: no
            new estimate.
    """

    def __init__(self, nominal: ClosedChain, factor: float) -> None:
        self._nominal, self._factor = nominal, factor
        self.offered: ClosedChain | None = None

    def offer(self, message: InertialEstimate) -> None:
        """Store an estimate for later use; payload estimates are ignored.

        Raises:
            SysIdError: The estimate belongs to another robot, is malformed, is not finite, is not
                physically consistent, or its gravity torques differ too much from the nominal ones.
        """
        if message.model != "robot":
            return
        if message.urdf_hash != self._nominal.model.urdf_hash:
            raise SysIdError(
                f"The estimate belongs to another robot, '{message.robot}' ({message.urdf_hash}).",
                remedy="Estimator and controller must use the same robot_description.",
            )
        estimate = conversions.estimate_from_message(message)
        verdict = judge_estimate(estimate) + _without_springs(estimate)
        if verdict.ok:
            candidate = self._nominal.with_parameters(estimate.names, estimate.values)
            verdict += judge_for_control(self._nominal, candidate, self._factor)
        if not verdict.ok:
            raise SysIdError(
                f"The estimate is refused: {' '.join(reason.text for reason in verdict.failures)}",
                remedy="Check units, signs and the motion, and identify again (method lmi or"
                " entropic); the present parameters remain in use.",
            )
        self.offered = candidate

    def use(self, controller: TorqueController, now: float) -> None:
        """Set the stored parameters in the controller.

        Args:
            controller: Controller that uses the parameters; it accepts new ones only at rest.
            now: Current time [s].

        Raises:
            SysIdError: There is no new estimate, or the robot moves.
        """
        if self.offered is None:
            raise SysIdError(
                "There are no identified parameters.", remedy="Call estimator/identify first."
            )
        controller.use(now, self.offered)
        self.offered = None


def _without_springs(estimate: Estimate) -> Verdict:
    """Raise an error for identified springs, because their torque would be compensated twice."""
    parts = (name.rpartition(".") for name in estimate.names)
    springs = sorted({joint for joint, _, symbol in parts if symbol.startswith("S_")})
    if not springs:
        return Verdict()
    return Verdict((Reason.failure("springs-unknown", joints=springs),))
