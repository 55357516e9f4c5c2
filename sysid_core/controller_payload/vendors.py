# SPDX-License-Identifier: Apache-2.0
"""Mapping of payloads to the vendors' services, derived from their fields at run time.

Fields of these services (they have changed over time, and differ between ROS distributions):

- Universal Robots, `ur_msgs/SetPayload`: `mass`, `center_of_gravity` (Vector3) [m]; from 2026 on
  also `ixx … izz` and `transition_time` (a number or a Duration); in ur_msgs 3 one
  `geometry_msgs/Inertia payload` and `transition_time`. Inertia about the centre of mass, in the
  axes of the tool flange (URScript `set_target_payload`).
- Franka, `franka_msgs/SetLoad`: `mass`, `center_of_mass` (or `F_x_center_load`) from the flange
  [m], `load_inertia`, nine numbers column by column, about the centre of mass; in the first
  franka_ros2 one `geometry_msgs/InertiaStamped load_inertia`.
- UFACTORY, `xarm_msgs/SetTcpLoad`: `weight` [kg], `center_of_gravity` [mm], no inertia.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_core.controller_payload.payload import ControllerPayload
from sysid_core.errors import ModelError
from sysid_core.robot import Array, RobotModel

MASS_FIELDS = ("mass", "weight", "payload", "load_mass")
COM_FIELDS = ("center_of_gravity", "center_of_mass", "f_x_center_load", "F_x_center_load", "cog")
INERTIA_FIELDS = ("load_inertia", "inertia", "i_load")
TIME_FIELDS = ("transition_time",)
_SCALARS = ("float", "double", "float32", "float64")


@dataclass(frozen=True)
class Vendor:
    """Payload service of a vendor.

    Attributes:
        name: Name of the vendor, as in the parameter of the node.
        service_type: ROS type of the service.
        service_name: Name of the service of the vendor's driver.
        length_unit: Unit of the centre of mass in the service [m].
    """

    name: str
    service_type: str
    service_name: str
    length_unit: float = 1.0


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor("ur", "ur_msgs/srv/SetPayload", "io_and_status_controller/set_payload"),
        Vendor("franka", "franka_msgs/srv/SetLoad", "service_server/set_load"),
        Vendor("xarm", "xarm_msgs/srv/SetTcpLoad", "xarm/set_tcp_load", 1e-3),
    )
}


@dataclass(frozen=True)
class VendorRequest:
    """Vendor-specific service request and its values.

    Attributes:
        values: Values by field name; messages as nested mappings.
        sends_inertia: True if the request has a field for the inertia.
    """

    values: Mapping[str, Any]
    sends_inertia: bool

    @classmethod
    def of(
        cls,
        vendor: Vendor,
        payload: ControllerPayload,
        fields: Mapping[str, str],
        *,
        flange_frame: str = "",
        transition_s: float = 0.0,
    ) -> VendorRequest:
        """Return the service request for a vendor, for any version of its driver.

        Args:
            vendor: Vendor whose conventions are used.
            payload: Payload in the flange frame.
            fields: Names and ROS types of the request (`Request.get_fields_and_field_types()`).
            flange_frame: Frame of the header, for stamped messages.
            transition_s: Duration of the change in the controller, if the service supports it [s].

        Raises:
            ModelError: A field is unknown, or the request has no field for mass or centre of mass.
        """
        values: dict[str, Any] = {}
        taken: set[str] = set()
        for field, kind in fields.items():
            value, what = _fill(vendor, payload, field, kind, flange_frame, transition_s)
            values[field] = value
            taken |= what
        missing = {"mass", "com"} - taken
        if missing:
            raise ModelError(
                f"The service of '{vendor.name}' has no field for {sorted(missing)}: {dict(fields)}.",
                remedy="Choose the vendor and service type that belong to the robot's driver.",
            )
        return cls(values, "inertia" in taken)

    @staticmethod
    def accepted(response: Mapping[str, Any]) -> tuple[bool, str]:
        """Return True if the driver accepted the payload, together with the driver's message.

        Args:
            response: Fields of the answer: `success` or `ret` (0: accepted), and a text.

        Raises:
            ModelError: The answer contains neither `success` nor `ret`.
        """
        text = str(response.get("error") or response.get("message") or response.get("status") or "")
        if "success" in response:
            return bool(response["success"]), text
        if "ret" in response:
            return int(response["ret"]) == 0, text or f"ret = {response['ret']}"
        raise ModelError(
            f"The driver's answer {dict(response)} does not state if the payload was accepted.",
            remedy="Check the payload on the display of the robot.",
        )


def _fill(
    vendor: Vendor,
    payload: ControllerPayload,
    field: str,
    kind: str,
    flange_frame: str,
    transition_s: float,
) -> tuple[Any, set[str]]:
    """Value of one field of the request, and its meaning."""
    com = payload.com / vendor.length_unit
    if kind in ("geometry_msgs/Inertia", "geometry_msgs/InertiaStamped"):
        inertia = {"m": payload.mass, "com": _vector(com)}
        inertia |= {
            key: float(payload.inertia[at]) for key, at in RobotModel.INERTIA_ENTRIES.items()
        }
        everything = {"mass", "com", "inertia"}
        if kind.endswith("Stamped"):
            return {"header": {"frame_id": flange_frame}, "inertia": inertia}, everything
        return inertia, everything
    if field in MASS_FIELDS and kind in _SCALARS:
        return payload.mass, {"mass"}
    if field in COM_FIELDS:
        if kind in ("geometry_msgs/Vector3", "geometry_msgs/Point"):
            return _vector(com), {"com"}
        if _is_array(kind, 3):
            return [float(x) for x in com], {"com"}
    if field in RobotModel.INERTIA_ENTRIES and kind in _SCALARS:
        return float(payload.inertia[RobotModel.INERTIA_ENTRIES[field]]), {"inertia"}
    if field in INERTIA_FIELDS and _is_array(kind, 9):
        return [float(x) for x in payload.inertia.ravel(order="F")], {"inertia"}
    if field in TIME_FIELDS:
        if kind in _SCALARS:
            return transition_s, set()
        if kind == "builtin_interfaces/Duration":
            whole = int(transition_s)
            return {"sec": whole, "nanosec": round((transition_s - whole) * 1e9)}, set()
    raise ModelError(
        f"The service of '{vendor.name}' has a field '{field}' of type '{kind}' that is not supported: nothing is sent."
        "",
        remedy="Choose another `vendor` or `service_type`, or report this driver's version.",
        field=field,
    )


def _vector(values: Array) -> dict[str, float]:
    return {axis: float(x) for axis, x in zip("xyz", np.asarray(values), strict=True)}


def _is_array(kind: str, length: int) -> bool:
    """True if a field is an array such as `double[9]` or a sequence of numbers."""
    for scalar in _SCALARS:
        if kind in (f"{scalar}[{length}]", f"sequence<{scalar}>", f"sequence<{scalar}, {length}>"):
            return True
    return False
