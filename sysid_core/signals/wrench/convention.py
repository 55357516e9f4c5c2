# SPDX-License-Identifier: Apache-2.0
r"""Sign and axes in which a wrench is expressed, and forces other than those of the load.

A load of mass m obeys `f = m a + b` and `t = m c x a + d` in the sensor's axes, a its proper
acceleration, where the sensor pushes the load. Sensors of ATI and UR state the force of the load on
the sensor, `-f`. UR's drivers state forces in the axes of the base. A sensor, or the base, may be
rotated relative to its description, and the direction of gravity may differ from the description.
Orientations may be those of the base in the sensor. A person may guide the robot by the held
object, or nothing is held. Each of these possibilities is a hypothesis, which is scored by its
marginal likelihood for the same readings. The noise is the residual of the best hypothesis, and its
spectrum determines the number of independent readings. Each hypothesis has its own delay: while the
robot turns steadily about one axis, a delay is equivalent to a rotation of the sensor, which some
hypotheses contain and others do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import permutations, product
from typing import ClassVar

import numpy as np
import scipy

from sysid_core.robot import FrameMotion, skew
from sysid_core.settings import Kind
from sysid_core.signals.recording import Array
from sysid_core.signals.wrench.mounting import procrustes
from sysid_core.signals.wrench.noise import learned_noise

_STRONG = 3.0  # [nat] of evidence: 20 to 1 (Kass, Raftery, Bayes factors, 1995, sec. 3.2)
UNLIKELY = 1.0 / 21.0  # probability: odds of 20 to 1 against it
_TURNED = np.deg2rad(
    5.0
)  # a smaller turn is an error of the mounting (1 deg), which a fit takes in
_MASS = 20.0  # [kg] that an arm may hold, before any data
_LENGTH = 0.2  # [m] from the sensor to the centre of mass: as far as fingers and tools are
_PER_METRE = (1.0, 1 / 0.0254, 1e2, 1e3)  # [1/m]: torques per in, cm and mm instead
_NEGLIGIBLE = 1e-6  # probability: no answer changes by it
_POSTURES = 8  # of a recording, in which the sensor may have been zeroed
_FEW = 12  # samples: no noise can be told from them
_MOST = 1_000  # samples that are compared: what is between hangs together with them
# The 23 turns by right angles: signed permutations of the axes that are rotations, but for none.
_RIGHT = tuple(
    R
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(R := np.eye(3)[list(order)] * signs) > 0.0 and np.trace(R) < 2.9
)


class WrenchSign(Kind):
    """Sign convention of a wrench."""

    AUTO = "auto"
    SENSOR_ON_LOAD = "sensor-on-load"  # a resting load gives f = -m g
    LOAD_ON_SENSOR = "load-on-sensor"


class WrenchAxes(Kind):
    """Axes in which a wrench is expressed."""

    AUTO = "auto"
    SENSOR = "sensor"
    BASE = "base"


@dataclass(frozen=True, eq=False)
class Rival:
    """Load that results if the wrench follows another convention than the declared one.

    Attributes:
        probability: Probability of the hypothesis, among all.
        mass: Mass of the load [kg]; 0 without a load.
        sd: Standard deviation of the mass [kg].
    """

    probability: float
    mass: float
    sd: float

    def is_elsewhere(self, mass: float, share: float) -> float:
        """Return the probability that the mass differs from a given mass by more than a share of
        it.
        """
        ends = np.array([mass * (1.0 - share), mass * (1.0 + share)])
        below, above = scipy.special.ndtr((ends - self.mass) / max(self.sd, 1e-9))
        return float(below + 1.0 - above)


@dataclass(frozen=True, eq=False)
class WrenchConvention:
    """Sign and axes of the readings: the map to the wrench that the sensor exerts on the load, in
    the declared axes.

    Attributes:
        sign: Sign of the readings.
        axes: Axes of the readings.
        turn: Rotation between the axes of the readings and those of sensor or base in the
            description, shape (3, 3); None: no rotation.
        gravity: Gravity in the base frame [m/s^2], shape (3,), if it differs from the gravity
            stored with the motion; None otherwise.
        is_inverse: True if the given orientations are those of the base in the sensor frame.
        shift: Delay of the readings [samples].
        rivals: Loads under all plausible conventions (including the selected one), the most likely
            first.
        described: Load under the most likely convention that differs little from the description;
            None: unknown.
        arm: Distance of the load's centre of mass from the sensor [m]. It may be impossibly large
            or small, which shows that the torques are in another unit.
    """

    UNLIKELY: ClassVar[float] = UNLIKELY
    LARGE_LOAD: ClassVar[tuple[float, float]] = (_MASS, _LENGTH)  # [kg], [m] from the sensor

    sign: WrenchSign = WrenchSign.SENSOR_ON_LOAD
    axes: WrenchAxes = WrenchAxes.SENSOR
    turn: Array | None = None
    gravity: Array | None = None
    is_inverse: bool = False
    shift: int = 0
    rivals: tuple[Rival, ...] = ()
    described: Rival | None = None
    arm: float = 0.0

    @property
    def matrix(self) -> Array:
        """Product of sign and rotation, shape (3, 3). Readings (K, 3) are multiplied by this matrix
        from the right, which converts them from their own axes to the described axes of the sensor
        or the base.
        """
        turn = np.eye(3) if self.turn is None else self.turn
        return -turn if self.sign is WrenchSign.LOAD_ON_SENSOR else turn

    def apply(self, wrench: Array, R_WS: Array) -> Array:
        """Return the corrected readings (K, 6), with the true orientations of the sensor (K, 3,
        3).
        """
        out = wrench.reshape(-1, 2, 3) @ self.matrix
        if self.axes is WrenchAxes.BASE:
            out = out @ R_WS
        return np.asarray(out.reshape(-1, 6))

    def elsewhere(self, mass: float, share: float) -> float:
        """Return the probability that another convention is right and that, under it, the mass of
        the load differs from a given mass by more than a share of it.
        """
        return float(sum(r.probability * r.is_elsewhere(mass, share) for r in self.rivals))

    def variance(self, mass: float) -> float:
        """Return the mean square difference between a mass and the masses under the alternative
        conventions [kg^2].
        """
        return float(sum(r.probability * ((r.mass - mass) ** 2 + r.sd**2) for r in self.rivals))

    @property
    def between(self) -> float:
        """Mean square difference between the most probable mass and those under the alternative
        conventions [kg^2].
        """
        first = self.rivals[0].mass if self.rivals else 0.0
        return float(sum(r.probability * (r.mass - first) ** 2 for r in self.rivals))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the sign and the axes of the readings."""
        found = []
        if self.sign is WrenchSign.LOAD_ON_SENSOR:
            found.append(
                "The measured wrench acts from the load on the sensor (f = +m g at rest) and was therefore negated."
            )
        if self.axes is WrenchAxes.BASE:
            found.append(
                "The measured wrench is expressed in the base frame and was therefore rotated into the sensor frame."
            )
        return tuple(found)

    @property
    def errors(self) -> tuple[str, ...]:
        """Sentences on errors in the description of the robot or in the orientations."""
        found = []
        if self.is_inverse:
            found.append(
                "The orientations are those of the base in the sensor frame and were therefore inverted."
            )
        if self.turn is not None:
            whose = "base" if self.axes is WrenchAxes.BASE else "sensor"
            found.append(
                f"The {whose} frame is rotated by {np.rad2deg(_angle(self.turn)):.0f} degrees relative to"
                " the robot description: the wrench was rotated back."
            )
        if self.gravity is not None:
            written = ",".join(f"{x:.2f}" for x in self.gravity)
            found.append(
                f"Gravity in the base frame is {written} m/s²: specify it with --gravity {written}."
            )
        return tuple(found)

    @property
    def is_near_description(self) -> bool:
        """True if gravity is as described and the description has at most one error."""
        return self.gravity is None and self.is_inverse + (self.turn is not None) < 2

    @classmethod
    def find(
        cls,
        wrench: Array,
        motions: Sequence[FrameMotion],
        *,
        bias: Sequence[tuple[float, float]],
        zeroed: tuple[float, float] | None = None,
        crosstalk: float = 0.0,
        sign: WrenchSign = WrenchSign.AUTO,
        axes: WrenchAxes = WrenchAxes.AUTO,
        may_be_inverse: bool = False,
        shifts: Sequence[int] = (0,),
        time: Array | None = None,
    ) -> WrenchConvention:
        """Find the sign and axes with which a load explains the readings best, and alternatives.

        Args:
            wrench: Readings, shape (K, 6) [N, N m].
            motions: Candidate motions of the described sensor, equally likely.
            bias: Candidate standard deviations of bias force and torque [N, N m], equally likely.
            zeroed: Standard deviations of the bias of a zeroed sensor [N, N m]; None if the sensor
                was not zeroed with a load.
            crosstalk: Standard deviation of the torque about each axis per force along each axis
                [m], an error of the sensor. Errors of the forces' gains are not considered: in axes
                of the base they imitate a load.
            sign: Declared sign; AUTO: unknown.
            axes: Declared axes; AUTO: unknown.
            may_be_inverse: True if orientations may be those of the base in the sensor.
            shifts: Candidate delays of the readings, equally likely [samples].
            time: Times of the readings, shape (K,) [s], in which there may be gaps; None: equally
                spaced.
        """
        signs = [sign] if sign is not WrenchSign.AUTO else [*WrenchSign][1:]
        given = [axes] if axes is not WrenchAxes.AUTO else [*WrenchAxes][1:]
        ways = [(False, motion) for motion in motions]
        ways += [(True, inverted_motion(motion)) for motion in motions] if may_be_inverse else []
        rows, matched = _matched(len(wrench), shifts, time)
        y = wrench[rows]
        delayed = [
            (cls(is_inverse=inverse, shift=shift), _at(one, at))
            for shift, at in matched
            for inverse, one in ways
        ]
        families = [
            _Family.of(y, [replace(one, sign=s, axes=x) for s in signs], at)
            for one, at in delayed
            for x in given
        ]
        # Noise is what the best of them leaves over, at first what the best linear map does.
        residual = _least_unmapped(y, [(at, at.a) for _, at in delayed], given)
        # Plain loads tell which delays are worth a look; then all kinds of forces at these.
        for kinds in ((_Kind.LOAD,), tuple(_Kind)):
            wrong = crosstalk if len(kinds) > 1 else 0.0
            for _ in range(2):
                noise = _Noise.of(residual)
                found = [_weighed(y, one, bias, zeroed, noise, kinds, wrong) for one in families]
                tops = [max(some, key=lambda trial: trial.log) for some in found]
                k = int(np.argmax([top.log for top in tops]))
                residual = tops[k].residual(y, families[k].at)
            if kinds == (_Kind.LOAD,):
                families = _worth_a_look(families, found)
                families += [tilted for family in families for tilted in family.tilted(y)]
        trials = [trial for some in found for trial in some]
        log = np.array([trial.log for trial in trials])
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        order = np.argsort(-weights, kind="stable")
        rivals = tuple(_merged([trials[k] for k in order], weights[order]))
        loads = [k for k in order if trials[k].kind is not _Kind.EMPTY]
        described = next((k for k in loads if trials[k].convention.is_near_description), loads[0])
        plain = Rival(float(weights[described]), trials[described].mass, trials[described].sd)
        best = trials[loads[0]]
        at = next(one.at for one in families if best.convention in one.conventions)
        arm = _arm(best, y, at, max(bias)[1])
        return replace(best.convention, rivals=rivals, described=plain, arm=arm)

    @staticmethod
    def accelerations_tell(
        wrench: Array,
        motion: FrameMotion,
        *,
        may_be_inverse: bool = False,
        shifts: Sequence[int] = (0,),
        time: Array | None = None,
    ) -> bool:
        """Return False if the readings show with odds of 20 to 1 that forces and torques follow gravity
        alone better than the proper acceleration.

        Accelerations from positions with inaccurate time stamps are mostly noise, which makes the
        load appear lighter (errors in variables). Both models are compared with the readings
        through their best linear maps, so that sign and axes do not matter. The two models are
        compared by the noise with which a fit would weight the residuals (`learned_noise`). The
        whole spectrum of the residuals is not used, because at high frequencies the residual is a
        model error proportional to the motion. If the load changes, the residuals are strongly
        correlated in time, so that few of them count as independent.

        Args:
            wrench: Readings, shape (K, 6) [N, N m].
            motion: Motion of the described sensor.
            may_be_inverse: True if orientations may be those of the base in the sensor.
            shifts: Candidate delays of the readings [samples].
            time: Times of the readings, shape (K,) [s], as in `WrenchConvention.find`.
        """
        rows, matched = _matched(len(wrench), shifts, time)
        left = []
        motions = [motion, inverted_motion(motion)] if may_be_inverse else [motion]
        for at_rest in (False, True):
            moved = [_at(one, match) for one in motions for _, match in matched]
            felt = [(at, -at.gravity if at_rest else at.a) for at in moved]
            left.append(_least_unmapped(wrench[rows], felt, [*WrenchAxes][1:]))
        by_motion, by_gravity = (_Noise.of(residual) for residual in left)
        independent = np.minimum(by_motion.count, by_gravity.count)
        return bool(independent @ np.log(by_motion.sd / by_gravity.sd) < _STRONG)


def _merged(trials: Sequence[_Trial], weights: Array) -> list[Rival]:
    """Loads by convention and kind of force; each is taken from the most probable of the trials
    with this convention and kind, in the order of their probabilities.

    Trials that differ in the delay or the size of the bias are not distinguished, because the
    payload estimator determines both again.
    """
    best: dict[tuple[object, ...], _Trial] = {}
    total: dict[tuple[object, ...], float] = {}
    for trial, weight in zip(trials, weights.tolist(), strict=True):
        one = trial.convention
        turned = [None if x is None else x.tobytes() for x in (one.turn, one.gravity)]
        key = (trial.kind, one.sign, one.axes, one.is_inverse, *turned)
        best.setdefault(key, trial)
        total[key] = total.get(key, 0.0) + weight
    rivals = [Rival(total[key], trial.mass, trial.sd) for key, trial in best.items()]
    return [rival for rival in rivals if rival.probability > _NEGLIGIBLE]


def inverted_motion(motion: FrameMotion) -> FrameMotion:
    """Return the motion with inverted orientations and unchanged origin."""
    R = motion.R_WF

    def turned(x: Array) -> Array:
        return np.einsum("kij,kj->ki", R, x)

    return FrameMotion(
        R.transpose(0, 2, 1).copy(),
        -turned(motion.omega),
        -turned(motion.alpha),
        turned(turned(motion.a)),
        turned(turned(motion.gravity)),
    )


class _Kind(Enum):
    """Kind of force on the sensor, apart from its bias."""

    LOAD = "load"
    EMPTY = "empty"
    SPLIT = "split"  # resists as another mass than it weighs: weight taken out, or a guiding hand
    ZEROED = "zeroed"  # zeroed in a posture like one of these, with a part of it on


@dataclass(frozen=True)
class _Noise:
    """White noise with the same power as the residual, which is correlated in time; force and
    torque, each (2,).
    """

    sd: Array
    count: Array  # readings that are independent

    @classmethod
    def of(cls, residual: Array) -> _Noise:
        # Fewer don't tell it: moderate noise of Nadeau et al. 2022, as in `white_noise_sd`.
        few = len(residual) < _FEW
        floor = np.repeat([0.1, 0.005] if few else [1e-6, 1e-6], 3)
        power = np.maximum(np.mean(residual**2, axis=0), floor**2).reshape(2, 3).mean(axis=1)
        slow = learned_noise(residual, floor)[[0, 3]]
        return cls(slow, 3.0 * len(residual) * power / slow**2)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Hypothesis with its log-evidence and the resulting load."""

    log: float
    convention: WrenchConvention
    kind: _Kind
    mass: float
    sd: float
    of_force: Array
    of_torque: Array
    posture: int = 0  # sample in whose posture it was zeroed

    def residual(self, y: Array, at: FrameMotion) -> Array:
        """Residual of readings, shape (K, 6)."""
        z = self.convention.apply(y, at.R_WF)
        force, torque, _ = _columns(self.kind, at, self.posture)
        if len(self.of_torque) > torque.shape[2]:
            torque = _with_crosstalk(torque, at.a)
        return np.hstack([z[:, :3] - force @ self.of_force, z[:, 3:] - torque @ self.of_torque])


def _arm(trial: _Trial, y: Array, at: FrameMotion, bias: float) -> float:
    """Distance of the centre of mass of a trial's load from the sensor [m], if torques are in N m.
    Its prior also allows for torques in a unit with another length, if the evidence clearly favours
    such a unit.
    """
    z = trial.convention.apply(y, at.R_WF)
    noise = _Noise.of(_unmapped(z, at.a))  # in any unit
    held = max(trial.mass, trial.sd)
    sizes = np.repeat([_LENGTH * held, bias], 3) * np.array(_PER_METRE)[:, None, None]
    fit = _Linear.of(_columns(_Kind.LOAD, at)[1], z[:, 3:], np.eye(3)[None])
    log, moment, _ = fit.evidence(sizes, noise.sd[1], noise.count[1])
    log[1:] -= _STRONG + np.log(len(log) - 1.0)
    return float(np.linalg.norm(moment[np.argmax(log), 0, :3])) / held


def _columns(
    kind: _Kind, at: FrameMotion, posture: int = 0
) -> tuple[Array, Array, tuple[float, ...]]:
    """Regressors of force and torque (K, 3, p), the bias last, and prior standard deviations of the
    other forces.
    """
    K = len(at.a)
    unit = np.tile(np.eye(3), (K, 1, 1))
    if kind is _Kind.EMPTY:
        return unit, unit, ()
    torque = np.concatenate([-skew(at.a), unit], axis=2)  # t = m c x a
    if kind is _Kind.LOAD:
        return np.concatenate([at.a[:, :, None], unit], axis=2), torque, (_MASS,)
    if kind is _Kind.SPLIT:
        both = (-at.gravity, at.a + at.gravity)
    else:  # what the readings show of it, and what only motion shows: in torques too
        start = np.tile(-at.gravity[posture], (K, 1))
        both = (start, at.a - start)
        torque = np.concatenate([-skew(start), -skew(at.a - start), unit], axis=2)
    return np.concatenate([np.stack(both, axis=2), unit], axis=2), torque, (_MASS, _MASS)


def _with_crosstalk(torque: Array, a: Array) -> Array:
    """Columns of the torque (K, 3, p) with those of the crosstalk of the forces, row by row, before
    the bias.
    """
    entries = (np.eye(3)[:, :, None] * a[:, None, None, :]).reshape(len(a), 3, 9)
    return np.concatenate([torque[:, :, :-3], entries, torque[:, :, -3:]], axis=2)


@dataclass(frozen=True, eq=False)
class _Family:
    """Conventions with the same axes and motion, and the logarithms of their prior
    probabilities.
    """

    conventions: Sequence[WrenchConvention]
    priors: Array
    at: FrameMotion

    @classmethod
    def of(cls, y: Array, plain: Sequence[WrenchConvention], at: FrameMotion) -> _Family:
        """Conventions with their prior probabilities: as given, rotated by right angles, and
        rotated by the rotation that fits best.
        """
        odds = -_STRONG * plain[0].is_inverse
        a = (at.R_WF @ at.a[:, :, None])[:, :, 0] if plain[0].axes is WrenchAxes.BASE else at.a
        spatial = _is_spatial(a)
        conventions, priors = list(plain), [odds] * len(plain)
        for one in plain:
            conventions += [replace(one, turn=turn) for turn in _RIGHT]
            priors += [odds - _STRONG - np.log(len(_RIGHT))] * len(_RIGHT)
            turn = procrustes(y[:, :3] @ one.matrix, a, -1.0)[0]
            if spatial and _angle(turn) > _TURNED:
                # Three angles of a sphere of turns, known as well as three readings at least.
                conventions.append(replace(one, turn=turn))
                priors.append(odds - _STRONG - 1.5 * np.log(3.0 * len(y)))
        return cls(conventions, np.array(priors), at)

    def tilted(self, y: Array) -> list[_Family]:
        """Plain conventions, and the rotated one that fits best, each with the direction of gravity
        under which it fits best, if this differs from the described direction.
        """
        at, any_sign = self.at, len({one.sign for one in self.conventions}) > 1
        forces = np.array([one.apply(y, at.R_WF)[:, :3] for one in self.conventions])
        gravities, left = _downs(forces, at)
        found: list[_Family] = []
        for k in np.argsort(left):
            one, gravity = self.conventions[k], gravities[k]
            if (one.turn is None or not found) and _is_elsewhere(gravity, at, any_sign):
                prior = self.priors[[k]] - _STRONG - np.log(3.0 * len(y))  # two angles
                tilted = replace(one, gravity=gravity)
                found.append(_Family([tilted], prior, _under(at, gravity)))
        return found


def _worth_a_look(families: Sequence[_Family], found: Sequence[Sequence[_Trial]]) -> list[_Family]:
    """Families with a plausible trial, or with the best trial for one combination of axes and
    orientation.
    """
    best: dict[tuple[object, ...], _Trial] = {}
    for some in found:
        for trial in some:
            way = (trial.convention.axes, trial.convention.is_inverse)
            if way not in best or trial.log > best[way].log:
                best[way] = trial
    least = max(trial.log for trial in best.values()) + np.log(_NEGLIGIBLE)
    kept = []
    for family, some in zip(families, found, strict=True):
        if any(trial.log >= least or trial in best.values() for trial in some):
            kept.append(family)
    return kept


def _weighed(
    y: Array,
    family: _Family,
    bias: Sequence[tuple[float, float]],
    zeroed: tuple[float, float] | None,
    noise: _Noise,
    among_kinds: Sequence[_Kind],
    crosstalk: float,
) -> list[_Trial]:
    """Trials of all conventions of a family, for each kind of force and each size of the bias."""
    conventions, priors, at = family.conventions, family.priors, family.at
    T = len(conventions)
    turns = np.array([one.matrix for one in conventions])
    in_base = conventions[0].axes is WrenchAxes.BASE
    a_k = at.a + at.gravity
    moves = np.mean(a_k**2) > 1e-6 * np.mean(at.gravity**2)
    trials = []
    kinds = [(kind, 0) for kind in (_Kind.LOAD, _Kind.EMPTY)]
    kinds += [(_Kind.SPLIT, 0)] if moves else []
    postures = sorted(set(np.linspace(0, len(y) - 1, _POSTURES).astype(int).tolist()))
    postures = postures if zeroed else []
    kinds += [(_Kind.ZEROED, k) for k in postures]
    for kind, posture in kinds:
        if kind not in among_kinds or (
            kind is not _Kind.LOAD and conventions[0].gravity is not None
        ):
            continue  # another gravity and other forces at once explain anything
        X_force, X_torque, sds = _columns(kind, at, posture)
        entries = np.full(9 if crosstalk > 0.0 and kind is not _Kind.EMPTY else 0, crosstalk)
        if len(entries):
            X_torque = _with_crosstalk(X_torque, at.a)
        if in_base:
            X_force, X_torque = at.R_WF @ X_force, at.R_WF @ X_torque
        of_force = _Linear.of(X_force, y[:, :3], turns)
        of_torque = _Linear.of(X_torque, y[:, 3:], turns)
        scales = [zeroed] if kind is _Kind.ZEROED and zeroed else bias
        among = len(scales) * (len(postures) if kind is _Kind.ZEROED else 1)
        odds = priors - np.log(among) - (_STRONG if kind is _Kind.SPLIT else 0.0)
        b_force, b_torque = np.array(scales).T[:, :, None, None]  # (S, 1, 1) each
        ones = np.ones((len(scales), 1, 1))
        prior = np.concatenate([ones * sds, np.repeat(b_force, 3, axis=2)], axis=2)
        log, theta, sd = of_force.evidence(prior, noise.sd[0], noise.count[0])
        of_what = theta[:, :, : len(sds)] / sd[:, :, : len(sds)]
        log += (np.log(2.0) + scipy.special.log_ndtr(of_what)).sum(axis=2)  # no mass is negative
        held = np.hypot(theta, sd)[:, :, : len(sds) if kind is _Kind.ZEROED else min(len(sds), 1)]
        arms = np.repeat(_LENGTH * held, 3, axis=2)
        across = np.abs(theta[:, :, :1]) * entries
        prior = np.concatenate([arms, across, np.tile(b_torque, (1, T, 3))], axis=2)
        log_torque, of, _ = of_torque.evidence(prior, noise.sd[1], noise.count[1])
        total = odds + log + log_torque
        for i, k in np.argwhere(total > total.max() + np.log(_NEGLIGIBLE)).tolist():
            mass, mass_sd = (theta[i, k, 0], sd[i, k, 0]) if sds else (0.0, 0.0)
            trials.append(
                _Trial(
                    float(total[i, k]),
                    conventions[k],
                    kind,
                    max(float(mass), 0.0),
                    float(mass_sd),
                    theta[i, k],
                    of[i, k],
                    posture,
                )
            )
    return trials


@dataclass(frozen=True, eq=False)
class _Linear:
    """Normal equations of a linear model of several sets of readings."""

    H: Array  # (p, p)
    g: Array  # (T, p)
    square: Array  # (T,)

    @classmethod
    def of(cls, X: Array, y: Array, turns: Array) -> _Linear:
        """Normal equations from columns (K, 3, p) and readings (K, 3), for each of the rotations
        (T, 3, 3) of the readings.

        The products of columns and readings are computed once for all rotations.
        """
        W = X.reshape(-1, X.shape[2])
        moments = np.tensordot(y, X, axes=(0, 0))  # (3, 3, p): of reading and column
        g = np.tensordot(turns, moments, axes=((1, 2), (0, 1)))
        return cls(W.T @ W, g, np.full(len(turns), np.sum(y**2)))

    def evidence(self, prior_sd: Array, noise: float, count: float) -> tuple[Array, Array, Array]:
        """Log marginal likelihoods (S, T), estimates of the unknowns (S, T, p) and their standard
        deviations (S, T, p), for S priors and T orientations of the axes.

        Each block of readings is predicted from the preceding blocks. The noise level is integrated
        out, so that a residual that no hypothesis explains makes all of them less certain.

        Args:
            prior_sd: Prior standard deviations of the unknowns, for S priors, shape (S, T, p), or
                (S, 1, p) if all sets share them.
            noise: Standard deviation of a reading's noise.
            count: Number of independent readings.
        """
        scaled = prior_sd / noise
        A = np.eye(prior_sd.shape[2]) + scaled[..., None] * self.H * scaled[..., None, :]
        C = prior_sd[..., None] * np.linalg.inv(A) * prior_sd[..., None, :]  # posterior covariance
        x = (C @ self.g[:, :, None])[..., 0] / noise**2
        left = np.maximum((self.square - np.sum(self.g * x, axis=2)) / noise**2, 1e-9 * count)
        scale = np.maximum(left / count, 1.0)
        sd = np.sqrt(np.diagonal(C, axis1=2, axis2=3) * scale[..., None])
        return -0.5 * (count * np.log(left / count) + np.linalg.slogdet(A)[1]), x, sd


def _unmapped(y: Array, a: Array) -> Array:
    """Residual of the best linear map from accelerations to readings, shape (K, 6)."""
    X = np.column_stack([a, np.ones(len(a))])
    return np.asarray(y - X @ np.linalg.lstsq(X, y, rcond=None)[0])


def _least_unmapped(
    y: Array, felt: Sequence[tuple[FrameMotion, Array]], among: Sequence[WrenchAxes]
) -> Array:
    """Smallest residual of the best linear map from accelerations (K, 3) to readings (K, 6), over
    motions and axes, shape (K, 6).
    """
    residuals = (
        _unmapped(WrenchConvention(axes=axes).apply(y, at.R_WF), a)
        for at, a in felt
        for axes in among
    )
    return min(residuals, key=lambda left: float(np.sum(left[:, :3] ** 2)))


def _matched(
    count: int, shifts: Sequence[int], time: Array | None
) -> tuple[Array, list[tuple[int, Array]]]:
    """Indices of the readings that are compared (K,) and, for each delay, those of the motion
    samples that are earlier by this delay (K,).

    A reading whose motion lies in a gap, or outside of the recording, for any of the delays is not
    compared. If this leaves less than half of the readings, the largest delays are omitted.
    """
    time = np.arange(float(count)) if time is None else time
    period = float(np.median(np.diff(time))) if count > 1 else 1.0
    before = time - period * np.array(shifts)[:, None]
    after = np.clip(np.searchsorted(time, before), 1, max(count - 1, 1))
    at = np.where(
        before - time[after - 1] < time[np.minimum(after, count - 1)] - before, after - 1, after
    )
    at = np.minimum(at, count - 1)
    near = np.abs(time[at] - before) < 1.5 * period  # single readings may lack
    order = np.argsort(np.abs(shifts), kind="stable")
    common = np.logical_and.accumulate(near[order], axis=0)
    used = order[np.sum(common, axis=1) >= min(count, max(1, count // 2))]
    rows = np.flatnonzero(near[used].all(axis=0))
    rows = rows[:: -(-len(rows) // _MOST)]
    return rows, [(shifts[k], at[k, rows]) for k in np.sort(used)]


def _at(motion: FrameMotion, rows: Array) -> FrameMotion:
    parts = (motion.R_WF, motion.omega, motion.alpha, motion.a, motion.gravity)
    return FrameMotion(*(part[rows] for part in parts))


def _downs(forces: Array, motion: FrameMotion) -> tuple[Array, Array]:
    """Gravity in the base, shape (T, 3) [m/s^2], and the sum of the squared residuals, shape (T,),
    of the least-squares fits `f = m a_k - R_FW w + b` to T sets of forces (T, K, 3).
    """
    K, R_FW = len(motion.a), motion.R_WF.transpose(0, 2, 1)
    moving = (motion.a + motion.gravity)[:, :, None]
    X = np.concatenate([moving, -R_FW, np.tile(np.eye(3), (K, 1, 1))], axis=2).reshape(-1, 7)
    y = forces.reshape(len(forces), -1).T
    best = np.linalg.lstsq(X.T @ X, X.T @ y, rcond=1e-9)[0]
    left = np.sum((y - X @ best) ** 2, axis=0)
    size = np.maximum(np.linalg.norm(best[1:4], axis=0), np.finfo(float).tiny)
    return (np.linalg.norm(motion.gravity[0]) * best[1:4] / size).T, left


def _is_elsewhere(gravity: Array, motion: FrameMotion, any_sign: bool) -> bool:
    """True if gravity differs from that of the motion by more than the usual mounting error. With
    `any_sign`, the difference must not exceed a right angle, because opposite gravity is equivalent
    to the opposite sign.
    """
    described = motion.R_WF[0] @ motion.gravity[0]
    cosine = float(gravity @ described) / max(float(described @ described), np.finfo(float).tiny)
    return (0.0 if any_sign else -1.0) <= cosine < np.cos(_TURNED)


def _under(motion: FrameMotion, gravity: Array) -> FrameMotion:
    """The motion under another gravity in the base, shape (3,)."""
    felt = (motion.R_WF.transpose(0, 2, 1) @ gravity).reshape(-1, 3)
    return replace(motion, a=motion.a + motion.gravity - felt, gravity=felt)


def _is_spatial(a: Array) -> bool:
    """True if the accelerations span all directions and so determine any rotation."""
    spread = np.linalg.svd(a - a.mean(axis=0), compute_uv=False)
    return bool(spread[-1] > 0.1 * spread[0])


def _angle(R: Array) -> float:
    return float(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0)))
