# SPDX-License-Identifier: Apache-2.0
r"""Friction and drive inertia as torques that are linear in their parameters.

Every axis (a joint, or a drive that moves several joints) has a friction torque that is a sum of
selectable terms. The usual model is `F_c sign(v) + F_v v + I_a a + beta` (Zhang et al. 2024,
section III); further terms describe effects that were measured on real geared arms. `s = tanh(v /
v_0)` is the smooth sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError, ModelError
from sysid_core.robot.drives import WAVE_KINDS, DriveTrain, Spring
from sysid_core.robot.inertia import Array
from sysid_core.settings import Kind, words


class FrictionTerm(Kind):
    """Friction term of an axis; its value is the name on the command line."""

    COULOMB = "coulomb"
    VISCOUS = "viscous"
    OFFSET = "offset"
    INERTIA = "inertia"
    ASYMMETRY = "asymmetry"
    STRIBECK = "stribeck"
    PLAY = "play"
    LOAD = "load"
    SATURATION = "saturation"
    THINNING = "thinning"
    BREAKAWAY = "breakaway"
    # One pair of parameters for every one of the axis' waves, w of them per turn of it:
    RIPPLE = "ripple"
    RUNOUT = "runout"
    SPEED_RIPPLE = "speed_ripple"
    SPEED_RUNOUT = "speed_runout"

    @classmethod
    def listed(cls, text: str) -> tuple[FrictionTerm, ...]:
        """Return the friction terms of a comma-separated list; 'usual' and 'geared' stand for
        several terms.

        Raises:
            EstimationError: A term is unknown.
        """
        groups = {"usual": USUAL_TERMS, "geared": GEARED_ARM_TERMS}
        try:
            named = [groups[word] if word in groups else (cls(word),) for word in words(text)]
            return tuple(dict.fromkeys(term for terms in named for term in terms))
        except ValueError as err:
            raise EstimationError(
                f"The friction terms '{text}' are not known: {err}.",
                remedy=f"'auto', or with commas of usual, geared, {', '.join(cls)}.",
            ) from err

    @property
    def torque(self) -> str:
        """Formula of the torque, with s = tanh(v / v_0), where v_0 is a small velocity."""
        return _TORQUES[self][0]

    @property
    def purpose(self) -> str:
        """Physical effect that the term models."""
        return _TORQUES[self][1]

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of the parameters of the term; those of waves end with the number of waves per
        turn.
        """
        return _SYMBOLS[self]

    @property
    def waves(self) -> bool:
        """True if the term has two parameters (cosine and sine) for each wave of the axis."""
        return self.value in WAVE_KINDS

    @property
    def unit(self) -> str:
        """Unit of the term's parameters, for revolute joints."""
        return _UNITS.get(self, "N m")


# Torque and effect of each term, as the reference lists them.
_TORQUES = {
    FrictionTerm.COULOMB: ("F_c s", "dry friction"),
    FrictionTerm.VISCOUS: ("F_v v", "friction of lubricants"),
    FrictionTerm.OFFSET: ("beta", "constant error of the effort"),
    FrictionTerm.INERTIA: ("I_a a", "inertia of the rotor, on the joint side of the gear"),
    FrictionTerm.ASYMMETRY: ("F_a abs(s)", "different Coulomb friction in the two directions"),
    FrictionTerm.STRIBECK: ("F_s s exp(-(v/v_s)^2)", "friction that changes at low speed"),
    FrictionTerm.PLAY: (
        "F_p z(q)",
        "presliding friction at reversals and standstill; z follows the motion within [-1, 1] over 0.2 mrad",
    ),
    FrictionTerm.LOAD: ("F_l abs(tau_rb) s", "friction of gears under load"),
    FrictionTerm.SATURATION: ("F_k tau_rb abs(tau_rb)", "lower torque constant at high current"),
    FrictionTerm.THINNING: ("F_t s sqrt(abs(v))", "shear-thinning grease"),
    FrictionTerm.BREAKAWAY: (
        "F_b (s - z(q))",
        "higher friction at the start of motion after a reversal; z as above over 0.02 rad",
    ),
    FrictionTerm.RIPPLE: ("F_rc cos(w q) + F_rs sin(w q)", "torque ripple of gears, cogging"),
    FrictionTerm.RUNOUT: (
        "s (F_oc cos(w q) + F_os sin(w q))",
        "friction that depends on the angle: shafts, seals and gears that are not round",
    ),
    FrictionTerm.SPEED_RIPPLE: (
        "v (F_wc cos(w q) + F_ws sin(w q))",
        "response of the speed controller to errors of its angle sensor",
    ),
    FrictionTerm.SPEED_RUNOUT: (
        "abs(v) (F_uc cos(w q) + F_us sin(w q))",
        "`runout` with a lag of the controller",
    ),
}
_SYMBOLS = {
    FrictionTerm.COULOMB: ("F_c",),
    FrictionTerm.VISCOUS: ("F_v",),
    FrictionTerm.INERTIA: ("I_a",),
    FrictionTerm.OFFSET: ("beta",),
    FrictionTerm.ASYMMETRY: ("F_a",),
    FrictionTerm.STRIBECK: ("F_s",),
    FrictionTerm.PLAY: ("F_p",),
    FrictionTerm.LOAD: ("F_l",),
    FrictionTerm.SATURATION: ("F_k",),
    FrictionTerm.THINNING: ("F_t",),
    FrictionTerm.BREAKAWAY: ("F_b",),
    FrictionTerm.RIPPLE: ("F_rc", "F_rs"),
    FrictionTerm.RUNOUT: ("F_oc", "F_os"),
    FrictionTerm.SPEED_RIPPLE: ("F_wc", "F_ws"),
    FrictionTerm.SPEED_RUNOUT: ("F_uc", "F_us"),
}
_UNITS = {
    FrictionTerm.VISCOUS: "N m s/rad",
    FrictionTerm.INERTIA: "kg m^2",
    FrictionTerm.LOAD: "1",
    FrictionTerm.SATURATION: "1/(N m)",
    FrictionTerm.THINNING: "N m (s/rad)^0.5",
    FrictionTerm.SPEED_RIPPLE: "N m s/rad",
    FrictionTerm.SPEED_RUNOUT: "N m s/rad",
}
_SLIDING = {  # of axes that turn to those of axes that slide
    "N m": "N",
    "N m s/rad": "N s/m",
    "kg m^2": "kg",
    "1/(N m)": "1/N",
    "N m (s/rad)^0.5": "N (s/m)^0.5",
    "N m/rad": "N/m",
}
_NON_NEGATIVE = ("F_c", "F_v", "I_a", "F_l", "F_p", "F_b")

USUAL_TERMS = (
    FrictionTerm.COULOMB,
    FrictionTerm.VISCOUS,
    FrictionTerm.INERTIA,
    FrictionTerm.OFFSET,
)
GEARED_ARM_TERMS = (
    *USUAL_TERMS,
    FrictionTerm.STRIBECK,
    FrictionTerm.PLAY,
    FrictionTerm.LOAD,
    FrictionTerm.SATURATION,
)
_JOINT_TERMS = (
    FrictionTerm.OFFSET,
    FrictionTerm.ASYMMETRY,
    FrictionTerm.LOAD,
    FrictionTerm.SATURATION,
)
_LOAD_TERMS = (FrictionTerm.LOAD, FrictionTerm.SATURATION)


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Friction terms of each axis (a joint or a coupled motor axis).

    Attributes:
        drives: Joints, coupled axes and gear ratios.
        terms: Terms of every axis, in the order of its parameters.
        own_terms: Friction terms of the axes whose terms differ from `terms`, by axis name.
        coulomb_velocity: v_0 of the smooth sign tanh(v / v_0) [rad/s]; 0: discontinuous sign.
        stribeck_velocity: Velocity v_s in the Stribeck term exp(-(v/v_s)^2) [rad/s].
        play_width: Displacement after a velocity reversal over which the presliding friction
            changes sign [rad].
        breakaway_width: Displacement after a velocity reversal over which the breakaway friction
            decays [rad].

    Raises:
        ModelError: A term is named twice, an axis is unknown, a width or velocity is not positive,
            or numbers of waves per turn are missing.

    References:
        Swevers, Verdonck, De Schutter 2007 (friction in the regressor of a robot).

    Examples:
        >>> model = FrictionModel(DriveTrain.direct(["j1"]), (FrictionTerm.COULOMB,))
        >>> model.names
        ('j1.F_c',)
    """

    drives: DriveTrain
    terms: tuple[FrictionTerm, ...] = USUAL_TERMS
    own_terms: Mapping[str, tuple[FrictionTerm, ...]] = field(default_factory=dict)
    coulomb_velocity: float = 0.005
    stribeck_velocity: float = 0.3
    play_width: float = 2e-4
    breakaway_width: float = 0.02

    def __post_init__(self) -> None:
        own = {axis: tuple(FrictionTerm(t) for t in ts) for axis, ts in self.own_terms.items()}
        object.__setattr__(self, "terms", tuple(FrictionTerm(t) for t in self.terms))
        object.__setattr__(self, "own_terms", own)
        for terms in (self.terms, *own.values()):
            if len(set(terms)) != len(terms):
                raise ModelError(
                    f"A friction term is named twice: {[t.value for t in terms]}.",
                    remedy="Name each once.",
                )
        strangers = [axis for axis in own if axis not in self.drives.axis_names]
        if strangers:
            raise ModelError(
                f"Friction terms are given for unknown axes {strangers}.",
                remedy=f"Axes: {', '.join(self.drives.axis_names)}.",
            )
        for key in ("coulomb_velocity", "stribeck_velocity", "play_width", "breakaway_width"):
            value, sharp = getattr(self, key), key == "coulomb_velocity"
            if not (value > 0.0 or (sharp and value == 0.0)):
                raise ModelError(
                    f"'{key}' of the friction model must be positive.",
                    remedy="Omit it to use the default.",
                )
        still = [t.value for t in self.all_terms if t.waves and not self.drives.waves.get(t.value)]
        if still:
            raise ModelError(
                f"The friction terms {still} need the number of waves per turn of the axes.",
                remedy=f"Give `drives: {{{still[0]}: {{JOINT: [WAVES, ...]}}}}` in the column map,"
                " or remove these terms from the model.",
            )

    @property
    def all_terms(self) -> tuple[FrictionTerm, ...]:
        """Terms that at least one axis has, in the order of `FrictionTerm`."""
        used = {term for i in range(len(self.drives.axis_names)) for term in self._asked(i)}
        return tuple(term for term in FrictionTerm if term in used)

    def with_terms(self, more: Sequence[FrictionTerm]) -> FrictionModel:
        """Return a copy with additional terms at every axis."""

        def joined(terms: Sequence[FrictionTerm]) -> tuple[FrictionTerm, ...]:
            return tuple(dict.fromkeys((*terms, *more)))

        own = {axis: joined(terms) for axis, terms in self.own_terms.items()}
        return replace(self, terms=joined(self.terms), own_terms=own)

    def terms_of(self, axis: str) -> tuple[FrictionTerm, ...]:
        """Return the terms of an axis."""
        return self._terms_of(self.drives.axis_names.index(axis))

    def _asked(self, axis: int) -> tuple[FrictionTerm, ...]:
        return self.own_terms.get(self.drives.axis_names[axis], self.terms)

    def _terms_of(self, axis: int) -> tuple[FrictionTerm, ...]:
        """Terms of an axis; a coupled axis has only those that can be distinguished from the
        friction of its joints.
        """
        name = self.drives.axis_names[axis]
        terms = tuple(
            t for t in self._asked(axis) if not t.waves or self.drives.waves_of(t.value, name)
        )
        if axis < len(self.drives.joint_names):
            return terms
        return tuple(t for t in terms if t not in _JOINT_TERMS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, such as `elbow_joint.F_c`, axis by axis."""
        return tuple(
            name
            for i, axis in enumerate(self.drives.axis_names)
            for term in self._terms_of(i)
            for name in self.parameters_of(axis, term)
        ) + tuple(f"{s.axis}.{symbol}" for s in self._found_springs for symbol in s.symbols)

    @property
    def _found_springs(self) -> tuple[Spring, ...]:
        """Springs with unknown parameters, whose regressor columns follow those of friction."""
        return tuple(spring for spring in self.drives.springs if spring.identified)

    def parameters_of(self, axis: str, term: FrictionTerm) -> tuple[str, ...]:
        """Return the names of the parameters of one term at an axis, such as `elbow_joint.F_rc_202`
        for a wave.
        """
        if not term.waves:
            return tuple(f"{axis}.{symbol}" for symbol in term.symbols)
        # A dot would part the name from the axis.
        labels = [f"{w:.12g}".replace(".", "p") for w in self.drives.waves_of(term.value, axis)]
        return tuple(f"{axis}.{symbol}_{label}" for label in labels for symbol in term.symbols)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each parameter, for revolute axes."""
        return self.units_of(())

    def units_of(self, sliding: Sequence[str]) -> tuple[str, ...]:
        """Return the unit of each parameter, with forces for prismatic axes.

        Args:
            sliding: Names of the prismatic joints (efforts are forces, positions in metres).
        """
        units = [
            (axis, term.unit)
            for i, axis in enumerate(self.drives.axis_names)
            for term in self._terms_of(i)
            for _ in self.parameters_of(axis, term)
        ]
        units += [(s.axis, unit) for s in self._found_springs for unit in s.units]
        return tuple(_SLIDING.get(u, u) if axis in sliding else u for axis, u in units)

    @property
    def non_negative(self) -> tuple[bool, ...]:
        """Mask of the parameters that must not be negative."""
        return tuple(name.rsplit(".", 1)[1] in _NON_NEGATIVE for name in self.names)

    @property
    def needs_load(self) -> bool:
        """True if a term depends on the rigid-body torque."""
        return any(term in _LOAD_TERMS for term in self.all_terms)

    def regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, load: ArrayLike | None = None
    ) -> Array:
        r"""Return the regressor Phi of one span without gaps, `tau_friction = Phi @ parameters`.

        Args:
            q: Joint positions, shape (K, n) [rad].
            v: Joint velocities, shape (K, n) [rad/s].
            a: Joint accelerations, shape (K, n) [rad/s^2].
            load: Rigid-body torques, shape (K, n) [N m]; required for the terms LOAD and
                SATURATION.

        Returns:
            Regressor Phi, shape (K, n, p).

        Raises:
            ModelError: A term requires the load, but it is not given.
        """
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        if self.needs_load and load is None:
            raise ModelError(
                "Load-dependent friction needs the rigid-body torques.",
                remedy="Give the rigid-body torques as `load`, shape (K, n).",
            )
        load = None if load is None else np.asarray(load, dtype=float)
        S = self.drives.axis_matrix
        Phi = np.zeros((*q.shape, len(self.names)))
        column = 0
        for i, weights in enumerate(S):
            q_i, v_i, a_i = q @ weights, v @ weights, a @ weights
            for term in self._terms_of(i):
                for values in self._values(term, i, q_i, v_i, a_i, load):
                    Phi[:, :, column] = values[:, None] * weights
                    column += 1
        for spring in self._found_springs:
            weights = S[self.drives.axis_names.index(spring.axis)]
            for values in spring.functions(q @ weights):
                Phi[:, :, column] = -values[:, None] * weights  # the drives needn't give it
                column += 1
        return Phi

    def _values(
        self, term: FrictionTerm, i: int, q: Array, v: Array, a: Array, load: Array | None
    ) -> Sequence[Array]:
        """Functions of the term at one axis, each of shape (K,)."""
        sign = FrictionModel.smooth_sign(v, self.coulomb_velocity)
        if term is FrictionTerm.COULOMB:
            return (sign,)
        if term is FrictionTerm.VISCOUS:
            return (v,)
        if term is FrictionTerm.INERTIA:
            return (a,)
        if term is FrictionTerm.OFFSET:
            return (np.ones_like(v),)
        if term is FrictionTerm.ASYMMETRY:
            return (np.abs(sign),)
        if term is FrictionTerm.STRIBECK:
            return (sign * np.exp(-((v / self.stribeck_velocity) ** 2)),)
        if term is FrictionTerm.PLAY:
            return (play(q, self.play_width),)
        if term is FrictionTerm.BREAKAWAY:
            return (sign - play(q, self.breakaway_width),)
        if term is FrictionTerm.THINNING:
            return (sign * np.sqrt(np.abs(v)),)
        if term.waves:
            size = {
                FrictionTerm.RIPPLE: 1.0,
                FrictionTerm.RUNOUT: sign,
                FrictionTerm.SPEED_RIPPLE: v,
                FrictionTerm.SPEED_RUNOUT: np.abs(v),
            }[term]
            angles = [w * q for w in self.drives.waves_of(term.value, self.drives.axis_names[i])]
            return [size * wave(angle) for angle in angles for wave in (np.cos, np.sin)]
        assert load is not None  # checked in `regressor`
        if term is FrictionTerm.SATURATION:
            return (load[:, i] * np.abs(load[:, i]),)
        return (np.abs(load[:, i]) * sign,)

    def slopes(self, v: Array) -> dict[FrictionTerm, Array]:
        """Return the derivatives with respect to velocity of the terms that depend smoothly on it,
        each (K, n).
        """
        sign = FrictionModel.smooth_sign(v, self.coulomb_velocity)
        sharp = (1.0 - sign**2) / self.coulomb_velocity
        bell = np.exp(-((v / self.stribeck_velocity) ** 2))
        return {
            FrictionTerm.COULOMB: sharp,
            FrictionTerm.VISCOUS: np.ones_like(v),
            FrictionTerm.ASYMMETRY: sharp * np.sign(sign),
            FrictionTerm.STRIBECK: bell * (sharp - 2.0 * v * sign / self.stribeck_velocity**2),
        }

    @staticmethod
    def smooth_sign(v: Array, width: float) -> Array:
        """Smoothed sign of the velocity in [-1, 1], with the same shape as v and a transition of
        `width` [rad/s]; the exact sign if `width` is 0.
        """
        return np.tanh(v / width) if width > 0.0 else np.sign(v)

    @staticmethod
    def usual_torques(parameters: Array, v: Array, a: Array) -> Array:
        """Return the torque of the standard friction and drive model for all joints, `F_c sign(v) +
        F_v v + I_a a + beta`.

        Args:
            parameters: Parameters `[F_c, F_v, I_a, beta]` of every joint, shape (n, 4).
            v: Joint velocities, shape (K, n) [rad/s].
            a: Joint accelerations, shape (K, n) [rad/s^2].

        Returns:
            Friction torques, shape (K, n) [N m].
        """
        F_c, F_v, I_a, beta = np.moveaxis(parameters, -1, 0)
        return np.asarray(F_c * FrictionModel.smooth_sign(v, 0.0) + F_v * v + I_a * a + beta)


def play(q: ArrayLike, width: float) -> Array:
    """Play operator (hysteresis): follows the motion within [-1, 1] and reverses within `width`;
    (K,) to (K,).

    At standstill, friction keeps the value that it had at the end of the motion.
    """
    steps = np.diff(np.asarray(q, dtype=float), prepend=np.asarray(q, dtype=float)[:1]) / width
    z, out = 0.0, np.empty(len(steps))
    for k, step in enumerate(steps.tolist()):
        z = min(1.0, max(-1.0, z + step))
        out[k] = z
    return out
