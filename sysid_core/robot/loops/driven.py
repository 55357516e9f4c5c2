# SPDX-License-Identifier: Apache-2.0
"""Closed chain as a robot of its driven joints, which determine the motion of all others.

`q = Γ(q_a)`, `q̇ = G q̇_a`, and torques are projected, `u = G^T tau` (Zhang et al. 2024, eqs.
16-23). The driven joints of a closed chain can then be treated like the joints of an open chain.

Encoders on passive joints (such as the tarsus of Digit) replace a missing actuated encoder, select
the branch of the closure, and reduce noise. Of all postures and velocities with closed loops, those
with the smallest difference from the measured ones are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.friction import FrictionModel
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.chain import ClosedChain, ConstrainedMotion
from sysid_core.robot.model import FrameMotion, RobotModel

_STEPS = 8  # most Gauss-Newton steps; three settle what readings leave
_FEW = 5  # postures that are tried first
_NEIGHBOURS = 0.25  # [rad or m]: samples of a motion lie closer together; assembly may start there


def _measured(
    chain: ClosedChain, names: Sequence[str], values: ArrayLike
) -> tuple[list[int], Array]:
    unknown = [name for name in names if name not in chain.model.joint_names]
    values = np.atleast_2d(np.asarray(values, dtype=float))
    if unknown or values.shape[1] != len(names):
        raise ModelError(
            f"Measured joints {list(names)} don't fit '{chain.name}' or {values.shape[1]} columns.",
            remedy=f"Joints: {', '.join(chain.model.joint_names)}.",
            unknown=unknown,
        )
    return [chain.model.joint_names.index(name) for name in names], values


def _seen(chain: ClosedChain, S: Array, names: Sequence[str]) -> Array:
    """Rows of G that belong to measured joints, if these determine the motion."""
    s = np.linalg.svd(S, compute_uv=False)
    if S.shape[1] < chain.n_actuated or np.any(s[:, -1] < 1e-6 * s[:, 0]):
        missing = [joint for joint in chain.actuated if joint not in names]
        raise ModelError(
            f"The measured joints {list(names)} don't determine the posture of '{chain.name}'.",
            remedy=f"Measure also {', '.join(missing) or 'more joints'}, or passive joints that"
            " move with them.",
            missing=missing,
        )
    return S


def _least_squares(S: Array, y: Array) -> Array:
    S_T = np.swapaxes(S, 1, 2)
    return np.linalg.solve(S_T @ S, S_T @ y[:, :, None])[:, :, 0]


def _passive_step(chain: ClosedChain, posture: Array, step: Array) -> Array:
    return np.einsum("kij,kj->ki", chain.actuation_map(posture), step)


@dataclass(frozen=True, eq=False)
class DrivenRobot(RobotModel):
    """Closed chain as a robot whose joints are the n_a driven joints; its bodies are all bodies of
    the chain.

    Attributes:
        name, pin_model, urdf_hash, urdf_xml, locked: As in `RobotModel`, for the open tree.
        mechanism: Loops, driven joints, and friction of the passive joints. The bodies of the
            mechanism's model are ignored; those of this robot are used.
    """

    mechanism: ClosedChain | None = None
    # Shared by copies with other bodies or gravity, whose postures are the same. One motion is held, since torques
    # are asked for with several efforts; nearest postures all are, since every filter setting needs them again.
    _closed: dict[bytes, Array] = field(default_factory=dict, repr=False)
    _nearest: dict[tuple[tuple[str, ...], bytes], Array] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, chain: ClosedChain) -> DrivenRobot:
        """Return the closed chain as a driven robot."""
        tree = chain.model
        return cls(
            tree.name, tree.pin_model, tree.urdf_hash, tree.urdf_xml, tree.locked, mechanism=chain
        )

    @property
    def tree(self) -> RobotModel:
        """Open kinematic tree of the robot, without loop closures."""
        return RobotModel(self.name, self.pin_model, self.urdf_hash, self.urdf_xml, self.locked)

    def on_tree(self, tree: RobotModel) -> DrivenRobot:
        """Return a copy with the loops on another tree that has the same joints."""
        return DrivenRobot.of(self.chain.with_model(tree))

    @cached_property
    def chain(self) -> ClosedChain:
        """Closed chain with the bodies of this robot.

        Raises:
            ModelError: The robot has no loops.
        """
        if self.mechanism is None:
            raise ModelError(
                f"'{self.name}' has no loops.",
                remedy="Create the robot with `DrivenRobot.of(chain)`.",
            )
        return self.mechanism.with_model(self.tree)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the driven joints."""
        return self.chain.actuated

    @property
    def nv(self) -> int:
        """Number of driven joints."""
        return self.chain.n_actuated

    @property
    def degrees_of_freedom(self) -> tuple[int, ...]:
        """Degrees of freedom of each driven joint: 1."""
        return (1,) * self.nv

    @property
    def prismatic_joints(self) -> tuple[str, ...]:
        """Names of the prismatic driven joints."""
        return tuple(name for name in self.tree.prismatic_joints if name in self.joint_names)

    @property
    def position_limits(self) -> tuple[Array, Array]:
        """Lower and upper limits of the driven joints, each (n_a,)."""
        lower, upper = self.tree.position_limits
        return lower[self.chain.actuated_columns], upper[self.chain.actuated_columns]

    @property
    def velocity_limits(self) -> Array:
        """Velocity limits of the driven joints, shape (n_a,) [rad/s or m/s]."""
        return self.tree.velocity_limits[self.chain.actuated_columns]

    @property
    def effort_limits(self) -> Array:
        """Effort limits of the driven joints, shape (n_a,) [N m or N]."""
        return self.chain.torque_limits

    @property
    def home(self) -> Array:
        """Positions of the driven joints in the home posture, in which the loops are closed, shape
        (n_a,).
        """
        return self.chain.actuated_home

    def configuration(self, q: ArrayLike) -> Array:
        """Return the configuration vector of pinocchio for all joints from the driven joints, (...,
        n_a) to (..., nq).

        Raises:
            ModelError: A loop does not close.
        """
        q = np.asarray(q, dtype=float)
        flat = self.chain.assemble(q.reshape(-1, self.nv))
        return self.tree.configuration(flat).reshape(*q.shape[:-1], -1)

    def with_locked(self, joints: Sequence[str] | Mapping[str, float]) -> RobotModel:
        """Return a copy with locked joints; only an empty selection is supported, which returns the
        robot itself.

        Raises:
            ModelError: Joints of loops cannot be locked.
        """
        if not joints:
            return self
        raise ModelError(
            f"Joints {list(joints)} of '{self.name}', which has loops, can't be locked.",
            remedy="Make these joints fixed in the URDF.",
        )

    def motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> ConstrainedMotion:
        """Return the motion of all joints from the motion of the driven joints, each (K, n_a).

        Raises:
            ModelError: A loop does not close.
        """
        q_a = np.ascontiguousarray(q, dtype=float)
        key = q_a.tobytes()
        if key not in self._closed:
            near = len(q_a) > 1 and np.max(np.abs(np.diff(q_a, axis=0))) < _NEIGHBOURS
            if not near:  # what can't be is refused by a few, before it costs all
                self.chain.assemble(q_a[:: max(1, len(q_a) // _FEW)])
            self._closed.clear()
            self._closed[key] = self.chain.assemble_along(q_a) if near else self.chain.assemble(q_a)
        return self.chain.motion(q_a, v, a, q=self._closed[key])

    def postures_of(self, names: Sequence[str], q: Array) -> Array:
        r"""Return the postures with closed loops nearest to measured positions,
        `argmin sum_j (q_j - measured_j)^2`, by Gauss-Newton in q_a; (K, m) to (K, n).

        Args:
            names: Names of the m measured joints, driven or passive.
            q: Positions of the measured joints in the order of time, shape (K, m) [rad or m].

        Raises:
            ModelError: Joints are unknown, or do not determine the posture.
        """
        key = (tuple(names), q.tobytes())
        if key in self._nearest:
            return self._nearest[key]
        chain = self.chain
        columns, q = _measured(chain, names, q)
        start = np.tile(chain.actuated_home, (len(q), 1))
        for i, joint in enumerate(names):
            if joint in chain.actuated:
                start[:, chain.actuated.index(joint)] = q[:, i]
        posture = chain.assemble_along(start)
        for _ in range(_STEPS):
            S = _seen(chain, chain.actuation_map(posture)[:, columns], names)
            step = _least_squares(S, q - posture[:, columns])
            step = np.clip(step, -0.3, 0.3)
            target = posture[:, chain.actuated_columns] + step
            posture = chain.assemble(target, posture + _passive_step(chain, posture, step))
            if np.max(np.abs(step)) < 1e-12:
                break
        self._nearest[key] = posture
        return posture

    def velocities_of(self, posture: ArrayLike, names: Sequence[str], v: ArrayLike) -> Array:
        """Return the velocities of the driven joints that fit the measured velocities of all joints
        best, (K, n_a).

        Args:
            posture: Positions of all joints in closed postures, shape (K, n) [rad or m].
            names: Names of the m measured joints.
            v: Velocities of the measured joints, shape (K, m) [rad/s or m/s].
        """
        columns, v = _measured(self.chain, names, v)
        S = _seen(self.chain, self.chain.actuation_map(posture)[:, columns], names)
        return _least_squares(S, v)

    def torque_regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the rigid-body regressor, projected onto the driven joints; from (K, n_a) each to
        (K, n_a, 10 N).
        """
        return self.chain.inertial_regressor(self.motion(q, v, a))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the torques of the driven joints from rigid-body inverse dynamics, (K, n_a) each
        to (K, n_a).
        """
        moved = self.motion(q, v, a)
        tau = self.tree.inverse_dynamics(moved.q, moved.v, moved.a)
        return np.asarray(np.einsum("kij,ki->kj", moved.G, tau))

    def passive_torques(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array | float:
        """Return the contribution of the passive joints' known friction to the driven torques, (K,
        n_a).
        """
        values = np.array([self.chain.drive(name).values for name in self.chain.passive])
        if not np.any(values):
            return 0.0
        moved, rows = self.motion(q, v, a), self.chain.passive_columns
        tau = FrictionModel.usual_torques(values, moved.v[:, rows], moved.a[:, rows])
        return np.asarray(np.einsum("kij,ki->kj", moved.G[:, rows], tau))

    def frame_motion(self, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> FrameMotion:
        """Return the motion of a frame along a motion of the driven joints, each (K, n_a)."""
        moved = self.motion(q, v, a)
        return self.tree.frame_motion(frame, moved.q, moved.v, moved.a)

    def with_pi(self, pi: ArrayLike) -> DrivenRobot:
        """Return a copy with other inertial parameters of its bodies, shape (n_bodies, 10)."""
        return replace(self, pin_model=self.tree.with_pi(pi).pin_model)

    def random_states(self, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return random positions within the excitation range, velocities and accelerations of the
        driven joints, shape (K, n_a) each.

        Raises:
            IdentifiabilityError: Hardly any posture closes the loops of the closed chain.
        """
        q = self.chain.random_postures(n_samples, rng)[:, self.chain.actuated_columns]
        return q, *self.random_rates(n_samples, rng)
