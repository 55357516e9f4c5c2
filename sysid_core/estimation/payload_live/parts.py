# SPDX-License-Identifier: Apache-2.0
r"""Recognition of known loads: probabilities from the marginal likelihood of the wrenches of a
short recording.

A load h is a Gaussian distribution of the ten parameters, with mean \(\pi_h\) and covariance
\(C_h\). The wrenches of a short recording, averaged over short blocks, then have the distribution

    b ~ N(A pi_h, A C_h A^T + U_h P U_h^T + T_h Q T_h^T + s^2 I)

with the sensor's errors P (`SensorModel`), those of the motion Q, both linearised at the load
itself, and the noise s, which is the scatter of the blocks about any body. Probabilities follow by
Bayes' rule (MacKay 2003, Information theory, inference and learning algorithms, ch. 28). "Nothing",
"something unknown" and each load moved in the gripper are always among the loads; they are mixtures
over sizes, masses and distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload.ball_prior import BALL_SPREAD, BALLS, ball_prior, probabilities
from sysid_core.estimation.payload.grasp_prior import affine_derivatives
from sysid_core.estimation.payload.result import PAYLOAD_NAMES
from sysid_core.estimation.payload.shape_prior import EXTENT, MASS_SPREAD
from sysid_core.estimation.payload_map import SensorModel
from sysid_core.estimation.payload_map.misfit import white_noise_sd
from sysid_core.estimation.payload_map.motion_error import wrench_sensitivity
from sysid_core.estimation.payload_map.running import MOTION_CORRELATION, MOTION_SD
from sysid_core.files import FileKind, FileSchema, Name, NotNegative, Positive, Vector3
from sysid_core.reasons import Reason
from sysid_core.robot import Array, pi_from_mass_com_inertia
from sysid_core.signals.wrench import WrenchConvention

EMPTY, UNKNOWN, MOVED = "empty", "unknown", "moved"
_BLOCK_S = 0.05  # [s] of a mean: the scatter of six in 0.3 s contains what hangs together for less
_MOST_BLOCKS = 40  # of a recording: more only cost time
# Scales of what is not known are even in logarithms: masses halved from twice the largest load, below which
# it is a thirtieth and next to nothing; distances [m] from a sensor's resolution to the size of a gripper.
_MASSES = tuple(2.0**-k for k in range(-1, 6))
_DISTANCES = (0.01, 0.03, 0.1)
_FINEST = 1e-4  # [N], [N m]: no wrist sensor resolves less in a block
_BEYOND = 3.0  # deviations of its stated place, within which a load hasn't moved
_SLIPS = 0.1  # prior probability of a load that moved in the gripper, relative to one that lies as stated
_FILE = FileKind(
    "file of known loads",
    "Write `parts:`, and below each name either mass, mass_sd, com, com_sd and size (kg, m), or"
    " `estimate: FILE` of `sysid payload`, or `of: [NAME, NAME]`; com_sd is the uncertainty of its position.",
    EstimationError,
)


class _Part(FileSchema):
    """Entry of one load: measured by hand, weighed before, or a combination of other loads."""

    mass: Positive | None = None
    mass_sd: NotNegative | None = None
    com: Vector3 | None = None
    com_sd: NotNegative = 0.0
    size: Positive | None = None
    estimate: Name | None = None
    of: Annotated[list[Name], Field(min_length=2)] | None = None


class _Parts(FileSchema):
    """Schema of the file with known loads."""

    parts: Annotated[dict[Name, _Part], Field(min_length=1)]
    prior: dict[Name, Positive] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Load with known inertial parameters and their uncertainty.

    Attributes:
        mean: Mean of the ten parameters in the sensor frame, shape (10,).
        covariance: Covariance of the parameters, shape (10, 10).
    """

    mean: Array
    covariance: Array

    @classmethod
    def measured(
        cls, mass: float, mass_sd: float, com: Array, com_sd: float, size: float
    ) -> KnownLoad:
        """Load whose mass was measured with a scale.

        Args:
            mass, mass_sd: Mass and its standard deviation [kg].
            com: Centre of mass of the held load, shape (3,) [m].
            com_sd: Standard deviation of the centre of mass along each axis [m].
            size: Length of the load [m]; the prior mean of the inertia is that of a ball with this
                diameter.
        """
        inertia = 0.4 * mass * (0.5 * size) ** 2
        mean = pi_from_mass_com_inertia(mass, com, inertia * np.eye(3))
        of_mass = (mass_sd / mass) ** 2 * np.outer(mean, mean)
        of_inertia = np.diag([0.0] * 4 + [(BALL_SPREAD * inertia) ** 2] * 6)
        return cls(mean, of_mass + of_inertia).lying(com_sd)

    @classmethod
    def unknown(cls, mass: float, spread: float) -> KnownLoad:
        """Return the load with a mass [kg] of a given relative uncertainty (`spread`), whose centre
        of mass may be anywhere near the flange.
        """
        about = np.array([mass, *np.zeros(9)])
        radius = BALLS[1] * EXTENT
        return cls(
            *ball_prior(about, EXTENT / 2.0, radius, mass_spread=spread, inertia_spread=BALL_SPREAD)
        )

    def lying(self, sd: float) -> KnownLoad:
        """Return a copy with an additional position uncertainty along each axis [m]."""
        if not sd:
            return self
        shift = affine_derivatives(self.mean, np.zeros(3))[:, :3]
        return replace(self, covariance=self.covariance + sd**2 * shift @ shift.T)


@dataclass(frozen=True, eq=False)
class KnownLoads:
    """Known loads with their prior probabilities.

    Attributes:
        loads: Known loads by name.
        prior: Relative prior probabilities by name, including "empty" and "unknown" (default: 1),
            and "moved", the factor for a load with a shifted centre of mass (default: 0.1).
    """

    loads: Mapping[str, KnownLoad]
    prior: Mapping[str, float] = field(default_factory=dict)

    def hypotheses(self) -> Iterator[tuple[str, float, list[KnownLoad]]]:
        """Yield name, relative prior probability, and equally probable distributions of every
        load.
        """
        prior = {EMPTY: 1.0, UNKNOWN: 1.0, MOVED: _SLIPS, **self.prior}
        for name, load in self.loads.items():
            weight = prior.get(name, 1.0)
            yield name, weight, [load]
            lies = float(np.sqrt(np.max(np.diag(load.covariance)[1:4])) / load.mean[0])
            moved = [load.lying(max(distance, _BEYOND * lies)) for distance in _DISTANCES]
            yield f"{name}, {MOVED}", weight * prior[MOVED], moved
        yield EMPTY, prior[EMPTY], [KnownLoad(np.zeros(10), np.zeros((10, 10)))]
        largest = max(float(load.mean[0]) for load in self.loads.values())
        # A push in any direction is no body: twice the largest load either way.
        push = KnownLoad(np.zeros(10), KnownLoad.unknown(largest, MASS_SPREAD).covariance)
        bodies = [KnownLoad.unknown(share * largest, 0.5) for share in _MASSES]
        yield UNKNOWN, prior[UNKNOWN], [push, *bodies]

    @classmethod
    def load(cls, path: Path) -> KnownLoads:
        """Return the known loads of a YAML file.

        Raises:
            EstimationError: The file cannot be read, or refers to loads that do not exist.
        """
        found: dict[str, KnownLoad] = {}
        content = _FILE.read_schema(path, _Parts)
        for name, part in content.parts.items():
            if name in (EMPTY, UNKNOWN, MOVED):
                raise _FILE.refusal(
                    path, f"the name '{name}' is reserved: this outcome is always considered"
                )
            if part.of is not None:
                if missing := [one for one in part.of if one not in found]:
                    raise _FILE.refusal(
                        path, f"'{name}' consists of {missing}, which must be defined above it"
                    )
                parts = [found[one] for one in part.of]
                load = KnownLoad(
                    np.sum([one.mean for one in parts], axis=0),
                    np.sum([one.covariance for one in parts], axis=0),
                ).lying(part.com_sd)
            elif part.estimate is not None:
                estimate = Estimate.load(path.parent / part.estimate)
                if estimate.names != PAYLOAD_NAMES:
                    raise _FILE.refusal(path, f"'{part.estimate}' is not the estimate of a payload")
                load = KnownLoad(estimate.values, estimate.covariance).lying(part.com_sd)
            elif part.mass and part.mass_sd is not None and part.com is not None and part.size:
                com = np.array(part.com)
                load = KnownLoad.measured(part.mass, part.mass_sd, com, part.com_sd, part.size)
            else:
                raise _FILE.refusal(path, f"'{name}' lacks one of mass, mass_sd, com and size")
            found[name] = load
        if others := [one for one in content.prior if one not in (*found, EMPTY, UNKNOWN, MOVED)]:
            raise _FILE.refusal(path, f"the prior contains {others}, which are not among the loads")
        return cls(found, content.prior)

    def probabilities(self, data: PayloadData, sensor: SensorModel) -> dict[str, float]:
        """Return the probabilities of each known load, of no load and of an unknown load, the most
        probable first.

        Args:
            data: Samples of a short time with one load held, without sensor bias and tool.
            sensor: Remaining errors of the sensor (from `SensorModel.in_a_moment`).
        """
        rest = np.zeros_like(data.a)  # positions without stamps have accelerations that are noise
        still = replace(data, a=-data.gravity, omega=rest, alpha=rest)
        names, weights, loads = zip(*self.hypotheses(), strict=True)
        every = [load for some in loads for load in some]
        logs = np.logaddexp(
            *(_Moment.of(one, sensor).log_evidences(every) for one in (data, still))
        )
        ends = np.cumsum([len(some) for some in loads])
        evidence = [
            np.logaddexp.reduce(logs[end - len(some) : end]) - np.log(len(some))
            for end, some in zip(ends, loads, strict=True)
        ]
        shares = probabilities(np.log(weights) + evidence).tolist()
        return dict(sorted(zip(names, shares, strict=True), key=lambda one: -one[1]))

    @staticmethod
    def judge(found: Mapping[str, float], expected: str = "") -> Reason:
        """Return a verdict on whether the expected load is held; without an expected load, on whether
        any known load or none is held.

        Args:
            found: Probabilities by name, the most probable first (from `KnownLoads.probabilities`).
            expected: Name of the expected load; empty: none.

        Raises:
            EstimationError: The expected load is not among the names.
        """
        if expected and expected not in found:
            raise EstimationError(
                f"There is no load '{expected}'.", remedy=f"Choose one of: {', '.join(found)}."
            )
        name, probability = next(iter(found.items()))
        if probability < 1.0 - WrenchConvention.UNLIKELY and not (
            expected and found[expected] < WrenchConvention.UNLIKELY
        ):
            return Reason.not_judged("part-open", likeliest=name, probability=probability)
        if name == (expected or name) and (expected or name != UNKNOWN):
            return Reason.held("part-held", name=name, probability=probability)
        return Reason.failure(
            "part-other", name=name, probability=probability, expected=expected or "known"
        )


@dataclass(frozen=True, eq=False)
class _Moment:
    """Wrenches of a short recording, averaged over blocks, with those errors that do not depend on
    the load.
    """

    data: PayloadData
    sensor: SensorModel
    noise: Array  # variance of each row, (6 B,)
    motion: Array  # covariance of (a, omega, alpha), (9, 9)
    persistence: Array  # correlation of the motion's error between rows, (6 B, 6 B)

    @classmethod
    def of(cls, data: PayloadData, sensor: SensorModel) -> _Moment:
        motion = np.diag(np.repeat(np.square(MOTION_SD), 3))
        if data.covariance is not None:
            known = ~np.isnan(data.covariance[:, 0, 0])
            motion = data.covariance[known].mean(axis=0) if known.any() else motion
        blocks = _blocks(data)
        between = np.abs(blocks.time[:, None] - blocks.time)
        persistence = np.kron(np.exp(-between / MOTION_CORRELATION[1]), np.ones((6, 6)))
        noise = np.tile(np.square(_scatter(blocks)), len(blocks))
        return cls(blocks, sensor, noise, motion, persistence)

    def log_evidences(self, loads: Sequence[KnownLoad]) -> Array:
        """Log-likelihoods of H loads, up to a common constant, shape (H,)."""
        data, count, H = self.data, len(self.data), len(loads)
        means, C = (
            np.array([getattr(one, key) for one in loads]) for key in ("mean", "covariance")
        )
        A, time = data.regressor, data.time - data.time[0]
        x = np.hstack([data.a, data.omega, data.alpha])
        of_each = np.array([wrench_sensitivity(x, unit) for unit in np.eye(10)])  # linear in pi
        T = np.tensordot(means, of_each, axes=1).reshape(H * count, 6, 9)
        wrench = np.einsum("kij,hj->hki", A, means)
        rate = np.gradient(wrench, time, axis=1) if count > 1 else np.zeros_like(wrench)
        U = self.sensor.columns(
            wrench.reshape(-1, 6),
            rate.reshape(-1, 6),
            mass_columns=T[:, :, :3],
            R_WS=None if data.R_WS is None else np.tile(data.R_WS, (H, 1, 1)),
            gravity=np.tile(data.gravity, (H, 1)),
            time=np.tile(time, H),
            duration=float(time[-1]),
        )
        U = U.reshape(H, 6 * count, U.shape[2]) * self.sensor.prior_sd(float(time[-1]))
        Y, T = A.reshape(6 * count, 10), T.reshape(H, 6 * count, 9)
        S = Y @ C @ Y.T + U @ U.transpose(0, 2, 1) + np.diag(self.noise)
        S += (T @ self.motion @ T.transpose(0, 2, 1)) * self.persistence
        root = np.linalg.cholesky(S)
        off = np.linalg.solve(root, (data.wrench - wrench).reshape(H, -1, 1))[:, :, 0]
        volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(-0.5 * np.sum(off**2, axis=1) - volume)


def _blocks(data: PayloadData) -> PayloadData:
    """Means over blocks of equal time; the orientation is that in the middle of a block."""
    since = data.time - data.time[0]
    length = max(_BLOCK_S, float(since[-1]) / _MOST_BLOCKS)
    index = np.minimum((since / length).astype(int), _MOST_BLOCKS - 1)
    groups = [np.flatnonzero(index == k) for k in np.unique(index)]
    middle = data.select(np.array([group[len(group) // 2] for group in groups]))
    columns = ("time", "wrench", "a", "omega", "alpha", "gravity")
    means: dict[str, Any] = {
        key: np.array([getattr(data, key)[group].mean(axis=0) for group in groups])
        for key in columns
    }
    return replace(middle, **means, covariance=None)


def _scatter(blocks: PayloadData) -> Array:
    """Standard deviation of a block's mean wrench about the prediction of the best rigid body,
    shape (6,).

    The distribution is Student's t, which is wider for few blocks; its variance is used.
    """
    found = white_noise_sd(np.zeros((1, 6)))  # an ordinary sensor's, for too few blocks
    for rows in (slice(0, 3), slice(3, 6)):
        Y, b = blocks.regressor[:, rows].reshape(-1, 10), blocks.wrench[:, rows].ravel()
        scale = np.linalg.norm(Y, axis=0)
        pi, _, rank, _ = np.linalg.lstsq(Y / np.where(scale > 0, scale, 1.0), b, rcond=1e-6)
        left = b - (Y / np.where(scale > 0, scale, 1.0)) @ pi
        freedom = len(b) - rank - 2
        if freedom > 0:
            found[rows] = max(float(np.sqrt(left @ left / freedom)), _FINEST)
    return found
