# SPDX-License-Identifier: Apache-2.0
"""Topics and services of the motion guard on a robot that follows: what the compiled one does."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_nodes.conversions import stamp_from_ns, trajectory_arrays
from sysid_nodes.lifecycle import qos

PERIOD = 0.01  # [s]
TIMEOUT = 1.5  # without heartbeat [s]; a busy machine delays one by half a second


class EmulatedGuard:
    """Plays the motion it has stored; brakes within 0.25 s on request or without heartbeats.

    Args:
        node: Node that has the topics.
        model: The robot.
        q: Initial positions, shape (n,) [rad].
    """

    def __init__(self, node: Node, model: RobotModel, q: np.ndarray) -> None:
        self.node, self.model, self.q = node, model, np.array(q)
        self.v = np.zeros_like(self.q)
        self.kept: Trajectory | None = None
        self.playing: Trajectory | None = None
        self.u = self.rate = 0.0
        self.silent = np.inf  # [s]
        self.refuse, self.deaf = "", False
        self.began = 0
        self.rows: list[tuple[float, np.ndarray, np.ndarray]] = []
        publisher = node.create_publisher
        self.description = publisher(String, "robot_description", qos.LATCHED)
        self.description.publish(String(data=model.urdf_xml))
        self.states = publisher(JointState, "joint_states", 10)
        self.state = publisher(String, "motion_guard/state", qos.LATCHED)
        self.kept_out = publisher(Header, "motion_guard/kept", 1)
        self.refused = publisher(String, "motion_guard/refused", 1)
        self.reference = publisher(JointTrajectory, "motion_guard/reference", 1)
        node.create_subscription(Empty, "motion_guard/heartbeat", self.on_heartbeat, 1)
        node.create_subscription(JointTrajectory, "motion_guard/trajectory", self.on_trajectory, 1)
        node.create_service(Trigger, "motion_guard/play", self.on_play)
        node.create_service(Trigger, "motion_guard/stop", self.on_stop)
        node.create_timer(PERIOD, self.tick)
        self.say("holding")

    def say(self, doing: str) -> None:
        self.doing = doing
        self.state.publish(String(data=doing))

    def on_heartbeat(self, _: Empty) -> None:
        self.silent = 0.0

    def on_trajectory(self, message: JointTrajectory) -> None:
        if self.deaf:
            return
        if self.refuse:
            self.refused.publish(String(data=self.refuse))
            return
        time, q, v, a = trajectory_arrays(message, self.model.joint_names)
        assert np.abs(q[0] - self.q).max() < 0.05
        names = self.model.joint_names
        self.kept = Trajectory(self.model.name, self.model.urdf_hash, names, time, q, v, a)
        self.kept_out.publish(message.header)

    def on_play(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        answer.success = self.kept is not None and self.doing == "holding" and self.silent < TIMEOUT
        if answer.success:
            self.playing, self.kept, self.u, self.rate = self.kept, None, 0.0, 1.0
            self.began += 1
            self.say("playing")
        return answer

    def on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        if self.playing is not None:
            self.say("braking: a stop was requested")
        answer.success = True
        return answer

    def tick(self) -> None:
        now_ns = self.node.get_clock().now().nanoseconds
        self.silent += PERIOD
        if self.playing is not None:
            if self.doing == "playing" and self.silent > TIMEOUT:
                self.say("braking: the executor is silent")
            if self.doing != "playing":
                self.rate = max(self.rate - 4.0 * PERIOD, 0.0)
            self.u = min(self.u + PERIOD * self.rate, self.playing.duration)
            self.q, v, _ = self.playing.at(self.u)
            self.v = v * self.rate
            if self.rate == 0.0 or self.u == self.playing.duration:
                self.playing, self.v = None, np.zeros_like(self.q)
                self.say("holding")
            else:
                self.tell(now_ns)
        state = JointState(name=self.model.joint_names, position=self.q, velocity=self.v)
        state.header.stamp = stamp_from_ns(now_ns)
        self.states.publish(state)
        self.rows.append((1e-9 * now_ns, self.q, self.v))

    def tell(self, now_ns: int) -> None:
        point = JointTrajectoryPoint(positions=self.q)
        point.time_from_start.sec = int(self.u)
        point.time_from_start.nanosec = int(1e9 * (self.u % 1.0))
        message = JointTrajectory(joint_names=self.model.joint_names, points=[point])
        message.header.stamp = stamp_from_ns(now_ns)
        self.reference.publish(message)
