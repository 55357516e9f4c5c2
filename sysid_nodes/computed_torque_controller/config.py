# SPDX-License-Identifier: Apache-2.0
"""Parameters of the computed-torque controller."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.clock_gate import AHEAD
from sysid_core.control import ControllerTiming, SetPointLimits, TorqueController
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_nodes.lifecycle import CommonConfig, parameter


@dataclass(frozen=True)
class ComputedTorqueControllerConfig(CommonConfig):
    """Parameters of `computed_torque_controller`."""

    loops: str = parameter(
        "",
        "YAML file of the kinematic loops of a closed chain, or own-leg (reference robot); empty: no closed loops.",
    )
    rate_hz: float = parameter(
        200.0, "Rate of the commanded efforts [Hz].", minimum=20.0, maximum=1000.0
    )
    bandwidth: float = parameter(
        10.0, "Bandwidth of the feedback loop [rad/s].", minimum=0.5, maximum=200.0
    )
    drive_inertia: float = parameter(
        0.0,
        "Drive inertia of joints whose drive inertia is not stated in the file of kinematic loops; used only for the"
        " feedback gains [kg m^2].",
        minimum=0.0,
    )
    feedback_limit: float = parameter(
        50.0,
        "Largest acceleration due to a set point or the tracking error [rad/s^2].",
        minimum=1.0,
        maximum=10000.0,
    )
    largest_step: float = parameter(
        0.05,
        "Largest accepted distance of a set point from the current reference, or from the measured position [rad or m].",
        minimum=0.001,
        maximum=0.5,
    )
    setpoint_timeout_s: float = parameter(
        0.2,
        "Maximum age of a set point [s]; if it is exceeded, the controller makes a damped stop.",
        minimum=0.01,
        maximum=2.0,
    )
    state_timeout_s: float = parameter(
        0.1,
        "Largest age of joint_states [s]; if it is exceeded, no effort is commanded, and the watchdog of the robot must stop the robot.",
        minimum=0.01,
        maximum=2.0,
    )
    gravity_factor: float = parameter(
        3.0,
        "Largest accepted ratio of identified to nominal gravity torques (above 1); its inverse is the smallest accepted ratio. Other parameters are refused.",
        minimum=1.1,
        maximum=100.0,
    )
    use_at_rest: bool = parameter(
        False, "Use new identified parameters as soon as the robot rests, without a request."
    )

    def chain_of(self, model: RobotModel) -> ClosedChain:
        """Return the mechanism with the nominal parameters of the URDF and of the file of kinematic loops.

        Raises:
            SysIdError: The file of kinematic loops doesn't fit the robot.
        """
        return load_closed_chain(self.loops, model.urdf_xml) if self.loops else ClosedChain(model)

    def set_point_limits(self, chain: ClosedChain) -> SetPointLimits:
        """Return the limits of the set points: those of the robot description, and the limits of
        the difference from the reference.
        """
        columns, model = chain.actuated_columns, chain.model
        lower, upper = model.position_limits
        return SetPointLimits(
            joint_names=chain.actuated,
            lower=lower[columns],
            upper=upper[columns],
            velocity=model.velocity_limits[columns],
            step=self.largest_step,
            bandwidth=self.bandwidth,
            acceleration=self.feedback_limit,
        )

    def controller_of(self, chain: ClosedChain, simulated_time: bool = False) -> TorqueController:
        """Return the controller of a mechanism with its gains and feedforward.

        Args:
            chain: Mechanism with loops.
            simulated_time: True if time is taken from /clock, whose messages may arrive after other
                messages with later stamps.
        """
        timing = ControllerTiming(
            setpoint_timeout=self.setpoint_timeout_s,
            state_timeout=self.state_timeout_s,
            ahead=self.setpoint_timeout_s if simulated_time else AHEAD,
        )
        return TorqueController(
            chain,
            self.bandwidth,
            timing,
            drive_inertia=self.drive_inertia,
            feedback_limit=self.feedback_limit,
        )
