# SPDX-License-Identifier: Apache-2.0
"""Speed of closed-chain kinematics, regressors and identification; prints a table."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sysid_core.robot.loops import (
    constrained_motion,
    constrained_torques,
    load_closed_chain,
    projected_regressor,
)
from sysid_core.robot.loops.assembly import assemble_along
from sysid_core.simulation import ClosedChainPlant
from sysid_studies.constrained.robot import identify_drives
from sysid_studies.constrained.sines import sine_trajectory
from sysid_studies.constrained.tracking import ComputedTorque, Gains, recording_of, track


def seconds(action: Callable[[], object], repeats: int = 3) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return float(best)


def main() -> None:
    leg = load_closed_chain("own-leg")
    t = sine_trajectory(leg, leg.box, 1.8, duration=10.0)
    K = len(t.time)
    q = assemble_along(leg, t.q)
    motion = constrained_motion(leg, t.q, t.v, t.a, q=q)
    control = ComputedTorque(leg, t, Gains.for_chain(leg))
    plant = ClosedChainPlant(leg)
    run = recording_of(track(plant, control), np.random.default_rng(1))
    rows = [
        ("dependent joints", seconds(lambda: assemble_along(leg, t.q)), K),
        ("G, v, a", seconds(lambda: constrained_motion(leg, t.q, t.v, t.a, q=q)), K),
        ("torques", seconds(lambda: constrained_torques(leg, motion)), K),
        ("projected regressor", seconds(lambda: projected_regressor(leg, motion)), K),
        ("MuJoCo step of 1 ms, with control", seconds(lambda: track(plant, control), 1), K),
        (
            "identification of friction and drives",
            seconds(lambda: identify_drives(leg, [run]), 1),
            K,
        ),
    ]
    print(f"{'own leg, ' + str(K) + ' samples':40s} {'total [s]':>10s} {'each [us]':>10s}")
    for name, total, n in rows:
        print(f"{name:40s} {total:10.3f} {1e6 * total / n:10.1f}")


if __name__ == "__main__":
    main()
