# SPDX-License-Identifier: Apache-2.0
"""What sensors make of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.control.tracking import TrackingRun
from sysid_core.robot import Array
from sysid_core.signals import EffortKind, JointStream, Recording


@dataclass(frozen=True)
class JointSensorNoise:
    """Errors of the joint sensors.

    Attributes:
        position_step: Quantisation of the encoders [rad].
        velocity_sd: Standard deviation of white noise [rad/s].
        effort_share: Standard deviation of white noise over each joint's RMS effort.
    """

    position_step: float = 1e-5
    velocity_sd: float = 1e-3
    effort_share: float = 0.02


def recording_of(
    run: TrackingRun,
    rng: np.random.Generator | None = None,
    noise: JointSensorNoise | None = None,
    *,
    passive: tuple[str, ...] = (),
    source: str = "simulation",
) -> Recording:
    """Positions, velocities and efforts as a robot would report them.

    Args:
        run: The true course.
        rng: Random generator of the noise; None: exact sensors.
        noise: Noise of the sensors.
        passive: Passive joints with an encoder (their effort is zero).
        source: For the recording.
    """
    names = (*run.actuated, *passive)
    columns = [run.joint_names.index(name) for name in names]
    q, v = run.q[:, columns], run.v[:, columns]
    effort: Array = np.zeros((len(run.time), len(names)))
    effort[:, : len(run.actuated)] = run.effort
    if rng is not None:
        noise = noise or JointSensorNoise()
        if noise.position_step:
            q = noise.position_step * np.round(q / noise.position_step)
        v = v + noise.velocity_sd * rng.normal(size=v.shape)
        rms = np.sqrt(np.mean(effort**2, axis=0))
        effort = effort + noise.effort_share * rms * rng.normal(size=effort.shape)
    return Recording(
        joints=JointStream(
            names=names,
            stamps_ns=np.round(run.time * 1e9).astype(np.int64),
            q=q,
            v=v,
            effort=effort,
            effort_kind=EffortKind.ACTUATOR_TORQUE,
        ),
        source=source,
    )
