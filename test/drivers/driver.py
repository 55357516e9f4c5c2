# SPDX-License-Identifier: Apache-2.0
"""A vendor's driver as a process: its topics, its trajectory controller, a MuJoCo robot behind it.

`python driver.py VENDOR URDF LOG.npz [PACE]`; with a pace its time is simulated, PACE seconds per
second of the wall clock, and published on /clock. Faults come as YAML on the topic `/driver/fault`:
`{scaling: 0.8}`, `{blocked: true}`, `{states: stop | nan | back}`, `{wrench: stop | spike}`,
`{program: false}`, `{protective_stop: true}`, `{refuse: true}`, `{tool: 0.15}` (the tool centre
point). What really happened is written to LOG.npz at `{dump: true}`, and at the end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import rclpy
import yaml
from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import TransformStamped, WrenchStamped
from joint_trajectory_controller import Goal, JointTrajectoryController
from rclpy.action import CancelResponse, GoalResponse
from rclpy.executors import ExternalShutdownException
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_system_default
from rclpy.task import Future
from robot_sysid.msg import ExecutorState
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from tf2_msgs.msg import TFMessage
from vendor_safety import SAFETY, Safety
from vendors import VENDORS, Vendor

from sysid_core.robot import RobotModel
from sysid_core.simulation import MujocoPlant
from sysid_nodes.conversions import ns_from_stamp, stamp_from_ns, trajectory_arrays
from sysid_nodes.lifecycle import Ended
from sysid_nodes.lifecycle.coroutines import CoroutineActionServer
from sysid_nodes.simulated_robot.pace import LockStep

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PHYSICS = 0.001  # [s]


class Driver(Node):
    """One vendor's driver and robot."""

    def __init__(
        self, vendor: Vendor, safety: type[Safety], urdf: str, log: Path, pace: float
    ) -> None:
        super().__init__("driver")
        self.vendor, self.log, self.safety = vendor, log, safety(self)
        self.whole = RobotModel.from_urdf(urdf)
        arm = [name for name in self.whole.joint_names if vendor.drives(name)]
        self.model = self.whole.with_locked([n for n in self.whole.joint_names if n not in arm])
        self.names = list(self.model.joint_names)
        n = len(self.names)
        self.plant = MujocoPlant(
            self.model,
            friction=np.full(n, 0.3),
            damping=np.full(n, 0.3),
            armature=np.full(n, 0.1),
            timestep=PHYSICS,
        )
        self.plant.reset(np.array(vendor.start[:n]))
        self.controller = JointTrajectoryController(
            n,
            path_tolerance=vendor.path_tolerance,
            goal_tolerance=vendor.goal_tolerance,
            scaled=vendor.scaling_topic != "",
            deceleration_on_cancel=vendor.deceleration_on_cancel,
        )
        self.fault: dict[str, Any] = {"scaling": 1.0}
        self.rows: list[np.ndarray] = []
        self.command = self.reference = self.plant.q
        self.reference_v = np.zeros(n)
        self._topics(urdf)
        self.start_ns = self.get_clock().now().nanoseconds
        self.ticks = 0
        self.pace = (
            LockStep(time.monotonic(), 0.0, patience=3.0 / pace, pace=pace) if pace else None
        )
        self.create_subscription(ExecutorState, "/trajectory_executor/state", self.on_executor, 10)
        self.clock = self.create_publisher(Clock, "/clock", 10) if pace else None
        self.create_timer(vendor.period, self.tick)

    def _topics(self, urdf: str) -> None:
        v = self.vendor
        self.states = [
            (self.create_publisher(JointState, s.topic, qos_profile_system_default), s)
            for s in v.states
        ]
        self.wrench = self.create_publisher(
            WrenchStamped, v.wrench_topic, qos_profile_system_default
        )
        if v.scaling_topic:
            self.scalings = self.create_publisher(
                Float64, v.scaling_topic, qos_profile_system_default
            )
        description = self.create_publisher(String, "/robot_description", LATCHED)
        description.publish(String(data=self.whole.urdf_xml))
        if v.mounting:
            self.transforms = self.create_publisher(TFMessage, "/tf_static", LATCHED)
            fixed = TransformStamped(child_frame_id=v.wrench_frame)
            fixed.header.frame_id, fixed.transform.translation.z = v.mounting
            self.transforms.publish(TFMessage(transforms=[fixed]))
        if v.controller_frame:
            self.moving = self.create_publisher(TFMessage, "/tf", qos_profile_system_default)
        self.create_subscription(String, "/driver/fault", self.on_fault, 10)
        self.server = CoroutineActionServer(
            self,
            FollowJointTrajectory,
            v.action,
            self.execute,
            goal_callback=self.on_goal,
            cancel_callback=self.on_cancel,
        )
        self.goals: dict[bytes, Goal] = {}
        self.waiting: list[tuple[float, Goal]] = []

    # ---- the controller's action

    def on_goal(self, request: Any) -> GoalResponse:
        t = request.trajectory
        times, q, v, a = trajectory_arrays(t, self.names)
        wrong = sorted(t.joint_names) != sorted(self.names)  # allow_partial_joints_goal: false
        goal = Goal(times, q, v, a, ns_from_stamp(t.header.stamp) * 1e-9)
        goal.goal_time = request.goal_time_tolerance.sec
        arrival = self.now() if self.clock else self.get_clock().now().nanoseconds * 1e-9
        refused = wrong or bool(self.fault.get("refuse"))
        if refused or (goal.stamp and goal.stamp + goal.time[-1] < arrival):
            return GoalResponse.REJECT
        # This process may be behind its own time, as a real controller never is.
        self.waiting.append((arrival, goal))
        self._next = goal
        return GoalResponse.ACCEPT

    def on_cancel(self, handle: Any) -> CancelResponse:
        goal = self.goals.get(bytes(handle.goal_id.uuid))
        if goal is self.controller.goal and goal is not None and not goal.outcome:
            self.controller.cancel(self.plant.q, self.plant.v)
        return CancelResponse.ACCEPT

    async def execute(self, handle: Any) -> Any:
        goal, ended = self._next, Future(executor=self.executor)
        self.goals[bytes(handle.goal_id.uuid)] = goal
        feedback = FollowJointTrajectory.Feedback(joint_names=self.names)

        def look() -> None:
            if goal.outcome:
                if not ended.done():
                    ended.set_result(True)
            elif self.controller.goal is goal:
                feedback.header.stamp = stamp_from_ns(round(self.now() * 1e9))
                feedback.desired.positions = self.controller.desired.tolist()
                at = round(max(goal.at, 0.0) * 1e9)
                own = feedback.desired.time_from_start
                own.sec, own.nanosec = divmod(at, 1_000_000_000)
                handle.publish_feedback(feedback)

        timer = self.create_timer(0.05, look)  # action_monitor_rate 20 Hz
        await Ended(ended)
        self.destroy_timer(timer)
        {"succeeded": handle.succeed, "aborted": handle.abort}.get(
            goal.outcome, handle.canceled if handle.is_cancel_requested else handle.abort
        )()
        return FollowJointTrajectory.Result(error_string=goal.error)

    # ---- the robot

    def now(self) -> float:
        """Time of the current control period [s]."""
        return self.start_ns * 1e-9 + self.ticks * self.vendor.period

    @property
    def scaling(self) -> float:
        """Speed scaling in force, 0 to 1."""
        return float(self.fault["scaling"]) * self.safety.scaling

    def tick(self) -> None:
        if self.pace is None:
            behind = (self.get_clock().now().nanoseconds - self.start_ns) * 1e-9
        else:
            passed = self.ticks * self.vendor.period
            behind = passed + self.pace.due(time.monotonic(), passed)
        if self.clock is not None:
            self.clock.publish(Clock(clock=stamp_from_ns(round(self.now() * 1e9))))
        for _ in range(round(0.03 / self.vendor.period)):  # then messages have their turn
            if self.ticks * self.vendor.period >= behind:
                return
            self.ticks += 1
            self.control()
            self.publish()

    def control(self) -> None:
        q, v = self.plant.q, self.plant.v
        if self.safety.standing and self.safety.forgets:
            self.controller.cancel(q, v)
        scaling = self.scaling
        before, period = self.command, self.vendor.period
        while self.waiting and self.waiting[0][0] <= self.now():
            goal = self.waiting.pop(0)[1]
            if not self.controller.follow(goal, self.now()):
                goal.outcome = "aborted"
        self.command, v_c, _ = self.controller.update(self.now(), period, q, v, scaling)
        steps = max(round(period / PHYSICS), 1)
        a = np.zeros_like(q)
        for k in range(steps):
            target = before + (k + 1) / steps * (self.command - before)
            if self.vendor.gains:  # effort interface: PD of the controller, gravity of the robot
                p, d = (np.array(x[: len(q)]) for x in self.vendor.gains)
                zero = np.zeros_like(q)
                gravity = self.model.inverse_dynamics(self.plant.q[None], zero[None], zero[None])[0]
                effort = p * (target - self.plant.q) + d * (v_c - self.plant.v) + gravity
            else:  # a servo behind a smoothing filter
                w = self.vendor.bandwidth
                accel = w**2 * (target - self.reference) - 2 * w * self.reference_v
                self.reference_v = self.reference_v + PHYSICS * accel
                self.reference = self.reference + PHYSICS * self.reference_v
                effort = self.plant.servo_effort(self.reference, self.reference_v, accel)
            if self.fault.get("blocked") or self.safety.standing:
                # Whatever is in its way is stiffer; the robot's own brake takes 20 ms.
                self.plant.mj_data.qvel[:] *= 0.0 if self.fault.get("blocked") else 0.8
                self.plant.mj_data.qpos[:] += PHYSICS * self.plant.mj_data.qvel
                self.reference, self.reference_v = self.plant.q, np.zeros_like(q)
                a = np.zeros_like(q)
            else:
                a = self.plant.step(self.plant.limited(effort)).a
        now = np.array([self.now(), scaling])
        self.rows.append(np.concatenate([now, self.plant.q, self.plant.v, a, self.command]))

    def publish(self) -> None:
        stamp = stamp_from_ns(round(self.now() * 1e9))
        states, wrench = self.fault.get("states"), self.fault.get("wrench")
        for publisher, s in self.states:
            if states == "stop" or self.ticks % max(round(1 / s.rate / self.vendor.period), 1):
                continue
            names = [x for x in self.whole.joint_names if s.has(x)]
            arm = dict(zip(self.names, zip(self.plant.q, self.plant.v, strict=True), strict=True))
            message = JointState(name=names)
            values = [arm.get(x, (0.02, 0.0)) for x in names]
            bad = np.nan if states == "nan" else 1.0
            message.position = [float(bad * q) for q, _ in values]
            message.velocity = [float(v) for _, v in values]
            message.effort = [0.0] * len(names)
            back = 500_000_000 if states == "back" else 0
            message.header.stamp = stamp_from_ns(round(self.now() * 1e9) - back)
            publisher.publish(message)
        if self.ticks % max(round(0.01 / self.vendor.period), 1) == 0:
            self.safety.publish(stamp)
        every = max(round(1 / self.vendor.wrench_rate / self.vendor.period), 1)
        if self.ticks % every == 0 and wrench != "stop":
            message = WrenchStamped()
            message.header.stamp, message.header.frame_id = stamp, self.vendor.wrench_frame
            message.wrench.force.z = 900.0 if wrench == "spike" else -9.0
            self.wrench.publish(message)
        if self.vendor.controller_frame and self.ticks % 5 == 0:
            self.publish_tool(stamp)
        if self.vendor.scaling_topic and self.ticks % 5 == 0:  # 100 Hz
            self.scalings.publish(Float64(data=100.0 * self.scaling))

    def publish_tool(self, stamp: Any) -> None:
        """Where the controller's tool centre point is, as the controller computes it."""
        tree = self.model.pin_model
        data = tree.createData()
        pin.framesForwardKinematics(tree, data, self.plant.q)
        parent, flange = (data.oMf[tree.getFrameId(name)] for name in self.vendor.controller_frame)
        tool = pin.SE3(np.eye(3), np.array([0.0, 0.0, float(self.fault.get("tool", 0.0))]))
        pose = parent.actInv(flange * tool)
        moving = TransformStamped(child_frame_id=self.vendor.wrench_frame)
        moving.header.frame_id, moving.header.stamp = self.vendor.controller_frame[0], stamp
        at, turned = moving.transform.translation, moving.transform.rotation
        at.x, at.y, at.z = pose.translation.tolist()
        turned.x, turned.y, turned.z, turned.w = pin.Quaternion(pose.rotation).coeffs().tolist()
        self.moving.publish(TFMessage(transforms=[moving]))

    def on_executor(self, message: ExecutorState) -> None:
        if self.pace is not None:
            self.pace.reported(message.state, time.monotonic(), self.now() - self.start_ns * 1e-9)

    def on_fault(self, message: String) -> None:
        change = yaml.safe_load(message.data)
        self.fault.update(change)
        self.safety.change(change)
        if change.get("dump"):
            self.dump()

    def dump(self) -> None:
        part = self.log.with_suffix(".part.npz")
        with part.open("wb") as file:
            np.savez(file, rows=np.array(self.rows), steps=np.array(self.controller.steps))
        part.replace(self.log)


def main() -> None:
    vendor, urdf, log = sys.argv[1:4]
    pace = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    rclpy.init(args=[])
    driver = Driver(VENDORS[vendor], SAFETY.get(vendor, Safety), urdf, Path(log), pace)
    executor = EventsExecutor()
    executor.add_node(driver)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
