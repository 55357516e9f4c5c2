# SPDX-License-Identifier: Apache-2.0
r"""Prior over classes of bodies, weighted by their evidence.

Each hypothesis is a Gaussian of the parameters `pi = m p` of a body of mass m: its mean body, and
how bodies of its kind vary. If a shape is given, three kinds of bodies are considered: solids whose
density varies independently from place to place (`DensityPrior`, several contrasts), solids whose
density varies slowly, and hollow bodies. Since the given shape may be inaccurate, each kind also
occurs with the shape moved and stretched (to first order, `P -> X P X^T` of the pseudo-inertia).
Since the shape may also be entirely wrong, the last hypothesis is a ball of unknown size at an
unknown place within reach; without a shape, this is the only one.

Hypotheses are averaged by their evidence `N(r; R m p, R C R^T + I)` (MacKay 2003, Information
theory, inference and learning algorithms, ch. 28); the standard deviations contain the differences
between the hypotheses, weighted by the same probabilities as the estimate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import ParameterVerdict
from sysid_core.estimation.payload.ball_prior import (
    BALL_SPREAD,
    BALLS,
    ball_first,
    ball_prior,
    conditioned,
    nearest_body,
    probabilities,
)
from sysid_core.estimation.payload.density_prior import DensityPrior, shape_covariance
from sysid_core.estimation.payload.grasp_prior import affine_derivatives, grasp_priors
from sysid_core.estimation.payload.result import verdicts_from_prior
from sysid_core.robot import (
    Array,
    parameter_transform,
    pi_from_mass_com_inertia,
)
from sysid_core.robot.shapes import Shape

# All chosen on random objects and the families of `studies.payload.CHOICE_FAMILIES`.
CONTRASTS = (0.25, 0.5, 1.0, 2.0)  # of densities that vary independently
SLOW_CONTRASTS = ((0.5, 0.3), (0.5, 1.0), (1.0, 0.3), (1.0, 1.0))  # (log density, length / size)
SYMMETRIC_CONTRASTS = ((1.0, 0.1), (2.0, 0.2))  # of what is symmetric, and of the rest
HOLLOW_CONTRASTS = ((0.5, 0.1), (0.5, 0.5), (1.5, 1.5))
HOW_OFTEN = (0.7, 0.01, 0.19, 0.1)  # prior probabilities of solid, symmetric, slow and hollow
WRONG_SHAPE = (0.05, 0.6)  # prior probability, of an exact shape and of a guessed one
# For deviations of the running estimate, whose information is approximate: probabilities of a guessed
# shape, and the power of the evidence, with a guessed shape and without any.
DOUBTED, DOUBTED_SHAPE = (0.35, 0.2, 0.2, 0.25), (0.05, 0.9)
TEMPER, BALL_TEMPER = 0.1, 0.03
NO_SHAPE = 0.01  # prior probability that the shape means nothing
# Covariances of a wrong shape's shift [m^2], then of the 3x3 of its stretching and turning: another
# size in the same place, and another pose too. Sizes err alike along all axes, units above all.
_SIZE, _SHIFT, _TURN = Shape.TYPED_SD, 0.02, 0.1


def _shape_covariances() -> tuple[Array, ...]:
    """Covariances of the affine changes of the shape, shape (12, 12) each."""
    alike = np.append(np.zeros(3), np.eye(3).ravel())
    found = []
    for shift, turn, stretch in ((0.0, 0.0, 0.1), (_SHIFT, _TURN, 0.2)):
        linear = np.where(np.eye(3) > 0, stretch, turn).ravel()
        sd = np.concatenate([np.full(3, shift), linear])
        found.append(np.diag(sd**2) + _SIZE**2 * np.outer(alike, alike))
    return tuple(found)


_SHAPE_COVARIANCES = _shape_covariances()
EXTENT = 0.5  # [m] within which something of unknown shape is held
MASS_SPREAD = 2.0  # of the mass, relative: left to the data


@dataclass(frozen=True, eq=False)
class PayloadPosterior:
    """Posterior distribution of the payload parameters.

    Attributes:
        pi: Posterior mean of the parameters, shape (10,).
        covariance: Posterior covariance, shape (10, 10).
        spread: Prior covariance over the weighted hypotheses, mass known, shape (10, 10).
        wrong_shape: Probability that the given shape is wrong.
        log_evidence: Log-evidence of the data `r`, averaged over all hypotheses of the prior, up to
            a constant.
    """

    pi: Array
    covariance: Array
    spread: Array
    wrong_shape: float
    log_evidence: float

    @classmethod
    def mixture(cls, found: Sequence[PayloadPosterior], weights: Array) -> PayloadPosterior:
        """Return the posterior averaged over hypotheses with given probabilities, shape (H,); all
        other fields are those of the most probable hypothesis.
        """
        pi = np.asarray(weights @ [one.pi for one in found])
        off = np.array([one.pi - pi for one in found])
        each = np.array([one.covariance for one in found]) + off[:, :, None] * off[:, None, :]
        return replace(
            found[int(np.argmax(weights))],
            pi=pi,
            covariance=np.einsum("h,hij->ij", weights, each),
            wrong_shape=float(weights @ [one.wrong_shape for one in found]),
        )

    @property
    def verdicts(self) -> tuple[ParameterVerdict, ...]:
        """Verdicts of the ten parameters: determined by the data, or mainly by the prior."""
        return verdicts_from_prior(self.covariance, self.spread, MASS_SPREAD * float(self.pi[0]))


class ShapePrior:
    """Prior of a payload whose shape is given (possibly with errors) or unknown.

    Args:
        shape: Shape of the object in the sensor frame; None: unknown, within 0.5 m. Of a
            grasped object (`robot.shapes.grasped`), only the width between the fingers is used.
        contrasts: Relative standard deviations of the density between regions, one hypothesis each.
    """

    def __init__(
        self,
        shape: Shape | None,
        *,
        contrasts: tuple[float, ...] = CONTRASTS,
    ) -> None:
        grasped = shape is not None and shape.fingers is not None
        self.grasp = shape if grasped else None
        self.shape = None if grasped else shape
        # Where the lengths are uncertain, a part of the shape may be empty.
        least = 0.0 if self.shape is None else self.shape.size_sd
        self.contrasts = tuple(max(contrast, least) for contrast in contrasts)

    @property
    def guessed(self) -> float:
        """Uncertainty of the shape between 0 (exact) and 1 (dimensions typed in by a user)."""
        return 0.0 if self.shape is None else min(1.0, self.shape.size_sd / Shape.TYPED_SD)

    @cached_property
    def symmetric(self) -> float:
        """Overlap of the shape with its point reflection through its centre, between 0 and 1. Only
        a symmetric shape can have a symmetric density. A guessed shape (`guessed`) counts as
        symmetric.
        """
        if self.shape is None:
            return 1.0
        weight = self.shape.volumes / self.shape.volume
        at = self.shape.points - weight @ self.shape.points
        edge = (self.shape.volume / len(self.shape)) ** (1 / 3)

        def overlap(other: Array) -> float:  # of two cells: of Gaussians of their second moments
            square = np.sum((at[:, None] - other) ** 2, axis=2)
            return float(weight @ np.exp(-3.0 * square / edge**2) @ weight)

        return 1.0 - (1.0 - self.guessed) * (1.0 - min(1.0, overlap(-at) / overlap(at)))

    @cached_property
    def solids(self) -> tuple[DensityPrior, ...]:
        """First hypotheses for the payload: bodies of the given shape whose density varies inside,
        each with another relative standard deviation of the density (contrast).
        """
        if self.shape is None:
            return ()
        return tuple(DensityPrior(self.shape, contrast) for contrast in self.contrasts)

    @property
    def _middle(self) -> int:
        """Index of the contrast (variation of the density) of the first estimate."""
        return len(self.contrasts) // 2

    @cached_property
    def _kinds(self) -> tuple[Array, Array, Array]:
        """Mean bodies (H, 10), covariances (H, 10, 10) and log-probabilities of all hypotheses, for
        unit mass.
        """
        if self.shape is None:
            return np.zeros((0, 10)), np.zeros((0, 10, 10)), np.zeros((2, 0))
        solid = self.shape.homogeneous(1.0)
        cells, surface = self.solids[0].cells, self.shape.surface()
        skin = surface.homogeneous(1.0)
        free = shape_covariance(cells, 1.0, 1.0)
        skin_free = shape_covariance(surface, 1.0, 1.0)
        walls = np.outer(skin - solid, skin - solid) / 3.0  # from a skin up to solid
        kinds = (
            [(solid, c**2 * free) for c in self.contrasts],
            [
                (solid, even**2 * _even(free, solid[1:4]) + odd**2 * free)
                for even, odd in SYMMETRIC_CONTRASTS
            ],
            [(solid, _slow_covariance(self.shape, *c)) for c in SLOW_CONTRASTS],
            [
                (skin, even**2 * _even(skin_free, skin[1:4]) + odd**2 * skin_free + walls)
                for even, odd in HOLLOW_CONTRASTS
            ],
        )
        doubted = HOW_OFTEN + self.guessed * np.subtract(DOUBTED, HOW_OFTEN)
        share, doubt = (
            np.array([p / len(group) for p, group in zip(how, kinds, strict=True) for _ in group])
            for how in (HOW_OFTEN, doubted)
        )
        for prior in (share, doubt):
            prior[len(self.contrasts) :][: len(SYMMETRIC_CONTRASTS)] *= self.symmetric
            prior /= prior.sum()
        bodies, right = zip(*(kind for group in kinds for kind in group), strict=True)
        spreads = list(right)
        for wrong in _SHAPE_COVARIANCES:
            for body, spread in zip(bodies, right, strict=True):
                D = affine_derivatives(body, solid[1:4])
                spreads.append(spread + D @ wrong @ D.T)
        n = len(_SHAPE_COVARIANCES)
        logs = np.log(
            [
                np.outer(np.repeat([1.0 - p - NO_SHAPE, p / n], [1, n]), kind).ravel()
                for (exact, guess), kind in ((WRONG_SHAPE, share), (DOUBTED_SHAPE, doubt))
                for p in [exact + self.guessed * (guess - exact)]
            ]
        )
        return np.array(bodies * (n + 1)), np.array(spreads), logs

    def posterior(self, R: Array, r: Array, *, doubted: bool = False) -> PayloadPosterior:
        """Compute the posterior mean and covariance of the payload parameters from compressed data
        (R, r).

        Args:
            R: Whitened factor of the data, shape (p, 10).
            r: Right-hand side of the data, shape (p,).
            doubted: True if (R, r) are approximate: the standard deviations then rely less on the
                shape and on the evidence.

        Raises:
            EstimationError: The data imply a negative mass.
        """
        first = self.first(R, r)
        means, spreads, logs = self._hypotheses(first)
        open_mass = MASS_SPREAD**2 * means[:, :, None] * means[:, None, :]
        found, left, evidence = conditioned(R, r, means, spreads + open_mass)
        weights = probabilities(logs[0] + evidence)
        for k, solid in enumerate(self.solids):
            # Densities are never negative: the Gaussian's mean is replaced by the entropic one.
            if k == self._middle:
                found[k] = first
            else:
                with contextlib.suppress(EstimationError):  # the shape is elsewhere
                    masses = solid.most_likely_masses(R, r, near=first)
                    found[k] = solid.cells.parameters_per_mass @ masses
        pi = np.asarray(weights @ found)
        offset = found - pi
        doubt = weights
        if doubted:
            temper = BALL_TEMPER if self.shape is None else TEMPER**self.guessed
            doubt = probabilities(logs[1] + temper * evidence)
        covariance = np.einsum("h,hij->ij", doubt, left + offset[:, :, None] * offset[:, None, :])
        between = means - doubt @ means
        spread = np.einsum("h,hij->ij", doubt, spreads + between[:, :, None] * between[:, None, :])
        wrong = 0.0
        if self.shape is not None:
            wrong = float(weights[len(self._kinds[0]) // (1 + len(_SHAPE_COVARIANCES)) :].sum())
        elif self.grasp is not None:
            wrong = float(weights[-len(BALLS) :].sum())
        total = float(np.logaddexp.reduce(logs[0] + evidence))
        return PayloadPosterior(nearest_body(pi), covariance, spread, wrong, total)

    def moments(self, about: Array, R: Array, r: Array) -> tuple[Array, Array]:
        """Return the mean (10,) and covariance (10, 10) over all hypotheses, weighted by their
        evidence in the data.

        Args:
            about: Present estimate of the parameters, shape (10,).
            R: Whitened factor of the data, shape (p, 10).
            r: Right-hand side of the data, shape (p,).
        """
        means, spreads, logs = self._hypotheses(about)
        spreads = spreads + MASS_SPREAD**2 * means[:, :, None] * means[:, None, :]
        weights = probabilities(logs[0] + conditioned(R, r, means, spreads)[2])
        mean = weights @ means
        off = means - mean
        return mean, np.einsum("h,hij->ij", weights, spreads + off[:, :, None] * off[:, None, :])

    def log_evidences(self, data: Sequence[tuple[Array, Array]], first: Array) -> list[float]:
        """Return the log-evidences of several compressed data sets (R, r), with the priors
        linearised about a first estimate of the parameters, shape (10,); faster than `posterior`.
        """
        means, spreads, logs = self._hypotheses(first)
        wide = spreads + MASS_SPREAD**2 * means[:, :, None] * means[:, None, :]
        return [
            float(np.logaddexp.reduce(logs[0] + conditioned(R, r, means, wide)[2])) for R, r in data
        ]

    def _hypotheses(self, first: Array) -> tuple[Array, Array, Array]:
        """Means (H, 10), covariances for a given mass, and logarithms of the probabilities (2, H)."""
        bodies, spreads, logs = self._kinds
        mass = float(first[0])
        held = [] if self.grasp is None else grasp_priors(first, self.grasp, EXTENT)
        balls = self._balls(first)
        nothing = NO_SHAPE if held or self.shape is not None else 1.0
        share = np.log(
            [
                *[(1.0 - NO_SHAPE) / max(len(held), 1)] * len(held),
                *[nothing / len(balls)] * len(balls),
            ]
        )
        return (
            np.concatenate([mass * bodies, [mean for mean, _ in (*held, *balls)]]),
            np.concatenate([mass**2 * spreads, [C for _, C in (*held, *balls)]]),
            np.concatenate([logs, np.tile(share, (2, 1))], axis=1),
        )

    def _balls(self, first: Array) -> list[tuple[Array, Array]]:
        """Means and covariances of bodies without a given shape, about a first estimate (10,)."""
        reach = EXTENT / 2.0
        return [
            ball_prior(first, reach, x * EXTENT, mass_spread=0.0, inertia_spread=BALL_SPREAD)
            for x in BALLS
        ]

    def first(self, R: Array, r: Array) -> Array:
        """Return the fast, physically consistent first estimate: the body of medium density
        contrast, or a ball; shape (10,).
        """
        if self.shape is not None:
            solid = self.solids[self._middle]
            try:
                return solid.cells.parameters_per_mass @ solid.most_likely_masses(R, r)
            except EstimationError:  # the shape is elsewhere: its torques outweigh its weight
                return ball_first(R, r, EXTENT)
        return ball_first(R, r, EXTENT)

    def gaussian(self, R: Array, r: Array, mass: float) -> tuple[Array, Array]:
        """Return the Gaussian approximation of the prior for a known mass, about the estimate of
        `first`: mean, shape (10,), and covariance, shape (10, 10).

        A shape that the data contradict is not used.
        """
        if self.shape is not None:
            mean = self.shape.homogeneous(mass)
            C = self.solids[self._middle].covariance(mass) + np.outer(mean, mean)
            ball, C_ball = ball_prior(mean, EXTENT / 2.0, 0.1 * EXTENT, inertia_spread=BALL_SPREAD)
            found, left, evidence = conditioned(R, r, np.stack([mean, ball]), np.stack([C, C_ball]))
            if evidence[0] > evidence[1] + np.log(NO_SHAPE):
                return found[0], left[0]
        found = ball_first(R, r, EXTENT)
        mean, C = ball_prior(found, EXTENT / 2.0, 0.1 * EXTENT)
        left = conditioned(R, r, mean[None], C[None])[1][0]
        # Inertia as the data have it so far is mostly noise: a ball's, about their centre.
        even = 0.4 * found[0] * (0.1 * EXTENT) ** 2 * np.eye(3)
        return pi_from_mass_com_inertia(found[0], found[1:4] / found[0], even), left


def _even(C: Array, centre: Array) -> Array:
    """Covariance of `pi` for bodies that are symmetric about a centre, from that of bodies without
    this symmetry.

    Adding the mirror image of each cell doubles moments that are even functions of the position,
    and cancels odd ones.
    """
    X = np.eye(4)
    X[:3, 3] = -centre
    to, back = parameter_transform(X), parameter_transform(np.linalg.inv(X))
    even = 2.0 * (to @ C @ to.T)
    even[1:4] = even[:, 1:4] = 0.0
    return np.asarray(back @ even @ back.T)


def _slow_covariance(shape: Shape, sd: float, length: float) -> Array:
    """Covariance of `pi` for unit mass, if the logarithm of the density is correlated over a
    length.
    """
    weight = shape.volumes / shape.volume
    distance = np.linalg.norm(shape.points[:, None] - shape.points[None], axis=2)
    kernel = np.expm1(sd**2 * np.exp(-distance / (length * float(np.linalg.norm(shape.size)))))
    Phi = shape.parameters_per_mass * weight
    return Phi @ kernel @ Phi.T
