# SPDX-License-Identifier: Apache-2.0
"""A UR5 with unknown parameters, friction and rotors in MuJoCo, identified one joint at a time.

python benchmarks/estimation/sequential.py [--seeds 3] [--arms] Prints the times of planning and
fitting and the errors of the result. With --arms, plans for every serial arm of example-robot-data
whose description has masses.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import identify
from sysid_core.estimation.arm_fit import FitSettings, processing_of
from sysid_core.estimation.fit import LeastSquares
from sysid_core.identifiability.composite_bodies import minimal_constants
from sysid_core.planning import MotionChecker, MotionLimits
from sysid_core.planning.sequential import plan_sequential
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import DriveTrain, FrictionModel, load_robot
from sysid_core.simulation import MujocoPlant, SensorNoise, SimulatedRobot
from sysid_core.validation import Prediction
from sysid_core.workflows import ArmData, identify_data

FRICTION, DAMPING = [8.0, 8.0, 6.0, 2.0, 2.0, 2.0], [5.0, 5.0, 4.0, 1.0, 1.0, 1.0]
ROTORS = [1.0, 1.0, 0.6, 0.2, 0.2, 0.2]  # [kg m^2]
ARMS = (
    "ur3", "ur5", "ur10", "kinova", "xarm7", "panda", "z1", "so100", "so101", "talos_left_arm",
    "finger_edu", "hextilt_flying_arm_5", "double_pendulum_continuous", "TwoDofs", "stanford",
)  # fmt: skip


def ur5_in_mujoco(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = load_robot("ur5")
    true = model.with_pi(model.pi * rng.uniform(0.8, 1.25, (model.nv, 1)))
    limits = MotionLimits.from_model(model, tcp_speed=1.5)
    friction = FrictionModel(DriveTrain.direct(model.joint_names))
    start = time.perf_counter()
    plan = plan_sequential(model, limits, friction, rng, candidates=10, n_moves=24)
    planned = time.perf_counter() - start
    plant = MujocoPlant(true, friction=FRICTION, damping=DAMPING, armature=ROTORS, timestep=2e-3)
    others = MotionBuilder(
        MotionChecker(model, limits.replace(self_collision=False)), plan.trajectory.q[0]
    )
    for _ in range(10):
        others.move_to(rng.uniform(-1.5, 1.5, model.nv), "all joints")

    def play(trajectory):
        robot = SimulatedRobot(plant, trajectory.q[0], SensorNoise(effort=0.2), rng)
        return robot.record(trajectory, rate_hz=125.0)

    run_of_plan, run_of_others = play(plan.trajectory), play(others.build())
    start = time.perf_counter()
    settings = FitSettings(method="sequential", friction="usual")
    data = ArmData.of(
        model, [run_of_plan], friction.drives, settings, others=[run_of_others],
        plan=plan.trajectory,
    )  # fmt: skip
    run = identify_data(data, settings)
    fitted = time.perf_counter() - start
    minimal = minimal_constants(model)
    truth = dict(zip(minimal.names, minimal.values(true.pi).tolist(), strict=True))
    # Rotors of the first two joints can't be separated from their links.
    truth["U1_33"] += ROTORS[0]
    truth["U2_33"] += ROTORS[1]
    truth |= {f"{n}.I_a": x for n, x in zip(model.joint_names, ROTORS, strict=True)}
    fit = run.fit.fit
    z = np.array(
        [
            (x - truth[name]) / sd
            for name, x, sd in zip(fit.constants, fit.values, fit.standard_deviations, strict=True)
            if name in truth
        ]
    )
    ratio = fit.standard_deviations / fit.at_once_sd
    itself = identify(model, [run_of_others], friction, LeastSquares(), processing_of(settings))
    rival = Prediction.of(itself, run_of_others).relative_error()
    print(
        f"| {seed} | {len(plan.moves)} ({plan.n_pairs}) | {plan.trajectory.duration:.0f} s"
        f" | {planned:.0f} s | {fitted:.1f} s | {run.estimate.rank} of"
        f" {run.estimate.structural_rank} | {100 * np.mean(np.abs(z) < 1.96):.0f} % of {len(z)}"
        f" | {np.median(ratio):.2f}, {ratio.max():.1f}"
        f" | {100 * run.validation[0].relative_error():.2f} % | {100 * rival:.2f} % |"
    )


def plan_of(name: str, locked_measured: bool) -> str:
    model = load_robot(name)
    fingers = [j for j in model.joint_names if "finger_joint" in j]
    if fingers:
        model = model.with_locked(fingers)
    start = time.perf_counter()
    try:
        plan = plan_sequential(
            model,
            MotionLimits.from_model(model, tcp_speed=2.0, self_collision=False),
            FrictionModel(DriveTrain.direct(model.joint_names)),
            np.random.default_rng(0),
            locked_measured=locked_measured,
            candidates=10,
        )
    except SysIdError as err:
        return f"refused: {err.message}"
    return (
        f"{len(plan.moves)} ({plan.n_pairs}), {plan.trajectory.duration:.0f} s, condition"
        f" {plan.worst_condition:.0f}, planned in {time.perf_counter() - start:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--arms", action="store_true")
    options = parser.parse_args()
    if options.arms:
        print("| arm | torques at the motors: swings (of two joints) | torques behind the gears |")
        print("|---|---|---|")
        for name in ARMS:
            print(f"| {name} | {plan_of(name, False)} | {plan_of(name, True)} |", flush=True)
        return
    print(
        "| seed | swings (of two joints) | duration | planned in | fitted in | rank | constants"
        " within 1.96 sd | sd against all at once: median, worst | other motion | fit to itself |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for seed in range(options.seeds):
        ur5_in_mujoco(seed)


if __name__ == "__main__":
    main()
