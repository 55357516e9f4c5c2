# SPDX-License-Identifier: Apache-2.0
"""The controllers under ros2_control's own manager, on mock and simulated hardware.

The executor is also tested on the real joint_trajectory_controller, if that is installed. Without
ros2_control these tests are skipped.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")
pytest.importorskip("controller_manager_msgs.srv", reason="needs ros2_control")
from live_manager import KINDS, MANAGER, Manager, described, has_plugins, managed  # noqa: E402

if MANAGER is None or not has_plugins("controller_interface", "robot_sysid"):
    pytest.skip("needs robot_sysid built beside ros2_control", allow_module_level=True)

from builtin_interfaces.msg import Duration  # noqa: E402
from busy_machine import patience  # noqa: E402
from geometry_msgs.msg import Inertia, Vector3  # noqa: E402
from live_nodes import PATIENT  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from robot_sysid.action import ExecuteTrajectory  # noqa: E402
from robot_sysid.msg import InertialEstimate, PayloadEstimate  # noqa: E402
from robot_sysid.srv import Arm  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from sysid_core.export import Target  # noqa: E402
from sysid_core.export.c_code import c_parameters  # noqa: E402
from sysid_core.export.files import write_target  # noqa: E402
from sysid_core.export.projection import Projection  # noqa: E402
from sysid_core.planning import MotionChecker, MotionLimits  # noqa: E402
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
from sysid_nodes.bringup.processes import NodeProcesses, running  # noqa: E402
from sysid_nodes.conversions import stamp_from_ns, trajectory_arrays  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "drivers"))
from joint_trajectory_controller import Goal, JointTrajectoryController  # noqa: E402

pytestmark = pytest.mark.ros
JOINTS, ACCELERATION = ["j1", "j2"], [5.0, 4.0]
RATE = 200  # of the manager [Hz]
FOLLOWER = "joint_trajectory_controller"
MOCK = described(URDF, JOINTS, "<plugin>mock_components/GenericSystem</plugin>")


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
def silence(request: pytest.FixtureRequest) -> float:
    """Timeout of the guard: longer where the executor's process shares a busy machine [s]."""
    shared = request.function.__name__.startswith("test_the_executor")
    return 0.3 * (patience() if shared else 1.0)


@pytest.fixture
def manager(robot, description: str, silence: float, tmp_path: Path) -> Iterator[Manager]:
    """A manager with the controllers' parameters and a description of the hardware."""
    exported = robot[1]
    guard = {
        **exported["motion_guard"],
        "command_interfaces": ["position", "velocity"],
        "limits": {**exported["motion_guard"]["limits"], "acceleration": ACCELERATION},
        "executor_timeout": silence,
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
    follower = {
        "joints": JOINTS,
        "command_interfaces": list(KINDS[:2]),
        "state_interfaces": list(KINDS[:2]),
        "constraints": {"stopped_velocity_tolerance": 0.0},
    }
    nodes = {"motion_guard": guard, "guard_before": after, "torque_controller": torques}
    nodes[FOLLOWER] = follower
    types = {name: of["type"] for name, of in exported["controller_manager"].items()}
    types["guard_before"] = types["motion_guard"]
    types[FOLLOWER] = f"{FOLLOWER}/JointTrajectoryController"
    with managed(nodes, types, description, JOINTS, tmp_path, RATE) as found:
        yield found


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


def plays(manager: Manager, guard: str = "motion_guard") -> np.ndarray:
    """Rows of a swing that a guard has begun."""
    manager.beat(guard)
    trajectory, rows = swing()
    manager.publish(trajectory, f"/{guard}/trajectory")
    manager.until(lambda: manager.call(Trigger, f"/{guard}/play").success, "it plays")
    return rows


def test_a_guard_plays_and_brakes_along_its_path_when_the_executor_falls_silent(manager):
    manager.start("motion_guard")
    manager.until(lambda: manager.said.get("guard") == "holding", "the guard holds")
    assert not manager.call(Trigger, "/motion_guard/play").success
    rows = plays(manager)
    start = len(manager.states)
    manager.until(lambda: manager.states[-1][1][0, 0] > 0.3, "it moves")
    manager.beating = False
    manager.until(lambda: "executor is silent" in manager.said["guard"], "it brakes")
    manager.until(lambda: manager.said["guard"] == "holding", "it stands")
    manager.until(lambda: not manager.states[-1][1][1].any(), "its states say so, too")
    q, v, _ = np.moveaxis(np.array([row for _, row in manager.states[start:]]), 1, 0)
    assert 0.3 < q[-1, 0] < 0.99 and np.all(v[-1] == 0.0)
    assert np.interp(q[:, 0], rows[:, 0, 0], rows[:, 0, 1]) == pytest.approx(q[:, 1], abs=1e-3)
    assert manager.jump(start, ACCELERATION, 1.0 / RATE) <= 0.0
    assert manager.switch(off=["motion_guard"])


def interrupted(manager: Manager, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions before and a second after an interruption of the manager."""
    before = manager.states[-1][1][0]
    manager.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    manager.process.send_signal(signal.SIGCONT)
    until = manager.states[-1][0] + seconds + 1.0
    manager.until(lambda: manager.states[-1][0] > until, "states")
    return before, manager.states[-1][1][0]


def test_a_guard_whose_manager_was_stopped_holds_the_robot_where_it_is(manager):
    """It went on along its path by 2 s at once, as a trajectory controller does."""
    manager.start("motion_guard")
    plays(manager)
    start = len(manager.states)
    manager.until(lambda: manager.states[-1][1][1, 0] > 0.3, "it moves")
    before, after = interrupted(manager, 2.0)
    assert manager.said["guard"] == "holding"
    assert np.abs(after - before).max() < 0.1 and not manager.states[-1][1][1].any()
    q = np.array([row[0] for _, row in manager.states[start:]])
    assert np.abs(np.diff(q, axis=0)).max() < 0.05


def test_a_guard_that_is_deactivated_in_motion_leaves_no_velocity_behind(manager):
    manager.start("motion_guard")
    plays(manager)
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
    use = "/torque_controller/use_payload"
    now = manager.node.get_clock().now().nanoseconds
    for age_s in (61.0, -1.0):  # of another object, maybe; of another clock
        load.header.stamp = stamp_from_ns(now - round(age_s * 1e9))
        manager.publish(load, "/torque_controller/payload")
        assert not manager.call(Trigger, use).success
    load.header.stamp = stamp_from_ns(now)
    manager.publish(load, "/torque_controller/payload")
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
        if not has_plugins("hardware_interface", "robot_sysid"):
            pytest.skip("needs robot_sysid built beside MuJoCo's library")
        file = write_target(Target.MJCF, robot[0], tmp_path / "plant").files[0]
        return described(
            URDF,
            JOINTS,
            "<plugin>robot_sysid_controllers/MujocoSystem</plugin>"
            f'<param name="model">{file}</param>',
        )

    def test_it_tracks_and_brakes_on_the_path(self, manager):
        manager.until(lambda: bool(manager.states), "joint states")
        still = manager.states[-1][1][0]
        assert np.abs(still).max() < 1e-3  # nobody commands it: it is held
        manager.start("torque_controller", "guard_before")
        rows = plays(manager, "guard_before")
        start = len(manager.states)
        manager.until(lambda: manager.states[-1][1][0, 0] > 0.3, "it moves")
        manager.beating = False
        manager.until(lambda: np.abs(manager.states[-1][1][1]).max() < 1e-3, "it stands")
        q = np.array([row[0] for _, row in manager.states[start:]])
        assert 0.3 < q[-1, 0] < 0.99
        on_path = np.interp(q[:, 0], rows[:, 0, 0], rows[:, 0, 1])
        assert np.abs(on_path - q[:, 1]).max() < 0.02

    def test_after_an_interruption_torques_hold_it_where_it_stands(self, manager):
        manager.start("torque_controller", "guard_before")
        plays(manager, "guard_before")
        manager.until(lambda: manager.states[-1][1][1, 0] > 0.3, "it moves")
        start = len(manager.states)
        before, after = interrupted(manager, 2.0)
        assert np.abs(after - before).max() < 0.2
        speeds = np.array([row[1] for _, row in manager.states[start:]])
        assert np.abs(speeds).max() < 1.0 and np.abs(speeds[-20:]).max() < 0.01


MOTION_ACCELERATION = 3.0  # of the executor's motions [rad/s^2]
Play = Callable[..., ExecuteTrajectory.Result | None]


@contextmanager
def executor(
    manager: Manager, folder: Path, **parameters: Any
) -> Iterator[tuple[Play, NodeProcesses, np.ndarray]]:
    """An executor; `play` returns when the motion or the executor ends, and calls `then` during the
    motion.
    """
    model = RobotModel.from_urdf(MOCK)
    limits = MotionLimits.from_model(model, acceleration=MOTION_ACCELERATION, tcp_speed=5.0)
    builder = MotionBuilder(MotionChecker(model, limits), np.array([0.2, 0.1]), rate_hz=100)
    builder.rest(0.2, "still")
    builder.play(*oscillation(np.array([0.2, 0.1]), [0, 1], [0.2, 0.3], 3.0, rate_hz=100), "wave")
    motion = builder.build()
    MotionChecker(model, limits).export(motion, folder / "motion.npz")
    of_all = {"acceleration": MOTION_ACCELERATION, "tcp_speed": 5.0, "trajectories": [str(folder)]}
    spec = NodeSpec(
        "trajectory_executor", "trajectory_executor", parameters=of_all | PATIENT | parameters
    )
    with running([spec], folder / "logs") as nodes:
        action = ActionClient(manager.node, ExecuteTrajectory, "/trajectory_executor/execute")
        manager.until(action.server_is_ready, "the executor", 60.0)

        def play(then: Callable[[Any], object] | None = None) -> ExecuteTrajectory.Result | None:
            manager.until(
                lambda: bool(manager.call(Arm, "/trajectory_executor/arm").token), "it arms"
            )
            token = manager.call(Arm, "/trajectory_executor/arm").token
            file = str(folder / "motion.npz")
            goal = ExecuteTrajectory.Goal(trajectory_file=file, speed_scale=1.0, token=token)
            sent = action.send_goal_async(goal)
            manager.until(sent.done, "an answer")
            result = sent.result().get_result_async()
            if then is not None:
                moves = lambda: abs(manager.states[-1][1][1, 0]) > 0.1  # noqa: E731
                manager.until(moves, "it moves", 60.0)
                then(sent.result())
            process = nodes.processes["trajectory_executor"]
            manager.until(lambda: result.done() or process.poll() is not None, "the end", 120.0)
            return result.result().result if result.done() else None

        yield play, nodes, motion.q[-1]


def test_the_executor_plays_over_the_guard(manager, tmp_path):
    manager.start("motion_guard")
    with executor(manager, tmp_path, command_mode="motion_guard") as (play, _, end):
        done = play()
        assert done.success, done.message
        assert manager.states[-1][1][0] == pytest.approx(end, abs=1e-3)
        assert "cancelled" in play(lambda goal: goal.cancel_goal_async()).message
        manager.until(lambda: manager.said["guard"] == "holding", "it holds")
        manager.until(lambda: not manager.states[-1][1][1].any(), "the states are of that time")


def seconds(time: Any, since: Any) -> float:
    """Difference of two stamps [s], formed before rounding: the time since 1970 as a double is
    exact only to 0.2 µs.
    """
    return time.sec - since.sec + 1e-9 * (time.nanosec - since.nanosec)


def follower(manager: Manager) -> list[Any]:
    """States of the real trajectory controller, from now on."""
    if not has_plugins("controller_interface", FOLLOWER):
        pytest.skip(f"needs ros2_controllers' {FOLLOWER}")
    from control_msgs.msg import JointTrajectoryControllerState as State

    manager.start(FOLLOWER)
    rows: list[Any] = []
    manager.node.create_subscription(State, f"/{FOLLOWER}/controller_state", rows.append, 1000)
    return rows


def commanded(rows: list[Any]) -> float:
    """Largest change of the commanded velocity beyond what the motion's limit allows in the
    controller's own time [rad/s].

    The controller sets its time to the clock when it takes over a goal, and then adds the measured
    periods of its manager. After a missed period, joint states show a step: they have the command
    of the period before, but the stamp of their own.
    """
    own = np.array([seconds(row.header.stamp, rows[0].header.stamp) for row in rows])
    place = np.array([seconds(row.reference.time_from_start, Duration()) for row in rows])
    v = np.array([row.output.velocities for row in rows])
    for k in range(1, len(rows)):
        if place[k] > place[k - 1]:  # of the same goal
            own[k] = own[k - 1] + place[k] - place[k - 1]
    steps = np.abs(np.diff(v, axis=0)).max(axis=1)
    return float((steps - MOTION_ACCELERATION * np.abs(np.diff(own))).max())


def test_the_executor_plays_stops_and_is_killed_over_the_real_trajectory_controller(
    manager, tmp_path
):
    rows = follower(manager)
    over = {"command_mode": "follow_joint_trajectory", "speed_scaling_topic": "none"}
    with executor(manager, tmp_path, **over) as (play, nodes, end):
        done = play()
        assert done.success, done.message
        assert manager.states[-1][1][0] == pytest.approx(end, abs=1e-3)
        assert "cancelled" in play(lambda goal: goal.cancel_goal_async()).message
        assert np.all(manager.states[-1][1][1] == 0.0)
        process = nodes.processes["trajectory_executor"]
        assert play(lambda goal: process.send_signal(signal.SIGKILL)) is None
        stands = lambda: np.all(manager.states[-1][1][1] == 0.0)  # noqa: E731
        manager.until(stands, "its last goal ends at rest", 5.0)
        assert commanded(rows) < 1e-3


def test_the_emulated_trajectory_controller_commands_what_the_real_one_does(manager):
    rows = follower(manager)
    from control_msgs.action import FollowJointTrajectory

    action = ActionClient(
        manager.node, FollowJointTrajectory, f"/{FOLLOWER}/follow_joint_trajectory"
    )
    manager.until(lambda: action.server_is_ready() and bool(rows), FOLLOWER)

    def send(trajectory: JointTrajectory) -> Any:
        sent = action.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
        manager.until(sent.done, "an answer")
        assert sent.result().accepted
        return sent.result()

    def moved(least: float) -> None:
        manager.until(lambda: abs(rows[-1].output.positions[0]) > least, "it moves")

    first, _ = swing(1.0, 11)
    send(first)
    moved(0.3)
    second, _ = swing(1.2, 13)
    for point in second.points:  # from there, towards the other side
        point.positions = (np.array([0.4, -0.3]) - np.array(point.positions)).tolist()
        point.velocities = (-np.array(point.velocities)).tolist()
        point.accelerations = (-np.array(point.accelerations)).tolist()
    begin = manager.node.get_clock().now().nanoseconds + 100_000_000
    second.header.stamp = stamp_from_ns(begin)
    handle = send(second)
    manager.until(lambda: rows[-1].output.positions[0] < -0.1, "it goes back")
    handle.cancel_goal_async()
    manager.until(lambda: rows[-1].output == rows[-20].output, "it holds")

    emulated = JointTrajectoryController(
        2, path_tolerance=0.0, goal_tolerance=0.0, update_period=1.0 / RATE
    )
    goals = [Goal(*trajectory_arrays(message, JOINTS)) for message in (first, second)]
    measured, errors, known = (np.zeros(2), np.zeros(2)), [], True
    place, now = 0.0, 0.0
    for k, row in enumerate(rows):
        last, before, now = place, now, seconds(row.header.stamp, rows[0].header.stamp)
        place = seconds(row.reference.time_from_start, Duration())
        if k > 0 and abs((now - before) - (place - last)) > 0.5 / RATE:  # another trajectory
            # A busy manager doesn't publish every period: the one before may be missing.
            known = now - before < 1.5 / RATE
            if goals:
                goals[0].stamp = now - place
                emulated.follow(goals.pop(0), now)
            else:
                emulated.cancel(*measured)
            last = place
        measured = np.array(row.feedback.positions), np.array(row.feedback.velocities)
        command = emulated.update(now, place - last, *measured, 1.0)
        known = known or (
            place >= 0.0 and not emulated.goal.outcome
        )  # on the points that were sent
        real = [*row.output.positions, *row.output.velocities]
        errors += [np.abs(np.concatenate(command[:2]) - real)] if known else []
    assert not goals and len(errors) > RATE // 2
    assert np.max(errors) < 1e-6
    print(f"{len(errors)} commands, at most {np.max(errors):.1e} apart")


def test_the_executor_survives_a_manager_that_is_killed(manager, tmp_path):
    follower(manager)
    over = {"command_mode": "follow_joint_trajectory", "speed_scaling_topic": "none"}
    with executor(manager, tmp_path, **over) as (play, nodes, _):
        done = play(lambda goal: manager.process.send_signal(signal.SIGKILL))
        assert not done.success and done.message
        nodes.check()
