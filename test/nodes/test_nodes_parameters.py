# SPDX-License-Identifier: Apache-2.0
"""Parameters: one schema per node, and every file that we ship fits it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from rclpy.parameter import Parameter

from sysid_core.errors import SysIdError
from sysid_core.execution import ExecutorState
from sysid_core.robot import RobotModel
from sysid_nodes.bringup import read_config
from sysid_nodes.computed_torque_controller.config import ComputedTorqueControllerConfig
from sysid_nodes.data_logger.config import DataLoggerConfig
from sysid_nodes.estimator.config import EstimatorConfig
from sysid_nodes.lifecycle import CommonConfig, ParameterError, check
from sysid_nodes.lifecycle.parameters import descriptor_of
from sysid_nodes.payload_bridge.config import PayloadBridgeConfig
from sysid_nodes.simulated_robot.config import (
    SimulatedRobotConfig,
    build_plant,
    described_robot,
)
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.node import TrajectoryExecutorNode
from sysid_nodes.trajectory_executor.safety_inputs import SafetyInput

CONFIG = Path(__file__).resolve().parents[2] / "config"
SCHEMAS = [
    DataLoggerConfig,
    EstimatorConfig,
    SimulatedRobotConfig,
    TrajectoryExecutorConfig,
    ComputedTorqueControllerConfig,
    PayloadBridgeConfig,
]


def test_neither_limits_nor_the_clock_change_in_a_motion() -> None:
    def set_while(state: ExecutorState) -> Any:
        core = SimpleNamespace(state=state)
        node: Any = SimpleNamespace(
            _player=SimpleNamespace(core=core),
            Config=CommonConfig,
            config=CommonConfig(),
            changed=len,
        )
        node.fixed_because = TrajectoryExecutorNode.fixed_because.fget(node)
        names = {"use_sim_time": True, "acceleration": 9.0, "max_force": 1e308}
        return TrajectoryExecutorNode._on_set(
            node, [Parameter(k, value=v) for k, v in names.items()]
        )

    for state in ExecutorState:
        answer = set_while(state)
        assert answer.successful == state.is_final
        assert state.is_final or "use_sim_time, acceleration, max_force can't" in answer.reason


@pytest.mark.parametrize("file", sorted(CONFIG.glob("bringup_*.yaml")), ids=lambda f: f.stem)
def test_every_bringup_file_fits_the_nodes_schemas(file: Path) -> None:
    names = [spec.name for spec in read_config(file)]
    assert names[:3] == ["trajectory_executor", "data_logger", "estimator"]


def test_a_controller_is_started_where_the_bringup_file_has_a_section_for_it() -> None:
    specs = {spec.name: spec for spec in read_config(CONFIG / "bringup_torque_control.yaml")}
    controller = specs["computed_torque_controller"]
    assert controller.remappings["effort_commands"] == "effort_controller/commands"
    assert controller.parameters["bandwidth"] == 10.0
    assert "computed_torque_controller" not in {
        spec.name for spec in read_config(CONFIG / "bringup_ur.yaml")
    }


def test_an_explorer_is_started_where_the_bringup_file_has_a_section_for_it(tmp_path: Path) -> None:
    (tmp_path / "cell.yaml").write_text("explorer: {period_s: 5}")
    specs = {spec.name: spec for spec in read_config(tmp_path / "cell.yaml", namespace="left")}
    assert specs["explorer"].parameters["period_s"] == 5.0
    # where the executor of any namespace looks for trajectories
    assert specs["explorer"].parameters["directory"] == "explorations/left"


@pytest.mark.parametrize("file", sorted(CONFIG.glob("bringup_*.yaml")), ids=lambda f: f.stem)
def test_two_robots_in_two_namespaces_share_no_topic_and_no_folder(file: Path) -> None:
    left, right = (read_config(file, namespace=name) for name in ("left", "right"))
    for one, other in zip(left, right, strict=True):
        for target in (*one.remappings.values(), *_names(one.parameters)):
            assert not target.startswith("/"), f"{one.name}: {target}"
        folders = [spec.parameters.get("directory", "") for spec in (one, other)]
        assert folders == ["", ""] or folders[0] != folders[1]
        assert (one.namespace, other.namespace) == ("left", "right")


def _names(parameters: Mapping[str, Any]) -> list[str]:
    return [str(v) for k, v in parameters.items() if k.endswith(("_name", "_topic"))]


def test_a_bringup_file_takes_the_parameters_that_every_node_has(tmp_path: Path) -> None:
    file = tmp_path / "bringup.yaml"
    file.write_text(
        "common: {joints: ['j*'], lock: [finger=0.01], use_sim_time: true, mount: [0, 1.5708, 0]}\n"
        "data_logger: {autostart: false, effort_kind: motor_current}\n"
    )
    specs = {spec.name: spec.parameters for spec in read_config(file)}
    assert specs["estimator"]["lock"] == ("finger=0.01",)
    assert all(spec["use_sim_time"] is True for spec in specs.values())
    assert all(spec["mount"] == (0.0, 1.5708, 0.0) for spec in specs.values())
    assert specs["data_logger"]["autostart"] is False
    overridden = {spec.name: spec.parameters for spec in read_config(file, autostart=True)}
    assert overridden["data_logger"]["autostart"] is True


def test_a_mounted_robot_feels_gravity_along_another_axis_in_nodes_and_simulation() -> None:
    config = SimulatedRobotConfig(robot="xarm7", link_error=0.0, coulomb=0.0)
    model = RobotModel.from_urdf(config.robot)
    sideways = model.mounted(mount=(0.0, 1.5708, 0.0))
    assert sideways.gravity == pytest.approx([9.81, 0.0, 0.0], abs=1e-3)
    assert model.mounted(mount=()) is model
    plant = build_plant(config, sideways, np.random.default_rng(0))
    assert plant.mj_model.opt.gravity == pytest.approx(sideways.gravity)
    with pytest.raises(SysIdError, match="three angles"):
        model.mounted(mount=(0.0, 1.0))


def test_a_simulated_robot_holds_what_the_bringup_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "bringup.yaml"
    file.write_text(
        "common: {joints: ['*_joint[1-7]'], lock: [panda_finger*]}\nsimulated_robot: {robot: panda}\n"
    )
    specs = {spec.name: spec.parameters for spec in read_config(file)}
    assert specs["simulated_robot"]["clock"] and specs["data_logger"]["use_sim_time"]
    model = described_robot(SimulatedRobotConfig(**specs["simulated_robot"]))
    assert model.nv == 7 and "panda_finger_joint1" in model.urdf_xml
    held = build_plant(SimulatedRobotConfig(sensor_frame=""), model, np.random.default_rng(0))
    assert held.mj_model.nv == 7


def test_allowed_values_of_safety_inputs_are_read_strictly() -> None:
    assert SafetyInput.parse("t p/msg/M f in 1,running").allowed == (1, "running")
    with pytest.raises(SysIdError, match="list of allowed values"):
        SafetyInput.parse("t p/msg/M f in ]")


def test_a_plain_ros_parameter_file_is_a_bringup_file(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(
        "/**:\n  ros__parameters: {joints: ['j*']}\n"
        "/left/data_logger:\n  ros__parameters: {effort_kind: link_torque}\n"
        "payload_bridge:\n  ros__parameters: {vendor: xarm}\n"
    )
    specs = {spec.name: spec.parameters for spec in read_config(file)}
    assert specs["data_logger"] == {"joints": ("j*",), "effort_kind": "link_torque"}
    assert specs["payload_bridge"]["vendor"] == "xarm"
    file.write_text("/**:\n  ros__parameters: {jointz: [j]}\n")
    with pytest.raises(SysIdError, match="jointz"):
        read_config(file)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: s.__name__)
def test_every_parameter_is_described_and_its_default_allowed(schema: type) -> None:
    for field in dataclasses.fields(schema):
        assert descriptor_of(field).description.rstrip().endswith("."), field.name
        assert check(schema, field.name, field.default) == field.default


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("rate_hz", 1e9), ("rate_hz", "fast"), ("command_mode", "teleport"), ("no_such", 1.0)),
        *(("workspace", 5), ("workspace", ["a", "b"]), ("workspace", "abc")),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_name(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        check(TrajectoryExecutorConfig, name, value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("logger: {}", "write `data_logger`"),
        ("topics: {joint_state: /joint_states}", "write `joint_states`"),
        ("topics: {joint_states: 5}", "`topics.joint_states` is 5"),
        ("trajectory_executor: [1]", "`trajectory_executor` is .1., expected a mapping"),
        (
            "trajectory_executor: {tcp_sped: 1}",
            "`trajectory_executor`: Unknown parameter 'tcp_sped'",
        ),
        ("trajectory_executor: {stale_s: .nan}", "nan"),
        ("data_logger: {}\ntrajectory_executor: {}\ndata_logger: {}", "again in line 3"),
        ("- 1", "expected a mapping"),
    ],
)
def test_a_damaged_bringup_file_is_refused_by_file_and_key(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "bringup.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SysIdError, match=words) as err:
        read_config(file)
    assert "bringup.yaml" in err.value.message
    assert err.value.remedy


LAUNCH = """
import importlib.util, sys
import launch
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("described", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.generate_launch_description(), launch.LaunchDescription)
"""


def test_the_launch_files_give_launch_descriptions(real_ros: dict[str, str]) -> None:
    files = sorted((CONFIG.parent / "launch").glob("*.launch.py"))
    assert files
    subprocess.run([sys.executable, "-c", LAUNCH, *map(str, files)], env=real_ros, check=True)
