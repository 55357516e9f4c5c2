# SPDX-License-Identifier: Apache-2.0
"""Processing of the paper: separate filters of motion and torques, every tenth sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.estimation.fit import Regression, friction_scale
from sysid_core.robot.loops import (
    ClosedChain,
    ConstrainedMotion,
    JointDrive,
    constrained_motion,
    constrained_torques,
    drive_friction,
    projected_drive_regressor,
)
from sysid_core.signals import Recording
from sysid_core.signals.filters import ZeroPhaseFilter, central_difference

VELOCITY_HZ, ACCELERATION_HZ, TORQUE_HZ = 18.0, 15.0, 33.0  # section IV-B
DECIMATION = 10  # section IV-B


def paper_regression(chain: ClosedChain, recordings: Sequence[Recording]) -> Regression:
    """Regression for friction and drives of the actuated joints with known inertias (Zhang et al.
    2024, eqs. 28, 29).

    Args:
        chain: The mechanism; the friction of its actuated joints isn't looked at.
        recordings: Evenly sampled, with velocities and torques of the actuated joints.
    """
    rest = chain.with_drives({joint: JointDrive() for joint in chain.actuated})
    parts = []
    for recording in recordings:
        joints = recording.joints.ordered(chain.actuated)
        assert joints.v is not None and joints.effort is not None  # simulated with both
        rate = 1e9 / float(np.median(np.diff(joints.stamps_ns)))
        raw = constrained_motion(chain, joints.q, joints.v, central_difference(joints.v, rate))
        v = ZeroPhaseFilter(VELOCITY_HZ).apply(raw.v, rate)
        a = ZeroPhaseFilter(ACCELERATION_HZ).apply(raw.a, rate)
        motion = ConstrainedMotion(raw.q, v, a, raw.G).rows(slice(None, None, DECIMATION))
        tau = ZeroPhaseFilter(TORQUE_HZ).apply(joints.effort, rate)[::DECIMATION]
        W = projected_drive_regressor(chain, motion, chain.actuated)
        parts.append((W, tau - constrained_torques(rest, motion)))
    W, tau = (np.concatenate(x) for x in zip(*parts, strict=True))
    friction = drive_friction(chain.actuated)
    return Regression(
        Y=W,
        tau=tau,
        names=friction.names,
        units=friction.units_of(chain.model.prismatic_joints),
        joints=chain.actuated,
        bodies=(),
        prior=np.zeros(len(friction.names)),
        prior_sd=friction_scale(W, tau),
        non_negative=np.asarray(friction.non_negative, dtype=bool),
        structure=np.eye(len(friction.names)),
        starts=tuple(np.cumsum([0, *(len(u) for _, u in parts[:-1])]).tolist()),
    )
