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

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack
from scipy.special import log_ndtr

from sysid_core.diagnosis.motion import (
    COUNT,
    DENSITY,
    DESCRIPTION,
    OFF,
    Motion,
    regressor,
)
from sysid_core.diagnosis.samples import LAG, Samples
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array, RobotModel

# A link may be further off than the others (a counterweight), a spring or shared drive larger: how much, is
# learned. Standard deviation of the logarithm of their variance, of which one in ten is 16 times as large.
_WORST = 16.0
_WORSE = np.log(_WORST) / 1.645
_PRECISIONS = _WORST ** np.arange(3)  # how good a description is, is learned: each as likely
_ROUNDS = 4  # until both agree; half as many from what is near
# Share of a joint's torque variance that no rigid body explains (friction, elasticity, noise): log-normal.
_NOISE, _NOISE_SPREAD = np.log(0.02), 1.5
_FLOOR = 2.5e-3  # of that share: 5 % of a torque's size is nothing to tell causes by
# Masses of tools and hands, shares of the arm's, each off by as much as those of links; and standard deviation
# of their centres of mass about that of the last link, share of the arm's reach.
_TOOL_MASSES, _TOOL_ARM = (0.2, 0.05, 0.0125), 0.1


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


@dataclass(frozen=True, eq=False)
class _Equations:
    """Torque equations `y = X z + e` of one hypothesis in groups of samples, with coefficients z in
    units of their prior standard deviations. The columns of X are those of the motion, scaled, and
    reduced by their share of the common factor of all masses.

    Attributes:
        products: Mean products of the motion's columns, shape (groups, p, p).
        sides: Mean products of the motion's columns with y, shape (groups, p).
        squares: Mean squares of y, shape (groups,).
        counts: Number of independent samples that each group counts as, shape (groups,).
        weigh: One over the variance of the joint's torques, 0 for torques that are unrelated to the
            motion, shape (groups,).
        unit: Scales of the columns, shape (p,).
        factor: Index of the column of the common factor.
        share: Multiple of that column by which each column is reduced, shape (p,); empty: none.
    """

    products: Array
    sides: Array
    squares: Array
    counts: Array
    weigh: Array
    unit: Array
    factor: int
    share: Array

    def folded(self, rows: Array) -> Array:
        """Return products with the columns of X from those with the motion's, shape (..., p)."""
        out = rows * self.unit
        return out - rows[..., self.factor, None] * self.share if len(self.share) else out

    def unfolded(self, z: Array) -> Array:
        """Return the coefficients of the motion's columns, shape (p,)."""
        out = z * self.unit
        if len(self.share):
            out[self.factor] -= self.share @ z
        return out


def _fits(
    eq: _Equations, described: int, labels: Array
) -> list[tuple[float, Array, Array, Array, Array, Array, Array]]:
    """Fit the equations with each precision of the description; return for each the logarithm of
    the evidence, z with its standard deviations and prior weights, (p,) each, the unexplained share
    of each group and its most likely variance, and the inverse of the Cholesky factor of the
    precision of z, (p, p).

    Args:
        eq: Equations.
        described: Number of columns of the description, whose precision is learned; 0: none.
        labels: Number of the link, spring or drive to which each column belongs, whose variance is
            learned, shape (p,); -1: none.
    """
    fits: list[tuple[float, Array, Array, Array, Array, Array, Array]] = []
    alike = labels == np.arange(labels.max() + 1)[:, None]
    share, z, known = np.full(len(eq.counts), 0.1), np.zeros(len(labels)), np.zeros(len(alike))
    worse, speak = np.ones(len(alike)), eq.weigh > 0.0
    flat = eq.products.reshape(len(eq.products), -1)
    for precision in _PRECISIONS if described else _PRECISIONS[:1]:
        usual = np.where(np.arange(len(labels)) < described, precision, 1.0)
        most = np.where(np.any(alike[:, :described], axis=1), max(_WORST * precision, 1.0), _WORST)
        rounds = _ROUNDS // 2 if fits else _ROUNDS
        for k in range(rounds):
            if len(alike):
                worse = np.clip(_most_likely(alike @ (usual * z**2), known, 0.0, _WORSE), 1.0, most)
            weights = usual / np.append(worse, 1.0)[labels]
            per_group = eq.counts / share * eq.weigh
            H = eq.folded(eq.folded((per_group @ flat).reshape(eq.products.shape[1:])).T)
            H.flat[:: len(H) + 1] += weights
            root, failed = lapack.dpotrf(H.T, lower=1, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError("The precision of the parameters is not positive.")
            z, _ = lapack.dpotrs(root, eq.folded(per_group @ eq.sides), lower=1)
            if len(alike) or k + 1 == rounds:
                inverse, _ = lapack.dtrtri(root, lower=1)
                sd = np.linalg.norm(inverse, axis=0)
                # How many parameters of each the data tell.
                known = alike @ (1.0 - weights * sd**2)
            u = eq.unfolded(z)
            left = eq.squares - eq.weigh * (2.0 * eq.sides @ u - (eq.products @ u) @ u)
            left = np.maximum(left, 1e-12)
            share = _most_likely(eq.counts * left, eq.counts, _NOISE, _NOISE_SPREAD)
            share = np.maximum(share, _FLOOR)
        worth = -0.5 * float(eq.counts @ (np.log(share) + left / share))
        worth -= 0.5 * float(np.sum(((np.log(share[speak]) - _NOISE) / _NOISE_SPREAD) ** 2))
        worth -= 0.5 * float(np.sum((np.log(worse) / _WORSE) ** 2))
        worth += 0.5 * float(np.sum(np.log(weights)) - weights @ z**2)
        worth -= float(np.sum(np.log(np.diag(root))))
        fits.append((worth, z, sd, weights, left, share, inverse))
    return fits


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
        motion: Equations of the motion, if already computed; None: compute them.
    """
    motion = motion or Motion(samples)
    model, described, size = samples.model, motion.described, samples.size
    n, n_inertial = len(size), len(described)
    # Friction and springs belong to the robot: no explanation makes them larger by adding torques.
    own = np.append(motion.scale, motion.rubbing * size.repeat(4))
    columns, unit = motion.columns, own
    joint, factor, common = motion.order % n, len(own) + n, np.empty(0)
    y, more = motion.sorted(samples.tau - motion.torques), []
    if thorough:
        columns = motion.all_columns
        unit = np.concatenate([own, np.ones(2 * n + 4), size, size, size, size[1:].repeat(6)])
        unit[factor] = not exact
        # A common factor has a prior of its own: independent errors of the links could explain any.
        rigid = motion.sorted(motion.torques / size)
        common = rigid / size[joint] @ (columns[:, :n_inertial] * own[:n_inertial])
        common /= rigid @ rigid
        late = LAG * motion.sorted(samples.tau_dot)[:, None]  # of one joint and of all
        more.append(np.hstack([late * (joint[:, None] == np.arange(n)), late]))
    if tool:
        load, load_sd = _tool(model, tool)
        there = motion.order // n >= since * len(samples)
        last = columns[:, n_inertial - 10 : n_inertial] * there[:, None]
        y -= last @ load
        more.append(last * load_sd)
    silent = np.isin(np.arange(n), mute)
    y = np.where(silent[joint], motion.sorted(samples.tau - samples.tau.mean(axis=0)), y)
    # The same efforts are explained under all hypotheses, where a joint moves and where friction holds it.
    told = samples.used[motion.joint]
    extra = np.column_stack([*more, y])
    cross, inner = motion.sums(columns, extra), motion.sums(extra, extra)
    products = motion.all_products if thorough else motion.products
    if more:
        border, corner = cross[:, :, :-1], inner[:, :-1, :-1]
        products = np.block([[products, border], [border.transpose(0, 2, 1), corner]])
    unit = np.append(unit, np.ones(extra.shape[1] - 1))
    of_group, speak = size[motion.joint] ** 2, ~silent[motion.joint]
    eq = _Equations(
        products if told.all() else products[told],
        np.append(cross[:, :, -1], inner[:, :-1, -1], axis=1)[told],
        inner[told, -1, -1] / of_group[told],
        motion.counts[told],
        (speak / of_group)[told],
        unit,
        factor,
        np.append(common / DENSITY, np.zeros(len(unit) - n_inertial)) if thorough else common,
    )
    labels = np.full(len(unit), -1)  # of what is as far off
    if thorough:
        labels[: n_inertial - 10] = np.arange(n_inertial - 10) // 10  # the last link: `tool`
        parts = np.append(np.arange(n), n + np.arange(2 * n - 2).repeat(3))  # springs, drives
        first = len(own) + 4 * n + 4
        labels[first : first + len(parts)] = model.n_bodies - 1 + parts
    fits = _fits(eq, n_inertial if thorough else 0, labels)
    _, z, sd, weights, left, share, inverse = max(fits, key=lambda fit: fit[0])
    worth = float(np.logaddexp.reduce([fit[0] for fit in fits])) - np.log(len(fits))
    # Masses, friction and drive inertia are positive: the share of the posterior that is, over the prior's
    # (parameters one by one).
    at = np.full(len(unit), -np.inf)  # what is below can't be, in units of the prior's deviation
    at[n_inertial : len(own)].reshape(n, 4)[samples.used & ~silent, :3] = 0.0
    at[:n_inertial:10] = -described[::10] / own[:n_inertial:10]
    added = slice(len(unit) - 10, len(unit))
    if tool:
        least = 0.0 if tool > 0.0 else -described[-10]
        at[added.start] = (least - tool) / load_sd[0]
    real = np.isfinite(at)
    before = log_ndtr(-(at * np.sqrt(weights))[real])
    worth += float(np.sum(log_ndtr(((z - at) / sd)[real]) - before))
    # The last link's parameters are those with the tool.
    pi = described + own[:n_inertial] * z[:n_inertial]
    of_parameters = inverse[:, :n_inertial] * own[:n_inertial]
    if tool:
        pi[-10:] += load + load_sd * z[added]
        of_parameters[:, -10:] += load_sd * inverse[:, added]
    pi_sd = np.linalg.norm(of_parameters, axis=0)
    rubbed, off, u = (own * z[: len(own)])[n_inertial:].reshape(n, 4), np.zeros(n), eq.unfolded(z)
    by_block, out = np.zeros(int(samples.block.max()) + 1), np.full(n, np.nan)
    if thorough:
        off = OFF * z[len(own) : factor] + DENSITY * u[factor]
        explained = columns @ u[: columns.shape[1]] + extra[:, :-1] @ u[columns.shape[1] :]
        variance, e = np.ones(len(told)), (y - ~silent[joint] * explained) / size[joint]
        variance[told] = share
        variance = variance.repeat([rows.stop - rows.start for rows in motion.groups])
        part = samples.used[joint] * (np.log(variance) + e**2 / variance)
        by_block -= np.bincount(samples.block[motion.order // n], part) * COUNT / (2 * len(samples))
        shares = np.bincount(motion.joint[told], motion.counts[told] * left, n) / COUNT
        out[samples.used] = shares[samples.used]
    return Evidence(worth, pi, pi_sd, out, by_block, rubbed, off)


def _most_likely(squares: Array, counts: Array, mean: float, spread: float) -> Array:
    """Most likely values of several variances with a log-normal prior, by Newton's method."""
    u = np.minimum(np.log(np.maximum(squares, 1e-12) / np.maximum(counts, 1e-12)), mean)
    squares, counts, tied = 0.5 * squares, 0.5 * counts, 1.0 / spread**2
    for _ in range(6):  # from below it converges without overshooting
        fit = squares * np.exp(-u)
        u = u - (counts - fit + tied * (u - mean)) / (fit + tied)
    return np.asarray(np.exp(u))


def tool_masses(model: RobotModel) -> tuple[float, ...]:
    """Return masses of tools and hands [kg] that may be missing in the robot description
    (positive), or on the robot (negative, at most the mass of the last link).
    """
    arm = float(np.sum(np.abs(model.pi[:, 0])))
    masses = [share * arm for share in _TOOL_MASSES]
    return (*masses, *(-mass for mass in masses if (1.0 - DESCRIPTION) * mass < model.pi[-1, 0]))


def _tool(model: RobotModel, mass: float) -> tuple[Array, Array]:
    """Inertial parameters of a tool with about this mass and a centre of mass near that of the last
    link, and their standard deviations, each of shape (10,).
    """
    last, scale = model.pi[-1], model.inertial_scale.reshape(-1, 10)
    reach = float(np.sum(scale[:, 1] / scale[:, 0]))  # the bodies' own lengths
    arm = max(_TOOL_ARM * reach, 0.03)
    centre = last[1:4] / last[0] if last[0] > 0.0 else np.zeros(3)
    mean = mass * np.array([1.0, *centre, *[0.0] * 6])
    return mean, abs(mass) * np.array([DESCRIPTION, *[arm] * 3, *[arm**2] * 6])


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
        [
            DESCRIPTION * samples.model.inertial_scale,
            Regression.friction_scale(A[:, :, n_inertial:], tau),
        ]
    )
    rest = tau - np.where(samples.used, A[:, :, :n_inertial] @ samples.model.pi.ravel(), 0.0)
    size = np.maximum(tau.std(axis=0), 1e-12)[:, None]
    X, y = A * scale / size, rest / size[:, 0]
    X[:, ~samples.used] = 0.0

    def solved(products: Array) -> Array:
        prior = np.exp(_NOISE) * np.eye(len(products) - 1)
        return np.asarray(np.linalg.solve(products[:-1, :-1] + prior, products[:-1, -1]))

    blocks = [samples.block == b for b in np.unique(samples.block)]
    Z = np.concatenate([X, y[:, :, None]], axis=2)
    products = np.array([np.tensordot(Z[b], Z[b], ([0, 1], [0, 1])) for b in blocks])
    whole = products.sum(axis=0)
    left = [y - X[:, :, n_inertial:] @ solved(whole[n_inertial:, n_inertial:]), y.copy()]
    for out, held in zip(blocks, products, strict=True):
        left[1][out] -= X[out] @ solved(whole - held)
    around = np.where(told, tau - tau.sum(axis=0) / np.maximum(told.sum(axis=0), 1), 0.0)
    urdf, free = (np.sum((e * size[:, 0]) ** 2) / max(np.sum(around**2), 1e-300) for e in left)
    return float(urdf), float(free)
