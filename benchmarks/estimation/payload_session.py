# SPDX-License-Identifier: Apache-2.0
"""A payload weighed again and again in MuJoCo, and for ten minutes on end.

Run: python benchmarks/estimation/payload_session.py repeat 10    scatter of that many weighings of one object
     python benchmarks/estimation/payload_session.py soak 10      memory over that many minutes of live motion
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import time
from pathlib import Path

import numpy as np

from sysid_core.estimation.payload import summarise_payload
from sysid_core.estimation.payload_live import (
    OnlinePayload,
    PayloadSession,
    repeatability,
    weigh_recording,
)
from sysid_core.planning import MotionLimits
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.robot import RobotModel
from sysid_core.signals import JointStream
from sysid_core.signals.filters import filter_joints
from sysid_core.signals.wrench import SensorCalibration
from sysid_core.simulation import (
    MujocoPlant,
    SensorNoise,
    SimulatedRobot,
    record_motion,
)
from sysid_studies.payload import modular_objects
from sysid_studies.payload.scene import swing

ROBOT, FRAME = "xarm7", "link_eef"
RATE_HZ, LAG_S, PERIOD_S = 100.0, 0.3, 0.1


def repeat(count: int) -> None:
    """One object, each time another posture, speed, bias and noise."""
    model, thing = RobotModel.from_urdf(ROBOT), modular_objects()["Hammer"]
    limits = MotionLimits.from_model(model, tcp_frame=FRAME, tcp_speed=1.0)
    estimates = []
    print(f"{'seed':>5}{'rad/s':>7}{'mass [kg]':>11}{'± sd':>8}   centre of mass [mm] ± sd")
    for seed in range(count):
        rng = np.random.default_rng([16, seed])
        speed = float(rng.uniform(0.7, 1.5))
        plan = plan_payload_motion(
            model,
            limits,
            duration=2.0,
            n_tare=3,
            still=0.6,
            n_candidates=20,
            mean_angular_speed=speed,
            seed=seed,
        )
        bias = rng.normal(size=6) * [3.0, 3.0, 3.0, 0.1, 0.1, 0.1]
        plant = MujocoPlant(model, sensor_frame=FRAME, payload=thing.pi)
        robot = SimulatedRobot(plant, plan.trajectory.q[0], SensorNoise(wrench_bias=bias), rng)
        run = record_motion(robot, plan.trajectory, rate_hz=RATE_HZ, wrench_frame=FRAME)
        session = PayloadSession(model, FRAME, OnlinePayload(thing.shape))
        estimates.append(weigh_recording(run, session, thing.shape).estimate)
        p = summarise_payload(estimates[-1])
        com = " ".join(
            f"{1e3 * c:.2f} ± {1e3 * s:.2f}" for c, s in zip(p.com, p.com_sd, strict=True)
        )
        print(f"{seed:5d}{speed:7.2f}{p.mass:11.4f}{p.mass_sd:8.4f}   {com}")
    found = repeatability(estimates)
    com = ", ".join(f"{1e3 * x:.2f}" for x in found.com_scatter)
    print(
        f"scatter: mass {100 * found.mass_scatter:.2f} %, centre of mass [{com}] mm,"
        f" {found.chi:.1f} times the reported deviations; true mass {thing.pi[0]:.4f} kg"
    )


def soak(minutes: float) -> None:
    """Feed a session as the estimator node does, and watch its memory."""
    piece = swing(1.5, 20.0)
    model, frame, thing = piece.model, piece.frame, modular_objects()["Hammer"]
    rng = np.random.default_rng(16)
    calibration = SensorCalibration(frame, np.zeros(6), np.zeros(4), np.zeros((10, 10)))
    session = PayloadSession(model, frame, OnlinePayload(thing.shape), calibration=calibration)
    session.add_mark(0, "oscillation:start")
    stamps = np.round(piece.time * 1e9).astype(np.int64)
    stream = JointStream(model.joint_names, stamps, piece.q + 1e-4 * rng.normal(size=piece.q.shape))
    filtered, _ = filter_joints(stream)
    motion = model.frame_motion(frame, piece.q, piece.v, piece.a)
    from sysid_core.robot import wrench_regressor

    clean = wrench_regressor(motion.a, motion.omega, motion.alpha) @ thing.pi
    # There and back, so that pieces join without a jump.
    order = np.concatenate([np.arange(len(stamps)), np.arange(len(stamps) - 2, 0, -1)])
    step = round(1e9 / RATE_HZ)
    noise = np.repeat([0.1, 0.005], 3)
    began, sizes = time.process_time(), []
    samples = round(60 * minutes * RATE_HZ)
    for n in range(samples):
        k, sign = order[n % len(order)], 1.0 if n % len(order) < len(stamps) else -1.0
        stamp = n * step
        sds = [np.asarray(x)[k] for x in (filtered.q_sd, filtered.v_sd, filtered.a_sd)]
        state = [np.asarray(x)[k] for x in (filtered.q, filtered.v, filtered.a)]
        session.add_joints(stamp, state[0], sign * state[1], state[2], np.array(sds))
        session.add_wrench(stamp, clean[k] + noise * rng.normal(size=6))
        if n % round(PERIOD_S * RATE_HZ) == 0:
            session.advance(stamp - round(LAG_S * 1e9))
            if session.online.n_samples > 3:
                session.online.estimate()
        if n % round(30 * RATE_HZ) == 0:
            sizes.append((stamp * 1e-9, resident_mb()))
            print(f"{sizes[-1][0]:7.0f} s {sizes[-1][1]:8.1f} MB, changes {len(session.changes)}")
    settled = np.array(sizes[2:])
    slope = np.polyfit(settled[:, 0], settled[:, 1], 1)[0] if len(settled) > 1 else None
    growth = "too short for a slope" if slope is None else f"{slope:.3f} MB/s (goal <= 0.3)"
    print(
        f"{minutes:g} min at {RATE_HZ:g} Hz: {growth},"
        f" {1e3 * (time.process_time() - began) / samples:.2f} ms of CPU a sample"
    )


def resident_mb() -> float:
    """Memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("repeat", "soak"))
    parser.add_argument("count", type=float)
    arguments = parser.parse_args()
    if arguments.what == "repeat":
        repeat(int(arguments.count))
    else:
        soak(arguments.count)
