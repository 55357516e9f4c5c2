# SPDX-License-Identifier: Apache-2.0
"""Node whose parameters are the fields of a dataclass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle.guarded_node import GuardedNode
from sysid_nodes.lifecycle.parameters import CommonConfig, declare, read, value_to_set


class ConfiguredNode(GuardedNode):
    """Node whose parameters are the fields of `Config`, a frozen dataclass of `parameter` fields.

    Attributes:
        config: Current configuration, read when the node was configured and updated by live
            changes; None before.
    """

    Config: type[CommonConfig] = CommonConfig

    def __init__(self, name: str) -> None:
        super().__init__(name)
        declare(self, self.Config)
        self.config: Any = None
        self.add_on_set_parameters_callback(self._on_set)

    def changed(self, names: set[str]) -> None:
        """Use changed parameters in `self.config` (callback); raise a SysIdError to refuse the
        values.
        """

    @property
    def fixed_because(self) -> str:
        """Reason why no parameter may change now, such as a running motion; empty if changes are
        allowed.
        """
        return ""

    def read_parameters(self) -> None:
        """Read the current parameters into `self.config`.

        Raises:
            ParameterError: A value has the wrong type, or is out of range.
        """
        self.config = read(self, self.Config)

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Validate new values; refuse those that need a new configuration of the node."""
        before = self.config
        because = self.fixed_because if before is not None else ""
        if because:
            names = ", ".join(p.name for p in parameters)
            return SetParametersResult(
                successful=False, reason=f"{because}: {names} can't change. End the motion first."
            )
        try:
            known = {
                p.name: value_to_set(self.Config, p.name, p.value, configured=before is not None)
                for p in parameters
                if p.name in self.Config.__dataclass_fields__
            }
            if before is not None and known:
                self.config = replace(before, **known)
                self.changed(set(known))
        except SysIdError as err:
            self.config = before
            return SetParametersResult(successful=False, reason=str(err))
        return SetParametersResult(successful=True)
