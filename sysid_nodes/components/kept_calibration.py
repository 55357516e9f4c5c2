# SPDX-License-Identifier: Apache-2.0
"""A tare outlives the process: an estimator that is started again goes on with it."""

from __future__ import annotations

import time
from pathlib import Path

from sysid_core.errors import SysIdError
from sysid_core.signals.wrench import SensorCalibration
from sysid_nodes.lifecycle import ManagedNode


class KeptCalibration:
    """The last tare of one node and sensor, in a file of the node's own.

    Args:
        node: The estimator.
        directory: Folder for the file.
        frame: The sensor's frame.
        keep_s: A tare older than this isn't taken up: sensors drift [s].
    """

    def __init__(self, node: ManagedNode, directory: str, frame: str, keep_s: float) -> None:
        name = "_".join([*node.get_fully_qualified_name().strip("/").split("/"), frame])
        self._path = Path(directory) / f"tare_of_{name.replace('/', '_')}.yaml"
        self._node, self._frame, self._keep_s = node, frame, keep_s
        self._kept: SensorCalibration | None = None

    def load(self) -> SensorCalibration | None:
        """The kept tare, if it is young enough; said in the log."""
        try:
            age_s = time.time() - self._path.stat().st_mtime
            found = SensorCalibration.load(self._path) if age_s < self._keep_s else None
        except (OSError, SysIdError):
            return None
        if found is None or found.frame != self._frame:
            return None
        self._node.get_logger().warning(
            f"Going on with the tare of {age_s:.0f} s ago ({self._path}); tare postures replace it."
        )
        self._kept = found
        return found

    def keep(self, calibration: SensorCalibration | None) -> None:
        """Write a new tare; what can't be written is only reported."""
        if calibration is None or calibration is self._kept:
            return
        self._kept = calibration
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            calibration.save(self._path)
        except (OSError, SysIdError) as err:
            self._node.get_logger().warning(f"The tare can't be kept: {err}")
