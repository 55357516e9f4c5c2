# SPDX-License-Identifier: Apache-2.0
"""Action `~/run`, step by step, without the other nodes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from robot_sysid.action import ExecuteTrajectory, Identify, RunPlan
from robot_sysid.msg import PayloadEstimate
from robot_sysid.srv import SaveResult, StartRecording, StopRecording

from sysid_core.errors import SysIdError
from sysid_core.execution import ExecutorState, Fault, FaultCode
from sysid_core.workflows import WeighSettings
from sysid_nodes.bringup import NodeSpec, bring_up
from sysid_nodes.bringup.run_plan import require_usable_efforts, weighed_again
from sysid_nodes.runner.action import RunAction
from sysid_nodes.runner.config import RunnerConfig
from sysid_nodes.trajectory_executor.arming import Arming
from sysid_nodes.trajectory_executor.reports import result_of

ROOT = Path(__file__).resolve().parents[2]


def test_without_the_controllers_messages_a_run_is_refused_before_any_node_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "control_msgs.action", None)
    with pytest.raises(SysIdError, match="needs control_msgs"):
        bring_up(ROOT / "config/bringup_ur.yaml", tmp_path)
    assert not list(tmp_path.iterdir())


def nodes(kind: str, columns: str = "", **estimator: Any) -> list[NodeSpec]:
    logger = NodeSpec("data_logger", "data_logger", parameters={"effort_kind": kind})
    given = {"columns": columns, **estimator}
    return [logger, NodeSpec("estimator", "estimator", parameters=given)]


def test_efforts_that_identify_no_arm_are_refused_before_it_moves(tmp_path: Path) -> None:
    map_file = tmp_path / "columns.yaml"
    head = "schema: robot_sysid/columns/1\njoints: [a]\neffort: {kind: motor_current}\n"
    require_usable_efforts(nodes("link_torque"))
    with pytest.raises(SysIdError, match=r"gains of the drives are unknown.*--method none"):
        require_usable_efforts(nodes("motor_current"))
    map_file.write_text(head + "drives: {gain: unknown}\n")
    with pytest.raises(SysIdError, match="gains of the drives are unknown"):
        require_usable_efforts(nodes("motor_current", str(map_file)))
    map_file.write_text(head + "drives: {gain: [11.0], source: data sheet}\n")
    require_usable_efforts(nodes("motor_current", str(map_file)))
    for kind in ("unknown", "gravity_compensated"):
        with pytest.raises(SysIdError, match=kind):
            require_usable_efforts(nodes(kind))


def test_the_recording_of_a_payload_run_is_weighed_as_the_estimator_does_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def weigh(bag: Path, settings: WeighSettings) -> SimpleNamespace:
        asked[:] = [bag, settings]
        return SimpleNamespace(write=lambda folder: asked.append(folder))

    monkeypatch.setattr("sysid_core.workflows.WeighedRecording.from_file", weigh)
    pose = (0.0, 0.0, 0.1, 0.0, 0.0, 1.5)
    given = {"sensor_frame": "ft", "sensor_pose": pose, "sensor_parent": "link_6"}
    specs = nodes("link_torque", **given, sensor_quality="calibrated", lock=("finger",))
    words = weighed_again(specs, tmp_path / "bag", tmp_path / "weighed")
    bag, settings, folder = asked
    assert words == f"Report: {folder / 'report.html'}" and bag == tmp_path / "bag"
    assert (settings.sensor_frame, settings.sensor, settings.calibration) == (
        "ft",
        "calibrated",
        None,
    )
    assert tuple(settings.sensor_robot.pose) == pose
    assert settings.sensor_robot.lock == ("finger",)


class Graph:
    """The other nodes, as the runner sees them; what they were asked for stands in `asked`."""

    def __init__(self, failing: str = "") -> None:
        self.asked: list[Any] = []
        self.failing, self.now = failing, 0

    def now_ns(self) -> int:
        return self.now

    async def play(self, file: str, wanted: Any, report: Any, **how: Any) -> Any:
        report(0.5)
        step = "check" if how["check_only"] else f"play at {how['speed_scale']:g}"
        self.asked.append(step)
        return ExecuteTrajectory.Result(success=step != self.failing, message="as it was told")

    async def call(self, client: Any, request: Any) -> Any:
        self.asked.append(type(request).__name__)
        return {
            StartRecording.Request: StartRecording.Response(path="bags/run"),
            StopRecording.Request: StopRecording.Response(),
            SaveResult.Request: SaveResult.Response(path="results/estimate.yaml"),
        }[type(request)]

    async def act(self, kind: Any, name: str, wanted: Any, report: Any, *_: Any) -> Any:
        self.asked.append(f"{name} {wanted.method} {wanted.recording}")
        report(Identify.Feedback(step="reading", progress=0.1))
        return Identify.Result(success=True, message="good", report="results/report.html")

    async def until(self, done: Any, timeout_s: float) -> None:
        for _ in range(100):
            if done():
                return


def run(graph: Graph, **goal: Any) -> tuple[RunPlan.Result, list[str]]:
    """The result of a goal, and its feedback."""
    steps: list[str] = []
    action = object.__new__(RunAction)
    action._node = SimpleNamespace(now_ns=graph.now_ns, waits=graph)  # type: ignore[assignment]
    action._config, action._arming = RunnerConfig(), Arming(30.0)
    action._remote = action._executor = graph  # type: ignore[assignment]
    action._start = action._stop = action._save = None  # type: ignore[assignment]
    action._action = SimpleNamespace(wanted=True)  # type: ignore[assignment]
    action._payload, action._recording = None, ""
    graph.action = action  # type: ignore[attr-defined]
    handle: Any = SimpleNamespace(
        request=RunPlan.Goal(trajectory_file="plan.npz", token=action._arming.arm(), **goal),
        publish_feedback=lambda f: steps.append(f.step),
    )
    try:
        return asyncio.run(action._run(handle)), steps
    except SysIdError as err:
        return action._failed(err), steps


def test_a_run_may_only_record() -> None:
    graph = Graph()
    result, _ = run(graph, slow=0.0, method="none")
    assert result.success and result.recording == "bags/run" and result.result == ""
    assert graph.asked[-1] == "StopRecording_Request"


def test_only_late_data_are_blamed_on_an_overloaded_computer() -> None:
    late = {FaultCode.CLOCK_JUMP, FaultCode.STATE_BACKWARDS, FaultCode.STATE_FUTURE}
    late |= {FaultCode.STATE_STALE, FaultCode.WRENCH_STALE}
    said = set()
    for code in FaultCode:
        core: Any = SimpleNamespace(state=ExecutorState.ABORTED, fault=Fault(code), message="")
        core.worst_error, core.model = 0.0, SimpleNamespace(held_text="")
        said |= {code} if "overloaded" in result_of(core, 1.0, "").message else set()
    assert said == late


def test_a_run_checks_plays_slowly_then_records_the_full_motion_and_identifies() -> None:
    graph = Graph()
    result, steps = run(graph, slow=0.3, method="lmi")
    assert result.success and result.recording == "bags/run"
    assert result.result == "results/report.html"
    assert graph.asked == [
        "check",
        "play at 0.3",
        "StartRecording_Request",
        "play at 1",
        "StopRecording_Request",
        "estimator/identify lmi bags/run",
    ]
    assert list(dict.fromkeys(steps)) == [
        "checking",
        "first pass",
        "playing",
        "identifying: reading",
    ]


@pytest.mark.parametrize(
    ("failing", "recorded"),
    [("check", False), ("play at 0.3", False), ("play at 1", True)],
)
def test_a_pass_that_fails_ends_the_run_and_closes_its_bag(failing: str, recorded: bool) -> None:
    graph = Graph(failing)
    result, steps = run(graph, slow=0.3, method="lmi")
    assert not result.success and result.message.startswith(f"{steps[-1]}: as it was told")
    assert bool(result.recording) is recorded
    assert ("StopRecording_Request" in graph.asked) is recorded
    assert not any("identify" in step for step in graph.asked)


@pytest.mark.parametrize("slow", [1.0, -0.1, 3.0, float("nan")])
def test_a_first_pass_that_is_not_slow_is_refused_before_anything(slow: float) -> None:
    graph = Graph()
    result, _ = run(graph, slow=slow)
    assert "is not slow" in result.message and not graph.asked


def test_a_weighing_takes_the_payload_that_stays_the_same_and_none_from_before() -> None:
    class Weighed(Graph):
        async def until(self, done: Any, timeout_s: float) -> None:
            for seconds, samples, mass in ((-1, 1, 9.0), (1, 5, 1.0), (2, 6, 2.0), (4, 6, 2.0)):
                message = PayloadEstimate(samples_used=samples)
                message.header.stamp.sec, message.inertia.m = 10 + seconds, mass
                self.action._payload = message  # type: ignore[attr-defined]
                if done():
                    return

    graph = Weighed()
    graph.now = 10_000_000_000
    result, _ = run(graph, method="payload")
    assert result.success and result.message.startswith("2.0000 ±")
    assert result.result == "results/estimate.yaml"
    result, _ = run(Graph(), method="payload")
    assert "No payload was estimated" in result.message and result.recording == "bags/run"


@pytest.mark.parametrize(("each_wait", "success"), [((5, 8, 9, 9), True), ((5, 8, 8), False)])
def test_a_weighing_waits_as_long_as_the_estimator_catches_up(
    each_wait: tuple[int, ...], success: bool
) -> None:
    class Busy(Graph):
        waits = iter(each_wait)

        async def until(self, done: Any, timeout_s: float) -> None:
            self.now += 1_000_000_000 if success else 0
            message = PayloadEstimate(samples_used=next(self.waits))
            message.header.stamp.sec = 2 * self.now // 1_000_000_000
            self.action._payload = message  # type: ignore[attr-defined]
            done()

    result, _ = run(Busy(), method="payload")
    assert result.success is success, result.message
