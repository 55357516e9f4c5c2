# SPDX-License-Identifier: Apache-2.0
r"""Which way round a wrench is: its sign, and in whose axes it is given.

A load of mass m obeys `f = m a + b` in the sensor's axes, a its proper acceleration, where the sensor
pushes the load. ATI's sensors and UR's give what the load does to the sensor, `-f`; UR's drivers give
forces in axes of the base; and a sensor may be turned against its description. Each is a hypothesis
of least squares, taken where it explains the forces clearly better; the description stands otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from sysid_core.kinds import Kind
from sysid_core.signals.recording import Array
from sysid_core.signals.wrench.noise import learned_noise

_STRONG = 3.0  # [nat] of evidence: 20 to 1 (Kass, Raftery, Bayes factors, 1995, sec. 3.2)
_TURNED = np.deg2rad(15.0)  # a smaller turn is an error of the mounting, which a fit takes in
_SAME_MASS = 0.3  # of the mass: conventions that differ less give one answer, as a verdict has it
_BIAS = 10.0  # [N] of a bias before any data: LARA8 and Axia80 read up to 9, Panda 17
# The 23 turns by right angles: signed permutations of the axes that are rotations, but for none.
_RIGHT = tuple(
    R
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(R := np.eye(3)[list(order)] * signs) > 0.0 and np.trace(R) < 2.9
)


class WrenchSign(Kind):
    """What a wrench is."""

    AUTO = "auto"
    SENSOR_ON_LOAD = "sensor-on-load"  # a resting load gives f = -m g
    LOAD_ON_SENSOR = "load-on-sensor"


class WrenchAxes(Kind):
    """Whose axes a wrench has."""

    AUTO = "auto"
    SENSOR = "sensor"
    BASE = "base"


@dataclass(frozen=True, eq=False)
class WrenchConvention:
    """How readings become the wrench that the sensor exerts on the load, in the described axes.

    Attributes:
        sign: Of the readings.
        axes: Of the readings.
        turn: Rotation from the described axes to the sensor's, shape (3, 3); identity mostly.
        masses: Of this and of those that explain the forces about as well but weigh something else
            [kg]; 0 among them where no load at all does. Empty: there is no doubt.
    """

    sign: WrenchSign = WrenchSign.SENSOR_ON_LOAD
    axes: WrenchAxes = WrenchAxes.SENSOR
    turn: Array | None = None
    masses: tuple[float, ...] = ()

    def apply(self, wrench: Array, R_WS: Array) -> Array:
        """Readings (K, 6) turned into what they should be, at orientations (K, 3, 3)."""
        out = -wrench if self.sign is WrenchSign.LOAD_ON_SENSOR else wrench
        if self.axes is WrenchAxes.BASE:
            out = np.einsum("kji,kaj->kai", R_WS, out.reshape(-1, 2, 3)).reshape(-1, 6)
        if self.turn is not None:
            out = (out.reshape(-1, 2, 3) @ self.turn).reshape(-1, 6)
        return np.asarray(out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unlike a sensor as described, one sentence each."""
        found = []
        if self.sign is WrenchSign.LOAD_ON_SENSOR:
            found.append(
                "The wrench is that of the load on the sensor (f = +m g at rest): it was negated."
            )
        if self.axes is WrenchAxes.BASE:
            found.append("The wrench is given in the base's axes: it was turned into the sensor's.")
        if self.turn is not None:
            cosine = np.clip(0.5 * (np.trace(self.turn) - 1.0), -1.0, 1.0)
            found.append(
                f"The sensor's axes are turned by {np.rad2deg(np.arccos(cosine)):.0f} degrees against"
                " the robot's description: the wrench was turned back. Correct the description."
            )
        return tuple(found)


def find_convention(
    wrench: Array,
    a: Array,
    R_WS: Array,
    *,
    sign: WrenchSign = WrenchSign.AUTO,
    axes: WrenchAxes = WrenchAxes.AUTO,
    shifts: Sequence[int] = (0,),
) -> WrenchConvention:
    """Sign and axes by which a load explains the forces best.

    Args:
        wrench: Readings, shape (K, 6).
        a: Proper acceleration of the sensor's origin in the described axes, shape (K, 3) [m/s^2];
            minus gravity at rest.
        R_WS: Orientation of the described sensor, shape (K, 3, 3).
        sign: What is known of it.
        axes: What is known of them.
        shifts: Samples by which the readings may be late: the best is taken along.
    """
    signs = [sign] if sign is not WrenchSign.AUTO else [*WrenchSign][1:]
    given = [axes] if axes is not WrenchAxes.AUTO else [*WrenchAxes][1:]
    trials = [
        WrenchConvention(s, x, turn)
        for x in given
        for s in signs
        for turn in ((None, *_RIGHT) if x is WrenchAxes.SENSOR else (None,))
    ]
    if WrenchAxes.SENSOR in given and _is_spatial(a):
        plain = [WrenchConvention(s).apply(wrench, R_WS)[:, :3] for s in signs]
        turns = [_turn(force, a) for force in plain]
        trials += [
            WrenchConvention(s, WrenchAxes.SENSOR, turn)
            for s, turn in zip(signs, turns, strict=True)
            if _angle(turn) > _TURNED
        ]
    forces = [trial.apply(wrench, R_WS)[:, :3] for trial in trials]
    by_shift = []  # a fit with a load and one without, of each trial
    for shift in shifts:
        late, early = max(shift, 0), max(-shift, 0)
        part = a[early : len(a) - late]
        by_shift.append(
            [
                _fitted(force[late : len(force) - early], x)
                for force in forces
                for x in (part, 0.0 * part)
            ]
        )
    fits = min(by_shift, key=lambda fits: min(float(np.mean(r**2)) for _, _, r in fits))
    best = min(fits, key=lambda fit: float(np.sum(fit[2] ** 2)))
    level = float(learned_noise(np.tile(best[2], 2), np.full(6, 1e-6))[0])
    of_fits = [trial for trial in trials for _ in range(2)]
    logs = [
        -0.5 * float(np.sum(residual**2) / level**2 + np.sum(bias**2) / _BIAS**2)
        - _STRONG * (len(trial.notes) + 3 * (trial.turn is not None))
        for trial, (_, bias, residual) in zip(of_fits, fits, strict=True)
    ]
    chosen = int(np.argmax(logs[::2]))
    masses = [mass for mass, _, _ in fits]
    mine = masses[2 * chosen]
    near = [
        mass
        for mass, log in zip(masses, logs, strict=True)
        if log > logs[2 * chosen] - _STRONG and abs(mass - mine) > _SAME_MASS * mine
    ]
    found = sorted({round(mass, 3) for mass in near})
    return replace(trials[chosen], masses=(mine, *found) if found or not mine > 0 else ())


def _fitted(force: Array, a: Array) -> tuple[float, Array, Array]:
    """Mass, bias (3,) and residual (K, 3) of `f = m a + b` with a mass that isn't negative."""
    # The bias is held back by its prior, lest it stand for a weight that doesn't turn.
    pull = 1.0 / (1.0 + len(force) * _BIAS**2)
    f0, a0 = (1.0 - pull) * force.mean(axis=0), (1.0 - pull) * a.mean(axis=0)
    f, x = force - f0, a - a0
    mass = max(float(np.sum(f * x)) / max(float(np.sum(x**2)), 1e-12), 0.0)
    return mass, f0 - mass * a0, f - mass * x


def _turn(force: Array, a: Array) -> Array:
    """Rotation Q of the best `f = m Q a + b`, shape (3, 3) (Kabsch 1976)."""
    U, _, Vt = np.linalg.svd((force - force.mean(axis=0)).T @ (a - a.mean(axis=0)))
    D = np.array([1.0, 1.0, np.sign(np.linalg.det(U @ Vt)) or 1.0])
    return np.asarray((U * D) @ Vt)


def _is_spatial(a: Array) -> bool:
    """Whether the accelerations span all directions: then a turn is known about each axis."""
    spread = np.linalg.svd(a - a.mean(axis=0), compute_uv=False)
    return bool(spread[-1] > 0.1 * spread[0])


def _angle(R: Array) -> float:
    return float(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0)))
