# SPDX-License-Identifier: Apache-2.0
"""The controllers under ros2_control's own manager, on mock and simulated hardware: where a ROS 2 has them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")
services = pytest.importorskip("controller_manager_msgs.srv", reason="needs ros2_control")
PREFIXES = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
PLUGINS = Path("share/ament_index/resource_index")
INDEX = PLUGINS / "controller_interface__pluginlib__plugin/robot_sysid"
HARDWARE_INDEX = PLUGINS / "hardware_interface__pluginlib__plugin/robot_sysid"
MANAGER = next(
    (p for p in (x / "lib/controller_manager/ros2_control_node" for x in PREFIXES) if p.is_file()),
    None,
)
if MANAGER is None or not any((p / INDEX).is_file() for p in PREFIXES):
    pytest.skip("needs robot_sysid built beside ros2_control", allow_module_level=True)

from geometry_msgs.msg import Inertia, Vector3  # noqa: E402
from live_nodes import PATIENT  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from robot_sysid.action import ExecuteTrajectory  # noqa: E402
from robot_sysid.msg import InertialEstimate, PayloadEstimate  # noqa: E402
from robot_sysid.srv import Arm  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Empty, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from sysid_core.export import Projection, Target, write_target  # noqa: E402
from sysid_core.export.c_code import c_parameters  # noqa: E402
from sysid_core.planning import MotionChecker, MotionLimits, export_trajectory  # noqa: E402
from sysid_core.planning.payload.motion import oscillation  # noqa: E402
from sysid_core.planning.transfer import MotionBuilder  # noqa: E402
from sysid_core.robot import (  # noqa: E402
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    pi_from_mass_com_inertia,
)
from sysid_nodes.bringup import NodeSpec  # noqa: E402
from sysid_nodes.bringup.processes import running  # noqa: E402
from sysid_nodes.client import own_domain  # noqa: E402

pytestmark = pytest.mark.ros
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
JOINTS, ACCELERATION = ["j1", "j2"], [5.0, 4.0]
KINDS = ("position", "velocity", "effort")
INTERFACES = "".join(
    f'<joint name="{joint}">'
    + "".join(
        f'<command_interface name="{kind}"/><state_interface name="{kind}"/>' for kind in KINDS
    )
    + "</joint>"
    for joint in JOINTS
)


def described(hardware: str) -> str:
    """The robot's description with hardware of ros2_control."""
    control = f"<hardware>{hardware}</hardware>{INTERFACES}"
    return URDF.replace(
        "</robot>", f'<ros2_control name="h" type="system">{control}</ros2_control></robot>'
    )


MOCK = described("<plugin>mock_components/GenericSystem</plugin>")


class Manager:
    """A running controller manager and a node that calls it."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("user")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[tuple[float, np.ndarray]] = []
        self.said: dict[str, str] = {}
        self.node.create_subscription(JointState, "/joint_states", self._on_state, 1000)
        self.beat = self.node.create_publisher(Empty, "/motion_guard/heartbeat", 1)
        self.beating = False
        self.node.create_timer(0.02, lambda: self.beating and self.beat.publish(Empty()))
        self.node.create_subscription(
            String, "/motion_guard/state", lambda m: self.said.update(guard=m.data), LATCHED
        )

    def _on_state(self, message: JointState) -> None:
        columns = [message.name.index(joint) for joint in JOINTS]
        rows = [np.array(x)[columns] for x in (message.position, message.velocity, message.effort)]
        stamp = message.header.stamp
        self.states.append((stamp.sec + 1e-9 * stamp.nanosec, np.stack(rows)))

    def until(self, true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"never happened: {what}"
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, kind: Any, service: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, service)
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, service)
        return future.result()

    def switch(self, on: list[str] = (), off: list[str] = ()) -> bool:
        return bool(
            self.call(
                services.SwitchController,
                "/controller_manager/switch_controller",
                activate_controllers=on,
                deactivate_controllers=off,
                strictness=services.SwitchController.Request.STRICT,
            ).ok
        )

    def start(self, *names: str) -> None:
        for name in names:
            for kind in (services.LoadController, services.ConfigureController):
                verb = "load" if kind is services.LoadController else "configure"
                assert self.call(kind, f"/controller_manager/{verb}_controller", name=name).ok, name
            assert self.switch(on=[name]), name

    def publish(self, message: Any, topic: str) -> None:
        out = self.node.create_publisher(type(message), topic, LATCHED)
        self.until(lambda: out.get_subscription_count() > 0, f"somebody hears {topic}")
        out.publish(message)

    @property
    def efforts(self) -> np.ndarray:
        seen = len(self.states)
        self.until(lambda: len(self.states) > seen + 2, "joint states")
        return self.states[-1][1][2]


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Projection, dict[str, Any]]:
    """Exported files, and the exported parameters of the controllers."""
    model = RobotModel.from_urdf(URDF)
    terms = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.INERTIA)
    friction = FrictionModel(DriveTrain.direct(model.joint_names), terms)
    ours = Projection(model, friction, np.linspace(0.1, 0.6, len(friction.names)))
    source, _, parameters = write_target(
        Target.ROS2_CONTROL, ours, tmp_path_factory.mktemp("model")
    ).files
    read = yaml.safe_load(parameters.read_text())
    library = read["torque_controller"]["ros__parameters"]["model_library"]
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    subprocess.run(
        ["gcc", "-O3", "-shared", "-fPIC", str(source), "-o", library, "-lm"], check=True
    )
    return ours, {name: node["ros__parameters"] for name, node in read.items()}


@pytest.fixture
def description() -> str:
    """Mock hardware, which follows every command at once."""
    return MOCK


@pytest.fixture
def manager(
    robot, description: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Manager]:
    """A manager at 200 Hz, with the controllers' parameters and a description of the hardware."""
    exported = robot[1]
    guard = {
        **exported["motion_guard"],
        "command_interfaces": ["position", "velocity"],
        "limits": {**exported["motion_guard"]["limits"], "acceleration": ACCELERATION},
        "executor_timeout": 0.3,
    }
    after = {
        **guard,
        "command_interfaces": list(KINDS[:2]) + ["acceleration"],
        "downstream": "torque_controller",
        "deviation": 10.0,  # mock joints without a command of position stay
    }
    torques = {
        **exported["torque_controller"],
        "torque_change": 200.0,
        "payload_body": "b",
        "payload_position": [0.3, 0.0, 0.0],
    }
    nodes = {"motion_guard": guard, "guard_before": after, "torque_controller": torques}
    types = exported["controller_manager"] | {
        "joint_state_broadcaster": {"type": "joint_state_broadcaster/JointStateBroadcaster"}
    }
    types["guard_before"] = types["motion_guard"]
    file = tmp_path / "controllers.yaml"
    nodes["controller_manager"] = {
        "update_rate": 200,
        **{name: {**of, "params_file": [str(file)]} for name, of in types.items()},
    }
    file.write_text(json.dumps({k: {"ros__parameters": v} for k, v in nodes.items()}))
    with own_domain() as domain:
        for key, value in domain.items():
            monkeypatch.setenv(key, value)
        with (tmp_path / "manager.log").open("w") as log:
            process = subprocess.Popen(
                [str(MANAGER), "--ros-args", "--params-file", str(file)],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            rclpy.init()
            try:
                found = Manager()
                found.publish(String(data=description), "/robot_description")
                found.start("joint_state_broadcaster")
                yield found
            finally:
                rclpy.shutdown()
                process.terminate()
                process.wait(timeout=30)
                print((tmp_path / "manager.log").read_text()[-4000:])


def swing(seconds: float = 4.0, points: int = 81) -> tuple[JointTrajectory, np.ndarray]:
    """From rest at zero to rest at (1, -0.7), and its rows (K, 3, 2)."""
    u = np.linspace(0.0, 1.0, points)[:, None]
    far = np.array([1.0, -0.7])
    s = 10 * u**3 - 15 * u**4 + 6 * u**5
    ds, dds = 30 * u**2 - 60 * u**3 + 30 * u**4, 60 * u - 180 * u**2 + 120 * u**3
    rows = np.stack([far * s, far * ds / seconds, far * dds / seconds**2], axis=1)
    message = JointTrajectory(joint_names=JOINTS)
    for when, (q, v, a) in zip(seconds * u[:, 0], rows, strict=True):
        point = JointTrajectoryPoint(positions=q, velocities=v, accelerations=a)
        point.time_from_start.sec = int(when)
        point.time_from_start.nanosec = int(1e9 * (when % 1.0))
        message.points.append(point)
    return message, rows


def test_a_guard_plays_and_brakes_along_its_path_when_the_executor_falls_silent(manager):
    manager.start("motion_guard")
    manager.beating = True
    manager.until(lambda: manager.said.get("guard") == "holding", "the guard holds")
    trajectory, rows = swing()
    assert not manager.call(Trigger, "/motion_guard/play").success
    manager.publish(trajectory, "/motion_guard/trajectory")
    manager.until(lambda: manager.call(Trigger, "/motion_guard/play").success, "it plays")
    start = len(manager.states)
    manager.until(lambda: manager.states[-1][1][0, 0] > 0.3, "it moves")
    manager.beating = False
    manager.until(lambda: "executor is silent" in manager.said["guard"], "it brakes")
    manager.until(lambda: manager.said["guard"] == "holding", "it stands")
    t = np.array([when for when, _ in manager.states[start:]])
    q, v, _ = np.moveaxis(np.array([row for _, row in manager.states[start:]]), 1, 0)
    assert 0.3 < q[-1, 0] < 0.99 and np.all(v[-1] == 0.0)
    assert np.interp(q[:, 0], rows[:, 0, 0], rows[:, 0, 1]) == pytest.approx(q[:, 1], abs=1e-3)
    # Periods are those that the manager measured; stamps are when it began each.
    step = np.abs(np.diff(v, axis=0)) - np.array(ACCELERATION) * np.diff(t)[:, None]
    assert step.max() <= 5.0 * 0.005  # by a period, stamps and measured periods may differ
    assert manager.switch(off=["motion_guard"])


def test_a_guard_that_is_deactivated_in_motion_leaves_no_velocity_behind(manager):
    manager.start("motion_guard")
    manager.beating = True
    manager.publish(swing()[0], "/motion_guard/trajectory")
    manager.until(lambda: manager.call(Trigger, "/motion_guard/play").success, "it plays")
    manager.until(lambda: manager.states[-1][1][1, 0] > 0.2, "it moves")
    assert manager.switch(off=["motion_guard"])
    manager.until(lambda: bool(np.all(manager.states[-1][1][1] == 0.0)), "no velocity")
    q = manager.states[-1][1][0]
    assert 0.0 < q[0] < 1.0


def test_torques_are_the_models_and_follow_what_a_person_accepts(manager, robot):
    ours, _ = robot
    still = np.zeros((1, 2))
    gravity = ours.model.inverse_dynamics(still, still, still)[0]
    manager.start("torque_controller")
    assert manager.efforts == pytest.approx(gravity, abs=1e-9)
    theta = np.concatenate([ours.model.pi.ravel(), ours.values])

    def offer(scale: float) -> None:
        names = list(c_parameters(ours))
        message = InertialEstimate(model="robot", names=names, values=list(scale * theta))
        message.urdf_hash = ours.model.urdf_hash
        manager.publish(message, "/torque_controller/parameters")

    use = "/torque_controller/use_parameters"
    offer(4.0)  # more than gravity_factor
    assert not manager.call(Trigger, use).success
    offer(1.5)
    manager.until(lambda: manager.call(Trigger, use).success, "parameters are used")
    manager.until(lambda: np.allclose(manager.efforts, 1.5 * gravity, atol=1e-9), "new torques")
    load = PayloadEstimate(state=PayloadEstimate.INERTIA_KNOWN)
    load.inertia = Inertia(m=2.0, com=Vector3(z=0.1), ixx=0.01, iyy=0.01, izz=0.01)
    manager.publish(load, "/torque_controller/payload")
    use = "/torque_controller/use_payload"
    manager.until(lambda: manager.call(Trigger, use).success, "the payload is used")
    held = pi_from_mass_com_inertia(2.0, [0.3, 0.0, 0.1], 0.01 * np.eye(3))
    pi = 1.5 * ours.model.pi + np.stack([0.0 * held, held])
    heavier = ours.model.with_pi(pi).inverse_dynamics(still, still, still)[0]
    manager.until(lambda: np.allclose(manager.efforts, heavier, atol=1e-9), "it is carried")
    assert manager.switch(off=["torque_controller"])
    manager.until(lambda: bool(np.all(manager.efforts == 0.0)), "no torque")


def test_a_guard_before_torques_chains_and_unchains(manager, robot):
    ours, _ = robot
    still = np.zeros((1, 2))
    gravity = ours.model.inverse_dynamics(still, still, still)[0]
    manager.start("torque_controller", "guard_before")
    assert manager.efforts == pytest.approx(gravity, abs=1e-9)  # held where it stands
    assert not manager.switch(off=["torque_controller"])  # somebody refers to it
    assert manager.switch(off=["guard_before"])
    assert manager.efforts == pytest.approx(gravity, abs=1e-9)


class TestSimulated:
    """On the exported MJCF: torque controller and guard together."""

    @pytest.fixture
    def description(self, robot, tmp_path: Path) -> str:
        if not any((p / HARDWARE_INDEX).is_file() for p in PREFIXES):
            pytest.skip("needs robot_sysid built beside MuJoCo's library")
        file = write_target(Target.MJCF, robot[0], tmp_path / "plant").files[0]
        return described(
            "<plugin>robot_sysid_controllers/MujocoSystem</plugin>"
            f'<param name="model">{file}</param>'
        )

    def test_it_tracks_and_brakes_on_the_path(self, manager):
        still = manager.states[-1][1][0]
        assert np.abs(still).max() < 1e-3  # nobody commands it: it is held
        manager.start("torque_controller", "guard_before")
        manager.beating = True
        trajectory, rows = swing()
        guard = "/guard_before"
        beat = manager.node.create_publisher(Empty, f"{guard}/heartbeat", 1)
        manager.node.create_timer(0.02, lambda: manager.beating and beat.publish(Empty()))
        manager.publish(trajectory, f"{guard}/trajectory")
        manager.until(lambda: manager.call(Trigger, f"{guard}/play").success, "it plays")
        start = len(manager.states)
        manager.until(lambda: manager.states[-1][1][0, 0] > 0.3, "it moves")
        manager.beating = False
        manager.until(lambda: np.abs(manager.states[-1][1][1]).max() < 1e-3, "it stands")
        q = np.array([row[0] for _, row in manager.states[start:]])
        assert 0.3 < q[-1, 0] < 0.99
        on_path = np.interp(q[:, 0], rows[:, 0, 0], rows[:, 0, 1])
        assert np.abs(on_path - q[:, 1]).max() < 0.02


def test_the_executor_plays_over_the_guard(manager, tmp_path):
    manager.start("motion_guard")
    model = RobotModel.from_urdf(MOCK)
    limits = MotionLimits.from_model(model, acceleration=3.0, tcp_speed=5.0)
    builder = MotionBuilder(MotionChecker(model, limits), np.array([0.2, 0.1]), rate_hz=100)
    builder.rest(0.2, "still")
    builder.play(*oscillation(np.array([0.2, 0.1]), [0, 1], [0.2, 0.3], 3.0, rate_hz=100), "wave")
    export_trajectory(model, builder.build(), limits, tmp_path / "motion.npz")
    parameters = {
        "command_mode": "motion_guard",
        "acceleration": 3.0,
        "tcp_speed": 5.0,
        "trajectories": [str(tmp_path)],
        **PATIENT,
    }
    spec = NodeSpec("trajectory_executor", "trajectory_executor", parameters=parameters)
    with running([spec], tmp_path / "logs"):
        action = ActionClient(manager.node, ExecuteTrajectory, "/trajectory_executor/execute")
        manager.until(action.server_is_ready, "the executor", 60.0)

        def execute(cancel: bool) -> ExecuteTrajectory.Result:
            manager.until(
                lambda: bool(manager.call(Arm, "/trajectory_executor/arm").token), "it arms"
            )
            token = manager.call(Arm, "/trajectory_executor/arm").token
            file = str(tmp_path / "motion.npz")
            goal = ExecuteTrajectory.Goal(trajectory_file=file, speed_scale=1.0, token=token)
            sent = action.send_goal_async(goal)
            manager.until(sent.done, "an answer")
            result = sent.result().get_result_async()
            if cancel:
                moves = lambda: abs(manager.states[-1][1][1, 0]) > 0.1  # noqa: E731
                manager.until(moves, "it moves", 60.0)
                sent.result().cancel_goal_async()
            manager.until(result.done, "the end", 120.0)
            return result.result().result

        done = execute(cancel=False)
        assert done.success, done.message
        assert manager.states[-1][1][0] == pytest.approx([0.2, 0.1], abs=1e-3)
        assert "cancelled" in execute(cancel=True).message
        manager.until(lambda: manager.said["guard"] == "holding", "it stands")
        assert np.all(manager.states[-1][1][1] == 0.0)
