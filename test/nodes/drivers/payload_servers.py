# SPDX-License-Identifier: Apache-2.0
"""A process that plays the robot's driver: payload services in the vendors' layouts.

Behaviours: `accept`, `refuse`, `silent` (answers too late), `lie` (reports success, but keeps the
old payload). Every request is printed as a line of JSON; what is set is published as
`robot_payload`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import NoReturn

import rclpy
from geometry_msgs.msg import InertiaStamped
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from vendor_payload_layouts.srv import FrankaSetLoad, UrSetPayload, XarmSetTcpLoad


class Driver(Node):
    """Three drivers in one."""

    def __init__(self) -> None:
        super().__init__("driver")
        self.behaviour = self.declare_parameter("behaviour", "accept")
        self.reported = InertiaStamped()
        self.publisher = self.create_publisher(InertiaStamped, "robot_payload", 10)
        self.create_timer(0.05, lambda: self.publisher.publish(self.reported))
        self.asked_to_end = False
        self.create_service(UrSetPayload, "ur/set_payload", self.on_ur)
        self.create_service(FrankaSetLoad, "franka/set_load", self.on_franka)
        self.create_service(XarmSetTcpLoad, "xarm/set_tcp_load", self.on_xarm)

    def take(self, mass: float, com: list[float], inertia: list[float], raw: object) -> bool:
        """Print the request, and adopt it if the behaviour is `accept`; inertia as xx, xy, xz, yy,
        yz, zz.
        """
        behaviour = self.get_parameter("behaviour").value
        print(json.dumps(raw), flush=True)
        if behaviour == "silent":
            time.sleep(4.0)  # longer than the bridge is willing to wait
        if behaviour == "accept":
            new = InertiaStamped()
            new.inertia.m = mass
            new.inertia.com.x, new.inertia.com.y, new.inertia.com.z = com
            for key, value in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia, strict=True):
                setattr(new.inertia, key, value)
            self.reported = new
        return behaviour != "refuse"

    def on_ur(self, request: UrSetPayload.Request, response: UrSetPayload.Response) -> object:
        c = request.center_of_gravity
        inertia = [getattr(request, k) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")]
        raw = {"mass": request.mass, "com": [c.x, c.y, c.z], "inertia": inertia}
        raw["transition"] = request.transition_time.sec + 1e-9 * request.transition_time.nanosec
        response.success = self.take(request.mass, raw["com"], inertia, raw)
        return response

    def on_franka(self, request: FrankaSetLoad.Request, response: FrankaSetLoad.Response) -> object:
        m = [float(x) for x in request.load_inertia]
        com = [float(x) for x in request.center_of_mass]
        raw = {"mass": request.mass, "com": com, "inertia": m}
        columns = [m[0], m[3], m[6], m[4], m[7], m[8]]
        response.success = self.take(request.mass, com, columns, raw)
        response.error = "" if response.success else "command not possible in the current mode"
        return response

    def on_xarm(self, request: XarmSetTcpLoad.Request, response: XarmSetTcpLoad.Response) -> object:
        com = [float(x) for x in request.center_of_gravity]
        raw = {"mass": request.weight, "com": com}
        taken = self.take(request.weight, [x / 1000.0 for x in com], [0.0] * 6, raw)
        response.ret, response.message = (0, "ok") if taken else (-2, "not ready")
        return response


def main() -> NoReturn:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Driver()
    # The handler only notes it: a context that ends while an executor waits is an error.
    signal.signal(signal.SIGTERM, lambda *_: setattr(node, "asked_to_end", True))
    executor = MultiThreadedExecutor(num_threads=2)
    executor.add_node(node)
    while not node.asked_to_end:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    sys.stdout.flush()
    os._exit(0)  # destroying a node whose service's thread is still ending may abort


if __name__ == "__main__":
    main()
