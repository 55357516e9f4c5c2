# SPDX-License-Identifier: Apache-2.0
"""Tracking errors and update times of the controllers under the controller manager of ros2_control.

    python benchmarks/export/under_manager.py OUT [MOTIONS [CODE ...]]

Needs a sourced ROS 2 with ros2_control, MuJoCo and this package, and the result of `tracking.py` in
OUT. The motion guard plays the motions of that benchmark to the torque controller with the C code
of each model (bandwidth 10 rad/s), on the hardware plugin with the MJCF of the simulated arm. The
controller manager measures the times. Errors are those of the positions that it reads, compared
with the motion at the path position that the guard reports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test" / "controllers"))

from diagnostic_msgs.msg import DiagnosticArray
from live_manager import Manager, described, managed
from scipy.interpolate import BPoly
from std_srvs.srv import Trigger
from tracking import HOME, PERIOD, SECONDS, motion, plant_and_codes
from trajectory_msgs.msg import JointTrajectory

from sysid_core.planning import Trajectory
from sysid_core.robot import Array, RobotModel
from sysid_nodes.conversions import message_from_trajectory

RATE = round(1.0 / PERIOD)  # of the manager [Hz]
EVERY = 7  # samples of a motion that are a point of the trajectory; its last is one
GUARD, TORQUES = "motion_guard", "torque_controller"
TYPES = {
    GUARD: "robot_sysid_controllers/MotionGuard",
    TORQUES: "robot_sysid_controllers/TorqueController",
}


def parameters(model: RobotModel, library: Path) -> dict[str, dict[str, Any]]:
    """Parameters of both controllers; the guard is updated first."""
    lower, upper = model.position_limits
    limits = {"lower": lower, "upper": upper, "velocity": model.velocity_limits}
    guard = {
        "joints": list(model.joint_names),
        "command_interfaces": ["position", "velocity", "acceleration"],
        "downstream": TORQUES,
        "deviation": 10.0,  # the nominal code's errors are part of the result
        "executor_timeout": 2.0,
        "limits": {k: x.tolist() for k, x in limits.items()} | {"acceleration": [50.0] * model.nv},
    }
    torques = {"model_library": str(library), "effort_limit": model.effort_limits.tolist()}
    return {GUARD: guard, TORQUES: torques}


def listen(manager: Manager, times: dict[str, str], places: list[float]) -> None:
    """Collect the manager's update times, and the start times of the motion according to the guard
    [s].
    """

    def on_diagnostics(message: DiagnosticArray) -> None:
        for pair in (pair for status in message.status for pair in status.values):
            if pair.key.removesuffix(".execution_time") in TYPES:
                times[pair.key] = pair.value

    def on_reference(message: JointTrajectory) -> None:
        stamp, place = message.header.stamp, message.points[0].time_from_start
        begun = stamp.sec - place.sec + 1e-9 * (stamp.nanosec - place.nanosec)
        places.append(begun)

    manager.node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, 10)
    manager.node.create_subscription(JointTrajectory, f"/{GUARD}/reference", on_reference, 100)


def played(manager: Manager, model: RobotModel, seed: int, places: list[float]) -> Array:
    """Play a motion; return its position errors, shape (K, n) [rad]."""
    rows = motion(seed)[::EVERY]
    t = PERIOD * EVERY * np.arange(len(rows))
    path = Trajectory(model.name, model.urdf_hash, model.joint_names, t, *np.moveaxis(rows, 1, 0))
    manager.publish(message_from_trajectory(path), f"/{GUARD}/trajectory")
    time.sleep(0.5)  # it is checked
    places.clear()
    start = len(manager.states)
    manager.until(lambda: manager.call(Trigger, f"/{GUARD}/play").success, "it plays")
    end = time.monotonic() + SECONDS + 1.0
    manager.until(lambda: time.monotonic() > end, "the end", SECONDS + 30.0)
    stamps = np.array([stamp for stamp, _ in manager.states[start:]])
    q = np.array([row[0] for _, row in manager.states[start:]])
    u = stamps - np.median(places)
    inside = (u >= 0.0) & (u <= t[-1])
    return q[inside] - BPoly.from_derivatives(t, rows)(u[inside])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("motions", type=int, nargs="?", default=3)
    parser.add_argument("codes", nargs="*", default=["nominal", "exported", "truth"])
    options = parser.parse_args()
    model, plant, sources = plant_and_codes(options.out)
    joints = list(model.joint_names)
    hardware = "<plugin>robot_sysid_controllers/MujocoSystem</plugin>"
    hardware += f'<param name="model">{plant.resolve()}</param>'
    description = described(model.urdf_xml, joints, hardware, HOME.tolist())
    print("code | RMS [mrad] | largest [mrad] | update times", flush=True)
    for name in options.codes:
        source = sources[name]
        library = source.resolve().with_name(f"lib{source.stem}.so")
        command = ["gcc", "-O3", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        folder = options.out / name
        folder.mkdir(exist_ok=True)
        places: list[float] = []
        times: dict[str, str] = {}
        given = parameters(model, library)
        with managed(given, TYPES, description, joints, folder, RATE) as manager:
            listen(manager, times, places)
            manager.start(TORQUES, GUARD)
            manager.beating = True
            found = [played(manager, model, k, places) for k in range(options.motions)]
        errors = 1e3 * np.concatenate(found)
        rms, largest = np.sqrt(np.mean(errors**2)), np.abs(errors).max()
        print(f"{name} | {rms:.2f} | {largest:.1f} | {times}", flush=True)


if __name__ == "__main__":
    main()
