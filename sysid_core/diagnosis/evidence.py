# SPDX-License-Identifier: Apache-2.0
r"""Evidence of a hypothesis: marginal likelihood of the torques for rigid bodies with a prior.

`tau_j = Y_j pi + Phi_j phi + N_j nu + e_j`. The URDF's parameters are uncertain,
`pi ~ N(pi_URDF, scale^2)`, friction is free, and `nu` contains the errors of every real arm (small
errors of zero positions, mounting, gains and stamps) and effects that most descriptions lack
(springs, cables, a belt by which one drive moves two joints). These effects are part of every
explanation, so that no explanation becomes more likely only by absorbing them. The size of the
residual e_j and that of the errors of the description are unknown; one link may have larger errors
than the others (a counterweight). The evidence is evaluated at the most likely values of these
unknowns (MacKay 1992, Bayesian interpolation). It is the product of the predictive densities of
every sample given the samples before it, so that no sample is judged by a model that was fitted to
it. Model errors repeat in similar states and do not average out in long recordings, so that the
likelihood is coarsened (Miller and Dunson 2019, Robust Bayesian inference via coarsening): a joint
counts as `COUNT` independent samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
import scipy
from scipy.special import log_ndtr

from sysid_core.diagnosis.samples import Samples
from sysid_core.estimation.fit import friction_scale
from sysid_core.robot import Array, RobotModel

COUNT = 40.0  # independent samples that a joint counts as: model errors are alike in like states
# Standard deviation of a description's inertial parameters, in natural scales: CAD masses lack cables,
# covers and motors, and are seldom off by more than half; all together, for the density, by a third.
_DESCRIPTION, DENSITY = 0.5, 0.3
_PRECISIONS = (1.0, 16.0, 256.0)  # how good a description is, is learned: each as likely
# A link may be further off than the others (a counterweight), a spring or shared drive larger: how much, is
# learned. Standard deviation of the logarithm of their variance, of which one in ten is 16 times as large.
_WORST = 16.0
_WORSE = np.log(_WORST) / 1.645
_ROUNDS = 4  # until both agree; half as many from what is near
# What is a little off on every arm, standard deviations. Of a joint's zero, and of the mounting.
ANGLE = np.radians(1.5)
# Of a drive's gain; and of what nobody described, as a share of the torque's size: springs and cables, friction
# and inertia of a drive that turns two joints.
OFF = 0.1
_LAG = 0.02  # [s] of the efforts, of one joint and of all
_SHAPE = 0.3  # of friction near standstill (breakaway, presliding), share of the torque's size
_SLOW = 0.2  # of a joint's usual speed, within which friction is of another shape
# Share of a joint's torque variance that no rigid body explains (friction, elasticity, noise): log-normal.
_NOISE, _NOISE_SPREAD = np.log(0.02), 1.5
_FLOOR = 2.5e-3  # of that share: 5 % of a torque's size is nothing to tell causes by
# Masses of tools and hands, shares of the arm's, each with its relative standard deviation; and standard
# deviation of their centres of mass about that of the last link, share of the arm's reach.
_TOOL_MASSES, _TOOL_SD, _TOOL_ARM = (0.2, 0.05, 0.0125), 0.5, 0.1
_FOLDS = 4  # of blocks: what is left is judged on the fold that wasn't fitted


@dataclass(frozen=True, eq=False)
class Evidence:
    """Marginal likelihood of one hypothesis about a recording.

    Attributes:
        log: Logarithm of the evidence [nats].
        inertial: Most likely inertial parameters, shape (10 n_bodies,).
        inertial_sd: Standard deviations of the inertial parameters, shape (10 n_bodies,).
        left: Unexplained share of the torque variance of each joint, shape (n,); NaN for unused
            joints.
        by_block: Contribution of each block of time to `log`, shape (blocks,).
        friction: Most likely Coulomb friction, viscous friction, drive inertia and offset of each
            joint, shape (n, 4); empty: not estimated.
        off: Most likely relative errors of the torques as described, by the errors of all masses
            together and of each gain, shape (n,); empty: not estimated.
    """

    log: float
    inertial: Array
    inertial_sd: Array
    left: Array
    by_block: Array
    friction: Array = field(default_factory=lambda: np.empty((0, 4)))
    off: Array = field(default_factory=lambda: np.empty(0))


class Motion:
    """Regressor of a motion and the mean products of its columns, which are the same for all
    hypotheses that concern only the efforts.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples, self.columns = samples, regressor(samples)
        self.scale = _DESCRIPTION * samples.model.inertial_scale
        self.groups = [
            (j, rows)
            for j, moves in enumerate(samples.moving.T)
            for rows in (moves, ~moves)
            if np.any(rows)
        ]
        self.counts = np.array([COUNT * float(np.mean(rows)) for _, rows in self.groups])

    @cached_property
    def products(self) -> Array:
        """Products of the regressor's columns, shape (groups, p, p)."""
        return self.product(self.columns)

    @cached_property
    def rigid(self) -> tuple[Array, Array, Array]:
        """Torques of the rigid bodies as described, (K, n), and their derivatives with respect to
        the zero positions of the joints, (K, n, n), and to rotations of the base, (K, n, 3).
        """
        model, (q, v, a) = self.samples.model, (self.samples.q, self.samples.v, self.samples.a)
        here, step = model.inverse_dynamics(q, v, a), 1e-4

        def changed(torques: Iterator[Array]) -> Array:
            return np.stack([(other - here) / step for other in torques], axis=2)

        moved = (model.inverse_dynamics(q + step * row, v, a) for row in np.eye(q.shape[1]))
        turns = (model.gravity + step * np.cross(axis, model.gravity) for axis in np.eye(3))
        turned = (model.with_gravity(gravity).inverse_dynamics(q, v, a) for gravity in turns)
        return here, changed(moved), changed(turned)

    def product(self, columns: Array) -> Array:
        """Return the mean squares of columns (K, n, p) in every group of samples, shape (groups, p,
        p).
        """
        parts = [columns[rows, j] for j, rows in self.groups]
        return np.array([A.T @ A / len(A) for A in parts])


def regressor(samples: Samples) -> Array:
    """Return the regressor of rigid bodies with friction, shape (K, n, p)."""
    Y = samples.model.torque_regressor(samples.q, samples.v, samples.a)
    K, n, _ = Y.shape
    Phi = np.zeros((K, n, 4 * n))
    for j in range(n):
        Phi[:, j, 4 * j : 4 * j + 4] = samples.friction(j)
    return np.concatenate([Y, Phi], axis=2)


def evidence(
    samples: Samples,
    *,
    tool: float = 0.0,
    since: float = 0.0,
    mute: Sequence[int] = (),
    thorough: bool = True,
    exact: bool = False,
    motion: Motion | None = None,
) -> Evidence:
    """Compute the marginal likelihood of the torques for one hypothesis about the recording.

    Args:
        samples: Samples, corrected for the hypothesis.
        tool: Approximate mass of a tool or hand that the description lacks, negative if the robot
            lacks it [kg]; 0: none.
        since: Share of the samples before the tool is attached; 0: it is always attached.
        mute: Indices of the joints whose torques are unrelated to the motion.
        thorough: True to include the small errors of every arm.
        exact: True to assume the total mass of the description, so that a common factor is
            detected.
        motion: Regressor of the samples, if already computed; None: compute it.
    """
    model = samples.model
    motion = motion or Motion(samples)
    n, n_inertial = samples.q.shape[1], model.pi.size
    silent = np.isin(np.arange(n), mute)
    A, (load, load_sd) = motion.columns, _tool(model, tool)
    # Friction and springs belong to the robot: no explanation makes them larger by adding torques.
    own = np.concatenate([motion.scale, friction_scale(A[:, :, n_inertial:], samples.size[None])])
    prior = np.concatenate([model.pi.ravel(), np.zeros(4 * n)])
    y, more = samples.tau - A @ prior, []
    if tool:
        there = np.arange(len(samples)) >= since * len(samples)
        last = A[:, :, n_inertial - 10 : n_inertial] * there[:, None, None]
        y -= last @ load
        more.append(last * load_sd)
    if thorough:
        more += [_little_off(samples, motion), *_undescribed(samples)]
    y[:, silent] = samples.tau[:, silent] - samples.tau[:, silent].mean(axis=0)
    X = np.concatenate([A * own, *more], axis=2) if more else A * own
    if thorough:
        rigid, links = A @ prior, X[:, :, :n_inertial]
        common = _share_of_scale(links, rigid, samples.size)
        links -= rigid[:, :, None] * common
        X[:, :, len(prior) + 3 * n] *= not exact
    products, unit = (motion.product(X), np.ones(X.shape[2])) if more else (motion.products, own)
    X[:, silent] = 0.0
    positive = np.zeros(X.shape[2], dtype=bool)
    positive[n_inertial : n_inertial + 4 * n].reshape(n, 4)[samples.used & ~silent, :3] = True
    described = np.zeros(X.shape[2], dtype=bool)
    labels = np.full(X.shape[2], -1)  # of what is as far off
    if thorough:
        first = n_inertial + 4 * n + sum(columns.shape[2] for columns in more[:-2])
        described[:n_inertial] = True
        labels[: n_inertial - 10] = np.arange(n_inertial - 10) // 10  # the last link: `tool`
        each, both = np.arange(n), n + np.arange(2 * n - 2).repeat(3)
        labels[first:] = model.n_bodies - 1 + np.append(each, both)  # springs, drives
    alike = labels == np.arange(labels.max() + 1)[:, None]
    # The same efforts are explained under all hypotheses, where a joint moves and where friction holds it.
    told = np.array([bool(samples.used[j]) for j, _ in motion.groups])
    groups = [group for group, yes in zip(motion.groups, told, strict=True) if yes]
    counts = motion.counts[told]
    products = products if told.all() else products[told]
    speak = np.array([not silent[j] for j, _ in groups])
    spread = np.array([samples.size[j] ** 2 for j, _ in groups])
    weigh = speak / spread
    sides = np.array([X[r, j].T @ y[r, j] / r.sum() for j, r in groups]) / spread[:, None]
    squares = np.array([y[r, j] @ y[r, j] / r.sum() for j, r in groups]) / spread
    fits: list[tuple[float, Array, Array, Array, Array, Array, Array]] = []
    share, z = np.full(len(groups), 0.1), np.zeros(X.shape[2])
    known = np.zeros(len(alike))
    for precision in _PRECISIONS if thorough else (1.0,):
        usual = np.where(described, precision, 1.0)
        most = np.full(len(alike), _WORST)
        most[: model.n_bodies - 1] = max(_WORST * precision, 1.0)
        for _ in range(_ROUNDS if not fits else _ROUNDS // 2):
            worse = np.clip(_most_likely(alike @ (usual * z**2), known, 0.0, _WORSE), 1.0, most)
            weights = usual / np.append(worse, 1.0)[labels]
            H = np.tensordot(counts / share * weigh, products, 1) * np.outer(unit, unit)
            root = scipy.linalg.cholesky(H + np.diag(weights), lower=True, check_finite=False)
            inverse, _ = scipy.linalg.lapack.dtrtri(root, lower=True)
            sd = np.linalg.norm(inverse, axis=0)
            z = inverse.T @ (inverse @ (counts / share @ sides))
            explained = 2.0 * sides @ z - weigh * ((products @ (unit * z)) @ (unit * z))
            left = np.maximum(squares - explained, 1e-12)
            share = np.maximum(_most_likely(counts * left, counts, _NOISE, _NOISE_SPREAD), _FLOOR)
            known = alike @ (1.0 - weights * sd**2)  # how many parameters of each the data tell
        worth = -0.5 * float(counts @ (np.log(share) + left / share))
        worth -= 0.5 * float(np.sum(((np.log(share[speak]) - _NOISE) / _NOISE_SPREAD) ** 2))
        worth -= 0.5 * float(np.sum((np.log(worse) / _WORSE) ** 2))
        worth += 0.5 * float(np.sum(np.log(weights)) - weights @ z**2)
        worth -= float(np.sum(np.log(np.diag(root))))
        fits.append((worth, z, sd, weights, left, share, inverse))
    _, z, sd, weights, left, share, inverse = max(fits, key=lambda fit: fit[0])
    worth = float(np.logaddexp.reduce([fit[0] for fit in fits])) - np.log(len(fits))
    # Masses, friction and drive inertia are positive: the share of the posterior that is, over the prior's
    # (parameters one by one).
    at = np.where(
        positive, 0.0, -np.inf
    )  # what is below can't be, in units of the prior's deviation
    at[:n_inertial:10] = -prior[:n_inertial:10] / own[:n_inertial:10]
    if tool:
        least = 0.0 if tool > 0.0 else -model.pi[-1, 0]
        at[len(prior)] = (least - tool) / load_sd[0]
    real = np.isfinite(at)
    before = log_ndtr(-(at * np.sqrt(weights))[real])
    worth += float(np.sum(log_ndtr(((z - at) / sd)[real]) - before))
    by_block, out = np.zeros(int(samples.block.max()) + 1), np.full(n, np.nan)
    for k, (j, rows) in enumerate(groups if thorough else ()):
        e = (y[rows, j] - X[rows, j] @ z) ** 2 / (spread[k] * share[k])
        np.add.at(by_block, samples.block[rows], -0.5 * counts[k] / len(e) * (np.log(share[k]) + e))
        out[j] = np.nan_to_num(out[j]) + left[k] * np.mean(rows)
    # The last link's parameters are those with the tool.
    pi = model.pi.ravel() + own[:n_inertial] * z[:n_inertial]
    of_parameters = inverse[:, :n_inertial] * own[:n_inertial]
    if tool:
        added = slice(len(prior), len(prior) + 10)
        pi[-10:] += load + load_sd * z[added]
        of_parameters[:, -10:] += load_sd * inverse[:, added]
    rubbed, off = (own * z[: len(own)])[n_inertial:].reshape(n, 4), np.zeros(n)
    if thorough:
        little = z[len(prior) + 10 * bool(tool) :]
        off = OFF * little[:n] + DENSITY * little[3 * n] - common @ z[:n_inertial]
    return Evidence(worth, pi, np.linalg.norm(of_parameters, axis=0), out, by_block, rubbed, off)


def _share_of_scale(columns: Array, rigid: Array, size: Array) -> Array:
    """Part of the regressor columns of the links that a common factor of all masses explains, as a
    share of that factor's column, shape (p,).

    The common factor has a prior of its own, and this part is taken out of the columns. Otherwise,
    independent errors of the links could explain any factor.
    """
    r = rigid / size**2
    return np.asarray(np.tensordot(r, columns, 2) / np.sum(r * rigid))


def _most_likely(squares: Array, counts: Array, mean: float, spread: float) -> Array:
    """Most likely values of several variances with a log-normal prior, by Newton's method."""
    u = np.minimum(np.log(np.maximum(squares, 1e-12) / np.maximum(counts, 1e-12)), mean)
    for _ in range(6):  # from below it converges without overshooting
        fit = 0.5 * squares * np.exp(-u)
        slope = 0.5 * counts - fit + (u - mean) / spread**2
        u = u - slope / (fit + 1.0 / spread**2)
    return np.asarray(np.exp(u))


def tool_masses(model: RobotModel) -> tuple[float, ...]:
    """Return masses of tools and hands [kg] that may be missing in the robot description
    (positive), or on the robot (negative, at most the mass of the last link).
    """
    arm = float(np.sum(np.abs(model.pi[:, 0])))
    masses = [share * arm for share in _TOOL_MASSES]
    return (*masses, *(-mass for mass in masses if (1.0 - _TOOL_SD) * mass < model.pi[-1, 0]))


def _tool(model: RobotModel, mass: float) -> tuple[Array, Array]:
    """Inertial parameters of a tool with about this mass and a centre of mass near that of the last
    link, and their standard deviations, each of shape (10,).
    """
    last, scale = model.pi[-1], model.inertial_scale.reshape(-1, 10)
    reach = float(np.sum(scale[:, 1] / scale[:, 0]))  # the bodies' own lengths
    arm = max(_TOOL_ARM * reach, 0.03)
    centre = last[1:4] / last[0] if last[0] > 0.0 else np.zeros(3)
    mean = mass * np.array([1.0, *centre, *[0.0] * 6])
    return mean, abs(mass) * np.array([_TOOL_SD, *[arm] * 3, *[arm**2] * 6])


def _little_off(samples: Samples, motion: Motion) -> Array:
    """Regressor columns of the small errors that every arm has (zero positions, mounting, gains,
    stamps), each times its standard deviation, shape (K, n, 5 n + 5).
    """
    n = samples.q.shape[1]
    rigid, zeros, tilts = motion.rigid
    each = np.arange(n)
    out = np.zeros((*rigid.shape, 5 * n + 5))
    near = np.exp(-np.abs(samples.v) / np.maximum(_SLOW * samples.v.std(axis=0), 1e-9))
    size = _SHAPE * samples.size
    out[:, each, 3 * n + 5 + each] = size * near * np.sign(samples.v)  # breakaway
    out[:, each, 4 * n + 5 + each] = size * near * np.sign(samples.a)  # hysteresis at reversals
    out[:, each, each] = OFF * rigid
    out[:, each, n + each] = _LAG * samples.tau_dot
    out[:, :, 2 * n : 3 * n] = ANGLE * zeros
    out[:, :, 3 * n] = DENSITY * rigid
    out[:, :, 3 * n + 1] = _LAG * samples.tau_dot
    out[:, :, 3 * n + 2 : 3 * n + 5] = ANGLE * tilts
    return out


def _undescribed(samples: Samples) -> tuple[Array, Array]:
    """Regressor columns of springs, (K, n, n), and of drives that move both a joint and the joint
    before it, (K, n, 6 (n - 1)).

    If a joint is driven by a belt along the previous link, the drive's angle is the sum or
    difference of the angles of both joints.
    """
    K, n = samples.q.shape
    size = samples.size
    springs, shared = np.zeros((K, n, n)), np.zeros((K, n, 2 * (n - 1), 3))
    for j in range(n):
        angle = samples.q[:, j] - samples.q[:, j].mean()
        springs[:, j, j] = OFF * size[j] * angle / max(float(angle.std()), 1e-9)
    for j, sign in product(range(1, n), (1, -1)):
        k = 2 * (j - 1) + (sign < 0)
        turned = replace(samples, v=samples.v + sign * np.roll(samples.v, 1, axis=1))
        turned = replace(turned, a=samples.a + sign * np.roll(samples.a, 1, axis=1))
        columns = turned.friction(j)[:, :3]
        columns /= np.maximum(np.sqrt(np.mean(columns**2, axis=0)), 1e-9)
        shared[:, j, k] = OFF * size[j] * columns
        shared[:, j - 1, k] = sign * shared[:, j, k]
    return springs, shared.reshape(K, n, -1)


def left_out(samples: Samples) -> tuple[float, float]:
    """Return the unexplained shares of the torque variance over all joints: first with the masses
    of the URDF, then with estimated masses.

    With the masses of the URDF, only friction is fitted. With estimated masses, the share is
    measured on blocks of time that were not used in the fit.
    """
    A, n_inertial = regressor(samples), samples.model.pi.size
    A[~samples.moving] = 0.0
    told = samples.moving & samples.used
    tau = np.where(told, samples.tau, 0.0)
    scale = np.concatenate(
        [_DESCRIPTION * samples.model.inertial_scale, friction_scale(A[:, :, n_inertial:], tau)]
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
    around = np.where(told, tau - tau.sum(axis=0) / np.maximum(told.sum(axis=0), 1), 0.0)
    urdf, free = (np.sum((e * size[:, 0]) ** 2) / max(np.sum(around**2), 1e-300) for e in left)
    return float(urdf), float(free)
