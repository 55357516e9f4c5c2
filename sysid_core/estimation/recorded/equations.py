# SPDX-License-Identifier: Apache-2.0
"""Measurement equations of a chain, open or closed: an open chain is one without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression, unmeasured_joints, unmeasured_notes
from sysid_core.estimation.recorded.processing import Motion, Span
from sysid_core.robot import (
    INERTIAL_UNITS,
    Array,
    RobotModel,
    inertial_parameter_names,
    inertial_scale,
)


class ChainEquations(Generic[Motion]):
    """Recordings of a chain, from which regressions are made.

    Attributes:
        spans: The data.
    """

    spans: tuple[Span[Motion], ...]

    @property
    def source(self) -> str:
        """Names of the recordings."""
        return ", ".join(dict.fromkeys(span.source for span in self.spans if span.source))

    def unmeasured(self) -> NDArray[np.bool_]:
        """Measured joints whose efforts are zero throughout, shape (n,)."""
        return unmeasured_joints([span.tau for span in self.spans])

    def signed(
        self,
        estimate: Estimate,
        model: RobotModel,
        joints: Sequence[str],
        notes: Sequence[str] = (),
    ) -> Estimate:
        """The estimate with robot, data and what was left out noted.

        Args:
            estimate: What was fitted to these equations.
            model: The robot.
            joints: Names of the n measured joints.
            notes: Further sentences.
        """
        return replace(
            estimate,
            robot=model.name,
            urdf_hash=model.urdf_hash,
            source=self.source,
            notes=(*estimate.notes, *notes, *unmeasured_notes(joints, self.unmeasured())),
        )


@dataclass(frozen=True, eq=False)
class FrictionColumns:
    """Columns of a regression that belong to friction and drives, p_f of them.

    Attributes:
        names: Their names.
        units: Their units.
        scale: Their natural scale (`friction_scale`), shape (p_f,).
        non_negative: Which of them physics forbids to be negative, shape (p_f,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    scale: Array
    non_negative: Sequence[bool] | NDArray[np.bool_]


def chain_regression(
    model: RobotModel,
    friction: FrictionColumns,
    *,
    inertials: bool = True,
    prior: Array | None = None,
    scale: Array | None = None,
    **data: Any,
) -> Regression:
    """Regression in a chain's parameters, inertial then friction.

    Args:
        model: The robot.
        friction: Columns behind the inertial ones.
        inertials: Whether inertial columns are there at all.
        prior: Inertial parameters to start from, shape (10 N,); default: the model's.
        scale: Their natural scale, shape (10 N,).
        **data: Y, tau, joints, structure and what else `Regression` takes of the data.
    """
    n = 10 * model.n_bodies if inertials else 0
    prior = model.pi.ravel() if prior is None else prior
    scale = inertial_scale(model) if scale is None else scale
    return Regression(
        names=inertial_parameter_names(model)[:n] + friction.names,
        units=(INERTIAL_UNITS * model.n_bodies)[:n] + friction.units,
        bodies=model.body_names if inertials else (),
        prior=np.concatenate([prior[:n], np.zeros(len(friction.names))]),
        prior_sd=np.concatenate([scale[:n], friction.scale]),
        non_negative=np.concatenate([np.zeros(n, bool), np.asarray(friction.non_negative, bool)]),
        **data,
    )
