# SPDX-License-Identifier: Apache-2.0
"""Delay of measured torques relative to measured positions.

`tau(t) = tau_hat(t - d)` is linearised in d, which adds the column `d tau_hat / d d` to the
regression; Gauss-Newton steps repeat this with the motion shifted by the delay found so far.

At a reversal, real friction changes its sign later than the smooth sign of the model; without
further terms, this resembles a delay of about ten milliseconds. Equations near a joint's reversal
are therefore left out of the estimation of the delay, and the friction terms of geared arms are
estimated together with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from sysid_core.estimation.arm.choices import held_out_error
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import LeastSquares, Regression
from sysid_core.estimation.fit.regression import compress
from sysid_core.robot import Array, FrictionTerm

_DELAY = "delay"
_FIT = LeastSquares("joint")
# Lags of right recordings' single joints beside the common one: friction that isn't modelled and
# elastic joints look like some milliseconds. Learned from six arms.
USUAL_S = 5e-3  # [s] standard deviation
LATE_S = 50e-3  # [s] of a channel that is late: another topic, a filter, an average
LATE_ODDS = 0.01  # one joint's channel in a hundred
CLEAR_ODDS = 20.0  # from here on a joint is called late
REACH = 1e-3  # [s]: how far from the given delay another wave is looked for
# [s]: other starts, since steps from 0 don't reach 50 ms. What is later is no delay of a channel.
FAR, APART = 0.1, 0.02
NUDGE = 0.05  # of the shortest wave's period, for the derivative with respect to the delay
FEW = 5000  # samples that are enough to find a start
ENOUGH = 6_000  # samples that are enough for the estimate
FAST = 0.1  # [rad/s]: slower joints' equations, and those nearby, are left out
CLEAR = 2.0  # standard deviations, from which on a joint's delay is estimated in several steps
ROUNDS = 6  # most of them
_ROUNDS = 20  # most Gauss-Newton steps. A last step that isn't small yet counts as deviation


@dataclass(frozen=True)
class TorqueDelay:
    """Estimated delay of the torques, common to all joints.

    Attributes:
        seconds: Delay, positive where torques lag behind positions [s].
        sd: Standard deviation of the delay, for residuals correlated in time [s].
        error: Relative error on held-out blocks of time without the correction [-].
        corrected_error: Relative error on held-out blocks with the motion shifted by the delay [-].
    """

    seconds: float
    sd: float
    error: float = float("nan")
    corrected_error: float = float("nan")

    @property
    def shows(self) -> bool:
        """True if the motion determines the delay."""
        return bool(self.sd < LATE_S)

    @property
    def significant(self) -> bool:
        """True if the delay exceeds two standard deviations and 0.1 ms."""
        return abs(self.seconds) > max(2.0 * self.sd, 1e-4)

    @property
    def worth_correcting(self) -> bool:
        """True if the delay is significant and correcting it improves held-out predictions."""
        return self.significant and not self.corrected_error > self.error

    @classmethod
    def of(cls, equations: ArmEquations) -> TorqueDelay:
        r"""Estimate the common delay of the efforts together with the parameters.

        Gauss-Newton steps (`delay_step`) are made with the motion shifted by the current delay. The
        search starts from the best of several candidates: multiples of `APART` up to `FAR` and, up
        to `REACH`, multiples of a quarter of the shortest period, because at high frequencies a
        delay of a whole period could be mistaken for none.

        Args:
            equations: Measurement equations of the filtered recordings.
        """
        few, rich, pi = _with_geared_friction(equations)
        found = settled_delay(lambda delay: _delay_step(rich, delay, pi), _start(few), _ROUNDS)
        if not np.isfinite(found.sd):
            return replace(found, seconds=equations.processing.delay)
        if not found.significant:
            return found
        here, there = held_out_error(few), held_out_error(few.with_delay(found.seconds))
        return replace(found, error=here, corrected_error=there)


@dataclass(frozen=True)
class JointDelay:
    """Delay of the efforts of one joint relative to those of the other joints.

    Attributes:
        joint: Name of the joint.
        seconds: Delay in addition to the common one, positive where the efforts are late [s].
        sd: Standard deviation of the delay, for residuals correlated in time [s].
        gain: Relative decrease of the error on held-out blocks if the delay is corrected; NaN: not
            computed, because the odds of a delay are not clear.
    """

    joint: str
    seconds: float
    sd: float
    gain: float = float("nan")

    @property
    def odds(self) -> float:
        """Odds that the torques of this joint are delayed, relative to recordings without delays.

        A filter, an average or another topic makes a channel late, never early: such delays have a
        half-normal distribution.
        """
        usual, late = self.sd**2 + USUAL_S**2, self.sd**2 + LATE_S**2
        gain = 0.5 * self.seconds**2 * (1.0 / usual - 1.0 / late) - 0.5 * np.log(late / usual)
        positive = self.seconds * LATE_S / (self.sd * np.sqrt(late))  # in deviations
        gain += np.log(2.0) + float(log_ndtr(positive))
        return float(LATE_ODDS * np.exp(min(gain, 700.0)))

    @property
    def late(self) -> bool:
        """True if a delay of this joint is clearly more likely than no delay, and no held-out error
        contradicts it.
        """
        return bool(np.isfinite(self.sd)) and self.odds > CLEAR_ODDS and not self.gain <= 0.0


def settled_delay(
    step: Callable[[float], tuple[float, float]], start: float, rounds: int
) -> TorqueDelay:
    """Return the delay after Gauss-Newton iterations, until the step is small compared with its
    standard deviation.

    Args:
        step: Function from a corrected delay to the remaining one and its standard deviation [s].
        start: Initial delay [s].
        rounds: Maximum number of steps; if the last step is not small, its size becomes the
            standard deviation.
    """
    delay, sd, change = start, float("nan"), float("inf")
    for _ in range(rounds):
        change, sd = step(delay)
        delay += change
        if abs(change) < max(0.1 * sd, 1e-6):
            return TorqueDelay(delay, sd)
    return TorqueDelay(delay, max(sd, abs(change)))


def delay_step(
    regression: Regression, torque_change: Callable[[Array], Array]
) -> tuple[float, float]:
    """Return the remaining delay and its standard deviation [s]; 0 and infinity if the data do not
    determine it.

    Args:
        regression: Equations after correction by the known delay.
        torque_change: Function from all parameters (p,) to `d tau_hat / d d`, shape (K, n).
    """
    change = _torque_change(regression, torque_change)
    (step,), (sd,) = _fitted_delays(regression, change[:, :, None])
    return step, sd


def joint_delays(
    regression: Regression, torque_change: Callable[[Array], Array]
) -> tuple[JointDelay, ...]:
    """Return the delay of each joint's efforts relative to the common delay, estimated together.

    Args:
        regression: Equations after correction by the common delay.
        torque_change: Derivative of the torques, as in `delay_step`.
    """
    change = _torque_change(regression, torque_change)
    columns = change[:, :, None] * np.eye(len(regression.joints))
    steps, sds = _fitted_delays(regression, columns)
    return tuple(map(JointDelay, regression.joints, steps, sds))


def _torque_change(regression: Regression, torque_change: Callable[[Array], Array]) -> Array:
    """Derivative of the torques with respect to the delay, (K, n); zero for unmeasured joints."""
    used = np.ones(regression.tau.shape, dtype=bool) if regression.used is None else regression.used
    if not used.any():
        return np.zeros(regression.tau.shape)
    values = regression.full_parameters(_FIT.fit(regression), ())
    return np.where(used, torque_change(values), 0.0)


def _fitted_delays(regression: Regression, change: Array) -> tuple[list[float], list[float]]:
    """Delays with their standard deviations [s], estimated together with all other parameters."""
    if not np.any(change):  # constant torques, or no joint is fast enough
        return [0.0] * change.shape[2], [float("inf")] * change.shape[2]
    names = [f"{_DELAY}{k}" for k in range(change.shape[2])]
    estimate = _FIT.fit(_with_delays(regression, change, names))
    found = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
    # Where others explain what a delay would, nothing is known of it; rounding may then make a
    # variance of rank-deficient data negative.
    variances = np.diag(estimate.covariance)
    sds = np.sqrt(np.where(variances > 0.0, variances, np.inf)).tolist()
    sd = dict(zip(estimate.names, sds, strict=True))
    return [found.get(x, 0.0) for x in names], [sd.get(x, float("inf")) for x in names]


def _with_delays(regression: Regression, change: Array, names: Sequence[str]) -> Regression:
    """Equations with the delays as further parameters, whose columns are the derivatives of the
    torques, (K, n, m).
    """
    (s, p), m = regression.structure.shape, len(names)
    structure = np.zeros((s + m, p + m))
    structure[:s, :p], structure[s:, p:] = regression.structure, np.eye(m)
    return replace(
        regression,
        Y=np.concatenate([regression.matrix, change], axis=2),
        names=(*regression.names, *names),
        units=(*regression.units, *["s"] * m),
        prior=np.append(regression.prior, np.zeros(m)),
        prior_sd=np.append(regression.prior_sd, np.ones(m)),
        non_negative=np.append(regression.non_negative, np.zeros(m, dtype=bool)),
        structure=structure,
    )


@dataclass(frozen=True)
class ArmLags:
    """Estimated delays of the efforts relative to the positions.

    Attributes:
        common: Delay common to all joints.
        joints: Delay of every joint in addition to the common one.
    """

    common: TorqueDelay
    joints: tuple[JointDelay, ...] = ()

    @classmethod
    def of(cls, equations: ArmEquations) -> ArmLags:
        """Estimate the common delay and the delay of each joint together with the parameters.

        Args:
            equations: Measurement equations of the filtered recordings.
        """
        common = TorqueDelay.of(equations)
        few, rich, pi = _with_geared_friction(equations)
        joints = joint_delays(*_around(rich, common.seconds, pi))
        # A step from zero is short of a large delay: the clearest one is taken out, and estimated again.
        clearest = max(range(len(joints)), key=lambda j: abs(joints[j].seconds) / joints[j].sd)
        taken, first = np.zeros(len(joints)), joints[clearest]
        if abs(first.seconds) < CLEAR * first.sd:
            return cls(common, joints)
        for _ in range(ROUNDS):
            taken[clearest] += joints[clearest].seconds
            here = rich.with_efforts_earlier(taken)
            joints = joint_delays(*_around(here, common.seconds, pi))
            if abs(joints[clearest].seconds) < 0.1 * joints[clearest].sd:
                break
        moved = replace(joints[clearest], seconds=joints[clearest].seconds + float(taken[clearest]))
        joints = (*joints[:clearest], moved, *joints[clearest + 1 :])
        return cls(common, _judged(joints, few.with_delay(common.seconds)))


def _judged(joints: Sequence[JointDelay], equations: ArmEquations) -> tuple[JointDelay, ...]:
    """Delays of the joints; for joints that seem late, with the improvement on held-out blocks of
    time if their efforts are advanced.
    """
    if not any(lag.late for lag in joints):
        return tuple(joints)
    before, out = held_out_error(equations), list(joints)
    for j, lag in enumerate(joints):
        if lag.late:
            earlier = equations.with_efforts_earlier(lag.seconds * np.eye(len(joints))[j])
            out[j] = replace(lag, gain=1.0 - held_out_error(earlier) / before)
    return tuple(out)


def _with_geared_friction(equations: ArmEquations) -> tuple[ArmEquations, ArmEquations, Array]:
    """A subset of the samples, the same with the friction terms of geared arms, and inertial
    parameters for load-dependent friction.
    """
    few = equations.spread(ENOUGH)
    rich = few.with_friction(few.friction.with_terms(FrictionTerm.listed("geared")))
    pi = few.prior if np.any(few.unmeasured()) else identify_equations(few, _FIT).pi.ravel()
    return few, rich, pi


def _delay_step(equations: ArmEquations, delay: float, pi: Array) -> tuple[float, float]:
    """Remaining delay and its standard deviation [s]."""
    return delay_step(*_around(equations, delay, pi))


def _around(
    equations: ArmEquations, delay: float, pi: Array
) -> tuple[Regression, Callable[[Array], Array]]:
    """Equations after removal of a delay, and the derivative of their torques with respect to
    it.
    """
    nudge = NUDGE / equations.processing.torque_cutoff_hz
    shifted = equations.with_delay(delay)
    keep = shifted.moving()

    def torque_change(values: Array) -> Array:
        earlier, later = (
            equations.with_delay(delay + by).regression(pi, keep).predict(values)
            for by in (-nudge, nudge)
        )
        return (later - earlier) / (2.0 * nudge)

    return shifted.regression(pi, keep, fast=FAST), torque_change


def _start(equations: ArmEquations) -> float:
    """Initial value of the delay [s], from a coarse grid search on some thousand samples."""
    here = equations.processing.delay
    step = 0.25 / equations.processing.torque_cutoff_hz
    waves, far = int(REACH / step), round(FAR / APART)
    starts = {k * step for k in range(-waves, waves + 1)}
    starts |= {k * APART for k in range(-far, far + 1)}
    moving = equations.moving()
    stride = max(1, sum(map(np.sum, moving)) // FEW)
    few = [m & (np.arange(len(m)) // 50 % stride == 0) for m in moving]
    left = {}
    for by in sorted(starts, key=abs):
        regression = equations.with_delay(here + by).regression(equations.prior, few)
        left[here + by] = float(np.sum(np.log(compress(regression).rest + 1e-300)))
    return min(left, key=left.__getitem__)
