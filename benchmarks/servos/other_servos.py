# SPDX-License-Identifier: Apache-2.0
"""Correct recordings of other servos: accuracy of the models, and false alarms of the verdicts.

Usage: python benchmarks/servos/other_servos.py [HALF] [--only TEXT]

Arms in MuJoCo are driven by firmware that the identified model doesn't represent (interpolated
commands, integral gain, dead band, trapezoidal profiles, coarse encoders, stiff industrial loops).
Recordings have other rates, jitter, gaps, or are short. Each servo model is identified, and another
motion is replayed. The cases of half 0 may be used to choose settings; those of half 1 are other
robots.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated

import mujoco
import numpy as np
import typer
from mutations import in_words
from numpy.typing import NDArray

from sysid_core.errors import SysIdError
from sysid_core.export import JointFields, mjcf_of
from sysid_core.robot import RobotModel
from sysid_core.servos import Replay, ServoRecording, identify_servos
from sysid_studies.table import print_head, print_row

Array = NDArray[np.float64]
STEP = 0.001


@dataclass(frozen=True)
class Firmware:
    """Firmware of a servo; gains are relative to the largest gravity torque, so that the joints of
    all robots sag equally.

    Attributes:
        stiffness: Proportional gain over the largest gravity torque [1/rad].
        damping: Damping over the stiffness [s].
        integral: Integral gain over the stiffness [1/s].
        friction: Friction torque over the stiffness [rad].
        delay: Delay of the commands [s].
        limit: Largest torque over the largest gravity torque.
        interpolated: Duration of the linear interpolation to a new command [s].
        speed: Largest speed of the profile [rad/s].
        acceleration: Largest acceleration of the profile [rad/s²].
        dead_band: Largest error without torque [rad].
        increments: Increments of the encoder per turn.
        armature: Rotor inertia over the stiffness [s²].
    """

    stiffness: float = 20.0
    damping: float = 0.05
    integral: float = 0.0
    friction: float = 0.015
    delay: float = 0.02
    limit: float = np.inf
    interpolated: float = 0.0
    speed: float = np.inf
    acceleration: float = np.inf
    dead_band: float = 0.0
    increments: int = 4096
    armature: float = 0.001


@dataclass(frozen=True)
class Taken:
    """Settings of a recording.

    Attributes:
        rate: Rate of the positions [Hz].
        sent: Rate of the commands [Hz].
        jitter: Standard deviation of the stamps over the sampling period.
        gap: Duration of a gap in the middle [s].
        seconds: Duration of the motion [s].
        resting: Joint that isn't moved.
        held: Duration of each step if the commands are steps [s]; 0: the commands are waves.
        changes: Whether commands are only recorded when they change.
    """

    rate: float = 50.0
    sent: float = 50.0
    jitter: float = 0.0
    gap: float = 0.0
    seconds: float = 60.0
    resting: int = -1
    held: float = 0.0
    changes: bool = False


SERVOS = {
    "as the model": Firmware(),
    "interpolated 40 ms": Firmware(interpolated=0.04),
    "interpolated 200 ms": Firmware(interpolated=0.2),
    "integral": Firmware(integral=2.0),
    "trapezoid": Firmware(speed=1.0, acceleration=4.0),
    "speed limit": Firmware(speed=0.6),
    "dead band": Firmware(dead_band=0.01),
    "torque limit": Firmware(limit=2.0),
    "10-bit encoder": Firmware(increments=1229),
    "stiff": Firmware(stiffness=2000.0, friction=0.0002, damping=0.03, increments=2**17, armature=0.0002),
    "soft": Firmware(stiffness=6.0, friction=0.04, damping=0.1),
    "long delay": Firmware(delay=0.15),
    "little friction": Firmware(friction=0.001),
    "heavy rotor": Firmware(armature=0.004, damping=0.04),
}  # fmt: skip
RECORDINGS = {
    "10 Hz": Taken(rate=10, sent=10),
    "25 Hz": Taken(rate=25, sent=25),
    "200 Hz": Taken(rate=200, sent=200),
    "jitter": Taken(rate=30, sent=30, jitter=0.3),
    "gap": Taken(gap=10.0),
    "15 s": Taken(seconds=15.0),
    "5 s": Taken(seconds=5.0),
    "resting": Taken(resting=1),
    "held": Taken(rate=100, sent=5, held=2.0),
    "changes": Taken(held=2.0, changes=True),
    "seldom sent": Taken(rate=100, sent=5),
}


def robots(half: int) -> dict[str, tuple[RobotModel, list[float]]]:
    """Return robots by name, each with the centre of its motion."""
    if half:
        z1, ur5 = RobotModel.from_urdf("z1"), RobotModel.from_urdf("ur5")
        return {
            "z1": (z1.holding(joints=z1.joint_names[:4]), [0.0, 1.2, -1.0, 0.0]),
            "ur5": (ur5.holding(joints=ur5.joint_names[:4]), [0.0, -1.2, 1.2, -1.0]),
        }
    so100, xarm = RobotModel.from_urdf("so100"), RobotModel.from_urdf("xarm7")
    return {
        "so100": (so100.holding(joints=so100.joint_names[:4]), [0.0, 0.0, 0.5, 0.3]),
        "xarm7": (xarm.holding(joints=xarm.joint_names[:4]), [0.0, -0.4, 0.0, 1.0]),
    }


def commands(rng: np.random.Generator, taken: Taken, middle: Array) -> tuple[Array, Array]:
    """Return times and commands of a motion: waves or steps."""
    t = np.arange(0.0, taken.seconds, 1.0 / taken.sent)
    n = len(middle)
    if taken.held:
        steps = rng.uniform(-0.35, 0.35, (int(taken.seconds / taken.held) + 1, n))
        steps[0] = 0.0
        waves = steps[(t / taken.held).astype(int)]
    else:
        frequencies = np.exp(rng.uniform(np.log(0.04), np.log(0.6), (4, n)))
        phases = rng.uniform(0, 2 * np.pi, (4, n))
        waves = 0.18 * np.sin(2 * np.pi * t[:, None, None] * frequencies + phases).sum(axis=1)
        waves *= np.minimum(t / 2.0, 1.0)[:, None]
    if taken.resting >= 0:
        waves[:, taken.resting] = 0.0
    return t, middle + waves


def recorded(
    robot: RobotModel, middle: list[float], servo: Firmware, taken: Taken, seed: int
) -> ServoRecording:
    """Simulate a motion of the robot with a firmware in MuJoCo and return its recording."""
    rng = np.random.default_rng(seed)
    t_target, target = commands(rng, taken, np.array(middle))
    n = len(middle)
    q_any = np.array(middle) + rng.uniform(-0.7, 0.7, (500, n))
    g = np.abs(robot.inverse_dynamics(q_any, 0 * q_any, 0 * q_any)).max(axis=0)
    g = np.maximum(g, 0.1 * g.max())
    K = servo.stiffness * g
    fields = {
        name: JointFields(
            armature=servo.armature * k, damping=servo.damping * k, frictionloss=servo.friction * k,
            driven=False,
        )
        for name, k in zip(robot.joint_names, K, strict=True)
    }  # fmt: skip
    plant = mujoco.MjModel.from_xml_string(mjcf_of(robot, fields))
    plant.opt.timestep = STEP
    plant.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    plant.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    plant.dof_solref[:], plant.dof_solimp[:] = (0.002, 1.0), (0.99, 0.999, 0.001, 0.5, 2.0)
    plant.jnt_limited[:] = 0
    data = mujoco.MjData(plant)
    data.qpos[:] = target[0]
    ref, ref_v, total = target[0].copy(), np.zeros(n), np.zeros(n)
    t = np.arange(0.0, taken.seconds, 1.0 / taken.rate)
    if taken.jitter:
        t = t + rng.normal(0, taken.jitter / taken.rate, len(t))
        t = np.sort(np.maximum(t, 0.0))
    q = np.empty((len(t), n))
    settle, k = 2.0, 0
    begun, ramp = target[0].copy(), 0.0
    held = 0
    for i in range(round((settle + taken.seconds) / STEP) + 2):
        now = i * STEP - settle
        while k < len(t) and t[k] <= now + 1e-9:
            q[k] = data.qpos
            k += 1
        at = max(int(np.searchsorted(t_target, now - servo.delay, side="right")) - 1, 0)
        if at != held:
            held, begun, ramp = at, ref.copy(), 0.0
        goal = target[held]
        if servo.interpolated:
            ramp = min(ramp + STEP / servo.interpolated, 1.0)
            ref = begun + ramp * (goal - begun)
        elif np.isfinite(servo.acceleration):
            way = goal - ref
            want = np.sign(way) * np.minimum(
                np.sqrt(2 * servo.acceleration * np.abs(way)), servo.speed
            )
            want = np.where(np.abs(way) < 1e-4, way / STEP, want)
            ref_v += np.clip(want - ref_v, -servo.acceleration * STEP, servo.acceleration * STEP)
            ref = ref + ref_v * STEP
        elif np.isfinite(servo.speed):
            ref = ref + np.clip(goal - ref, -servo.speed * STEP, servo.speed * STEP)
        else:
            ref = goal
        seen = np.round(data.qpos * servo.increments / (2 * np.pi)) * (2 * np.pi / servo.increments)
        error = ref - seen
        error = np.sign(error) * np.maximum(np.abs(error) - servo.dead_band, 0.0)
        total = np.clip(total + servo.integral * error * STEP, -0.5, 0.5)
        data.qfrc_applied[:] = np.clip(K * (error + total), -servo.limit * g, servo.limit * g)
        mujoco.mj_step(plant, data)
    t, q = t[:k], q[:k]
    q = np.round(q * servo.increments / (2 * np.pi)) * (2 * np.pi / servo.increments)
    if taken.gap:
        kept = np.abs(t - t[-1] / 2) > taken.gap / 2
        t, q = t[kept], q[kept]
        kept = np.abs(t_target - t_target[-1] / 2) > taken.gap / 2
        t_target, target = t_target[kept], target[kept]
    if taken.changes:
        new = np.r_[True, (np.diff(target, axis=0) != 0).any(axis=1)]
        t_target, target = t_target[new], target[new]
    return ServoRecording(f"motion_{seed}", robot.joint_names, t, q, t_target, target)


def main(
    half: Annotated[int, typer.Argument()] = 0,
    only: str = "",
    which: Annotated[str, typer.Option("--robot")] = "",
) -> None:
    """Print a row for each case."""
    print_head("robot", "servo", "error", "verdict", "reasons", "terms", "CPU")
    cases = [(name, servo, Taken()) for name, servo in SERVOS.items()]
    cases += [(name, Firmware(), taken) for name, taken in RECORDINGS.items()]
    for robot_name, (robot, middle) in robots(half).items():
        if which not in robot_name:
            continue
        for name, servo, taken in cases:
            if only not in name:
                continue
            fitted = recorded(robot, middle, servo, taken, 1)
            unseen = recorded(
                robot, middle, servo, replace(taken, seconds=30.0, resting=-1, gap=0.0), 2
            )
            start = time.process_time()
            try:
                result = identify_servos([fitted], robot)
            except SysIdError as err:
                print_row(robot_name, name, "", "refused", err, "", "")
                continue
            cpu = time.process_time() - start
            (item,) = Replay.all_of(result.model, [unseen])
            said = ", ".join(map(in_words, result.findings))
            terms = ",".join(t.value for t in result.joints[0].servo.values)
            ours, command = (1e3 * Replay.overall([x], [1.0]) for x in (item.rms, item.command_rms))
            error = f"{ours:.1f} of {command:.1f} mrad"
            print_row(robot_name, name, error, result.outcome.value, said, terms, f"{cpu:.0f} s")


if __name__ == "__main__":
    typer.run(main)
