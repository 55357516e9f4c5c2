# SPDX-License-Identifier: Apache-2.0
"""The computed-torque controller among the real nodes, and what the demos are made of."""

from __future__ import annotations

import functools
import importlib
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from busy_machine import pace
from live_nodes import Start, pause
from robot_sysid.msg import InertialEstimate
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.planning import ArmPlan, MotionChecker, MotionLimits
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_demos import run as demo
from sysid_demos.tracking import TrackingRecorder
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.bringup.processes import NodeProcesses
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.computed_torque_controller.identified_parameters import IdentifiedParameters
from sysid_nodes.conversions import message_from_estimate
from sysid_nodes.lifecycle import qos

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RobotModel, Any]:
    """A motion of all joints of a UR5, some seconds long."""
    model = RobotModel.from_urdf("ur5")
    limits = MotionLimits.from_model(model, tcp_speed=1.0)
    plan = ArmPlan.of(model, limits, period=4.0, n_candidates=4, n_starts=0, still=0.5, seed=1)
    path = tmp_path_factory.mktemp("plan") / "motion.npz"
    return path, model, MotionChecker(model, limits).export(plan.trajectory, path)


def controlled_ur5(trajectory: Any) -> tuple[NodeSpec, ...]:
    """A UR5 whose efforts come from `computed_torque_controller`, in simulated time.

    Torques that stay while the machine stalls the controller would let the robot run away.
    """
    specs = demo_graph(
        robot={
            "robot": "ur5",
            "sensor_frame": "",
            "start": trajectory.q[0].tolist(),
            "link_error": 0.0,
            "clock": True,
            "pace": pace(),
        },
        executor={
            "tcp_speed": 1.0,
            "command_mode": "setpoint_stream",
            "tracking_error": 0.6,
            "start_tolerance": 0.3,
            "use_sim_time": True,
        },
        controller={"drive_inertia": 0.05, "bandwidth": 10.0, "use_sim_time": True},
    )
    return tuple(s for s in specs if s.name not in ("data_logger", "estimator"))


def estimate_of(model: RobotModel, share: float) -> Estimate:
    """A consistent estimate of all inertial parameters: the URDF's, times a share."""
    names = model.parameter_names
    p = len(names)
    return Estimate(
        method="lmi",
        names=names,
        values=share * model.pi.ravel(),
        units=("",) * p,
        covariance=np.eye(p) * 1e-6,
        verdicts=(ParameterVerdict.IDENTIFIABLE,) * p,
        consistent={"robot": True},
        condition_number=1.0,
        rank=p,
        structural_rank=p,
        n_samples=100,
        robot=model.name,
        urdf_hash=model.urdf_hash,
        source="test",
    )


def wait_for_all(client: LiveClient, nodes: NodeProcesses) -> None:
    """All nodes are active, and the controller knows robot and state: only then does it listen."""
    for name in nodes.processes:
        client.wait_for_active(name)
    listeners = functools.partial(client.node.count_subscribers, "setpoint")
    # The simulated robot, which keeps its clock by them, is the other.
    client.wait_until(lambda: listeners() == 2, 60.0, "the controller to listen")


def yes(client: LiveClient) -> Any:
    return client.call(Trigger, "computed_torque_controller/use_identified", Trigger.Request())


def offered(model: RobotModel, share: float = 1.0, **more: Any) -> InertialEstimate:
    """A message of the estimator, with some fields replaced."""
    out = message_from_estimate(
        estimate_of(model, share), stamp_ns=1, frame="base", reference_point="", model="robot"
    )
    for key, value in more.items():
        setattr(out, key, value)
    return out


BAD_OFFERS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"share": -1.0}, "not physically consistent"),
    ({"share": 1000.0}, "gravity torque of"),
    ({"share": 1e307}, "gravity torque of"),
    ({"share": float("nan")}, "not finite"),
    ({"covariance": [1.0, 2.0]}, "covariance of 2 numbers"),
    ({"covariance": [float("nan")] * 3600}, "not finite"),
    ({"verdicts": [9] * 60}, "verdicts [9]"),
    ({"values": [1.0]}, "'values' has shape (1,)"),
    ({"names": [*(f"l.{i}" for i in range(59)), "elbow_joint.S_k"]}, "contains springs"),
    ({"urdf_hash": ""}, "to another robot"),
    ({"consistency_known": True, "physically_consistent": False}, "not physically consistent"),
)


@pytest.mark.parametrize(("bad", "words"), BAD_OFFERS, ids=lambda x: str(x)[:20])
def test_an_offer_that_makes_no_sense_leaves_the_last_good_one(
    bad: dict[str, Any], words: str
) -> None:
    model = RobotModel.from_urdf("ur5")
    identified = IdentifiedParameters(ClosedChain(model), factor=3.0)
    identified.offer(offered(model, 1.1))
    good = identified.offered
    with pytest.raises(SysIdError) as err:
        identified.offer(offered(model, **bad))
    assert words in str(err.value) and identified.offered is good


def test_set_points_are_tracked_and_parameters_change_on_request_only(
    start_nodes: Start, motion: tuple[Path, RobotModel, Any], tmp_path: Path
) -> None:
    file, model, trajectory = motion
    client, nodes = start_nodes(controlled_ur5(trajectory))
    wait_for_all(client, nodes)
    client.follow(String, "computed_torque_controller/parameters_in_use")
    recorder = TrackingRecorder(client, model.joint_names)
    late = ["computed_torque_controller", "trajectory_executor"]  # each is stalled once, in motion

    def stall(feedback: Any) -> None:
        if late and feedback.state == "executing" and feedback.progress > 0.8 - 0.3 * len(late):
            process = nodes.processes[late.pop()]
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            process.send_signal(signal.SIGCONT)

    result = client.execute(str(file), stall, timeout_s=120.0)
    assert result.final_state == "done" and not late
    assert (
        recorder.result(trajectory.duration).typical_of_all < 0.15
    )  # friction of 0.5 N m is unknown to the controller
    with pytest.raises(LiveError, match="no identified parameters"):
        yes(client)
    offer = client.node.create_publisher(InertialEstimate, "estimator/parameters", qos.LATCHED)

    # What would have reversed gravity, asked for all torque, commanded NaN, or killed the node.
    for bad, _ in BAD_OFFERS:
        offer.publish(offered(model, **bad))
    log = tmp_path / "logs" / "computed_torque_controller.log"
    client.wait_until(lambda: "estimator/parameters: " in log.read_text(), 20.0, "a refusal")
    pause(client, 0.3)
    with pytest.raises(LiveError, match="no identified parameters"):
        yes(client)
    nodes.check()
    offer.publish(offered(model, 1.1))
    topic = "computed_torque_controller/parameters_in_use"
    assert client.wait_for(topic).data == "nominal"

    def accepted() -> bool:
        try:
            return bool(yes(client).success)
        except LiveError:
            return False

    client.wait_until(accepted, 20.0, "the offer to arrive")
    client.wait_until(lambda: client.latest[topic].data == "identified", 10.0, "the change")


def test_a_lost_executor_ends_in_a_damped_stop(
    start_nodes: Start, motion: tuple[Path, RobotModel, Any]
) -> None:
    file, _, trajectory = motion
    client, nodes = start_nodes(controlled_ur5(trajectory))
    wait_for_all(client, nodes)
    speeds: list[float] = []
    client.node.create_subscription(
        JointState, "joint_states", lambda m: speeds.append(max(map(abs, m.velocity))), 200
    )

    def kill(feedback: Any) -> None:
        executor = nodes.processes["trajectory_executor"]
        if feedback.state == "executing" and speeds and speeds[-1] > 0.2 and not executor.poll():
            executor.send_signal(signal.SIGKILL)
            raise LiveError("It is killed.", remedy="None.")

    with pytest.raises(LiveError, match="killed"):
        client.execute(str(file), kill, timeout_s=60.0)
    client.wait_until(lambda: max(speeds[-100:]) < 0.05, 30.0, "the robot to stand still")


def test_a_simulated_leg_closes_its_loops_and_holds(start_nodes: Start) -> None:
    chain = load_closed_chain("own-leg")
    specs = demo_graph(
        robot={
            "robot": str(Path(importlib.import_module("sysid_core.robot").__file__).parent)
            + "/reference_robots/own_leg.urdf",
            "loops": "own-leg",
            "sensor_frame": "",
        }
    )[:1]
    client, _ = start_nodes(specs)
    states: list[JointState] = []
    client.node.create_subscription(JointState, "joint_states", states.append, 200)
    client.wait_until(lambda: len(states) > 200, 60.0, "joint states of the leg")
    assert tuple(states[0].name) == chain.model.joint_names
    assert np.max(np.abs(states[-1].position)) < 2e-3  # it closes exactly at zero
    passive = [chain.model.joint_names.index(name) for name in chain.passive]
    assert np.std([np.array(s.effort)[passive] for s in states]) < 0.1  # noise alone


def test_every_scenario_can_be_played() -> None:
    for name in demo.SCENARIOS:
        assert callable(importlib.import_module(f"sysid_demos.{name}").play)
