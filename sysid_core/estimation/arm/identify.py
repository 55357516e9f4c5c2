# SPDX-License-Identifier: Apache-2.0
"""Identification of a whole arm, from recordings to a model that predicts torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.recordings import Processing, predicted_efforts
from sysid_core.estimation.arm.spans import Estimator, full_parameters, require_recordings
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import unmeasured_notes
from sysid_core.robot import (
    Array,
    FrictionModel,
    RobotModel,
    is_physically_consistent,
    joint_torque_regressor,
)
from sysid_core.signals import Recording


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of the identification of a robot.

    Attributes:
        model: The robot as its URDF describes it.
        friction: Terms that resist, and the drives.
        processing: How the recordings were treated.
        estimate: Values with uncertainty, of base or of full parameters.
        parameters: All parameters, inertial then friction, shape (p,): those of the estimate, and
            where it leaves a choice the closest to the URDF.
        names: Names of all parameters.
    """

    model: RobotModel
    friction: FrictionModel
    processing: Processing
    estimate: Estimate
    parameters: Array
    names: tuple[str, ...]

    @property
    def pi(self) -> Array:
        """Inertial parameters, shape (n_bodies, 10)."""
        return self.parameters[: 10 * self.model.n_bodies].reshape(-1, 10)

    @property
    def friction_parameters(self) -> dict[str, float]:
        """Values of the friction and drive parameters by name."""
        start = 10 * self.model.n_bodies
        return dict(zip(self.names[start:], self.parameters[start:].tolist(), strict=True))

    @property
    def physically_consistent(self) -> bool:
        """True if every body of `pi` is physically consistent and every friction parameter has the
        right sign.
        """
        signs = self.parameters[10 * self.model.n_bodies :][
            np.array(self.friction.non_negative, bool)
        ]
        return bool(np.all(is_physically_consistent(self.pi)) and np.all(signs >= 0.0))

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Joint torques along a motion without gaps, shapes (K, n) to (K, n) [N m].

        Known springs give part of them, the drives the rest.
        """
        return self._torques(q, v, a, (self.pi,))[0]

    def _torques(self, q: Array, v: Array, a: Array, bodies: Sequence[Array]) -> list[Array]:
        """Torques for several sets of inertial parameters, with the identified friction."""
        Y = joint_torque_regressor(self.model, q, v, a)
        beta = self.parameters[10 * self.model.n_bodies :]
        rigid = [Y @ np.ravel(pi) for pi in bodies]
        known = self.model.passive_torques(q, v, a)
        return [tau + self.friction.regressor(q, v, a, tau) @ beta + known for tau in rigid]

    def predict(self, recording: Recording) -> Array:
        """Predicted efforts at the stamps and in the unit of the recording; NaN in gaps.

        Args:
            recording: Joint states; the efforts aren't looked at.

        Returns:
            Shape (K, n), joints in the robot's order.
        """
        return self._predict(recording, (self.pi,))[0]

    def predict_beside_nominal(self, recording: Recording) -> tuple[Array, Array]:
        """Efforts predicted by the identified model and by the URDF's inertial parameters, each of
        shape (K, n).
        """
        identified, nominal = self._predict(recording, (self.pi, self.model.pi))
        return identified, nominal

    def _predict(self, recording: Recording, bodies: Sequence[Array]) -> tuple[Array, ...]:
        return predicted_efforts(
            self.model,
            recording,
            self.processing,
            self.friction.drives,
            lambda q, v, a: self._torques(q, v, a, bodies),
        )


def identify(
    model: RobotModel,
    recordings: Sequence[Recording],
    friction: FrictionModel,
    estimator: Estimator,
    processing: Processing | None = None,
    *,
    load_rounds: int = 3,
) -> Identification:
    """Identify an open chain, or a closed one as its `DrivenRobot`, from one or several recordings.

    Args:
        model: The robot.
        recordings: Runs of the same robot; all are fitted together.
        friction: Terms that resist, and the drives.
        estimator: One of this room's whole-robot estimators.
        processing: Rates and cut-offs.
        load_rounds: Rounds of load-dependent friction, whose load comes from the fit itself.
    """
    require_recordings(recordings)
    equations = ArmEquations.build(model, recordings, friction, processing or Processing())
    return identify_equations(equations, estimator, load_rounds=load_rounds)


def identify_equations(
    equations: ArmEquations, estimator: Estimator, *, load_rounds: int = 3
) -> Identification:
    """Identify a robot from given equations, to compare estimators and friction terms."""
    pi = equations.prior
    for _ in range(load_rounds if equations.friction.needs_load else 1):
        regression = equations.regression(pi)
        estimate = estimator.fit(regression)
        parameters = full_parameters(regression, estimate, estimator.fixed)
        pi = parameters[: regression.n_inertial]
    return Identification(
        equations.model,
        equations.friction,
        equations.processing,
        with_provenance(estimate, [equations]),
        parameters,
        regression.names,
    )


def with_provenance(estimate: Estimate, parts: Sequence[ArmEquations]) -> Estimate:
    """Copy of the estimate with notes on the robot, the data and the omitted samples."""
    together = replace(parts[0], spans=tuple(span for part in parts for span in part.spans))
    share = together.moving_share()
    still = (
        f"{100.0 * (1.0 - share):.0f} % of the samples are at standstill and were excluded from the fit."
        "",
    )
    model = together.model
    return replace(
        estimate,
        robot=model.name,
        urdf_hash=model.urdf_hash,
        source=", ".join(dict.fromkeys(span.source for span in together.spans if span.source)),
        notes=(
            *estimate.notes,
            *(still if share < 0.995 else ()),
            *unmeasured_notes(model.joint_names, together.unmeasured()),
        ),
    )
