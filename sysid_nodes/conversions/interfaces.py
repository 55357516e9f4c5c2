# SPDX-License-Identifier: Apache-2.0
"""Message and service types of packages that may not be installed, imported by name."""

from __future__ import annotations

import importlib
from typing import Any

from sysid_core.errors import SysIdError


class InterfaceError(SysIdError):
    """Error of a message or service type that is not installed, or lacks the expected fields."""


def interface(name: str) -> Any:
    """Return the class of a message, service or action, by a name such as `ur_msgs/srv/SetPayload`.

    Raises:
        InterfaceError: The package is not installed, or has no interface of this name.
    """
    package, _, rest = name.partition("/")
    kind, _, word = rest.partition("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), word)
    except (ImportError, AttributeError, ValueError) as err:
        raise InterfaceError(
            f"The interface '{name}' is not available: {err}.",
            remedy=f"Install the package '{package}' of the robot's driver and source it before"
            " starting this node, or correct the name (package/srv/Name).",
            interface=name,
        ) from err
