# SPDX-License-Identifier: Apache-2.0
"""Recognition of known loads: probabilities from the likelihood of the payload estimator.

Each load is a Gaussian distribution of the ten parameters, which follows from the masses and poses
of its parts. "Nothing" and "something unknown" are always among the loads, and all loads have the
same prior probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload.affine import affine_derivatives
from sysid_core.estimation.payload.ball_prior import (
    BALL_SPREAD,
    BALLS,
    ball_prior,
    conditioned,
    probabilities,
)
from sysid_core.estimation.payload.result import PAYLOAD_NAMES
from sysid_core.estimation.payload.shape_prior import EXTENT, MASS_SPREAD
from sysid_core.files import FileKind, FileSchema, Name, NotNegative, Positive, Vector3
from sysid_core.reasons import Reason
from sysid_core.robot import Array, pi_from_mass_com_inertia
from sysid_core.signals.wrench import UNLIKELY

EMPTY, UNKNOWN = "empty", "unknown"
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


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Load with known inertial parameters and their uncertainty.

    Attributes:
        mean: The ten parameters in the sensor's frame, shape (10,).
        covariance: Shape (10, 10).
    """

    mean: Array
    covariance: Array

    @classmethod
    def measured(
        cls, mass: float, mass_sd: float, com: Array, com_sd: float, size: float
    ) -> KnownLoad:
        """Load whose mass was measured with a scale.

        Args:
            mass, mass_sd: [kg].
            com: Where its centre of mass lies when held, shape (3,) [m].
            com_sd: How far from there it may lie, along each axis [m].
            size: Its length [m]: it resists turning as a ball of that size, or quite differently.
        """
        inertia = 0.4 * mass * (0.5 * size) ** 2
        mean = pi_from_mass_com_inertia(mass, com, inertia * np.eye(3))
        of_mass = (mass_sd / mass) ** 2 * np.outer(mean, mean)
        of_inertia = np.diag([0.0] * 4 + [(BALL_SPREAD * inertia) ** 2] * 6)
        return cls(mean, of_mass + of_inertia).lying(com_sd)

    def lying(self, sd: float) -> KnownLoad:
        """Copy with an additional position uncertainty along each axis [m]."""
        if not sd:
            return self
        shift = affine_derivatives(self.mean, np.zeros(3))[:, :3]
        return replace(self, covariance=self.covariance + sd**2 * shift @ shift.T)


def load_parts(path: Path) -> dict[str, KnownLoad]:
    """Known loads of a YAML file, by name.

    Raises:
        EstimationError: It can't be read, or names what isn't there.
    """
    found: dict[str, KnownLoad] = {}
    for name, part in _FILE.read_schema(path, _Parts).parts.items():
        if name in (EMPTY, UNKNOWN):
            raise _FILE.refusal(path, f"'{name}' is always among the loads")
        if part.of is not None:
            if missing := [one for one in part.of if one not in found]:
                raise _FILE.refusal(
                    path, f"'{name}' is of {missing}, which are not defined before it"
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
    return found


def part_probabilities(R: Array, r: Array, parts: Mapping[str, KnownLoad]) -> dict[str, float]:
    """Probabilities of each known load, of no load and of an unknown load, the most probable first.

    Args:
        R: Whitened factor of the readings, `|R pi - r|` (`RunningMAP.likelihood`), shape (p, 10).
        r: Shape (p,).
        parts: Known loads.
    """
    nothing = KnownLoad(np.zeros(10), np.zeros((10, 10)))
    largest = max(part.mean[0] for part in parts.values())
    mean, spread = ball_prior(
        np.array([largest, *np.zeros(9)]),
        EXTENT / 2.0,
        BALLS[1] * EXTENT,
        mass_spread=MASS_SPREAD,
        inertia_spread=BALL_SPREAD,
    )
    loads = {**parts, EMPTY: nothing, UNKNOWN: KnownLoad(mean, spread)}
    log = conditioned(
        R,
        r,
        np.array([one.mean for one in loads.values()]),
        np.array([one.covariance for one in loads.values()]),
    )[2]
    found = dict(zip(loads, probabilities(log).tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def judge_part(found: Mapping[str, float], expected: str = "") -> Reason:
    """Verdict on whether the expected load is held; without an expected load, on whether any known
    load or none is held.

    Args:
        found: Probabilities, the likeliest first (`part_probabilities`).
        expected: Name of a load.

    Raises:
        EstimationError: There is no such load.
    """
    if expected and expected not in found:
        raise EstimationError(
            f"There is no load '{expected}'.", remedy=f"One of: {', '.join(found)}."
        )
    name, probability = next(iter(found.items()))
    if probability < 1.0 - UNLIKELY and not (expected and found[expected] < UNLIKELY):
        return Reason.not_judged("part-open", likeliest=name, probability=probability)
    if name == (expected or name) and (expected or name != UNKNOWN):
        return Reason.held("part-held", name=name, probability=probability)
    return Reason.failure(
        "part-other", name=name, probability=probability, expected=expected or "known"
    )
