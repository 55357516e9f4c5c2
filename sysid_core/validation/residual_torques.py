# SPDX-License-Identifier: Apache-2.0
"""Live joint efforts that the model does not explain."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.estimation.arm import Identification
from sysid_core.robot import Array, RobotModel
from sysid_core.signals import EffortKind

_SPAN = 100  # samples


class ResidualTorques:
    """Live residual efforts of a running motion: measured minus predicted.

    Args:
        model: The robot, whose URDF predicts efforts without friction if no model is identified.
        identification: Identified model that predicts the efforts; None: the URDF.
    """

    def __init__(self, model: RobotModel, identification: Identification | None = None) -> None:
        self.model, self.identification = model, identification
        self._samples: deque[tuple[Array, Array, Array]] = deque(maxlen=_SPAN)

    def add(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """Add a sample: position, velocity and acceleration, each of shape (n,)."""
        self._samples.append((np.asarray(q), np.asarray(v), np.asarray(a)))

    def residual(self, effort: ArrayLike, kind: EffortKind) -> Array | None:
        """Return the residual efforts of the newest sample, shape (n,), in the unit of the measured
        efforts.

        The result is None if no model predicts efforts of this kind, such as currents before an
        identification.

        Raises:
            SignalError: There is no sample yet.
        """
        if not self._samples:
            raise SignalError("No sample has been added.", remedy="Call `add` first.")
        q, v, a = (np.array(x) for x in zip(*self._samples, strict=True))
        measured = np.asarray(effort, dtype=float)
        found = self.identification
        if found is not None:
            return measured - found.friction.drives.efforts(found.torques(q, v, a), q)[-1]
        if kind.is_torque:
            return measured - self.model.inverse_dynamics(q[-1:], v[-1:], a[-1:])[-1]
        return None
