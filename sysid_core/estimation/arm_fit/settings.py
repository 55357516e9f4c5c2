# SPDX-License-Identifier: Apache-2.0
"""Settings of a fit, with their names on the command line."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.errors import EstimationError
from sysid_core.settings import bounded, require_bounds

METHODS = ("auto", "ols", "wls", "irls", "lmi", "entropic", "sequential")
WITH_PRIOR = ("auto", "lmi", "entropic")


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of a fit; those that are not specified are selected on held-out parts of the
    recordings.

    Attributes:
        method: Estimator: auto, ols, wls, irls, lmi, entropic or sequential.
        friction: 'auto' (selected by cross-validation), or terms separated by commas:
            usual, geared (both are sets of terms), coulomb, viscous, inertia, offset, asymmetry, stribeck,
            play (presliding friction), load, saturation, thinning, breakaway, ripple, runout, speed_ripple, speed_runout.
        fix: Parameters that keep their URDF values: 'inertials', 'friction', or the name of a link,
            joint or parameter.
        prior_sd: Relative standard deviation of the URDF's inertial parameters, such as 0.05. With
            this prior, lmi and entropic also compute standard deviations of parameters that are
            identifiable only in combination with others.
        rate_hz: Rate at which the regressor is computed [Hz].
        motion_cutoff_hz: Low-pass cut-off of the motion [Hz]; 0: selected by cross-validation.
        differentiate: Source of velocities and accelerations: 'filter' uses measured velocities,
            'positions' uses positions only; 'auto': selected by cross-validation.
        torque_cutoff_hz: Low-pass cut-off of regressor and torque [Hz].
        delay: Delay of the efforts [s]; 'auto' corrects the estimated delay unless that degrades
            the prediction of held-out parts.
        velocity_feedback: 'auto' estimates the velocity gains with which the controllers react to
            the noise of velocities, and keeps them if they predict held-out parts better; 'off'
            sets them to zero.
    """

    method: str = "auto"
    friction: str = "auto"
    fix: tuple[str, ...] = ()
    prior_sd: float | None = bounded(None, 1e-6)
    rate_hz: float = bounded(100.0, 1.0)
    motion_cutoff_hz: float = bounded(0.0, 0.0)
    differentiate: str = "auto"
    torque_cutoff_hz: float = bounded(8.0, 0.1)
    delay: str = "auto"
    velocity_feedback: str = "auto"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EstimationError(
                f"Method '{self.method}' is unknown.", remedy=f"Choose one of {', '.join(METHODS)}."
            )
        if self.velocity_feedback not in ("auto", "off"):
            raise EstimationError(
                f"Velocity feedback '{self.velocity_feedback}' is unknown.",
                remedy="Choose auto or off.",
            )
        if self.method == "sequential" and self.fix:
            raise EstimationError(
                "--fix cannot be combined with --method sequential.",
                remedy="Omit friction terms with --friction, or use another method.",
            )
        require_bounds(self, EstimationError)

    @property
    def has_prior(self) -> bool:
        """True if parameters that the motion does not determine are kept close to the robot description."""
        return self.method in WITH_PRIOR
