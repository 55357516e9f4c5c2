# SPDX-License-Identifier: Apache-2.0
"""What the model doesn't explain of the wrench: noise, spikes, slow remainders, unlikely errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.reasons import Reason, warning
from sysid_core.robot import Array

MISFIT_LIMIT = 1.5
SLOW_LIMIT = 2.0
WRONG_SHAPE_LIMIT = 0.95  # probability from which the shape is doubted in words
WORSE_SENSOR_LIMIT = 0.9  # and the sensor
_SPIKE = 5.0  # standard deviations
_MAX_SPIKES = 0.2  # of the samples: more is no spike
_FEW_SPIKES = 0.002  # of the samples: less is nobody's worry
_SLOW_WINDOW = 15  # samples


@dataclass(frozen=True)
class Misfit:
    """How badly the model explains the wrench; each of the first three is 1 where all is as assumed.

    Attributes:
        white: Residual of the samples, in noise.
        slow: Residual averaged over some samples, in its own noise: what isn't white.
        nuisance: The most unlikely sensor error, in three of its standard deviations.
        wrong_shape: Probability that the shape isn't as given.
        worse_sensor: Probability that the sensor's bias is off, or wanders, by more than was declared.
    """

    white: float
    slow: float
    nuisance: float
    wrong_shape: float
    worse_sensor: float = 0.0

    @property
    def factor(self) -> float:
        """By which standard deviations have to be widened; 1 where nothing is wrong."""
        found = [
            self.white if self.white >= MISFIT_LIMIT else 1.0,
            self.slow if self.slow >= SLOW_LIMIT else 1.0,
            self.nuisance if self.nuisance >= MISFIT_LIMIT else 1.0,
        ]
        return max(found)


def white_noise_sd(wrench: Array) -> Array:
    """Noise of force and torque from fourth differences, which no slow motion survives; (6,).

    The median makes it indifferent to steps, such as between postures.
    """
    if len(wrench) < 12:
        return np.repeat([0.1, 0.005], 3)  # too few to tell: Nadeau et al. 2022, moderate noise
    difference = np.diff(wrench, n=4, axis=0) / np.sqrt(70.0)
    sd = np.array([1.4826 * np.median(np.abs(g)) for g in (difference[:, :3], difference[:, 3:])])
    return np.repeat(np.maximum(sd, 1e-12), 3)


def white_misfit(relative: Array) -> float:
    """Root mean square of residuals in noise, of forces or torques, the worse; shape (K, 6)."""
    squares = np.mean(relative**2, axis=0)
    return float(np.sqrt(max(squares[:3].mean(), squares[3:].mean())))


def slow_misfit(relative: Array) -> float:
    """The same of moving averages, which white noise leaves by the root of their length."""
    if len(relative) < 4 * _SLOW_WINDOW:
        return 0.0
    mean = scipy.ndimage.uniform_filter1d(relative, _SLOW_WINDOW, axis=0, mode="nearest")
    return white_misfit(mean[_SLOW_WINDOW:-_SLOW_WINDOW] * np.sqrt(_SLOW_WINDOW))


def nuisance_misfit(u: Array, precision: Array) -> float:
    """The most unlikely sensor error, in three of its standard deviations (more is no chance)."""
    return float(np.max(np.abs(u) * np.sqrt(precision)) / 3.0) if len(u) else 0.0


def spikes(relative: Array) -> NDArray[np.bool_]:
    """Samples far from the rest, shape (K,); none where there are too many to be spikes."""
    scale = np.maximum(1.4826 * np.median(np.abs(relative), axis=0), 1.0)
    found = np.any(np.abs(relative) > _SPIKE * scale, axis=1)
    return found if 0 < found.sum() <= _MAX_SPIKES * len(found) else np.zeros_like(found)


def reported_misfit(
    covariance: Array, misfit: Misfit, n_spikes: int = 0, n_samples: int = 0
) -> tuple[Array, tuple[Reason, ...]]:
    """Wider standard deviations, and warnings, where the model doesn't explain the wrench.

    Args:
        covariance: Shape (10, 10).
        misfit: What isn't explained.
        n_spikes: Samples that were left out.
        n_samples: Number of all.
    """
    found = []
    if misfit.wrong_shape > WRONG_SHAPE_LIMIT:
        found.append(warning("shape-differs", probability=min(misfit.wrong_shape, 0.999)))
    if misfit.worse_sensor > WORSE_SENSOR_LIMIT:
        found.append(warning("bias-wanders", probability=min(misfit.worse_sensor, 0.999)))
    factor = misfit.factor
    if factor > 1.0:
        found.append(warning("wrench-misfit", factor=factor))
    if n_spikes > _FEW_SPIKES * n_samples:
        found.append(warning("wrench-spikes", count=n_spikes, samples=n_samples))
    return covariance * factor**2, tuple(found)
