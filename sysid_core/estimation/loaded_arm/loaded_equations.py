# SPDX-License-Identifier: Apache-2.0
"""Common regression of recordings with and without payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.arm import filled
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.loaded_arm.carried_load import carried_by, require_filtered
from sysid_core.estimation.payload import PAYLOAD_NAMES
from sysid_core.robot import (
    INERTIAL_UNITS,
    Array,
    FrictionModel,
    RobotModel,
    inertial_parameter_names,
    joint_torque_regressor,
)
from sysid_core.signals import JointStream


@dataclass(frozen=True, eq=False)
class LoadedEquations:
    """Linear equations for the arm, the change of its friction, and the payload.

    Attributes:
        model: The unloaded robot.
        friction: Its friction terms.
        frame: Frame that carries the payload.
    """

    model: RobotModel
    friction: FrictionModel
    frame: str

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arm parameters: inertial parameters, then friction."""
        return inertial_parameter_names(self.model) + self.friction.names

    def regression(self, streams: Sequence[tuple[JointStream, bool]], x: Array) -> Regression:
        """Equations of all recordings for the arm, the drift of its friction and the payload."""
        parts = [self._rows(stream, x, with_load) for stream, with_load in streams]
        starts = tuple(np.cumsum([0, *(len(stream) for stream, _ in streams[:-1])]).tolist())
        friction = self.friction
        names = (*self.arm_names, *(f"change of {name}" for name in friction.names), *PAYLOAD_NAMES)
        arm_units = INERTIAL_UNITS * self.model.n_bodies + friction.units
        return Regression(
            Y=np.concatenate(parts),
            tau=np.concatenate(
                [np.asarray(s.ordered(self.model.joint_names).effort) for s, _ in streams]
            ),
            names=names,
            units=(*arm_units, *friction.units, *INERTIAL_UNITS),
            joints=self.model.joint_names,
            bodies=self.model.body_names,
            prior=x,
            prior_sd=np.ones(len(x)),
            non_negative=np.zeros(len(x), dtype=bool),
            structure=np.empty((0, len(x))),
            starts=starts,
            recordings=starts,
        )

    def _rows(self, stream: JointStream, x: Array, with_load: bool) -> Array:
        """`[Y, Phi, Phi, Y_L]`, the last two zero without load, shape (K, n, p)."""
        stream = stream.ordered(self.model.joint_names)
        require_filtered(stream, "the recording")
        q, v, a = stream.q, filled(stream.v), filled(stream.a)
        Y = joint_torque_regressor(self.model, q, v, a)
        Y_L = Y @ carried_by(self.model, self.frame)
        n_pi = Y.shape[2]
        rigid = Y @ x[:n_pi] + (Y_L @ x[-10:] if with_load else 0.0)
        Phi = self.friction.regressor(q, v, a, rigid)
        return np.concatenate([Y, Phi, with_load * Phi, with_load * Y_L], axis=2)
