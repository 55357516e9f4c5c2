# SPDX-License-Identifier: Apache-2.0
"""A three-joint arm with friction, moved by Fourier series, for the tests of this folder."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, JointStream, Recording

LINKS = [  # mass, COM, inertia about the COM (diagonal), axis, offset from the parent
    (4.0, (0.02, 0.01, 0.1), (0.05, 0.04, 0.03), "0 0 1", "0 0 0.2"),
    (3.0, (0.15, -0.02, 0.03), (0.02, 0.05, 0.06), "0 1 0", "0 0 0.15"),
    (1.5, (0.12, 0.01, -0.02), (0.006, 0.012, 0.014), "0 1 0", "0.3 0 0"),
]


def arm_urdf() -> str:
    parts = ['<robot name="three"><link name="base"/>']
    parent = "base"
    for i, (m, c, inertia, axis, offset) in enumerate(LINKS, 1):
        parts.append(
            f'<link name="link{i}"><inertial><mass value="{m}"/>'
            f'<origin xyz="{c[0]} {c[1]} {c[2]}"/><inertia ixx="{inertia[0]}" ixy="0" ixz="0"'
            f' iyy="{inertia[1]}" iyz="0" izz="{inertia[2]}"/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{i}"/><origin xyz="{offset}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="200" velocity="5"/></joint>'
        )
        parent = f"link{i}"
    return "".join(parts) + "</robot>"


def arm() -> RobotModel:
    return RobotModel.from_urdf(arm_urdf())


def motion(
    rng: np.random.Generator, duration: float, rate_hz: float, joints: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t (K,), q, v, a (K, joints): five harmonics of 0.15 Hz."""
    t = np.arange(int(duration * rate_hz)) / rate_hz
    w = 2.0 * np.pi * 0.15 * np.arange(1, 6)
    A, B = rng.normal(size=(2, 5, joints)) * 0.3
    phase = t[:, None] * w
    q = np.sin(phase) @ A + np.cos(phase) @ B
    v = (np.cos(phase) * w) @ A - (np.sin(phase) * w) @ B
    a = -(np.sin(phase) * w**2) @ A - (np.cos(phase) * w**2) @ B
    return t, q, v, a


def recording(
    model: RobotModel,
    friction: FrictionModel,
    friction_values: np.ndarray,
    rng: np.random.Generator,
    *,
    duration: float = 20.0,
    rate_hz: float = 200.0,
    noise: float = 0.0,
    delay: float = 0.0,
    still: bool = False,
) -> Recording:
    """A run whose efforts are currents: torque over gain, plus white noise [N m]."""
    t, q, v, a = motion(rng, duration, rate_hz)
    if still:
        q, v, a = q[:1] * np.ones_like(q), 0.0 * v, 0.0 * a
    rigid = model.inverse_dynamics(q, v, a)
    tau = rigid + friction.regressor(q, v, a, rigid) @ friction_values
    if delay:
        tau = np.column_stack([np.interp(t - delay, t, tau[:, j]) for j in range(model.nv)])
    tau = tau + noise * rng.normal(size=tau.shape)
    return Recording(
        JointStream(
            model.joint_names,
            np.round(t * 1e9).astype(np.int64),
            q,
            v,
            effort=tau / friction.drives.gains,
            effort_kind=EffortKind.MOTOR_CURRENT,
        ),
        source="simulated",
    )


def friction_model(terms: tuple = (), gains: tuple[float, ...] = (10.0, 8.0, 5.0)) -> FrictionModel:
    from sysid_core.robot.friction import USUAL_TERMS

    drives = DriveTrain(("joint1", "joint2", "joint3"), np.array(gains))
    return FrictionModel(drives, terms or USUAL_TERMS, coulomb_velocity=0.02)


USUAL_VALUES = np.array(
    [3.0, 2.0, 0.4, 0.2, 4.0, 3.0, 0.5, -0.3, 1.0, 0.8, 0.1, 0.1]
)  # F_c F_v I_a beta
