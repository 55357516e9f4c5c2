# SPDX-License-Identifier: Apache-2.0
r"""Projection of an identified robot onto the terms that an export format supports.

The parameters of the remaining terms cannot simply be copied: the friction described by omitted
terms (such as presliding and load-dependent friction) would be missing, and Coulomb friction that was fitted together
with these terms is too small. The remaining parameters are therefore fitted again to the recorded
motion, with unchanged inertial parameters, `min_x sum_k rho(tau_k - Y_k pi - Phi_k x)`, with
Huber's rho (Huber 1964, Ann. Math. Stat. 35) whose width follows from the residual, and `x >= 0`
where physics requires it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from sysid_core.errors import ModelError
from sysid_core.estimation.arm import Identification
from sysid_core.robot import (
    Array,
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    Spring,
    SpringLaw,
)
from sysid_core.robot.loops import DrivenRobot
from sysid_core.settings import Kind
from sysid_core.signals import Recording


class Target(Kind):
    """File format of an export; its value is the name on the command line."""

    URDF = "urdf"
    MJCF = "mjcf"  # MuJoCo
    SDF = "sdf"  # Gazebo, Drake
    USD = "usd"  # Isaac Sim and Isaac Lab
    C = "c"  # a controller of one's own
    ROS2_CONTROL = "ros2_control"  # C, and parameters of this package's controllers on it

    @property
    def terms(self) -> tuple[FrictionTerm, ...]:
        """Friction terms that the format supports; only C supports torque ripple and terms with
        memory.
        """
        return _TERMS[self]

    @property
    def holds_all(self) -> bool:
        """True if the format supports every term, including springs and couplings."""
        return self in _WHOLE

    @property
    def holds_springs(self) -> bool:
        """True if the format supports one linear spring per joint."""
        return self in (*_WHOLE, Target.MJCF)

    def tolerance(self, torque: float) -> float:
        """Return the largest torque difference between the file and the identified model that is
        attributed to rounding [N m].

        The relative tolerance is 1e-9 for numbers in double precision, and 1e-5 for USD, whose
        numbers have single precision. For torques above 100 N m the tolerance grows in proportion,
        because rounding is relative.

        Args:
            torque: Largest compared torque [N m].
        """
        return (1e-5 if self is Target.USD else 1e-9) * max(1.0, torque / 100.0)


_DRY_AND_VISCOUS = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS)
_WITH_ARMATURE = (*_DRY_AND_VISCOUS, FrictionTerm.INERTIA)
_WHOLE = (Target.C, Target.ROS2_CONTROL)
_TERMS = {
    Target.URDF: _DRY_AND_VISCOUS,  # <dynamics friction damping>
    # frictionloss, damping, armature; the offset is the motor's bias
    Target.MJCF: (*_WITH_ARMATURE, FrictionTerm.OFFSET),
    Target.SDF: _DRY_AND_VISCOUS,  # <dynamics><friction><damping>
    Target.USD: _WITH_ARMATURE,  # physxJointAxis: friction efforts, viscous coefficient, armature
    Target.C: tuple(FrictionTerm),
    Target.ROS2_CONTROL: tuple(FrictionTerm),
}


# Huber's width in standard deviations: 95 % of the efficiency of least squares under normal errors.
HUBER = 1.345
_NORMAL = 1.4826  # standard deviation of normal errors over their median magnitude
ENOUGH = (
    20_000  # samples, evenly spread: a few parameters of each joint are known to 1 % from fewer
)
COUPLINGS, SPRINGS = "couplings", "springs"
SMOOTH_SIGN = "smooth_sign"  # of Coulomb friction: simulators' jumps with the velocity's sign


@dataclass(frozen=True, eq=False)
class Projection:
    """Robot model with only those terms that a file format supports.

    Attributes:
        model: Robot with the identified inertial parameters.
        friction: Friction terms that the format supports, and the drives that convert torques to
            recorded efforts.
        values: Friction parameters, shape (p,), in the order of `friction.names`.
        lost: Terms that the format lacks: friction terms, the smooth sign function, couplings,
            springs.
    """

    model: RobotModel
    friction: FrictionModel
    values: Array
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=float)
        if values.shape != (len(self.friction.names),) or not np.all(np.isfinite(values)):
            raise ModelError(
                f"The friction model has {len(self.friction.names)} parameters, but the values are {values}.",
                remedy="Give a finite value for each of the model's names.",
            )
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def of(self, symbol: str) -> Array:
        """Return the values of one friction symbol, such as `F_c`, for all joints, shape (n,); 0 if
        a joint lacks it.
        """
        known = dict(zip(self.friction.names, self.values.tolist(), strict=True))
        return np.array([known.get(f"{j}.{symbol}", 0.0) for j in self.model.joint_names])

    def without_dry_friction(self) -> Projection:
        """Copy without Coulomb friction, whose torques are smooth."""
        dry = np.array([name.endswith(".F_c") for name in self.friction.names], dtype=bool)
        model = self.model
        if isinstance(model, DrivenRobot):
            chain = model.chain
            slippery = {j: replace(chain.drive(j), F_c=0.0) for j in chain.passive}
            model = DrivenRobot.of(chain.with_drives(slippery))
        return replace(self, model=model, values=np.where(dry, 0.0, self.values))

    def friction_torques(self, q: Array, v: Array, a: Array, rigid: Array) -> Array:
        """Return the torques of friction, drives and known springs; (K, n) to (K, n)."""
        drives = self.friction.drives
        ones = replace(drives, gains=np.ones(len(drives.joint_names)))
        tau = self.friction.regressor(q, v, a, rigid) @ self.values
        return np.asarray(ones.efforts(tau, q))

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Drive torques along a motion without gaps, shapes (K, n) to (K, n) [N m]."""
        rigid = self.model.inverse_dynamics(q, v, a)
        known = self.model.passive_torques(q, v, a)
        return rigid + known + self.friction_torques(q, v, a, rigid)


@dataclass(frozen=True, eq=False)
class Projections:
    """Robot model with the terms of a file format, and the terms that the format lacks.

    Attributes:
        robot: Robot with the terms that the format supports.
        given_back: Robot with one of the lost terms added, by the name of the term.
        whole: Robot with all terms, fitted in the same way.
    """

    robot: Projection
    given_back: Mapping[str, Projection]
    whole: Projection


def inside(identification: Identification) -> Projection:
    """Return the identified robot with all its terms."""
    values = list(identification.friction_parameters.values())
    model = identification.model.with_pi(identification.pi)
    return Projection(model, identification.friction, np.array(values))


def projections(
    identification: Identification, recordings: Sequence[Recording], target: Target
) -> Projections:
    """Return the model of a robot in a file format, and the same with each lost term restored."""
    if target.holds_all:
        whole = inside(identification)
        return Projections(whole, {}, whole)
    motions = _motions(identification, recordings)
    one = _projected(identification, motions, target)
    given_back = {n: _projected(identification, motions, target, (n,)) for n in one.lost}
    whole = _projected(identification, motions, target, one.lost) if one.lost else one
    return Projections(one, given_back, whole)


def lost_in(friction: FrictionModel, target: Target) -> tuple[str, ...]:
    """Return the terms of a friction model for which the target has no field."""
    if target.holds_all:
        return ()
    drives = friction.drives
    lost = [term.value for term in friction.all_terms if term not in target.terms]
    smooth = FrictionTerm.COULOMB in friction.all_terms and friction.coulomb_velocity > 0.0
    lost += [SMOOTH_SIGN] if smooth else []
    lost += [COUPLINGS] if drives.couplings else []
    kept = [spring for spring in _linear_springs(drives) if target.holds_springs]
    linear = [spring for spring in drives.springs if spring.law is SpringLaw.LINEAR]
    lost += [SPRINGS] if len(kept) < len(drives.springs) or len(linear) < len(kept) else []
    return tuple(lost)


def _linear_springs(drives: DriveTrain) -> list[Spring]:
    """Joint springs as linear springs with unknown parameters; axes with several springs get
    none.
    """
    axes = [spring.axis for spring in drives.springs]
    return [
        Spring(spring.axis, anchors=spring.anchors, zero=spring.zero, identified=True)
        for spring in drives.springs
        if spring.axis in drives.joint_names and axes.count(spring.axis) == 1
    ]


@dataclass(frozen=True, eq=False)
class _Motion:
    """Gapless motion: positions, derivatives, rigid-body torques and efforts, (K, n)."""

    q: Array
    v: Array
    a: Array
    rigid: Array
    effort: Array


def _motions(identification: Identification, recordings: Sequence[Recording]) -> list[_Motion]:
    """Motions of all recordings, filtered as for the fit, without samples at standstill."""
    model = identification.model.with_pi(identification.pi)
    out = []
    for recording in recordings:
        for span in identification.processing.prepare(model, recording, identification.friction):
            q, v, a = span.motion.kinematics
            assert span.motion.effort is not None  # `prepare` has seen to it
            effort = span.motion.effort * identification.friction.drives.gains
            effort -= model.passive_torques(q, v, a)
            out.append(_Motion(q, v, a, model.inverse_dynamics(q, v, a), effort))
    return out


def _projected(
    identification: Identification,
    motions: Sequence[_Motion],
    target: Target,
    keep: Sequence[str] = (),
) -> Projection:
    lost = tuple(name for name in lost_in(identification.friction, target) if name not in keep)
    friction = _held(identification.friction, target, lost)
    model = identification.model.with_pi(identification.pi)
    plain = replace(friction.drives, gains=np.ones(model.nv))
    stride = -(-sum(len(m.q) for m in motions) // ENOUGH)
    Phi, tau = [], []
    for m in motions:
        moving = np.any(np.abs(m.v) > identification.processing.moving, axis=1)
        rows = np.flatnonzero(moving if np.any(moving) else ~moving)[::stride]
        Phi.append(friction.regressor(m.q, m.v, m.a, m.rigid)[rows])
        tau.append((plain.torques(m.effort, m.q) - m.rigid)[rows])
    lower = np.where(friction.non_negative, 0.0, -np.inf)
    regressor, torques = np.concatenate(Phi), np.concatenate(tau)
    if not (np.isfinite(regressor).all() and np.isfinite(torques).all()):
        raise ModelError(
            f"The torques of '{model.name}' along the recordings are not finite.",
            remedy="Give the result as `sysid identify` wrote it.",
        )
    return Projection(model, friction, _robust_fit(regressor, torques, lower), lost)


def _held(friction: FrictionModel, target: Target, lost: Sequence[str]) -> FrictionModel:
    """Friction model without the terms that the target format cannot represent; joint springs are
    refitted if the format has them."""
    drives = friction.drives
    keep_springs, smooth = (
        name not in lost and name in lost_in(friction, target) for name in (SPRINGS, SMOOTH_SIGN)
    )
    springs = tuple(_linear_springs(drives)) if target.holds_springs else ()
    couplings = {} if COUPLINGS in lost else drives.couplings
    axes = DriveTrain(drives.joint_names, drives.gains, couplings).axis_names
    waves = {
        kind: {axis: per_turn for axis, per_turn in of_axes.items() if axis in axes}
        for kind, of_axes in drives.waves.items()
    }
    drives = DriveTrain(
        drives.joint_names,
        drives.gains,
        couplings,
        waves,
        drives.springs if keep_springs else springs,
    )

    def kept(terms: Sequence[FrictionTerm]) -> tuple[FrictionTerm, ...]:
        return tuple(dict.fromkeys((*target.terms, *(t for t in terms if t.value not in lost))))

    own = {axis: kept(ts) for axis, ts in friction.own_terms.items() if axis in drives.axis_names}
    v_0 = friction.coulomb_velocity if smooth else 0.0
    terms = kept(friction.terms)
    return replace(friction, drives=drives, terms=terms, own_terms=own, coulomb_velocity=v_0)


def _robust_fit(Phi: Array, tau: Array, lower: Array) -> Array:
    """Parameters by Huber's criterion, with each joint scaled by its residual.

    Args:
        Phi: Regressor, shape (K, n, p).
        tau: Torques, shape (K, n) [N m].
        lower: Lower bounds of the parameters, shape (p,).
    """
    x = np.zeros(Phi.shape[2])
    for columns in _separate(Phi):
        joints = np.flatnonzero(np.any(Phi[:, :, columns] != 0.0, axis=(0, 2)))
        A, b = Phi[:, joints][:, :, columns], tau[:, joints]
        scale = np.maximum(np.linalg.norm(A, axis=(0, 1)), np.finfo(float).tiny)
        first = np.linalg.lstsq((A / scale).reshape(-1, len(columns)), b.ravel(), rcond=None)[0]
        spread = _NORMAL * np.median(np.abs(b - (A / scale) @ first), axis=0)
        # A fit without residuals (exact data) has no scale of its own: rounding is its scale.
        spread = np.maximum(spread, 1e-12 * (1.0 + np.abs(b).max(axis=0)))
        J = (A / scale / spread[:, None]).reshape(-1, len(columns))
        y = (b / spread).ravel()
        bound = lower[columns] * scale
        found = least_squares(
            lambda x, J=J, y=y: J @ x - y,
            np.maximum(first, bound + 1e-12 * np.isfinite(bound)),
            jac=lambda x, J=J: J,
            bounds=(bound, np.inf),
            loss="huber",
            f_scale=HUBER,
            x_scale="jac",
        )
        x[columns] = found.x / scale
    return x


def _separate(Phi: Array) -> list[list[int]]:
    """Groups of columns that share a joint; without couplings, every joint is fitted separately."""
    joints = np.any(Phi != 0.0, axis=0)  # (n, p)
    groups: list[tuple[set[int], list[int]]] = []
    for column in range(joints.shape[1]):
        own = set(np.flatnonzero(joints[:, column]).tolist())
        if not own:
            continue  # never excited: stays zero
        same = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        columns = sorted([column, *(c for _, cs in same for c in cs)])
        groups.append((own.union(*(js for js, _ in same)), columns))
    return [columns for _, columns in groups]
