# SPDX-License-Identifier: Apache-2.0
"""A vendor's robot recorded as its driver publishes it, with a true load: a rosbag2 bag in simulated time.

The joint trajectory controller samples the plan as ros2_controllers does; a servo with friction, drive
inertia and a load that the description lacks follows it in MuJoCo; efforts, wrench, frames, rates and
signs are the vendor's (`vendors.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joint_trajectory_controller import Goal, JointTrajectoryController
from vendors import VENDORS, Vendor

from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_core.signals.bags import BagWriter, build_typestore
from sysid_core.simulation import MujocoPlant

PHYSICS = 0.001  # [s]
START_NS = 1_700_000_000_000_000_000
LEAD = 0.5  # [s] of rest before the motion
_MARK = "builtin_interfaces/Time stamp\nstring label\n"


@dataclass(frozen=True)
class Cell:
    """Properties of the robot and its load that the description lacks.

    Attributes:
        robot: Name or URDF file.
        frame: Link at whose origin the sensor measures.
        payload: `pi` in that frame, shape (10,); None: nothing.
        on_sensor: Whether the sensor reports what the load does to it (f = +m g: UR, ATI), or what
            it does to the load.
        bias: Bias of the wrench, six numbers [N, N m].
        gains: Torque per motor current [N m/A], where efforts are currents; () for torques.
        gripper: Whether a gripper's driver publishes its joint on the same topic.
        coulomb, viscous, armature: Friction [N m, N m s/rad] and drive inertia [kg m^2] of each joint.
        link_error: Relative errors of the description's links.
    """

    robot: str
    frame: str
    payload: tuple[float, ...] | None = None
    on_sensor: bool = True
    bias: tuple[float, ...] = (4.0, -3.0, 6.0, 0.1, -0.2, 0.05)
    gains: tuple[float, ...] = ()
    gripper: bool = False
    coulomb: float = 2.0
    viscous: float = 1.0
    armature: float = 0.1
    link_error: float = 0.05


def record(
    path: Path, vendor: str, cell: Cell, plan: Trajectory, *, marked: bool = True, seed: int = 3
) -> RobotModel:
    """Play a plan on a vendor's robot and write its bag.

    Args:
        path: Folder to create.
        vendor: Key of `VENDORS`.
        cell: Robot, load and sensor.
        plan: Motion of all joints.
        marked: Whether the executor's marks are on `/marks`, as our logger records them; else the
            bag is what `ros2 bag record` gives.
        seed: Of noise and of the description's errors.

    Returns:
        The robot as it truly is, without its load.
    """
    v, rng = VENDORS[vendor], np.random.default_rng(seed)
    whole = RobotModel.from_urdf(cell.robot)
    model = whole.with_locked([name for name in whole.joint_names if not v.drives(name)])
    n = model.nv
    true = model.with_pi(model.pi * (1 + cell.link_error * rng.uniform(-1, 1, (model.n_bodies, 1))))
    plant = MujocoPlant(
        true, sensor_frame=cell.frame, payload=cell.payload,
        friction=np.full(n, cell.coulomb), damping=np.full(n, cell.viscous),
        armature=np.full(n, cell.armature), timestep=PHYSICS,
    )  # fmt: skip
    order = [plan.joint_names.index(name) for name in model.joint_names]
    plant.reset(plan.q[0, order])
    bag = _Bag(path, v, cell, whole, rng)
    bag.arm = model.joint_names
    controller = JointTrajectoryController(
        n, path_tolerance=v.path_tolerance, goal_tolerance=0.0, scaled=v.scaling_topic != ""
    )
    goal = Goal(
        plan.time - plan.time[0], plan.q[:, order], plan.v[:, order], plan.a[:, order], stamp=LEAD
    )
    assert controller.follow(goal, 0.0)
    servo = _Servo(v, plant)
    if marked:
        for segment in plan.segments:
            for edge, t in (("start", segment.start), ("end", segment.end)):
                bag.mark(LEAD + t - plan.time[0], f"{segment.label}:{edge}")
    for k in range(int((plan.duration + LEAD + 0.5) / v.period)):
        now = k * v.period
        command, v_c, _ = controller.update(now, v.period, plant.q, plant.v, 1.0)
        sample = servo.follow(command, v_c)
        bag.sample(k, now + v.period, sample)
    assert goal.outcome == "succeeded", goal.error
    bag.close()
    return true


class _Servo:
    """The robot's own position servo behind the controller's commands."""

    def __init__(self, vendor: Vendor, plant: MujocoPlant) -> None:
        self._vendor, self._plant = vendor, plant
        self._before = self._reference = plant.q
        self._v = np.zeros(len(plant.q))

    def follow(self, command: np.ndarray, v_c: np.ndarray) -> Any:
        """Follow a command for one control period; the last physical sample."""
        plant, w = self._plant, self._vendor.bandwidth
        steps = max(round(self._vendor.period / PHYSICS), 1)
        for k in range(steps):
            target = self._before + (k + 1) / steps * (command - self._before)
            a = w**2 * (target - self._reference) - 2 * w * self._v
            self._v = self._v + PHYSICS * a
            self._reference = self._reference + PHYSICS * self._v
            effort = plant.servo_effort(self._reference, self._v, a)
            sample = plant.step(plant.limited(effort))
        self._before = command
        return sample


class _Bag:
    """Messages as the vendor's driver publishes them."""

    def __init__(
        self, path: Path, vendor: Vendor, cell: Cell, model: RobotModel, rng: np.random.Generator
    ) -> None:
        self._vendor, self._cell, self._model, self._rng = vendor, cell, model, rng
        self._types = build_typestore({"robot_sysid/msg/Mark": _MARK})
        self._writer = BagWriter(
            path, definitions={"robot_sysid/msg/Mark": _MARK}, chunk_bytes=65536
        )
        for states in vendor.states:
            self._writer.add_topic(states.topic, "sensor_msgs/msg/JointState")
        self._writer.add_topic(vendor.wrench_topic, "geometry_msgs/msg/WrenchStamped")
        self._writer.add_topic("/robot_description", "std_msgs/msg/String")
        self._writer.add_topic("/marks", "robot_sysid/msg/Mark")
        self._write("/robot_description", "std_msgs/msg/String", 0.0, data=model.urdf_xml)
        self._waiting: list[tuple[float, str]] = []
        self.arm = model.joint_names  # those that move

    def _write(self, topic: str, kind: str, time: float, **fields: Any) -> None:
        message = self._types.types[kind](**fields)
        data = bytes(self._types.serialize_cdr(message, kind))
        self._writer.write(topic, data, START_NS + round(time * 1e9))

    def _header(self, time: float, frame: str = "") -> Any:
        types = self._types.types
        sec, nanosec = divmod(START_NS + round(time * 1e9), 1_000_000_000)
        stamp = types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
        return types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    def mark(self, time: float, label: str) -> None:
        """Note a mark, to be written when its time has come."""
        self._waiting = sorted([*self._waiting, (time, label)])

    def sample(self, k: int, time: float, sample: Any) -> None:
        """Write what is due after control period k."""
        vendor, cell, rng, n = self._vendor, self._cell, self._rng, len(sample.q)
        while self._waiting and self._waiting[0][0] <= time:
            at, label = self._waiting.pop(0)
            self._write(
                "/marks", "robot_sysid/msg/Mark", at, stamp=self._header(at).stamp, label=label
            )
        for states in vendor.states:
            if k % max(round(1 / states.rate / vendor.period), 1) == 0:
                effort = sample.effort + 0.05 * rng.normal(size=n)
                effort = effort / np.array(cell.gains) if cell.gains else effort
                noisy = (sample.q + 2e-5 * rng.normal(size=n), sample.v + 1e-3 * rng.normal(size=n))
                moving = dict(zip(self.arm, zip(*noisy, effort, strict=True), strict=True))
                names = [name for name in self._model.joint_names if states.has(name)]
                rows = [moving.get(name, (0.0, 0.0, 0.0)) for name in names]  # held joints stand
                q, v, tau = np.ascontiguousarray(np.array(rows, dtype=float).T)
                if cell.gripper:  # another driver on the same topic
                    self._write(
                        states.topic, "sensor_msgs/msg/JointState", time,
                        header=self._header(time), name=["finger_joint"], position=np.array([0.02]),
                        velocity=np.zeros(1), effort=np.zeros(1),
                    )  # fmt: skip
                self._write(
                    states.topic, "sensor_msgs/msg/JointState", time, header=self._header(time),
                    name=names, position=q, velocity=v, effort=tau,
                )  # fmt: skip
        if k % max(round(1 / vendor.wrench_rate / vendor.period), 1) == 0:
            self._wrench(time, np.asarray(sample.wrench))

    def _wrench(self, time: float, on_load: np.ndarray) -> None:
        cell, types = self._cell, self._types.types
        noise = np.repeat([0.1, 0.005], 3) * self._rng.normal(size=6)
        w = (-1.0 if cell.on_sensor else 1.0) * on_load + np.array(cell.bias) + noise
        vector = types["geometry_msgs/msg/Vector3"]
        force, torque = (vector(*map(float, part)) for part in (w[:3], w[3:]))
        wrench = types["geometry_msgs/msg/Wrench"](force=force, torque=torque)
        self._write(
            self._vendor.wrench_topic, "geometry_msgs/msg/WrenchStamped", time,
            header=self._header(time, self._vendor.wrench_frame), wrench=wrench,
        )  # fmt: skip

    def close(self) -> None:
        """Finish the bag."""
        self._writer.close()
