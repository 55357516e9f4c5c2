# SPDX-License-Identifier: Apache-2.0
r"""Tracking of a trajectory with model-based feedforward, on a simulated robot with sensors.

`u = G^T(q_d) W(q_d, q̇_d, q̈_d) theta + K_p e + K_d ė` (Zhang, Haugk, Vasudevan 2024, eq. 34).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import ModelError
from sysid_core.planning import Segment, Trajectory
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain
from sysid_core.signals import EffortKind, Recording
from sysid_core.simulation import ClosedChainPlant


@dataclass(frozen=True, eq=False)
class Gains:
    """Diagonal feedback gains of the actuated joints.

    Attributes:
        K_p: Position gains, shape (n_a,) [N m/rad].
        K_d: Velocity gains, shape (n_a,) [N m s/rad].
    """

    K_p: Array
    K_d: Array

    @classmethod
    def for_chain(cls, chain: ClosedChain, bandwidth: float = 30.0) -> Gains:
        """Return the gains for critical damping at the home posture of the nominal model.

        Args:
            chain: Mechanism with loops.
            bandwidth: Bandwidth of the error [rad/s].
        """
        inertia = chain.actuated_inertia()
        return cls(K_p=inertia * bandwidth**2, K_d=2.0 * inertia * bandwidth)


class ComputedTorque:
    """Controller with model feedforward along a trajectory plus feedback, limited to the torque
    limits.

    The feedforward depends only on desired values, and is therefore computed once for the whole
    trajectory.

    Args:
        chain: Model in the controller, with its inertial parameters and drives.
        trajectory: Trajectory of the actuated joints.
        gains: Gains of the feedback.
        feedforward: False for PD control without feedforward.
    """

    def __init__(
        self,
        chain: ClosedChain,
        trajectory: Trajectory,
        gains: Gains,
        *,
        feedforward: bool = True,
    ) -> None:
        missing = [name for name in chain.actuated if name not in trajectory.joint_names]
        if missing:
            raise ModelError(
                f"The trajectory doesn't move the actuated joints {missing} of '{chain.name}'.",
                remedy="Plan the trajectory for this mechanism.",
            )
        columns = [trajectory.joint_names.index(name) for name in chain.actuated]
        self.chain = chain
        self.gains = gains
        self.limits = chain.torque_limits
        self.trajectory = dataclasses.replace(
            trajectory,
            joint_names=chain.actuated,
            q=trajectory.q[:, columns],
            v=trajectory.v[:, columns],
            a=trajectory.a[:, columns],
        )
        if feedforward:
            motion = chain.motion(self.trajectory.q, self.trajectory.v, self.trajectory.a)
            self.feedforward = chain.torques(motion)
        else:
            self.feedforward = np.zeros_like(self.trajectory.q)


@dataclass(frozen=True, eq=False)
class TrackingRun:
    """K samples of a tracking test.

    Attributes:
        actuated: Names of the actuated joints.
        joint_names: Names of all joints.
        time: Times, shape (K,) [s].
        q: Positions of all joints, shape (K, n) [rad].
        v: Velocities of all joints, shape (K, n) [rad/s].
        effort: Commanded efforts, constant from each sample to the next, shape (K, n_a) [N m].
        error: Desired minus actual positions of the actuated joints, shape (K, n_a) [rad].
        at_limit: Mask of the efforts at their limit, shape (K, n_a).
    """

    actuated: tuple[str, ...]
    joint_names: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    effort: Array
    error: Array
    at_limit: NDArray[np.bool_]

    @property
    def actuated_columns(self) -> Array:
        """Indices of the actuated joints among all joints."""
        return np.array([self.joint_names.index(name) for name in self.actuated])

    def error_degrees(self, segments: Sequence[Segment] = ()) -> dict[str, tuple[float, float]]:
        """Return the mean and largest absolute tracking error of each actuated joint [deg].

        Args:
            segments: Segments of the trajectory; if given, only those that move a joint count for
                its error.
        """
        e = np.degrees(np.abs(self.error))
        out = {}
        for j, name in enumerate(self.actuated):
            column = e[self._moved(name, segments), j]
            out[name] = (float(column.mean()), float(column.max()))
        return out

    def saturated_share(self, segments: Sequence[Segment] = ()) -> dict[str, float]:
        """Return the share of samples at the torque limit for each actuated joint."""
        return {
            name: float(np.mean(self.at_limit[self._moved(name, segments), j]))
            for j, name in enumerate(self.actuated)
        }

    def _moved(self, joint: str, segments: Sequence[Segment]) -> NDArray[np.bool_]:
        rows = np.zeros(len(self.time), dtype=bool)
        for segment in segments:
            if joint in segment.joints:
                rows |= (self.time >= segment.start) & (self.time <= segment.end)
        return rows if np.any(rows) else ~rows


def track(plant: ClosedChainPlant, controller: ComputedTorque) -> TrackingRun:
    """Play a trajectory on a simulated robot that is at rest at the start; each sample is one
    control period.
    """
    trajectory, chain = controller.trajectory, controller.chain
    plant.reset(trajectory.q[0])
    K, columns = len(trajectory.time), chain.actuated_columns
    q, v = np.empty((K, chain.n)), np.empty((K, chain.n))
    effort, wanted = np.empty((2, K, chain.n_actuated))
    for k in range(K):
        q[k], v[k] = plant.q, plant.v
        wanted[k] = (
            controller.feedforward[k]
            + controller.gains.K_p * (trajectory.q[k] - q[k, columns])
            + controller.gains.K_d * (trajectory.v[k] - v[k, columns])
        )
        effort[k] = np.clip(wanted[k], -controller.limits, controller.limits)
        plant.step(effort[k])
    return TrackingRun(
        actuated=chain.actuated,
        joint_names=chain.model.joint_names,
        time=np.array(trajectory.time),
        q=q,
        v=v,
        effort=effort,
        error=trajectory.q - q[:, columns],
        at_limit=wanted != effort,
    )


@dataclass(frozen=True)
class JointSensorNoise:
    """Errors of the joint sensors.

    Attributes:
        position_step: Quantisation of the encoders [rad].
        velocity_sd: Standard deviation of the white noise of the velocities [rad/s].
        effort_share: Standard deviation of the white noise of the efforts, relative to the RMS
            effort of each joint.
    """

    position_step: float = 1e-5
    velocity_sd: float = 1e-3
    effort_share: float = 0.02


def recording_of(
    run: TrackingRun,
    rng: np.random.Generator | None = None,
    noise: JointSensorNoise | None = None,
    *,
    passive: tuple[str, ...] = (),
) -> Recording:
    """Return the recording of positions, velocities and efforts, as a real robot would report them.

    Args:
        run: Exact tracking test.
        rng: Random generator of the noise; None: exact sensors.
        noise: Noise of the sensors.
        passive: Passive joints with an encoder (their effort is zero).
    """
    names = (*run.actuated, *passive)
    columns = [run.joint_names.index(name) for name in names]
    q, v = run.q[:, columns], run.v[:, columns]
    effort: Array = np.zeros((len(run.time), len(names)))
    effort[:, : len(run.actuated)] = run.effort
    if rng is not None:
        noise = noise or JointSensorNoise()
        if noise.position_step:
            q = noise.position_step * np.round(q / noise.position_step)
        v = v + noise.velocity_sd * rng.normal(size=v.shape)
        rms = np.sqrt(np.mean(effort**2, axis=0))
        effort = effort + noise.effort_share * rms * rng.normal(size=effort.shape)
    torques = EffortKind.ACTUATOR_TORQUE
    return Recording.from_arrays(
        names, run.time, q, v, effort=effort, effort_kind=torques, source="simulation"
    )
