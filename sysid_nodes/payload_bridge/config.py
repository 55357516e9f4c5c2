# SPDX-License-Identifier: Apache-2.0
"""Parameters of the payload bridge, and the objects that they define."""

from __future__ import annotations

from dataclasses import dataclass

from geometry_msgs.msg import InertiaStamped

from sysid_core.clock_gate import ClockGate, StampError, StampFault
from sysid_core.controller_payload import (
    VENDORS,
    ControllerPayload,
    PayloadExchange,
    PayloadLimits,
)
from sysid_core.robot import RobotModel, transform_pi
from sysid_nodes.conversions import ns_from_stamp
from sysid_nodes.lifecycle import CommonConfig, ParameterError, parameter
from sysid_nodes.payload_bridge.interfaces import NotTakenError, payload_from_message


@dataclass(frozen=True)
class PayloadBridgeConfig(CommonConfig):
    """Parameters of `payload_bridge`."""

    vendor: str = parameter(
        "ur",
        "Vendor of the controller, whose payload conventions are used.",
        choices=tuple(VENDORS),
    )
    service_type: str = parameter(
        "", "Type of the payload service; empty: the default of the vendor's driver."
    )
    service_name: str = parameter(
        "", "Name of the payload service; empty: the default of the vendor's driver."
    )
    dry_run: bool = parameter(
        True, "Dry run: payloads are proposed but never sent to the controller.", live=True
    )
    flange_frame: str = parameter(
        "tool0", "Frame in which the controller expects the payload, usually the flange."
    )
    tool: tuple[float, ...] = parameter(
        (),
        "Load on the flange in addition to the estimated payload (sensor, gripper): list of numbers"
        " m mx my mz Ixx Ixy Iyy Ixz Iyz Izz about the flange's origin.",
    )
    initial_payload: tuple[float, ...] = parameter(
        (), "Payload presently set in the controller, for a rollback: list of numbers as in `tool`."
    )
    max_mass: float = parameter(3.0, "The robot's rated payload [kg].", minimum=0.0, maximum=2000.0)
    max_com: float = parameter(
        0.3,
        "Largest accepted distance of a payload's centre of mass from the flange [m].",
        minimum=0.0,
        maximum=5.0,
    )
    max_radius: float = parameter(
        0.3, "Largest accepted radius of gyration of a payload [m].", minimum=0.0, maximum=5.0
    )
    patience_s: float = parameter(60.0, "Validity of a proposal [s].", minimum=1.0, maximum=3600.0)
    transition_s: float = parameter(
        1.0,
        "Duration of the change from old to new payload in the controller, if supported [s].",
        minimum=0.0,
        maximum=60.0,
    )
    timeout_s: float = parameter(
        5.0,
        "Longest wait for the driver's answer and for the payload that it reports [s].",
        minimum=0.1,
        maximum=60.0,
    )
    readback_topic: str = parameter(
        "", "Topic on which the driver reports its payload; empty: none."
    )
    readback_type: str = parameter(
        "geometry_msgs/msg/InertiaStamped", "Message type of readback_topic."
    )
    readback_field: str = parameter(
        "",
        "Field that contains the Inertia in the messages of the topic on which the driver reports its payload, such as inertia_load.",
    )

    def exchange(self) -> PayloadExchange:
        """Return the state machine of proposals and of the controller's payload.

        Raises:
            ParameterError: A body has a number of parameters other than ten.
        """
        for name in ("tool", "initial_payload"):
            if len(getattr(self, name)) not in (0, 10):
                raise ParameterError(
                    f"Parameter '{name}' has {len(getattr(self, name))} numbers, expected ten.",
                    remedy="Give m mx my mz Ixx Ixy Iyy Ixz Iyz Izz about the flange's origin.",
                )
        before = ControllerPayload.from_pi(self.initial_payload) if self.initial_payload else None
        limits = PayloadLimits(self.max_mass, self.max_com, self.max_radius)
        return PayloadExchange(limits, self.patience_s, before)

    def require_sending(self) -> None:
        """Raise an error unless the parameters permit sending.

        Raises:
            NotTakenError: dry_run is on.
        """
        if self.dry_run:
            raise NotTakenError(
                "dry_run is on: nothing was sent.",
                untouched=True,
                remedy="Set the parameter dry_run to false first.",
            )


def payload_at_flange(
    message: InertiaStamped | None,
    config: PayloadBridgeConfig,
    model: RobotModel | None,
    now_s: float,
) -> ControllerPayload:
    """Return the sum of the estimated payload and the tool, about the origin of the flange frame.

    Raises:
        SysIdError: There is no estimate, it is too old, the pose of its frame relative to the
            flange is unknown, or a value is not finite.
    """
    if message is None:
        raise NotTakenError(
            "No payload has been estimated yet.",
            untouched=True,
            remedy="Play a payload motion first, with the estimator running.",
        )
    gate = ClockGate("the payload's estimate", oldest=config.patience_s)
    try:
        stamp_ns = ns_from_stamp(message.header.stamp) or 1  # 1970 is a stamp, too
        gate.take(stamp_ns, round(now_s * 1e9))
    except StampError as err:
        raise NotTakenError(
            f"{err.message} The robot may hold another object by now.",
            untouched=True,
            remedy="Weigh again, or raise patience_s."
            if err.code is StampFault.OLD
            else err.remedy,
        ) from err
    pi = payload_from_message(message).pi
    if message.header.frame_id != config.flange_frame:
        if model is None:
            raise NotTakenError(
                "The robot's description has not arrived yet.",
                untouched=True,
                remedy="Start the node that publishes robot_description, or give the estimate in the flange frame.",
            )
        pi = transform_pi(model.fixed_pose(config.flange_frame, message.header.frame_id), pi)
    return ControllerPayload.from_pi(pi + config.tool if config.tool else pi)
