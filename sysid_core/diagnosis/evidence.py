# SPDX-License-Identifier: Apache-2.0
r"""Evidence of one explanation: the marginal likelihood of the torques under rigid bodies with a prior.

`tau_j = Y_j pi + Phi_j phi + N_j nu + e_j`. The URDF's parameters are uncertain,
`pi ~ N(pi_URDF, scale^2)`, friction is free, and `nu` is what no real arm lacks: zeros, mounting, gains and
stamps that are a little off. The residual e_j is coloured (its correlation from sample to sample is learned),
heavy-tailed (Student's t), and of unknown size; all of it is learned from the same data under each
explanation. What remains is the evidence at the most likely values (Laplace; MacKay 1992, Bayesian
interpolation): the product of the predictions of every sample from those before it, so that what is fitted
is never what is judged. Model errors repeat in like states, so that the likelihood is coarsened (Miller and
Dunson 2019, Robust Bayesian inference via coarsening): `_COARSE` of every sample counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import log_ndtr

from sysid_core.diagnosis.samples import Samples
from sysid_core.estimation.fit import friction_scale
from sysid_core.robot import Array, inertial_scale, joint_torque_regressor, with_gravity

# Standard deviation of a description's inertial parameters, in natural scales: CAD masses lack cables,
# covers and motors, and are seldom off by more than half; all together, for the density, by a third. How
# good a description is, is learned: as said, or four times as good.
_DESCRIPTION, _DENSITY = 0.5, 0.3
_PRECISIONS = (1.0, 16.0)
# What is a little off on every arm, standard deviations.
_ZERO, _TILT = np.radians(1.5), np.radians(1.5)
_GAIN = 0.1  # of a drive's gain
_LAG = 0.02  # [s] of the efforts, of one joint and of all
_SHAPE = 0.3  # of friction near standstill (breakaway, presliding), share of the torque's size
_SLOW = 0.2  # of a joint's usual speed, within which friction is of another shape
# Share of a joint's torque variance that no rigid body explains (friction, elasticity, noise): log-normal.
_NOISE, _NOISE_SPREAD = np.log(0.02), 1.5
_FLOOR = 2.5e-3  # of that share: 5 % of a torque's size is nothing to tell causes by
_TOOL_MASS, _TOOL_ARM = 0.1, 0.1  # shares of the arm's mass and reach that tools and hands have
_COARSE = 0.5  # share of a sample that counts as new
_FUNCTIONS = 30  # of any other arm's torques: most of their variance
_FOLDS = 4
_TAILS = 4.0  # degrees of freedom of Student's t


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an explanation is worth.

    Attributes:
        log: Logarithm of the evidence [nats].
        inertial: Most likely inertial parameters, shape (10 n_bodies,).
        inertial_sd: Their standard deviations, shape (10 n_bodies,).
        left: Share of each joint's torque variance that is left, shape (n,); NaN where unused.
        by_block: What each block of time adds to `log`, shape (blocks,).
    """

    log: float
    inertial: Array
    inertial_sd: Array
    left: Array
    by_block: Array


def regressor(samples: Samples) -> Array:
    """Regressor of free rigid bodies with friction, shape (K, n, p)."""
    Y = joint_torque_regressor(samples.model, samples.q, samples.v, samples.a)
    K, n, _ = Y.shape
    Phi = np.zeros((K, n, 4 * n))
    for j in range(n):
        Phi[:, j, 4 * j : 4 * j + 4] = samples.friction(j)
    return np.concatenate([Y, Phi], axis=2)


def evidence(
    samples: Samples,
    counts: Array,
    *,
    tool: bool = False,
    change: float | None = None,
    mute: Sequence[int] = (),
    other: bool = False,
    thorough: bool = True,
) -> Evidence:
    """The evidence of one explanation.

    Args:
        samples: Mended as the explanation has it.
        counts: Samples of each joint that count, the same for all explanations of the same data, (n,).
        tool: Whether the last link's parameters may be off by a tool's or hand's.
        change: Share of the samples after which the last link may have other parameters.
        mute: Joints whose torques have nothing to do with the motion.
        other: Whether it is any other serial arm: smooth torques of postures and accelerations.
        thorough: With colour, tails, and what is a little off on every arm.
    """
    model = samples.model
    A = regressor(samples)
    n, n_inertial = A.shape[1], model.pi.size
    own = np.zeros(10 * model.n_bodies)
    scale = _DESCRIPTION * inertial_scale(model)
    load = _tool_scale(samples)
    if tool:
        own[-10:] = load
    scale = np.hypot(scale, own)
    friction = friction_scale(A[:, :, n_inertial:], samples.tau)
    prior = np.concatenate([model.pi.ravel(), np.zeros(4 * n)])
    parts = [A * np.concatenate([scale, friction])]
    if change is not None:
        later = (np.arange(len(samples)) >= change * len(samples))[:, None, None]
        parts.append(A[:, :, n_inertial - 10 : n_inertial] * load * later)
    if thorough:
        parts.append(_little_off(samples))
    if other:
        parts = [parts[0][:, :, n_inertial:], _any_arm(samples)]
        prior = np.zeros(len(prior))
    X = np.concatenate(parts, axis=2)
    y = samples.tau - A @ prior
    silent = list(mute)
    X[:, silent] = 0.0
    y[:, silent] = samples.tau[:, silent] - samples.tau[:, silent].mean(axis=0)
    first = 0 if other else n_inertial
    positive = np.zeros(X.shape[2], dtype=bool)
    speaking = samples.used & ~np.isin(np.arange(n), silent)
    positive[first : first + 4 * n].reshape(n, 4)[speaking, :3] = True
    described = np.zeros(X.shape[2], dtype=bool)
    described[: 0 if other else n_inertial] = True
    if thorough and not other:
        described[-5 * n - 5 + 3 * n] = True  # the density
    fit = _Fit(samples, X, y, counts, silent, described)
    z, factor, data = fit.quick()
    if thorough:
        z, factor, data = fit.thorough(z)
    log_det = 2.0 * float(np.sum(np.log(np.diag(factor[0]))))
    # Friction and drive inertia are positive: the share of the posterior that is, over the prior's
    # (parameters one by one).
    sd = np.sqrt(np.diag(scipy.linalg.cho_solve(factor, np.eye(len(z)), check_finite=False)))
    sure = float(np.sum(log_ndtr(z / sd)[positive])) + np.log(2.0) * int(positive.sum())
    worth = sure + data + fit.log_prior(z) - 0.5 * log_det
    if other:
        return Evidence(worth, model.pi.ravel(), np.inf * scale, fit.left, fit.by_block)
    return Evidence(
        worth,
        prior[:n_inertial] + (np.append(scale, friction) * z[: A.shape[2]])[:n_inertial],
        scale * sd[:n_inertial],
        fit.left,
        fit.by_block,
    )


def counted(samples: Samples) -> Array:
    """Samples of each joint that count, shape (n,)."""
    return np.asarray(_COARSE * samples.moving.sum(axis=0) * samples.used)


def _tool_scale(samples: Samples) -> Array:
    model = samples.model
    mass = _TOOL_MASS * float(np.sum(np.abs(model.pi[:, 0])))
    scale = inertial_scale(model).reshape(-1, 10)
    reach = float(np.sum(scale[:, 1] / scale[:, 0]))  # the bodies' own lengths
    arm = max(_TOOL_ARM * reach, 0.03)
    return mass * np.array([1.0, *[arm] * 3, *[arm**2] * 6])


def _little_off(samples: Samples) -> Array:
    """Columns of what is a little off on every arm, times their deviations, shape (K, n, 5 n + 5)."""
    model, n = samples.model, samples.q.shape[1]
    rigid = model.inverse_dynamics(samples.q, samples.v, samples.a)
    each = np.arange(n)
    out = np.zeros((*rigid.shape, 5 * n + 5))
    near = np.exp(-np.abs(samples.v) / np.maximum(_SLOW * samples.v.std(axis=0), 1e-9))
    size = _SHAPE * samples.tau.std(axis=0)
    out[:, each, 3 * n + 5 + each] = size * near * np.sign(samples.v)  # breakaway
    out[:, each, 4 * n + 5 + each] = size * near * np.sign(samples.a)  # hysteresis at reversals
    out[:, each, each] = _GAIN * rigid
    out[:, each, n + each] = _LAG * samples.tau_dot
    step = 1e-4
    for j in range(n):
        q = samples.q.copy()
        q[:, j] += step
        out[:, :, 2 * n + j] = (
            _ZERO / step * (model.inverse_dynamics(q, samples.v, samples.a) - rigid)
        )
    out[:, :, 3 * n] = _DENSITY * rigid
    out[:, :, 3 * n + 1] = _LAG * samples.tau_dot
    for k in range(3):
        turned = with_gravity(model, model.gravity + step * np.cross(np.eye(3)[k], model.gravity))
        tilted = turned.inverse_dynamics(samples.q, samples.v, samples.a)
        out[:, :, 3 * n + 2 + k] = _TILT / step * (tilted - rigid)
    return out


def _any_arm(samples: Samples) -> Array:
    """Principal functions of the torques of any serial arm, shape (K, n, n m).

    Torques of hinges are products of sines and cosines of the joints' angles, each once, times a constant
    or an acceleration: that is this kernel.
    """
    K, n = samples.q.shape
    kernel = np.ones((K, K))
    for j in range(n):
        q = samples.q[:, j]
        kernel *= 0.5 + 0.5 * np.cos(q[:, None] - q)
    a = samples.a / np.maximum(samples.a.std(axis=0), 1e-12)
    kernel *= 1.0 + a @ a.T / n
    size, functions = scipy.linalg.eigh(kernel, subset_by_index=(max(K - _FUNCTIONS, 0), K - 1))
    functions = functions * np.sqrt(np.maximum(size, 0.0))
    m = functions.shape[1]
    out = np.zeros((K, n, n * m))
    for j in range(n):
        out[:, j, j * m : (j + 1) * m] = functions * np.std(samples.tau[:, j])
    return out


def left_out(samples: Samples) -> tuple[float, float]:
    """Shares of the torques' variance that the URDF's masses and any masses leave, of all joints.

    The first with friction alone fitted, the second on blocks of time that weren't fitted.
    """
    A, n_inertial = regressor(samples), samples.model.pi.size
    A[~samples.moving] = 0.0
    tau = np.where(samples.moving & samples.used, samples.tau, 0.0)
    scale = np.concatenate(
        [_DESCRIPTION * inertial_scale(samples.model), friction_scale(A[:, :, n_inertial:], tau)]
    )
    rest = tau - np.where(samples.used, A[:, :, :n_inertial] @ samples.model.pi.ravel(), 0.0)
    size = np.maximum(tau.std(axis=0), 1e-12)[:, None]
    X, y = A * scale / size, rest / size[:, 0]
    X[:, ~samples.used] = 0.0

    def solved(B: Array, b: Array) -> Array:
        B, b = B.reshape(-1, B.shape[-1]), b.ravel()
        normal = B.T @ B / np.exp(_NOISE) + np.eye(B.shape[1])
        return np.asarray(np.linalg.solve(normal, B.T @ b / np.exp(_NOISE)))

    friction = X[:, :, n_inertial:]
    left = [y - friction @ solved(friction, y), y.copy()]
    for fold in range(_FOLDS):
        out = samples.block % _FOLDS == fold
        left[1][out] -= X[out] @ solved(X[~out], y[~out])
    total = sum(float(np.var(x[m])) * m.sum() for x, m in zip(tau.T, samples.moving.T, strict=True))
    urdf, free = (float(np.sum((e * size[:, 0]) ** 2)) / max(total, 1e-300) for e in left)
    return urdf, free


class _Fit:
    """Most likely parameters and noise of standardised equations."""

    def __init__(
        self,
        samples: Samples,
        X: Array,
        y: Array,
        counts: Array,
        silent: Sequence[int],
        described: Array,
    ) -> None:
        self.X, self.y = X, y
        self.used = np.flatnonzero(samples.used)
        moving = samples.moving
        self.rows = [
            moving[:, j] if np.any(moving[:, j]) else np.ones(len(y), bool) for j in self.used
        ]
        self.counts = counts[self.used]
        self.described = described
        self.precision = np.ones(X.shape[2])
        self.speak = ~np.isin(self.used, silent)
        spread = samples.size[self.used] ** 2
        self.spread = np.maximum(spread, 1e-9 * max(float(spread.max(initial=0.0)), 1e-300))
        self.follows = np.diff(samples.block) == 0  # rows that stand beside each other in time
        self.left = np.full(y.shape[1], np.nan)
        self.block = samples.block
        self.by_block = np.zeros(int(samples.block.max()) + 1)

    def log_prior(self, z: Array) -> float:
        """Logarithm of the prior's density, without what all explanations have in common."""
        return 0.5 * float(np.sum(np.log(self.precision)) - self.precision @ z**2)

    def quick(self) -> tuple[Array, tuple[Array, bool], float]:
        """White noise of normal size, and how good the description is."""
        parts = [(self.X[r, j], self.y[r, j]) for r, j in zip(self.rows, self.used, strict=True)]
        products = np.array([A.T @ A / len(A) for A, _ in parts]) / self.spread[:, None, None]
        sides = np.array([A.T @ b / len(A) for A, b in parts]) / self.spread[:, None]
        squares = np.array([b @ b / len(b) for _, b in parts]) / self.spread
        fits = []
        for precision in _PRECISIONS:
            self.precision[self.described] = precision
            share = np.full(len(self.used), 0.1)
            for _ in range(3):
                weight = self.counts / share
                H = np.tensordot(weight, products, 1) + np.diag(self.precision)
                factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
                z = scipy.linalg.cho_solve(factor, weight @ sides, check_finite=False)
                left = squares - 2.0 * sides @ z + np.einsum("i,jik,k->j", z, products, z)
                left = np.maximum(left, 1e-12)
                share = _most_likely(left, share, self.counts)
            data = -0.5 * float(np.sum(self.counts * (np.log(share) + left / share)))
            data += _noise_prior(share[self.speak])
            worth = data + self.log_prior(z) - float(np.sum(np.log(np.diag(factor[0]))))
            fits.append((worth, precision, z, factor, data, left))
        _, precision, z, factor, data, left = max(fits, key=lambda fit: fit[0])
        self.precision[self.described] = precision
        self.left[self.used] = left
        return z, factor, data

    def thorough(self, z: Array) -> tuple[Array, tuple[Array, bool], float]:
        """Coloured noise with heavy tails, whose size and colour are learned."""
        share = np.maximum(self.left[self.used], 1e-6)
        data = 0.0
        for _ in range(4):
            H, side = np.diag(self.precision), np.zeros(len(z))
            by_block = np.zeros(len(self.by_block))
            for k, j in enumerate(self.used):
                rows = self.rows[k]
                scale = 1.0 / np.sqrt(self.spread[k])
                A, b = scale * self.X[rows, j], scale * self.y[rows, j]
                e = b - A @ z
                index = np.flatnonzero(rows)
                beside = np.append(False, (np.diff(index) == 1) & self.follows[index[:-1]])
                phi = _colour(e, beside)
                A, b = _whitened(A, beside, phi), _whitened(b, beside, phi)
                e = b - A @ z
                size = share[k]
                for _ in range(3):
                    w = (_TAILS + 1.0) / (_TAILS + e**2 / size)
                    left = np.array([np.mean(w * e**2)])
                    size = float(_most_likely(left, np.array([size]), self.counts[k : k + 1])[0])
                share[k] = size
                weight = self.counts[k] / len(b) * w / size
                H += (A * weight[:, None]).T @ A
                side += A.T @ (weight * b)
                tails = (_TAILS + 1.0) * np.log1p(e**2 / (_TAILS * size))
                # Whitening keeps the volume but for the first of each span.
                worth = -0.5 * (np.log(size) + tails - ~beside * np.log(1.0 - phi**2))
                np.add.at(by_block, self.block[index], self.counts[k] / len(b) * worth)
            self.by_block, data = by_block, float(by_block.sum())
            factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
            z = scipy.linalg.cho_solve(factor, side, check_finite=False)
        return z, factor, data + _noise_prior(share[self.speak])


def _most_likely(left: Array, share: Array, counts: Array) -> Array:
    """Most likely share of variance that is noise, with its prior."""
    for _ in range(3):
        more = 2.0 * (np.log(share) - _NOISE) / _NOISE_SPREAD**2
        share = counts * left / np.maximum(counts + more, 0.1 * counts + 1e-9)
        share = np.clip(share, _FLOOR, 10.0)
    return np.asarray(share)


def _noise_prior(share: Array) -> float:
    return -0.5 * float(np.sum(((np.log(share) - _NOISE) / _NOISE_SPREAD) ** 2))


def _colour(residual: Array, beside: Array) -> float:
    """Correlation of neighbours."""
    now, before = residual[beside], residual[np.flatnonzero(beside) - 1]
    size = float(now @ now + before @ before)
    return float(np.clip(2.0 * float(now @ before) / size, 0.0, 0.95)) if size > 0.0 else 0.0


def _whitened(values: Array, beside: Array, phi: float) -> Array:
    out = values * np.sqrt(1.0 - phi**2)
    index = np.flatnonzero(beside)
    out[index] = values[index] - phi * values[index - 1]
    return out
