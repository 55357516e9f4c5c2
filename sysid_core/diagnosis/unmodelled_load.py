# SPDX-License-Identifier: Apache-2.0
r"""A load on the last link that the robot description or the efforts lack, or that no arm can carry.

`tau_j = s_j tau_URDF,j + friction_j + (Y_last delta)_j` with ten parameters delta common to all joints:
free masses would take the load for the last link's own, only the URDF's can show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sysid_core.diagnosis.samples import LEAST_ROWS, Samples, collect_samples
from sysid_core.errors import SysIdError
from sysid_core.estimation.loaded_arm import with_load
from sysid_core.reasons import Reason, Verdict, failure, warning
from sysid_core.robot import Array, DriveTrain, RobotModel, joint_torque_regressor
from sysid_core.signals import Recording

GAIN = 1.0  # nats of variance held out that the load must explain, mean over joints
_SURE = 4.0  # standard deviations that its mass must be above zero
_FLOOR = 3e-3  # share of variance: less is no evidence
_FOLDS = 4
_OTHER_UNIT = 3.5  # between masses by sensor and by torques: less may be the URDF
_PEAK = 2.0  # times the URDF's limit that a drive may give for a moment
_POSTURES = 200
_OWN = 5  # columns of a joint alone: scale of the URDF's torque, friction


@dataclass(frozen=True)
class UnmodelledLoad:
    """What the torques ask for at the last link beside the URDF's.

    Attributes:
        link: Name of the last link.
        mass: Its mass, URDF errors included; negative where the URDF has too much [kg].
        mass_sd: Standard deviation of that [kg].
        gain: Logarithm of held-out variance that it explains, mean over joints.
    """

    link: str
    mass: float
    mass_sd: float
    gain: float

    @property
    def notable(self) -> bool:
        """Whether it is more than the URDF's own errors are on right data."""
        return self.gain > GAIN and abs(self.mass) > _SURE * self.mass_sd

    @property
    def reason(self) -> Reason:
        """The reason with its evidence."""
        return warning(
            "load-lacking" if self.mass > 0.0 else "load-surplus",
            mass=abs(self.mass),
            sd=self.mass_sd,
            link=self.link,
            less=1.0 - float(np.exp(-self.gain)),
        )


def unmodelled_load(samples: Samples) -> UnmodelledLoad | None:
    """Look for a load on the last link; None where too little moves.

    Args:
        samples: With the faults mended that were found.
    """
    model, used = samples.model, np.flatnonzero(samples.used)
    used = used[np.sum(samples.moving[:, used], axis=0) >= LEAST_ROWS]
    if len(used) < 2:
        return None
    rigid = model.inverse_dynamics(samples.q, samples.v, samples.a)
    Y = joint_torque_regressor(model, samples.q, samples.v, samples.a)[:, :, -10:]
    parts, sides, blocks, joints = [], [], [], []
    for k, j in enumerate(used.tolist()):
        rows = samples.moving[:, j]
        X = np.zeros((int(np.sum(rows)), 10 + _OWN * len(used)))
        X[:, :10] = Y[rows, j]
        own = 10 + _OWN * k
        X[:, own] = rigid[rows, j]
        X[:, own + 1 : own + _OWN] = samples.friction(j)[rows]
        weight = 1.0 / max(float(np.std(samples.tau[rows, j])), 1e-9)
        parts.append(weight * X)
        sides.append(weight * samples.tau[rows, j])
        blocks.append(samples.block[rows])
        joints.append(np.full(len(X), k))
    A, y, joint = np.vstack(parts), np.concatenate(sides), np.concatenate(joints)
    scale = np.linalg.norm(A, axis=0)
    A = A / np.where(scale > 0.0, scale, 1.0)
    block = np.concatenate(blocks)
    x = scipy.linalg.lstsq(A, y, cond=1e-8, check_finite=False)[0]
    bread = np.linalg.pinv(A.T @ A, rcond=1e-10, hermitian=True)
    left = y - A @ x
    scores = np.array([A[block == b].T @ left[block == b] for b in np.unique(block)])
    sd = float(np.sqrt(max((bread @ (scores.T @ scores) @ bread)[0, 0], 0.0)))
    without, with_load = (
        np.log(np.maximum(_held_out(A[:, first:], y, block % _FOLDS, joint), _FLOOR))
        for first in (10, 0)
    )
    return UnmodelledLoad(
        model.body_names[-1],
        float(x[0] / scale[0]) if scale[0] else 0.0,
        float(sd / scale[0]) if scale[0] else float("inf"),
        float(np.mean(without - with_load)),
    )


def _held_out(A: Array, y: Array, fold: Array, joint: Array) -> Array:
    """Share of each joint's variance that fits to the other folds leave, shape (n,)."""
    left = np.zeros(len(y))
    for f in np.unique(fold):
        rest = fold != f
        H = A[rest].T @ A[rest] + 1e-3 * np.eye(A.shape[1])
        x = scipy.linalg.solve(H, A[rest].T @ y[rest], assume_a="pos", check_finite=False)
        left[~rest] = y[~rest] - A[~rest] @ x
    return np.array(
        [np.mean(left[joint == k] ** 2) / np.var(y[joint == k]) for k in np.unique(joint)]
    )


def compare_with_torques(model: RobotModel, recording: Recording, mass: float) -> Verdict:
    """Warn where the joint torques of a recording ask for a very different mass than was weighed.

    Args:
        model: The robot, as it was tared.
        recording: Joint states; those without measured torques say nothing.
        mass: What a force-torque sensor weighed [kg].
    """
    joints = recording.joints
    if joints.effort is None or not joints.effort_kind.is_torque or not mass > 0.0:
        return Verdict()
    try:
        drives = DriveTrain.direct(model.joint_names)
        load = unmodelled_load(collect_samples(model, [recording], drives, count=300))
    except SysIdError:  # no motion, no joints: nothing to compare with
        return Verdict()
    if load is None or not load.notable or load.mass <= 0.0:
        return Verdict()
    ratio = load.mass / mass
    if 1.0 / _OTHER_UNIT < ratio < _OTHER_UNIT:
        return Verdict()
    found = warning("masses-disagree", mass=load.mass, sd=load.mass_sd, link=load.link, ratio=ratio)
    return Verdict((found,))


def judge_carried_mass(model: RobotModel, frame: str, pi: ArrayLike, q: Array) -> Verdict:
    """Fail where a load at rest would ask for more than twice the torque limits of the joints.

    Args:
        model: The robot without the load; limits of 0 or infinity aren't looked at.
        frame: What carries the load.
        pi: The load's parameters in that frame, shape (10,).
        q: Postures in which it was carried, shape (K, n).
    """
    rest = q[:: max(1, len(q) // _POSTURES)]
    still = np.zeros_like(rest)
    carrying = with_load(model, frame, pi)
    needed = np.max(np.abs(carrying.inverse_dynamics(rest, still, still)), axis=0, initial=0.0)
    limits = model.effort_limits
    known = np.isfinite(limits) & (limits > 0.0)
    share = np.where(known, needed / np.where(known, limits, 1.0), 0.0)
    j = int(np.argmax(share))
    if share[j] <= _PEAK:
        return Verdict()
    found = failure(
        "load-too-heavy",
        mass=np.asarray(pi)[0],
        joint=model.joint_names[j],
        needed=needed[j],
        limit=limits[j],
    )
    return Verdict((found,))
