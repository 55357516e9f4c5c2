# SPDX-License-Identifier: Apache-2.0
"""CPU time of the structural analysis by number of bodies, compared with a sampled regressor.

Run: python benchmarks/identifiability/identifiability.py [--sampled-up-to N]
"""

from __future__ import annotations

import argparse
import os
import time
import timeit
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time is that of one core
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin

from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, load_robot

ARMS = ("puma560", "tx40", "ur5", "kinova", "panda", "xarm7")
SIZES = (7, 30, 100, 300, 1000, 3000)
GOALS_MS = {"6- or 7-joint arm": 3.0, "300 bodies": 200.0, "3000 bodies": 2000.0}


def chain(n: int, planar: bool) -> RobotModel:
    """A chain of revolute joints: all axes parallel (planar motion of all bodies), or skew."""
    model = pin.Model()
    rng = np.random.default_rng(n)
    for i in range(n):
        R = np.eye(3) if planar else pin.rpy.rpyToMatrix(rng.uniform(-2, 2, 3))
        model.addJoint(
            i, pin.JointModelRZ(), pin.SE3(R, np.array([0.3, 0.1, 0.05])), f"joint{i + 1}"
        )
    return RobotModel("chain", model)


def best_ms(call: Callable[[], object], repeats: int) -> float:
    """Smallest CPU time of several runs [ms], since other load on the machine can only increase it."""
    return 1e3 * min(timeit.repeat(call, timer=time.process_time, repeat=repeats, number=1))


def sampled(model: RobotModel) -> tuple[float, int, float]:
    """Time [ms], rank, and gap between the singular values of a sampled regressor reduced by QR."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    K = 30 * model.n_bodies // model.nv + 10
    q, v, a = rng.uniform(-2, 2, (3, K, model.nv))
    Y = model.torque_regressor(q, v, a).reshape(-1, 10 * model.n_bodies)
    scale = np.linalg.norm(Y, axis=0)
    seen = scale > 1e-12 * scale.max()
    s = np.linalg.svd(np.linalg.qr(Y[:, seen] / scale[seen], mode="r"), compute_uv=False)
    elapsed = 1e3 * (time.process_time() - start)
    rank = structural_identifiability(model).n_base
    return elapsed, rank, float(s[rank - 1] / s[rank]) if rank < len(s) else np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sampled-up-to", type=int, default=100, help="bodies; 300 takes a while")
    limit = parser.parse_args().sampled_up_to

    print(
        f"{'robot':<12}{'joints':>7}{'base':>6}{'time [ms]':>11}   goal {GOALS_MS['6- or 7-joint arm']:g} ms"
    )
    for name in ARMS:
        model = load_robot(name)
        ms = best_ms(lambda m=model: structural_identifiability(m), 100)
        both = " (both with rounded and exact angles)" if name == "xarm7" else ""
        print(
            f"{name:<12}{model.nv:>7}{structural_identifiability(model).n_base:>6}{ms:>11.2f}{both}"
        )

    print(
        f"\n{'chain':<8}{'bodies':>7}{'base':>7}{'time [ms]':>11}{'sampled [ms]':>14}{'its gap':>10}"
    )
    for planar in (False, True):
        times = []
        for n in SIZES:
            model = chain(n, planar)
            answer = structural_identifiability(model)
            times.append(
                best_ms(lambda m=model: structural_identifiability(m), 20 if n < 500 else 3)
            )
            label = "planar" if planar else "skew"
            line = f"{label:<8}{n:>7}{answer.n_base:>7}{times[-1]:>11.1f}"
            if n <= limit:
                ms, _, gap = sampled(model)
                line += f"{ms:>14.0f}{gap:>10.1e}"
            print(line, flush=True)
        slope = np.polyfit(np.log(SIZES[2:]), np.log(times[2:]), 1)[0]
        print(f"slope in log-log from {SIZES[2]} bodies on: {slope:.2f}")
    print("goals: " + ", ".join(f"{what} {ms:g} ms" for what, ms in GOALS_MS.items()))


if __name__ == "__main__":
    main()
