# SPDX-License-Identifier: Apache-2.0
"""Makes the recordings in `ur5/`: a simulated UR5 (MuJoCo) that isn't what its URDF says.

Run from the repository's root, after `sysid plan arm ur5 --tcp-speed 1 --seed 3 --out plan3` and the same
with seeds 4 and 5: `python examples/make_recordings.py plan3/trajectory.npz plan4/trajectory.npz
plan5/trajectory.npz`. The third motion carries a gripper of 0.95 kg. The true
parameters go to `ur5/truth.yaml`, so that anyone can see how far the estimates are off.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import yaml

from sysid_core.estimation.loaded_arm import CarriedBody
from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_core.simulation import MujocoPlant, SensorNoise, SimulatedRobot

HERE = Path(__file__).parent / "ur5"
GAINS = np.array([13.0, 13.0, 13.0, 9.0, 9.0, 9.0])  # [N m/A]
COULOMB = np.array([9.0, 10.0, 6.0, 2.5, 2.2, 1.8])  # [N m]
VISCOUS = np.array([12.0, 11.0, 7.0, 2.8, 2.6, 2.4])  # [N m s/rad]
ROTOR = np.array([1.2, 1.2, 0.8, 0.25, 0.25, 0.2])  # [kg m^2], joint side
RATE_HZ = 50.0
# m, m c, I about tool0's origin of a gripper: 0.95 kg, 6 cm before the flange.
GRIPPER = np.array([0.95, 0.0095, 0.0, 0.057, 0.0046, 0.0, 0.0044, -0.0006, 0.0, 0.0012])


def main(paths: list[str]) -> None:
    """Play the trajectories on the simulated robot and write what its driver would log."""
    rng = np.random.default_rng(2026)
    model = RobotModel.from_urdf("ur5")
    true = model.with_pi(model.pi * rng.uniform(0.85, 1.25, size=(model.nv, 1)))
    for name, path in zip(("train", "validate", "gripper"), paths, strict=True):
        if path == "-":  # this one stays as it is
            continue
        rng = np.random.default_rng(2027) if name == "gripper" else rng
        robot_now = CarriedBody(true, "tool0", GRIPPER).robot if name == "gripper" else true
        plant = MujocoPlant(robot_now, friction=COULOMB, damping=VISCOUS, armature=ROTOR)
        trajectory = Trajectory.load(path)
        robot = SimulatedRobot(plant, trajectory.q[0], SensorNoise(effort=0.3), rng)
        joints = robot.record(trajectory, rate_hz=RATE_HZ).joints
        current = joints.effort / GAINS
        table = np.column_stack([joints.time, joints.q, joints.v, current])
        header = ["time_s"] + [
            f"{kind}_{joint}" for kind in ("q", "qd", "current") for joint in joints.names
        ]
        np.savetxt(
            HERE / f"{name}.csv", table, fmt=["%.3f"] + ["%.5f"] * 12 + ["%.4f"] * 6,
            delimiter=",", header=",".join(header), comments="",
        )  # fmt: skip
    truth = {
        "gain": GAINS.tolist(),
        "F_c": COULOMB.tolist(),
        "F_v": VISCOUS.tolist(),
        "I_a": ROTOR.tolist(),
        "gripper": GRIPPER.tolist(),
        "pi": {body: row.tolist() for body, row in zip(true.body_names, true.pi, strict=True)},
    }
    text = "# What the simulated robot really is. SI units; pi about the link frame's origin.\n"
    (HERE / "truth.yaml").write_text(text + yaml.safe_dump(truth, sort_keys=False), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
