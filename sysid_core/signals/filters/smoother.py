r"""Rauch-Tung-Striebel smoothing of recorded joint positions.

H. Rauch, F. Tung, C. Striebel, *Maximum likelihood estimates of linear dynamic systems* (1965).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.filters.filtered import FilteredJointStream
from sysid_core.signals.filters.kalman import KinematicBank, transition
from sysid_core.signals.filters.noise import NoiseLevels, estimate_noise, estimate_rate_sd
from sysid_core.signals.recording import Array, JointStream, Stamps

_START_RATES = (10.0, 100.0)  # [rad/s], [rad/s²] sd of the unknown rates at a start


def smooth_joints(
    stream: JointStream,
    *,
    noise: NoiseLevels | None = None,
    use_velocity: bool = False,
    max_gap_s: float = 0.1,
) -> FilteredJointStream:
    """Positions, velocities and accelerations from all samples, with standard deviations.

    The constant-acceleration model driven by white jerk, as `JointFilter`, forwards and then
    backwards; nothing is carried over gaps. Efforts stay as measured.

    Args:
        stream: Joint states; stamps strictly increasing.
        noise: Position noise, jerk density, and velocity noise if velocities are used; what is
            missing is estimated from the stream.
        use_velocity: Whether to use the measured velocities too (drivers often filter and
            delay them).
        max_gap_s: Longer gaps start again.

    Returns:
        A stream of the same stamps with q, v, a and their standard deviations.

    Raises:
        SignalError: Disordered stamps, NaN, or velocities that weren't recorded.
    """
    stamps = _checked(stream, use_velocity)
    v = stream.v if use_velocity else None
    if noise is None:
        noise = estimate_noise(stamps, stream.q, max_gap_s=max_gap_s)
    noise = noise.for_signals(len(stream.names))
    if v is not None and noise.rate_sd is None:
        rate_sd = estimate_rate_sd(stamps, stream.q, v, noise, max_gap_s=max_gap_s)
        noise = dataclasses.replace(noise, rate_sd=rate_sd)
    breaks = np.flatnonzero(np.diff(stamps) > max_gap_s * 1e9) + 1
    parts = [
        _smooth_segment(
            np.diff(stamps[rows]) * 1e-9, stream.q[rows], None if v is None else v[rows], noise
        )
        for rows in np.split(np.arange(len(stamps)), breaks)
    ]
    x = np.concatenate([part[0] for part in parts])  # (K, n, 3)
    sd = np.concatenate([part[1] for part in parts])
    return FilteredJointStream(
        stream.names,
        stream.stamps_ns,
        q=x[:, :, 0],
        v=x[:, :, 1],
        a=x[:, :, 2],
        effort=stream.effort,
        effort_kind=stream.effort_kind,
        q_sd=sd[:, :, 0],
        v_sd=sd[:, :, 1],
        a_sd=sd[:, :, 2],
    )


def _checked(stream: JointStream, use_velocity: bool) -> Stamps:
    steps = np.diff(stream.stamps_ns)
    if len(stream) == 0 or (steps <= 0).any():
        k = int(np.argmax(steps <= 0)) + 1 if len(stream) else 0
        raise SignalError(
            f"Joint stamps must increase; sample {k} of {len(stream)} doesn't follow the one"
            " before.",
            remedy="Drop disordered samples first: `in_order`.",
            sample=k,
        )
    used = {"position": stream.q} | ({"velocity": stream.v} if use_velocity else {})
    for what, values in used.items():
        if values is None:
            raise SignalError(
                "The recording has no velocities.", remedy="Smooth with use_velocity=False."
            )
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            raise SignalError(
                f"The {what} of '{stream.names[bad[0, 1]]}' at sample {bad[0, 0]} is not a finite"
                " number.",
                remedy="Drop such samples first: `in_order`.",
                sample=int(bad[0, 0]),
            )
    return stream.stamps_ns


def _smooth_segment(
    steps: Array, q: Array, v: Array | None, noise: NoiseLevels
) -> tuple[Array, Array]:
    """States (K, n, 3) and standard deviations of a stretch without gaps; `steps` in seconds."""
    K, n = q.shape
    x, P = np.empty((K, n, 3)), np.empty((K, n, 3, 3))
    x_predicted, P_predicted = np.empty((K, n, 3)), np.empty((K, n, 3, 3))
    bank = KinematicBank(noise.density)
    q_variance = np.square(noise.measurement_sd)
    first = np.zeros((n, 3))
    first[:, 0] = q[0]
    bank.start(first, np.column_stack([noise.measurement_sd, np.tile(_START_RATES, (n, 1))]))
    for k in range(K):
        if k > 0:
            bank.predict(float(steps[k - 1]))
            x_predicted[k], P_predicted[k] = bank.x, bank.P
            bank.observe(0, q[k], q_variance)
        if v is not None and noise.rate_sd is not None:
            bank.observe(1, v[k], np.square(noise.rate_sd))
        x[k], P[k] = bank.x, bank.P
    for k in range(K - 2, -1, -1):
        F, _ = transition(2, float(steps[k]))
        G = _gain(P[k] @ F.T, P_predicted[k + 1])
        x[k] += np.einsum("nij,nj->ni", G, x[k + 1] - x_predicted[k + 1])
        P[k] += G @ (P[k + 1] - P_predicted[k + 1]) @ G.transpose(0, 2, 1)
    diagonal = np.arange(3)
    return x, np.sqrt(np.maximum(P[:, :, diagonal, diagonal], 0.0))


def _gain(cross: Array, P_predicted: Array) -> Array:
    """`cross` times the inverse of the predicted covariance, scaled to unit variances first."""
    diagonal = np.arange(3)
    scale = 1.0 / np.sqrt(P_predicted[:, diagonal, diagonal])
    scaled = P_predicted * scale[:, :, None] * scale[:, None, :]
    solved = np.linalg.solve(scaled, (cross * scale[:, None, :]).transpose(0, 2, 1))
    return solved.transpose(0, 2, 1) * scale[:, None, :]
