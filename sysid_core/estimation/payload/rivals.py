# SPDX-License-Identifier: Apache-2.0
"""Payload estimators of the literature, to compare with: those that use only compressed wrenches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sysid_core.estimation.payload.consistent import PayloadLMI
from sysid_core.estimation.payload.entropic import EntropicRegression, HomogeneousBody
from sysid_core.estimation.payload.least_squares import (
    PayloadOLS,
    RecursiveTotalLeastSquares,
    WrenchEstimator,
)
from sysid_core.estimation.payload.point_mass import PointMassDiscretization
from sysid_core.robot.shapes import Shape


def rivals(shape: Shape | None = None) -> dict[str, Callable[..., WrenchEstimator]]:
    """Return the constructors of the estimators by name, such as `ols`; their options are keywords.

    Args:
        shape: Shape of the object, in the sensor frame; None: estimators without a shape only.
    """
    made: dict[str, Callable[..., WrenchEstimator]] = {
        "ols": PayloadOLS,
        "rtls": RecursiveTotalLeastSquares,
        "lmi": PayloadLMI,
    }
    if shape is None:
        return made
    return made | {
        "pmd": partial(PointMassDiscretization, shape),
        "pmd-squared": partial(PointMassDiscretization, shape, squared=True),
        "geo": partial(EntropicRegression, shape),
        "homogeneous": partial(HomogeneousBody, shape),
    }
