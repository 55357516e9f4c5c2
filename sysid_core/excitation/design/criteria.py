"""How much a motion tells about a robot's base parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.identifiability import ExcitationCertificate, certify_excitation
from sysid_core.identifiability.rpna import Identifiability, structural_identifiability
from sysid_core.robot import Array, RobotModel, joint_torque_regressor

# Below this singular value (columns of unit length) a direction drowns in ordinary noise.
USEFUL = 1e-6


@dataclass(frozen=True, eq=False)
class ExcitationQuality:
    """What a motion shows of what the structure allows.

    Attributes:
        certificate: Numerical rank against the exact structural rank.
        log_det: Log-determinant of the information per sample, joints weighted by their effort
            limits; only differences between motions of one robot mean something.
    """

    certificate: ExcitationCertificate
    log_det: float

    @property
    def condition_number(self) -> float:
        """Of the base regressor with columns of unit length."""
        return self.certificate.scaled_condition_number

    def __str__(self) -> str:
        c = self.certificate
        found = f"{c.numerical_rank} of {c.structural_rank}"
        if not c.is_maximally_exciting:
            return str(c)
        return f"maximally exciting: {found}, condition number {self.condition_number:.3g}"


def torque_weights(model: RobotModel) -> Array:
    """Inverse effort limits, so that joints of different strength compare; shape (n,)."""
    effort = model.effort_limits
    usable = np.isfinite(effort) & (effort > 0)
    typical = float(np.median(effort[usable])) if usable.any() else 1.0
    return 1.0 / np.where(usable, effort, typical)


class ExcitationCriterion:
    """Scores motions of one robot by its exact base parameters.

    Args:
        model: The robot.
        structure: The structural answer; default: computed.
    """

    def __init__(self, model: RobotModel, structure: Identifiability | None = None) -> None:
        self.model = model
        self.structure = structure or structural_identifiability(model)
        self.base = self.structure.base
        self._weights = torque_weights(model)

    def base_regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Weighted base regressor, (K, n) each to (K, n, b)."""
        return self.weighted(joint_torque_regressor(self.model, q, v, a))

    def weighted(self, Y: Array) -> Array:
        """Weighted base regressor from the one of all parameters, (K, n, p) to (K, n, b)."""
        return self.base.base_regressor(Y) * self._weights[:, None]

    def log_det(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> float:
        r"""`log det(Y_b^T W Y_b / K)`; minus infinity when rank is missing."""
        Y = self.base_regressor(q, v, a)
        rows = Y.reshape(-1, Y.shape[-1]) / np.sqrt(len(Y))
        r = np.abs(np.diag(np.linalg.qr(rows, mode="r")))
        return float(2.0 * np.sum(np.log(r))) if len(r) and r.min() > 0 else float("-inf")

    def quality(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> ExcitationQuality:
        """Rank against the structural rank, conditioning, and log-determinant of a motion."""
        Y = joint_torque_regressor(self.model, q, v, a)
        certificate = certify_excitation(self.structure, Y, tolerance=USEFUL)
        return ExcitationQuality(certificate, self.log_det(q, v, a))
