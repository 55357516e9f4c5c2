"""Parameters of the payload bridge."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.controller_payload import VENDORS
from sysid_nodes.lifecycle import parameter


@dataclass(frozen=True)
class PayloadBridgeConfig:
    """Parameters of `payload_bridge`."""

    vendor: str = parameter("ur", "Whose conventions hold.", choices=tuple(VENDORS))
    service_type: str = parameter("", "Type of the payload service; empty: the vendor's usual.")
    service_name: str = parameter("", "Its name; empty: where the vendor's driver has it.")
    dry_run: bool = parameter(True, "Propose only, send nothing.", live=True)
    flange_frame: str = parameter("tool0", "Frame in which the controller counts its payload.")
    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    tool: tuple[float, ...] = parameter(
        (),
        "What hangs on the flange besides the estimated payload (sensor, gripper): list of numbers"
        " m mx my mz Ixx Ixy Iyy Ixz Iyz Izz about the flange's origin.",
    )
    initial_payload: tuple[float, ...] = parameter(
        (), "What the controller has set now, for a rollback: list of numbers as in `tool`."
    )
    max_mass: float = parameter(3.0, "The robot's rated payload [kg].", minimum=0.0, maximum=2000.0)
    max_com: float = parameter(
        0.3, "Largest distance of the centre of mass from the flange [m].", minimum=0.0, maximum=5.0
    )
    max_radius: float = parameter(0.3, "Largest radius of gyration [m].", minimum=0.0, maximum=5.0)
    patience_s: float = parameter(
        60.0, "How long a proposal can be confirmed [s].", minimum=1.0, maximum=3600.0
    )
    transition_s: float = parameter(
        1.0, "How slowly the controller changes over, where it can [s].", minimum=0.0, maximum=60.0
    )
    timeout_s: float = parameter(
        5.0, "Wait for the driver, and for the read-back [s].", minimum=0.1, maximum=60.0
    )
    readback_topic: str = parameter("", "Where the driver reports its payload; empty: nowhere.")
    readback_type: str = parameter("geometry_msgs/msg/InertiaStamped", "Type of that topic.")
    readback_field: str = parameter("", "Path of the Inertia in it, such as inertia_load.")
