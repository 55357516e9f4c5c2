# SPDX-License-Identifier: Apache-2.0
"""Forward integration of identified dynamics, compared with the measured motion.

The reduced equation `G^T W(q, q̇, q̈) theta = u` is solved for the actuated accelerations and
integrated over short segments that start at measured states, with torques held between samples
(Zhang, Haugk, Vasudevan 2024, section IV-C2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, DriveTrain, FrictionModel
from sysid_core.robot.loops import ClosedChain, ConstrainedMotion, JointDrive
from sysid_core.signals import Recording
from sysid_core.signals.filters import ZeroPhaseFilter

VELOCITY_HZ, ACCELERATION_HZ, TORQUE_HZ = 18.0, 15.0, 33.0  # section IV-B
DECIMATION = 10  # section IV-B
_SWEEPS = 8  # of the friction solve; the reduced mass matrix is diagonally dominant
_LOST = 1e-3  # [m]: a model that leaves the loops by more per step can't be followed
_SEGMENT = 0.5  # length of a segment [s]


def paper_regression(chain: ClosedChain, recordings: Sequence[Recording]) -> Regression:
    """Return the regression for friction and drives of the actuated joints with known inertias
    (Zhang et al. 2024, eqs. 28, 29).

    Args:
        chain: Mechanism with loops; the friction of its actuated joints is ignored.
        recordings: Evenly sampled recordings with velocities and torques of the actuated joints.
    """
    rest = chain.with_drives({joint: JointDrive() for joint in chain.actuated})
    parts = []
    for recording in recordings:
        joints = recording.joints.ordered(chain.actuated)
        assert joints.v is not None and joints.effort is not None  # simulated with both
        rate = 1e9 / float(np.median(np.diff(joints.stamps_ns)))
        raw = chain.motion(joints.q, joints.v, ZeroPhaseFilter.central_difference(joints.v, rate))
        v = ZeroPhaseFilter(VELOCITY_HZ).apply(raw.v, rate)
        a = ZeroPhaseFilter(ACCELERATION_HZ).apply(raw.a, rate)
        motion = ConstrainedMotion(raw.q, v, a, raw.G).rows(slice(None, None, DECIMATION))
        tau = ZeroPhaseFilter(TORQUE_HZ).apply(joints.effort, rate)[::DECIMATION]
        W = chain.drive_regressor(motion, chain.actuated)
        parts.append((W, tau - rest.torques(motion)))
    W, tau = (np.concatenate(x) for x in zip(*parts, strict=True))
    friction = FrictionModel(DriveTrain.direct(chain.actuated), coulomb_velocity=0.0)
    return Regression(
        Y=W,
        tau=tau,
        names=friction.names,
        units=friction.units_of(chain.model.prismatic_joints),
        joints=chain.actuated,
        bodies=(),
        prior=np.zeros(len(friction.names)),
        prior_sd=Regression.friction_scale(W, tau),
        non_negative=np.asarray(friction.non_negative, dtype=bool),
        structure=np.eye(len(friction.names)),
        starts=tuple(np.cumsum([0, *(len(u) for _, u in parts[:-1])]).tolist()),
    )


@dataclass(frozen=True, eq=False)
class SegmentPrediction:
    """Motion predicted by forward integration, segment by segment.

    Attributes:
        joint_names: Names of the n_a actuated joints.
        start: First sample of each segment, shape (S,).
        predicted: Predicted positions, shape (S, L, n_a) [rad].
        measured: Measured positions, shape (S, L, n_a) [rad].
        lost: Segments in which the model reached a dead centre of the loops and was stopped.
    """

    joint_names: tuple[str, ...]
    start: Array
    predicted: Array
    measured: Array
    lost: int

    def l2_error(self) -> dict[str, float]:
        """Return the root of the summed squared errors over all samples of all segments (eq. 33)
        [rad].
        """
        e = (self.predicted - self.measured).reshape(-1, len(self.joint_names))
        return dict(zip(self.joint_names, np.linalg.norm(e, axis=0).tolist(), strict=True))


def predict_segments(
    chain: ClosedChain,
    rate_hz: float,
    q_a: ArrayLike,
    v_a: ArrayLike,
    effort: ArrayLike,
) -> SegmentPrediction:
    """Integrate the dynamics over all segments of a recording in parallel.

    Args:
        chain: Model to be tested.
        rate_hz: Sampling rate [Hz].
        q_a: Measured actuated positions, shape (K, n_a) [rad or m].
        v_a: Measured actuated velocities, shape (K, n_a) [rad/s or m/s].
        effort: Torques, constant from each sample to the next, shape (K, n_a).

    Raises:
        SignalError: The recording is shorter than one segment.
    """
    q_a, v_a, effort = (np.asarray(x, dtype=float) for x in (q_a, v_a, effort))
    length = round(_SEGMENT * rate_hz)
    start = np.arange(0, len(q_a) - length, length)
    if not len(start):
        raise SignalError(
            f"The run of {len(q_a) / rate_hz:.2f} s is shorter than a segment of {_SEGMENT} s.",
            remedy="Give a longer run or shorter segments.",
        )
    predicted = np.empty((len(start), length, chain.n_actuated))
    state = _State(chain.assemble(q_a[start]), v_a[start], np.zeros(len(start), dtype=bool))
    for k in range(length):
        predicted[:, k] = state.q[:, chain.actuated_columns]
        state = _step(chain, state, effort[start + k], 1.0 / rate_hz)
    measured = np.stack([q_a[i : i + length] for i in start])
    return SegmentPrediction(chain.actuated, start, predicted, measured, int(state.lost.sum()))


@dataclass(frozen=True, eq=False)
class _State:
    q: Array  # all joints, (S, n)
    v_a: Array  # (S, n_a)
    lost: Array  # (S,)


@dataclass(frozen=True, eq=False)
class _Reduced:
    G: Array  # (S, n, n_a)
    inverse_mass: Array  # (S, n_a, n_a)
    bias: Array  # (S, n_a): all torques but Coulomb's of the actuated joints
    q: Array  # closed
    residual: Array  # before the correction, (S,) [m]


def reduced_dynamics(chain: ClosedChain, q: Array, v_a: Array) -> _Reduced:
    """Return the mass matrix and the bias of the equation of motion of the actuated joints at S
    states.

    Zhang, Haugk and Vasudevan (2024), eqs. (3), (6), projected onto the actuated joints.

    The Coulomb friction of the passive joints is part of the bias; that of the actuated joints is
    not.
    """
    state = chain.closure_state(q, v_a, correct=True)
    model = chain.model.pin_model
    data = model.createData()
    drives = np.array([chain.drive(name).values for name in chain.model.joint_names])
    bias = drives * [1.0, 1.0, 0.0, 1.0]  # the drives' inertia is part of the mass matrix
    bias[chain.actuated_columns, 0] = 0.0
    M, h = np.empty((len(state.q), chain.n, chain.n)), np.empty((len(state.q), chain.n))
    for k, q_k in enumerate(chain.model.configuration(state.q)):
        upper = pin.crba(model, data, q_k)
        M[k] = np.triu(upper) + np.triu(upper, 1).T
        h[k] = pin.nonLinearEffects(model, data, q_k, state.v[k])
    M[:, np.arange(chain.n), np.arange(chain.n)] += drives[:, 2]
    h += np.einsum("kij,kj->ki", M, state.drift)
    h += FrictionModel.usual_torques(bias, state.v, np.zeros_like(state.v))
    G_T = np.swapaxes(state.G, 1, 2)
    return _Reduced(
        G=state.G,
        inverse_mass=np.linalg.inv(G_T @ M @ state.G),
        bias=np.einsum("kij,ki->kj", state.G, h),
        q=state.q,
        residual=state.residual,
    )


def _step(chain: ClosedChain, state: _State, u: Array, dt: float) -> _State:
    """Integrate one time step with the explicit midpoint rule; Coulomb friction sticks or slips,
    whichever is consistent at the end of the step.
    """
    F_c = np.array([chain.drive(name).F_c for name in chain.actuated])
    first = reduced_dynamics(chain, state.q, state.v_a)
    v_mid = _with_friction(first, state.v_a, u, F_c, 0.5 * dt)
    q_mid = first.q + 0.25 * dt * np.einsum("kij,kj->ki", first.G, state.v_a + v_mid)
    middle = reduced_dynamics(chain, q_mid, v_mid)
    v_end = _with_friction(middle, state.v_a, u, F_c, dt)
    q_end = first.q + 0.5 * dt * np.einsum("kij,kj->ki", middle.G, state.v_a + v_end)
    # A wrong model may run into a dead centre: it is left standing where it got lost.
    lost = ~(middle.residual < _LOST) | ~np.isfinite(v_end).all(axis=1) | state.lost
    v_end[lost], q_end[lost] = 0.0, state.q[lost]
    return _State(q_end, v_end, lost)


def _with_friction(at: _Reduced, v: Array, u: Array, F_c: Array, dt: float) -> Array:
    """Velocities after a step dt with Coulomb friction within ±F_c, which stops a joint if it can
    (Gauss-Seidel).
    """
    A = dt * at.inverse_mass
    free = v + np.einsum("kij,kj->ki", A, u - at.bias)
    f = np.zeros_like(v)
    for _ in range(_SWEEPS):
        for j in range(len(F_c)):
            v_j = free[:, j] - np.einsum("kj,kj->k", A[:, j], f)
            f[:, j] = np.clip(f[:, j] + v_j / A[:, j, j], -F_c[j], F_c[j])
    return free - np.einsum("kij,kj->ki", A, f)
