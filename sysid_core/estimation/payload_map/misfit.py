# SPDX-License-Identifier: Apache-2.0
"""Checks of the wrench residual: noise, spikes, slow errors, unlikely sensor errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.reasons import Reason
from sysid_core.robot import Array

MISFIT_LIMIT = 1.5
WRONG_SHAPE_LIMIT = 0.95  # probability from which the shape is doubted in words
WORSE_SENSOR_LIMIT = 0.9  # and the sensor
_SPIKE = 5.0  # standard deviations
_MAX_SPIKES = 0.2  # of the samples: more is no spike
_FEW_SPIKES = 0.002  # of the samples: less is nobody's worry


@dataclass(frozen=True)
class Misfit:
    """Measures of the residual of the wrench; the first two are 1 if all assumptions hold.

    Attributes:
        spread: Scatter of the residual between stretches of the recording (in the running
            estimator, between samples), relative to the noise.
        nuisance: Largest estimated sensor error [three standard deviations].
        wrong_shape: Probability that the given shape is wrong.
        worse_sensor: Probability that the sensor's bias is larger, or drifts more, than the sensor
            model assumes.
        colour: Noise level for a residual correlated in time, relative to a sample's noise.
        left: Assumed noise level of force and torque [N, N m].
    """

    spread: float
    nuisance: float
    wrong_shape: float
    worse_sensor: float = 0.0
    colour: float = 1.0
    left: tuple[float, float] = (0.0, 0.0)

    @property
    def factor(self) -> float:
        """Factor by which the standard deviations are enlarged; 1 if the residual is as
        expected.
        """
        found = [1.0, self.spread, self.nuisance if self.nuisance >= MISFIT_LIMIT else 1.0]
        return max(found)


def white_noise_sd(wrench: Array) -> Array:
    """Return the noise of force and torque from fourth differences, which remove the slow motion;
    (6,).

    The noise is computed from a median, so that steps (such as between postures) have no influence.
    """
    if len(wrench) < 12:
        return np.repeat([0.1, 0.005], 3)  # too few to tell: Nadeau et al. 2022, moderate noise
    difference = np.diff(wrench, n=4, axis=0) / np.sqrt(70.0)
    sd = np.array([1.4826 * np.median(np.abs(g)) for g in (difference[:, :3], difference[:, 3:])])
    return np.repeat(np.maximum(sd, 1e-12), 3)


def nuisance_misfit(u: Array, precision: Array) -> float:
    """Return the largest sensor error in units of three standard deviations; above 1, it is not due
    to chance.
    """
    return float(np.max(np.abs(u) * np.sqrt(precision)) / 3.0) if len(u) else 0.0


def spikes(relative: Array) -> NDArray[np.bool_]:
    """Return a mask of the samples that are spikes, shape (K,). The mask is empty if so many
    samples are far from the others that they cannot be spikes.
    """
    scale = np.maximum(1.4826 * np.median(np.abs(relative), axis=0), 1.0)
    found = np.any(np.abs(relative) > _SPIKE * scale, axis=1)
    return found if 0 < found.sum() <= _MAX_SPIKES * len(found) else np.zeros_like(found)


def reported_misfit(
    covariance: Array, misfit: Misfit, n_spikes: int = 0, n_samples: int = 0
) -> tuple[Array, tuple[Reason, ...]]:
    """Return the covariance, enlarged if the residual exceeds the model, and the warnings.

    Args:
        covariance: Covariance of the estimate, shape (10, 10).
        misfit: Measures of the unexplained residual.
        n_spikes: Number of omitted samples.
        n_samples: Number of all samples.
    """
    found = []
    if misfit.wrong_shape > WRONG_SHAPE_LIMIT:
        found.append(Reason.warning("shape-differs", probability=min(misfit.wrong_shape, 0.999)))
    if misfit.worse_sensor > WORSE_SENSOR_LIMIT:
        found.append(Reason.warning("bias-wanders", probability=min(misfit.worse_sensor, 0.999)))
    factor = misfit.factor
    if factor >= MISFIT_LIMIT:
        found.append(Reason.warning("wrench-misfit", factor=factor))
    elif misfit.colour >= MISFIT_LIMIT:
        force, torque = misfit.left
        found.append(Reason.held("wrench-coloured", force=force, torque=torque))
    if n_spikes > _FEW_SPIKES * n_samples:
        found.append(Reason.warning("wrench-spikes", count=n_spikes, samples=n_samples))
    return covariance * factor**2, tuple(found)
