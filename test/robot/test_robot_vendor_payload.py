# SPDX-License-Identifier: Apache-2.0
"""A payload on its way into a controller: layouts, limits, and the order of things."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sysid_core.controller_payload import (
    VENDORS,
    ControllerPayload,
    ControllerSetting,
    ExchangeState,
    LoadDiagram,
    PayloadExchange,
    PayloadLimits,
    VendorRequest,
)
from sysid_core.controller_payload.exchange import controller_settings
from sysid_core.errors import ModelError, SysIdError
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, transform_pi

INERTIA = np.array([[0.010, 0.001, 0.002], [0.001, 0.020, 0.003], [0.002, 0.003, 0.015]])
PAYLOAD = ControllerPayload(1.5, np.array([0.01, -0.02, 0.08]), INERTIA)
MOMENTS = {"ixx": 0.010, "ixy": 0.001, "ixz": 0.002, "iyy": 0.020, "iyz": 0.003, "izz": 0.015}
VECTOR = {"x": 0.01, "y": -0.02, "z": 0.08}

# Request fields as rclpy's get_fields_and_field_types gives them, and what must stand in them.
# Layouts: ros-industrial/ur_msgs (2.0, 2.6, 3.0), franka_msgs of franka_ros2 (0.1.x and 1.x),
# xarm_msgs of xArm-Developer/xarm_ros2.
LAYOUTS = [
    (
        "ur",
        {"mass": "float", "center_of_gravity": "geometry_msgs/Vector3"},
        {"mass": 1.5, "center_of_gravity": VECTOR},
        False,
    ),
    (
        "ur",
        {
            "mass": "float",
            "center_of_gravity": "geometry_msgs/Vector3",
            **dict.fromkeys(MOMENTS, "double"),
            "transition_time": "builtin_interfaces/Duration",
        },
        {
            "mass": 1.5,
            "center_of_gravity": VECTOR,
            **MOMENTS,
            "transition_time": {"sec": 1, "nanosec": 500_000_000},
        },
        True,
    ),
    (
        "ur",
        {"payload": "geometry_msgs/Inertia", "transition_time": "double"},
        {"payload": {"m": 1.5, "com": VECTOR, **MOMENTS}, "transition_time": 1.5},
        True,
    ),
    (
        "franka",
        {"mass": "double", "center_of_mass": "double[3]", "load_inertia": "double[9]"},
        {
            "mass": 1.5,
            "center_of_mass": [0.01, -0.02, 0.08],
            "load_inertia": [0.010, 0.001, 0.002, 0.001, 0.020, 0.003, 0.002, 0.003, 0.015],
        },
        True,
    ),
    (
        "franka",
        {"load_inertia": "geometry_msgs/InertiaStamped"},
        {
            "load_inertia": {
                "header": {"frame_id": "flange"},
                "inertia": {"m": 1.5, "com": VECTOR, **MOMENTS},
            }
        },
        True,
    ),
    (
        "xarm",
        {"weight": "float", "center_of_gravity": "sequence<float>"},
        {"weight": 1.5, "center_of_gravity": [10.0, -20.0, 80.0]},
        False,
    ),
]


@pytest.mark.parametrize(("vendor", "fields", "expected", "inertia"), LAYOUTS)
def test_every_layout_in_the_field_is_filled(
    vendor: str, fields: dict[str, str], expected: dict[str, object], inertia: bool
) -> None:
    found = VendorRequest.of(
        VENDORS[vendor], PAYLOAD, fields, flange_frame="flange", transition_s=1.5
    )
    assert found.sends_inertia is inertia
    assert leaves(found.values) == pytest.approx(leaves(expected))


def read_back(vendor: str, text: str) -> ControllerPayload:
    """Payload that a controller reads from its line of settings, according to its vendor's
    documents.

    KUKA: KSS system variables, structure LOAD (kg, mm, degrees: A about z, then B about y, C about x;
    J in kg m^2 about the axes so turned). ABB: RAPID data types, loaddata (kg, mm, quaternion from its
    real part, kg m^2). FANUC: screen MOTION PAYLOAD SET (kg, cm, kgf cm s^2 about the flange's axes).
    """
    x = [float(number) for number in re.findall(r"(?<![\w])-?\d+\.\d+", text)]
    if vendor == "KUKA":
        assert "CM {X" in text and "A" in text and "J {X" in text
        R, mm = Rotation.from_euler("ZYX", x[4:7], degrees=True).as_matrix(), 1e-3
    elif vendor == "ABB":
        R, mm = Rotation.from_quat([*x[5:8], x[4]]).as_matrix(), 1e-3
    else:
        return ControllerPayload(x[0], 1e-2 * np.array(x[1:4]), np.diag(x[4:7]) * 9.80665 * 1e-2)
    return ControllerPayload(x[0], mm * np.array(x[1:4]), R @ np.diag(x[-3:]) @ R.T)


@pytest.mark.parametrize("vendor", ["KUKA", "ABB", "FANUC"])
def test_lines_of_industrial_controllers_mean_the_payload(vendor: str) -> None:
    (line,) = (one for one in controller_settings(PAYLOAD) if one.vendor.value == vendor)
    found = read_back(vendor, line.text)
    assert found.mass == pytest.approx(PAYLOAD.mass)
    np.testing.assert_allclose(found.com, PAYLOAD.com, atol=1e-9)
    products = 1.0 if vendor != "FANUC" else np.eye(3)  # FANUC has no place for them
    np.testing.assert_allclose(found.inertia, INERTIA * products, atol=2e-5)
    np.testing.assert_allclose(found.inertia, line.kept.inertia, atol=1e-9)
    lost = np.linalg.norm(INERTIA - found.inertia, 2)
    assert line.error_torque == pytest.approx(lost, abs=1e-6)


def test_the_torque_that_stays_unknown_is_that_of_the_moments_at_the_flange() -> None:
    """10 g at 0.5 m from the flange, whose centre of mass is known to a millimetre."""
    mass, arm = PAYLOAD.mass, np.array([0.0, 0.0, 0.5])
    X = np.eye(4)
    X[:3, 3] = arm
    pi = pi_from_mass_com_inertia(mass, np.zeros(3), INERTIA)
    sd = np.array([0.01, *[1e-3 * mass] * 3, *[1e-4] * 6])
    lines = ControllerSetting.all_of(pi, np.diag(sd**2), Verdict(()), X)
    expected = 9.80665 * np.hypot(0.01 * 0.5, 1e-3 * mass)
    assert [line.torque_sd for line in lines] == pytest.approx([expected] * 6)
    failed = Verdict((Reason.failure("no-body"),))
    assert ControllerSetting.all_of(pi, np.diag(sd**2), failed, X) == ()


def test_a_load_diagram_permits_less_farther_from_the_flange() -> None:
    diagram = LoadDiagram.from_text("0:5, 0.3:5, 0.6:2")
    assert diagram.permitted(0.1) == 5.0 and diagram.permitted(0.5) == pytest.approx(3.0)
    assert diagram.permitted(0.7) == 0.0
    judged = [
        diagram.judge((3.0, sd), (distance, 0.01)).severity.value
        for sd, distance in ((0.1, 0.3), (0.1, 0.49), (1.5, 0.1), (0.1, 0.51))
    ]
    assert judged == ["held", "warning", "warning", "failure"]
    for text in ("5", "0.3:5,0:5", "0:-1", "0:nan", "a:b", ""):
        with pytest.raises(SysIdError, match="load diagram"):
            LoadDiagram.from_text(text)


def leaves(values: object, path: str = "") -> dict[str, object]:
    """Every number and word of nested mappings and lists, by its path."""
    if isinstance(values, dict):
        items = [(f"{path}.{key}", value) for key, value in values.items()]
    elif isinstance(values, list):
        items = [(f"{path}[{i}]", value) for i, value in enumerate(values)]
    else:
        return {path: values}
    return {name: x for key, value in items for name, x in leaves(value, key).items()}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"mass": "double", "center_of_mass": "double[3]", "mode": "string"}, "mode"),
        ({"mass": "double"}, "com"),
        ({"mass": "double", "center_of_mass": "double[3]", "load_inertia": "double[6]"}, "load_i"),
    ],
)
def test_unknown_layouts_are_refused(fields: dict[str, str], named: str) -> None:
    with pytest.raises(ModelError, match=named):
        VendorRequest.of(VENDORS["franka"], PAYLOAD, fields)


def test_answers_of_all_vendors_are_understood() -> None:
    assert VendorRequest.accepted({"success": True}) == (True, "")
    assert VendorRequest.accepted({"success": False, "error": "moving"}) == (False, "moving")
    assert VendorRequest.accepted({"ret": 0, "message": "weight=1.5"}) == (True, "weight=1.5")
    assert VendorRequest.accepted({"ret": -2, "message": "not ready"}) == (False, "not ready")
    with pytest.raises(ModelError, match="does not state"):
        VendorRequest.accepted({"done": 1})


def test_payload_keeps_its_parameters() -> None:
    pi = pi_from_mass_com_inertia(1.5, [0.01, -0.02, 0.08], INERTIA)
    np.testing.assert_allclose(ControllerPayload.from_pi(pi).pi, pi)
    with pytest.raises(ModelError, match="no centre of mass"):
        ControllerPayload.from_pi(np.zeros(10))
    assert ControllerPayload.none().mass == 0.0


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (ControllerPayload(9.0, PAYLOAD.com, INERTIA), "mass 9.000"),
        (ControllerPayload(-0.1, PAYLOAD.com, INERTIA), "mass -0.100"),
        (ControllerPayload(1.0, np.array([0.0, 0.0, 0.9]), INERTIA), "from the flange"),
        (ControllerPayload(1.0, PAYLOAD.com, np.eye(3)), "radius of gyration"),
        (ControllerPayload(1.0, PAYLOAD.com, np.diag([0.1, 0.01, 0.01])), "consistent"),
    ],
)
def test_implausible_payloads_are_named(payload: ControllerPayload, complaint: str) -> None:
    limits = PayloadLimits(max_mass=5.0)
    assert limits.complaints(PAYLOAD) == []
    assert limits.complaints(ControllerPayload.none()) == []
    with pytest.raises(ModelError, match=complaint):
        limits.require(payload)


def test_payload_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ModelError, match="finite"):
        ControllerPayload(float("nan"), PAYLOAD.com, INERTIA)


def test_differences_name_what_the_controller_reports_otherwise() -> None:
    assert PAYLOAD.differences(PAYLOAD, with_inertia=True) == []
    other = ControllerPayload(1.0, PAYLOAD.com, 2 * INERTIA)
    assert len(PAYLOAD.differences(other, with_inertia=True)) == 2
    assert len(PAYLOAD.differences(other, with_inertia=False)) == 1


def test_pose_between_sensor_and_flange_moves_the_payload() -> None:
    robot = RobotModel.from_urdf("ur5")
    X_FS = robot.fixed_pose("tool0", "wrist_3_link")
    q = np.linspace(-1, 1, 6)[None]
    F, S = (robot.frame_motion(f, q, 0 * q, 0 * q).R_WF[0] for f in ("tool0", "wrist_3_link"))
    np.testing.assert_allclose(X_FS[:3, :3], F.T @ S, atol=1e-12)
    moved = ControllerPayload.from_pi(transform_pi(X_FS, PAYLOAD.pi))
    np.testing.assert_allclose(moved.com, X_FS[:3, :3] @ PAYLOAD.com + X_FS[:3, 3])
    with pytest.raises(ModelError, match="not fixed to each other"):
        robot.fixed_pose("tool0", "forearm_link")


def exchange(previous: ControllerPayload | None = None) -> PayloadExchange:
    return PayloadExchange(PayloadLimits(max_mass=5.0), patience_s=60.0, previous=previous)


def test_nothing_is_sent_without_a_fresh_proposal() -> None:
    e = exchange()
    with pytest.raises(ModelError, match="No payload has been proposed"):
        e.confirm(0.0, "1234")
    proposal = e.propose(PAYLOAD, 0.0)
    with pytest.raises(ModelError, match="older than"):
        e.confirm(61.0, proposal.id)
    with pytest.raises(ModelError, match="No payload has been proposed"):
        e.confirm(61.5, proposal.id)


def test_confirmed_payload_can_be_rolled_back() -> None:
    gripper = ControllerPayload(0.9, np.array([0.0, 0.0, 0.05]), np.eye(3) * 1e-3)
    e = exchange(gripper)
    proposal = e.propose(PAYLOAD, 0.0)
    with pytest.raises(ModelError, match="someone-elses") as refused:
        e.confirm(1.0, "someone-elses")
    assert proposal.id not in str(refused.value)  # a wrong guess doesn't learn the right one
    assert e.confirm(1.0, proposal.id) is PAYLOAD
    with pytest.raises(ModelError, match="being sent"):
        e.propose(PAYLOAD, 1.0)
    e.succeeded()
    assert e.state is ExchangeState.SET
    assert e.roll_back() is gripper
    e.succeeded()
    assert e.current is gripper


def test_failed_exchange_remembers_what_was_there() -> None:
    gripper = ControllerPayload(0.9, np.array([0.0, 0.0, 0.05]), np.eye(3) * 1e-3)
    e = exchange(gripper)
    proposal = e.propose(PAYLOAD, 0.0)
    e.confirm(0.1, proposal.id)
    e.failed()
    assert e.state is ExchangeState.FAILED
    assert e.current is None
    assert e.roll_back() is gripper
    e.failed(untouched=True)
    assert e.state is ExchangeState.FAILED, "a refused rollback leaves it uncertain"
    assert e.roll_back() is gripper


def test_refused_payload_leaves_the_controller_as_it_was() -> None:
    e = exchange()
    proposal = e.propose(PAYLOAD, 0.0)
    e.confirm(0.1, proposal.id)
    e.failed(untouched=True)
    assert e.state is ExchangeState.IDLE
    with pytest.raises(ModelError, match="is unknown"):
        e.roll_back()


def test_implausible_proposal_withdraws_the_one_before() -> None:
    e = exchange()
    proposal = e.propose(PAYLOAD, 0.0)
    with pytest.raises(ModelError, match="not plausible"):
        e.propose(ControllerPayload(50.0, PAYLOAD.com, INERTIA), 1.0)
    with pytest.raises(ModelError, match="No payload"):
        e.confirm(1.0, proposal.id)
