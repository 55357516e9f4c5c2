# SPDX-License-Identifier: Apache-2.0
"""Hypotheses about faults of recordings and robot descriptions, each with its correction and its
prior odds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.diagnosis.motion import DENSITY
from sysid_core.diagnosis.samples import LAGS, Samples
from sysid_core.robot import Array, RobotModel, is_physically_consistent, pseudo_inertia_from_pi
from sysid_core.settings import Kind

STEP = np.radians(30.0)
FACTORS = (0.03, 0.1, 0.3, 0.5, 2.0, 3.0, 10.0, 30.0)  # of gains
CLOCKS = FACTORS[1:-1]  # of time stamps; if still slower, inertia would vanish
# Logarithm of a factor that all masses of a description are off by: densities of plastic, aluminium and steel
# are each two to three times the next, a pound is half a kilogram.
MASSES_SD = np.log(2.0)
# Density of a description [kg/m^3], see `apparent_density`, and the spread of its logarithm: Student's t with two
# degrees of freedom, fitted to the 66 descriptions of example-robot-data: half are within a factor of 1.4 of the median,
# and a fifth is off by more than three.
_USUAL_DENSITY, _DENSITY_SPREAD = 840.0, 0.5


class Fault(Kind):
    """Kind of fault of a recording or of a robot description."""

    NONE = "as declared"
    GRAVITY_COMPENSATED = "gravity-compensated efforts"
    EFFORT_SIGN = "effort sign"
    POSITION_SIGN = "position sign"
    JOINT_SIGN = "joint sign"
    EFFORT_ORDER = "effort order"
    POSITION_ORDER = "position order"
    JOINT_ORDER = "joint order"
    ANGLE_UNIT = "angle unit"
    ZERO_ANGLE = "zero angle"
    MOUNTING = "mounting"
    GAIN = "gain"
    EFFORT_UNIT = "effort unit"
    CLOCK = "clock"
    LAG = "lag"
    TOOL = "tool"
    TOOL_CHANGE = "tool attached or removed"
    MASSES = "masses of the description"
    OTHER_ROBOT = "another robot"
    SILENT = "efforts unrelated to the motion"


# Share of recordings with such a fault, by what is met, to a factor of three: tools differ most often, then what a
# column map declares. Spread evenly over the causes of a kind (all joints, or one), then over joints, pairs and sizes.
_OFTEN, _SOMETIMES, _SELDOM = 0.1, 0.03, 0.01
SHARES = (
    dict.fromkeys(Fault, _SOMETIMES)
    | dict.fromkeys((Fault.TOOL, Fault.MASSES), _OFTEN)
    | dict.fromkeys((Fault.POSITION_SIGN, Fault.POSITION_ORDER, Fault.CLOCK, Fault.SILENT), _SELDOM)
)


def _unchanged(samples: Samples) -> Samples:
    return samples


@dataclass(frozen=True)
class Hypothesis:
    """Hypothesis that one particular fault is present.

    Attributes:
        kind: Class of faults.
        code: Code of the reason that reports the fault; empty: none.
        data: Data of that reason, without the evidence.
        mend: Function that corrects the samples for this fault.
        joint: Index of the joint whose zero, direction or gain is wrong; None if the fault does not
            concern a single joint.
        amount: Angle [rad], factor of a gain or clock [-], lag [s], or share of samples at a load
            change.
        share: Share of this hypothesis in the prior probability of its kind.
        mute: Indices of the joints whose torques are unrelated to the motion.
        tool: Mass of a tool that is missing in the description (positive) or on the robot
            (negative) [kg].
    """

    kind: Fault
    code: str
    data: Mapping[str, object] = field(default_factory=dict)
    mend: Callable[[Samples], Samples] = _unchanged
    joint: int | None = None
    amount: float = 0.0
    share: float = 1.0
    mute: tuple[int, ...] = ()
    tool: float = 0.0

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior odds of this fault relative to faultless data."""
        return 0.0 if self.kind is Fault.NONE else float(np.log(SHARES[self.kind] * self.share))

    @property
    def cause(self) -> tuple[str, str]:
        """Name of the fault without its size; hypotheses that differ only in size share it."""
        if self.kind is Fault.EFFORT_UNIT:
            return "effort-scale", ""
        if self.kind is Fault.OTHER_ROBOT:
            return self.code, ""
        return self.code, f"{' '.join(self.joints)}{self.data.get('hold', '')}"

    @property
    def place(self) -> str:
        """Name of the single joint that is faulty, `tool`, or else the name of the fault."""
        tool = self.kind is Fault.TOOL
        return "tool" if tool else str(self.data.get("joint", "/".join(self.cause)))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that the fault concerns; empty: none in particular."""
        one = self.data.get("joint")
        return (str(one),) if one else tuple(map(str, self.data.get("joints", ())))  # type: ignore[call-overload]


AS_DECLARED = Hypothesis(Fault.NONE, "")


_SIGN_CODES = {  # of one joint, and of several
    Fault.EFFORT_SIGN: ("effort-sign", "effort-signs"),
    Fault.POSITION_SIGN: ("position-sign", "position-signs"),
    Fault.JOINT_SIGN: ("joint-sign", "joint-sign"),
}


def sign_fault(names: tuple[str, ...], joints: Iterable[int], kind: Fault) -> Hypothesis:
    """Return the hypothesis that the efforts, the positions or (kind `JOINT_SIGN`) both have the
    wrong sign at these joints. Each number of several joints is equally likely a priori; only all
    joints together are more likely.
    """
    n, some = len(names), [int(j) for j in joints]
    k, sign = len(some), np.ones(n)
    sign[some] = -1.0

    def mend(s: Samples) -> Samples:
        if kind is not Fault.EFFORT_SIGN:
            s = replace(s, q=s.q * sign, v=s.v * sign, a=s.a * sign)
        return s if kind is Fault.POSITION_SIGN else s.with_torques(lambda x: x * sign)

    one, several = _SIGN_CODES[kind]
    if k == 1:
        return Hypothesis(kind, one, {"joint": names[some[0]]}, mend, some[0])
    share = 1.0 / (n * comb(n, k)) if k < n else 1.0
    return Hypothesis(kind, several, {"joints": [names[j] for j in some]}, mend, share=share)


def zero_angle(names: tuple[str, ...], joint: int, angle: float) -> Hypothesis:
    """Return the hypothesis that the zero position of a joint is wrong by an angle [rad]."""

    def mend(s: Samples) -> Samples:
        q = s.q.copy()
        q[:, joint] += angle
        return replace(s, q=q)

    return Hypothesis(
        Fault.ZERO_ANGLE,
        "zero-angle",
        {"joint": names[joint], "degrees": float(np.degrees(angle)), "radians": angle},
        mend,
        joint,
        angle,
    )


def other_gravity(gravity: ArrayLike) -> Hypothesis:
    """Return the hypothesis that the base is mounted in another orientation, given gravity in the
    base frame, shape (3,) [m/s^2].
    """
    g = np.asarray(gravity, dtype=float)
    return Hypothesis(
        Fault.MOUNTING,
        "mounting",
        {
            "gravity": g.tolist(),
            "written": ",".join(f"{x:.3f}" for x in g),
            "mount": ",".join(f"{x:.3f}" for x in mount_of(g)),
        },
        lambda s: s.with_model(s.model.with_gravity(g)),
    )


def mount_of(gravity: Array) -> Array:
    """Return roll, pitch and yaw of a base, (3,) [rad], from gravity in the base frame; yaw is not
    observable.
    """
    up = -np.asarray(gravity, dtype=float) / np.linalg.norm(gravity)
    R = pin.Quaternion.FromTwoVectors(up, np.array([0.0, 0.0, 1.0])).toRotationMatrix()
    return np.asarray(pin.rpy.matrixToRpy(R)) + 0.0


def gain_fault(names: tuple[str, ...], joint: int, factor: float) -> Hypothesis:
    """Return the hypothesis that the recorded torque of a joint is `factor` times its true value."""
    scale = np.ones(len(names))
    scale[joint] = 1.0 / factor
    data = {"joint": names[joint], "factor": factor}
    return Hypothesis(
        Fault.GAIN, "gain", data, lambda s: s.with_torques(lambda x: x * scale), joint, factor
    )


def scale_fault(factor: float, unit: str = "") -> Hypothesis:
    """Return the hypothesis that all recorded torques are `factor` times their true values."""
    return Hypothesis(
        Fault.EFFORT_UNIT,
        "effort-unit" if unit else "effort-scale",
        {"factor": factor, "unit": unit},
        lambda s: s.with_torques(lambda x: x / factor),
        amount=factor,
    )


def mass_fault(model: RobotModel, factor: float) -> Hypothesis:
    """Return the hypothesis that the robot description is wrong by a factor: all torques are
    `factor` times those of its masses.

    No motion can distinguish this fault from `scale_fault`. Only prior knowledge can: typical
    errors of the masses in robot descriptions, and typical densities of robots.
    """
    density = apparent_density(model)

    def worth(x: ArrayLike) -> Array:
        wide, usual = (np.exp(-0.5 * (np.log(x) / sd) ** 2) for sd in (MASSES_SD, DENSITY))
        return np.asarray(wide * (1.0 - usual) + 1e-300)  # a usual factor is as declared

    def likely(value: float) -> float:
        z = np.log(value / _USUAL_DENSITY) / _DENSITY_SPREAD
        return float((1.0 + 0.5 * z**2) ** -1.5)

    share = float(worth(factor) / worth(FACTORS).sum())
    if density is not None:
        share *= likely(factor * density) / likely(density)
    return Hypothesis(
        Fault.MASSES,
        "urdf-masses",
        {"factor": factor},
        lambda s: s.with_model(s.model.with_pi(factor * s.model.pi)),
        amount=factor,
        share=share,
    )


def apparent_density(model: RobotModel) -> float | None:
    """Return the median density of the links [kg/m^3], where each link is the uniform ellipsoid
    with its mass and inertia; None without physically consistent links.
    """
    pi = model.pi[is_physically_consistent(model.pi) & (model.pi[:, 0] > 0.0)]
    if not len(pi):
        return None
    centres = pi[:, 1:4] / pi[:, :1]
    moments = pseudo_inertia_from_pi(pi)[:, :3, :3] / pi[:, :1, None]
    spread = moments - centres[:, :, None] * centres[:, None, :]
    volume = 4.0 / 3.0 * np.pi * np.sqrt(np.maximum(np.linalg.det(5.0 * spread), 1e-300))
    return float(np.median(pi[:, 0] / volume))


def tool_fault(mass: float) -> Hypothesis:
    """Return the hypothesis that the description lacks a tool of about this mass [kg], or, if
    negative, that it contains one that the robot lacks.
    """
    return Hypothesis(Fault.TOOL, "load-lacking" if mass > 0.0 else "load-surplus", tool=mass)


def clock_fault(factor: float) -> Hypothesis:
    """Return the hypothesis that the stamps advance `factor` times too fast."""
    return Hypothesis(
        Fault.CLOCK,
        "stamps",
        {"factor": factor},
        lambda s: s.scaled(rate=factor),
        amount=factor,
    )


def lag_fault(which: int) -> Hypothesis:
    """Return the hypothesis that all efforts are delayed by `LAGS[which]`."""
    return Hypothesis(
        Fault.LAG,
        "efforts-late",
        {"ms": 1e3 * LAGS[which]},
        lambda s: s.with_lag(which),
        amount=LAGS[which],
    )
