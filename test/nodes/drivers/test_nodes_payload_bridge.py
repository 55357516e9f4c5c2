# SPDX-License-Identifier: Apache-2.0
"""The payload bridge against drivers of our own with the vendors' field layouts.

The vendors' packages aren't needed: a package of stand-ins has the same fields.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_core.controller_payload import ControllerPayload
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, transform_pi

pytest.importorskip("rclpy", reason="ROS 2 is not installed: run `make setup`")

from payload_bench import Bench

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.ros, pytest.mark.slow]

# Object in the frame of the last link; the flange is another frame of it, a gripper hangs there.
OBJECT = pi_from_mass_com_inertia(0.8, [0.02, 0.15, -0.01], np.diag([4e-3, 3e-3, 2e-3]))
GRIPPER = pi_from_mass_com_inertia(0.9, [0.0, 0.0, 0.05], np.diag([2e-3, 2e-3, 1e-3]))


@pytest.fixture
def bench(driver_messages: dict[str, str], tmp_path: Path) -> Iterator[Bench]:
    os.environ.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with contextlib.ExitStack() as stack:
        from domain_coordinator import domain_id

        bench = Bench(driver_messages, tmp_path, int(stack.enter_context(domain_id())))
        yield bench
        assert bench.close() == [0, 0], bench.log("bridge") + bench.log("driver")


def with_qt(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a whole ROS without a display; skips where Qt's binding is missing."""
    both = environment | {"QT_QPA_PLATFORM": "offscreen"}
    probe = [sys.executable, "-c", "import python_qt_binding.QtWidgets"]
    if subprocess.run(probe, env=both, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs a Qt binding")
    return both


def test_a_dry_run_from_the_panel_compares_and_sends_nothing(
    bench: Bench, real_ros: dict[str, str]
) -> None:
    environment = with_qt(bench.environment)
    bench.start("accept", **parameters_of("ur"))
    bench.estimate(OBJECT)
    bench.propose()
    bench.live()
    script = str(Path(__file__).parents[1] / "panels" / "press_send.py")
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    for key in ("heard", "unlocked", "said", "compared", "locked", "allowed", "locked_again"):
        assert found[key], json.dumps(found)
    assert "dry_run is on" in found["answer"] and not found["can_send"]
    proposed, has, change = (float(text) for text in found["mass"])
    assert (proposed, has) == pytest.approx((at_flange().mass, GRIPPER[0]), rel=1e-4)
    assert change == pytest.approx(proposed - has, rel=1e-2)
    assert bench.ask("confirm")[0] is False
    assert bench.requests() == [], "a dry run sends nothing"


def at_flange() -> ControllerPayload:
    """Object and gripper together, as the controller has to know them."""
    robot = RobotModel.from_urdf("ur5")
    X_FS = robot.fixed_pose("tool0", "wrist_3_link")
    return ControllerPayload.from_pi(transform_pi(X_FS, OBJECT) + GRIPPER)


VENDOR = {
    "ur": ("UrSetPayload", "ur/set_payload"),
    "franka": ("FrankaSetLoad", "franka/set_load"),
    "xarm": ("XarmSetTcpLoad", "xarm/set_tcp_load"),
}


def parameters_of(vendor: str) -> dict[str, Any]:
    layout, service = VENDOR[vendor]
    return {
        "vendor": vendor,
        "service_type": f"vendor_payload_layouts/srv/{layout}",
        "service_name": service,
        "tool": GRIPPER.tolist(),
        "initial_payload": GRIPPER.tolist(),
        "readback_topic": "robot_payload",
    }


@pytest.mark.parametrize("vendor", list(VENDOR))
def test_confirmed_payload_reaches_the_driver_and_is_undone(bench: Bench, vendor: str) -> None:
    bench.start("accept", **parameters_of(vendor))
    bench.estimate(OBJECT)
    assert "dry_run is on" in bench.propose()
    assert bench.ask("confirm")[0] is False
    assert bench.requests() == [], "a dry run sends nothing"
    bench.live()
    mine, _ = bench.propose(), setattr(bench, "proposal", "someone-elses")
    done, text = bench.ask("confirm")
    assert not done and "someone-elses" in text and bench.requests() == []
    assert "Proposed as" in mine
    bench.propose()
    done, text = bench.ask("confirm")
    assert done, text
    assert "read back" in text
    wanted = at_flange()
    (request,) = bench.requests()
    unit = 1000.0 if vendor == "xarm" else 1.0
    np.testing.assert_allclose(request["mass"], wanted.mass, rtol=1e-6)
    np.testing.assert_allclose(request["com"], wanted.com * unit, rtol=1e-5)
    if vendor == "ur":
        expected = wanted.inertia[np.triu_indices(3)]
        np.testing.assert_allclose(request["inertia"], expected, atol=1e-9)
        assert request["transition"] == pytest.approx(1.0)
    if vendor == "franka":
        columns = np.reshape(request["inertia"], (3, 3)).T
        np.testing.assert_allclose(columns, wanted.inertia, atol=1e-9)
    assert bench.ask("confirm")[0] is False, "a proposal can be confirmed once"
    undone, text = bench.ask("rollback")
    assert undone, text
    np.testing.assert_allclose(bench.requests()[-1]["mass"], GRIPPER[0], rtol=1e-6)


def test_refused_payload_is_reported_and_not_tried_again(bench: Bench) -> None:
    bench.start("refuse", **parameters_of("franka"), dry_run=False)
    bench.estimate(OBJECT)
    bench.propose()
    done, text = bench.ask("confirm")
    assert not done
    assert "command not possible" in text
    assert len(bench.requests()) == 1


def test_payload_that_reads_back_otherwise_is_rolled_back(bench: Bench) -> None:
    bench.start("lie", **parameters_of("ur"), dry_run=False)
    bench.estimate(OBJECT)
    bench.propose()
    done, text = bench.ask("confirm")
    assert not done
    assert "does not report" in text
    assert "Rolling back" in text
    masses = [request["mass"] for request in bench.requests()]
    np.testing.assert_allclose(masses, [at_flange().mass, GRIPPER[0]], rtol=1e-6)


def test_silent_driver_times_out(bench: Bench) -> None:
    bench.start("silent", **(parameters_of("xarm") | {"initial_payload": []}), dry_run=False)
    bench.estimate(OBJECT)
    bench.propose()
    done, text = bench.ask("confirm")
    assert not done
    assert "did not answer" in text


def test_implausible_payload_is_not_even_proposed(bench: Bench) -> None:
    bench.start("accept", **parameters_of("ur"), dry_run=False, max_mass=1.0)
    bench.estimate(OBJECT)
    answer: list[str] = []

    def refused() -> bool:
        answer.append(bench.ask("propose")[1])
        return "No payload has been estimated" not in answer[-1]

    bench.wait(refused, "a refusal")
    assert "not plausible" in answer[-1]
    assert bench.ask("confirm")[0] is False
    assert bench.requests() == []


def test_absent_driver_package_is_named() -> None:
    from sysid_nodes.conversions import InterfaceError, interface

    with pytest.raises(InterfaceError, match="nobodys_msgs/srv/SetPayload") as caught:
        interface("nobodys_msgs/srv/SetPayload")
    assert "Install the package 'nobodys_msgs'" in caught.value.remedy


def test_payload_is_found_inside_other_messages() -> None:
    from geometry_msgs.msg import InertiaStamped

    from sysid_nodes.payload_bridge.interfaces import InterfaceError, payload_from_message

    message = InertiaStamped()
    message.inertia.m, message.inertia.ixy = 1.5, 0.2
    for path in ("", "inertia"):
        found = payload_from_message(message, path)
        assert found.mass == 1.5
        assert found.inertia[1, 0] == 0.2
    with pytest.raises(InterfaceError, match="no field 'load'"):
        payload_from_message(message, "load")
    with pytest.raises(InterfaceError, match="not a geometry_msgs/Inertia"):
        payload_from_message(message, "header")


@pytest.mark.parametrize("vendor", list(VENDOR))
def test_shipped_parameters_fit_the_node(vendor: str) -> None:
    import yaml

    from sysid_nodes.lifecycle import check
    from sysid_nodes.payload_bridge.config import PayloadBridgeConfig

    text = (ROOT / f"config/payload_bridge/{vendor}.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)["/**"]["ros__parameters"]
    assert {name: check(PayloadBridgeConfig, name, x) for name, x in values.items()} == values
    assert values["vendor"] == vendor
    assert values["dry_run"] is True
