# SPDX-License-Identifier: Apache-2.0
"""Check of parameters before use in a controller: consistent bodies and plausible torques."""

from __future__ import annotations

import numpy as np

from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import Array, RobotModel, is_physically_consistent
from sysid_core.robot.loops import ClosedChain

_POSTURES = 64
_LEAST = 0.05  # of the heaviest joint's gravity torque: lighter joints are judged by it


def judge_for_control(nominal: ClosedChain, candidate: ClosedChain, factor: float) -> Verdict:
    r"""Judge parameters by their effect in a controller.

    The gravity torques `g` of the candidate and `g_0` of the nominal model are compared at postures
    `q` from the whole ranges of the joints (one row per posture; `<.,.>` and `||.||` over all
    joints and postures). The candidate is accepted if

    `max_q |g_j - g_0j| <= (factor - 1) max_q |g_0j|` for every joint `j`, and `<g, g_0> >=
    ||g_0||^2 / factor`. The second condition rejects a model that is too light, with which the arm
    would fall. If `max_q |g_0j|` is smaller than 5 % of the largest gravity torque of all joints,
    these 5 % are used instead.

    Args:
        nominal: Mechanism with nominal parameters.
        candidate: Robot with the parameters to be judged.
        factor: Largest ratio of the gravity torques, above 1.
    """
    failures = [*_finite(candidate), *_bodies(nominal.model, candidate.model)]
    if not failures:
        failures += [*_gravity(nominal.model, candidate.model, factor), *_friction(candidate)]
    return Verdict(tuple(failures or [Reason.held("gravity-torques-near", factor=factor)]))


def _finite(chain: ClosedChain) -> list[Reason]:
    drives = [chain.drive(name).values for name in chain.model.joint_names]
    fine = np.all(np.isfinite(chain.model.pi)) and np.all(np.isfinite(drives))
    return [] if fine else [Reason.failure("estimate-not-finite")]


def _bodies(nominal: RobotModel, candidate: RobotModel) -> list[Reason]:
    """Failure for each body that is physically inconsistent although the nominal one is consistent."""
    lost = is_physically_consistent(nominal.pi) & ~is_physically_consistent(candidate.pi)
    names = [link for link, bad in zip(candidate.body_names, lost, strict=True) if bad]
    return [Reason.failure("estimate-inconsistent", bodies=names)] if names else []


def _gravity(nominal: RobotModel, candidate: RobotModel, factor: float) -> list[Reason]:
    q = _postures(nominal)
    zero = np.zeros((len(q), nominal.nv))
    g_0, g = (m.inverse_dynamics(q, zero, zero) for m in (nominal, candidate))
    peak = np.abs(g_0).max(axis=0)
    scale = np.maximum(peak, _LEAST * peak.max())
    with np.errstate(invalid="ignore", over="ignore"):  # of values of 1e308, which fail
        ratio = np.abs(g - g_0).max(axis=0) / np.where(scale > 0.0, scale, np.inf)
    j = int(ratio.argmax())  # NaN comes first
    failures = []
    if not ratio[j] <= factor - 1.0:
        failures.append(
            Reason.failure(
                "gravity-torque-differs",
                joint=nominal.joint_names[j],
                difference=np.abs(g - g_0)[:, j].max(),
                nominal=peak[j],
            )
        )
    square = float(np.sum(g_0 * g_0))
    if not failures and square > 0.0 and float(np.sum(g * g_0)) < square / factor:
        share = float(np.sum(g * g_0)) / square
        failures.append(Reason.failure("gravity-torques-small", share=share))
    return failures


def _postures(model: RobotModel) -> Array:
    lower, upper = model.position_limits
    lower = np.where(np.isfinite(lower), lower, -np.pi)
    upper = np.where(np.isfinite(upper), upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (_POSTURES, model.nv))


def _friction(chain: ClosedChain) -> list[Reason]:
    """Failure for each joint whose friction alone reaches the torque limit."""
    limits = zip(chain.actuated, chain.torque_limits, strict=True)
    bad = [n for n, most in limits if abs(chain.drive(n).F_c) + abs(chain.drive(n).beta) > most]
    return [Reason.failure("friction-exceeds-limit", joints=bad)] if bad else []
