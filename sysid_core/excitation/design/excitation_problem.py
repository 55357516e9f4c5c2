"""The optimisation problem behind exciting motions: its value and gradient."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sysid_core.excitation.design.criteria import ExcitationCriterion
from sysid_core.excitation.fourier import FourierBasis
from sysid_core.excitation.motion_check import MotionChecker
from sysid_core.robot import Array, joint_torque_regressor

SAMPLES_PER_HARMONIC = 16  # of the coarse grid
AIM = 0.96  # share of a limit at which the penalty begins
STEP = 1e-6  # of finite differences [rad, rad/s, rad/s^2]
GROUND_MARGIN = 0.01  # [m]
CONTACT_MARGIN = 0.015  # [m], between the bodies' hulls
DISTANCE_SCALE = 0.1  # [m], what counts as one limit
REGULARISATION = 1e-12  # of the scaled information, keeps the logarithm finite


class ExcitationProblem:
    r"""Value of `-log det(Y_b^T W Y_b / K)` plus penalties, over centre and coefficients.

    The penalties are quadratic in what exceeds `AIM` of a limit, or comes too near, on a coarse
    grid; the last word on a dense grid is the motion check's. The gradient comes from finite differences per
    sample (every sample has its own q, v, a) and the chain rule through the linear series.

    Args:
        checker: Of the robot and its limits.
        criterion: What is maximised.
        basis: Of the series.
        penalty: Log-determinant that one sample at about twice a limit costs; may be changed.
    """

    def __init__(
        self,
        checker: MotionChecker,
        criterion: ExcitationCriterion,
        basis: FourierBasis,
        penalty: float = 2000.0,
    ) -> None:
        self.checker, self.criterion, self.basis = checker, criterion, basis
        self.penalty = penalty
        n_samples = SAMPLES_PER_HARMONIC * basis.n_harmonics
        self._matrices = basis.matrices(np.arange(n_samples) * basis.period / n_samples)
        self._model = checker.model.pin_model
        self._data = self._model.createData()
        self._tcp = checker.model.frame_id(checker.limits.tcp_frame)
        self._pi = checker.model.pi.ravel()
        limits = checker.limits
        bounded = np.isfinite(limits.upper - limits.lower)
        self._middle = np.where(bounded, (limits.upper + limits.lower) / 2, 0.0)
        self._half = np.where(bounded, (limits.upper - limits.lower) / 2, np.inf)
        self._supports: list[tuple[int, Array]] = []
        if limits.ground_height is not None and checker.geometry is not None:
            self._supports = checker.geometry.support_points()
        self.last_log_det = float("-inf")  # of the last evaluation

    @property
    def n_variables(self) -> int:
        """Centre and free coefficients of all joints."""
        return self.checker.model.nv * (1 + self.basis.n_free)

    def split(self, x: Array) -> tuple[Array, Array]:
        """Centre (n,) and coefficients (n_free, n) of a vector of variables."""
        n = self.checker.model.nv
        return x[:n], x[n:].reshape(self.basis.n_free, n)

    def motion(self, x: Array) -> tuple[Array, Array, Array]:
        """q, v and a on the coarse grid, each (K, n)."""
        centre, coefficients = self.split(x)
        Q, V, A = self._matrices
        return centre + Q @ coefficients, V @ coefficients, A @ coefficients

    def fitted_to_joint_limits(self, x: Array, share: float = 0.9) -> Array:
        """Every joint's amplitude scaled so that it uses a share of its tightest limit."""
        centre, coefficients = self.split(x)
        q, v, a = self.motion(x)
        limits = self.checker.limits
        room = np.minimum(limits.upper - centre, centre - limits.lower)
        used = np.max(
            [
                np.abs(q - centre).max(axis=0) / np.maximum(room, 1e-6),
                np.abs(v).max(axis=0) / limits.velocity,
                np.abs(a).max(axis=0) / limits.acceleration,
            ],
            axis=0,
        )
        return np.concatenate([centre, (coefficients * share / used).ravel()])

    def fitted_to_tcp_speed(self, x: Array) -> Array:
        """All amplitudes scaled down together until the TCP is slow enough."""
        centre, coefficients = self.split(x)
        for _ in range(10):  # speeds are nearly linear in the amplitude
            q, v, _ = self.motion(np.concatenate([centre, coefficients.ravel()]))
            used = self.checker.tcp_speed(q, v).max() / (AIM * self.checker.limits.tcp_speed)
            if used <= 1.0:
                break
            coefficients = coefficients / used
        return np.concatenate([centre, coefficients.ravel()])

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """What is minimised, and its gradient, shape (n_variables,)."""
        q, v, a = self.motion(x)
        K, n = q.shape
        Y, Y_b = self._regressors(q, v, a)
        poses = self._poses(q)
        penalty = self._pose_excess(poses, v) + self._joint_excess(q, v, a, Y)
        contact, contact_slope = self._contact_excess(q)
        scale = np.sqrt(np.mean(np.sum(Y_b**2, axis=1), axis=0))  # (b,)
        scale = np.where(scale > 0, scale, 1.0)
        unit = Y_b / scale
        information = np.einsum("kri,krj->ij", unit, unit) / K
        information += REGULARISATION * np.eye(len(scale))
        log_det = float(np.linalg.slogdet(information)[1] + 2.0 * np.sum(np.log(scale)))
        self.last_log_det = log_det
        pull = 2.0 / K * (unit @ np.linalg.inv(information)) / scale  # d log det / d Y_b
        gradient = np.zeros((3, K, n))
        motion = [q, v, a]
        for kind in range(3):
            for j in range(n):
                moved = [y.copy() if i == kind else y for i, y in enumerate(motion)]
                moved[kind][:, j] += STEP
                Y_moved, Y_b_moved = self._regressors(*moved)
                places = self._poses(moved[0]) if kind == 0 else poses
                excess = self._pose_excess(places, moved[1])
                excess = excess + self._joint_excess(moved[0], moved[1], moved[2], Y_moved)
                gain = np.einsum("krb,krb->k", pull, Y_b_moved - Y_b)
                gradient[kind, :, j] = (self.penalty * (excess - penalty) - gain) / STEP
        gradient[0] += self.penalty * contact_slope
        slopes = sum(matrix.T @ part for matrix, part in zip(self._matrices, gradient, strict=True))
        total = np.concatenate([gradient[0].sum(axis=0), np.asarray(slopes).ravel()])
        return self.penalty * float(penalty.sum() + contact.sum()) - log_det, total

    def _regressors(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        Y = joint_torque_regressor(self.checker.model, q, v, a)
        return Y, self.criterion.weighted(Y)

    def _joint_excess(self, q: Array, v: Array, a: Array, Y: Array) -> Array:
        """Squared excess of position, velocity, acceleration and torque, summed; shape (K,)."""
        limits = self.checker.limits
        used = np.hstack(
            [
                (q - self._middle) / self._half,
                v / limits.velocity,
                a / limits.acceleration,
                (Y @ self._pi) / limits.effort,
            ]
        )
        return np.sum(np.clip(np.abs(used) - AIM, 0.0, None) ** 2, axis=1)

    def _poses(self, q: Array) -> tuple[Array, Array]:
        """Jacobians of the TCP's position (K, 3, n), and heights of the bodies' points (K, m)."""
        q_pin = self.checker.model.configuration(q)
        jacobians = np.empty((len(q), 3, q.shape[1]))
        rows = np.empty((len(q), len(self._supports), 4))
        for k in range(len(q)):
            J = pin.computeFrameJacobian(
                self._model, self._data, q_pin[k], self._tcp, pin.LOCAL_WORLD_ALIGNED
            )
            jacobians[k] = J[:3]
            if len(self._supports):
                pin.forwardKinematics(self._model, self._data, q_pin[k])
                for i, (joint, _) in enumerate(self._supports):
                    pose = self._data.oMi[joint]
                    rows[k, i, :3], rows[k, i, 3] = pose.rotation[2], pose.translation[2]
        heights = [
            rows[:, i, :3] @ points + rows[:, i, 3:] for i, (_, points) in enumerate(self._supports)
        ]
        return jacobians, np.hstack(heights) if heights else np.empty((len(q), 0))

    def _pose_excess(self, poses: tuple[Array, Array], v: Array) -> Array:
        """Squared excess of TCP speed and of bodies below the ground; shape (K,)."""
        jacobians, heights = poses
        speed = np.linalg.norm(np.einsum("kij,kj->ki", jacobians, v), axis=1)
        out = np.clip(speed / self.checker.limits.tcp_speed - AIM, 0.0, None) ** 2
        if self.checker.limits.ground_height is not None:
            depth = self.checker.limits.ground_height + GROUND_MARGIN - heights
            out = out + np.sum(np.clip(depth / DISTANCE_SCALE, 0.0, None) ** 2, axis=1)
        return np.asarray(out)

    def _contact_excess(self, q: Array) -> tuple[Array, Array]:
        """Squared excess of bodies that come too near each other (K,), and its gradient (K, n)."""
        excess, gradient = np.zeros(len(q)), np.zeros_like(q)
        geometry = self.checker.geometry
        if geometry is None:
            return excess, gradient
        for k in range(len(q)):
            distances, slopes = geometry.hulls.at(q[k], CONTACT_MARGIN)
            depth = np.clip(CONTACT_MARGIN - distances, 0.0, None) / DISTANCE_SCALE
            excess[k] = np.sum(depth**2)
            gradient[k] = -2.0 / DISTANCE_SCALE * depth @ slopes
        return excess, gradient
