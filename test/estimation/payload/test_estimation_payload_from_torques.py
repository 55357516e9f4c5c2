# SPDX-License-Identifier: Apache-2.0
"""Payload from joint torques: recovery, honesty of its covariance, and a real loaded arm."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.loaded_arm import DriveGains, PayloadFromTorques
from sysid_core.estimation.loaded_arm.carried_body import payload_torque_regressor
from sysid_core.estimation.payload import DensityPrior, PayloadSummary
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel, pi_from_mass_com_inertia
from sysid_core.robot.shapes import Shape
from sysid_core.signals import ColumnMap, EffortKind, JointStream, read_table
from sysid_core.signals.filters import ZeroPhaseFilter

ROOT = Path(__file__).resolve().parents[3]
PAYLOAD = pi_from_mass_com_inertia(2.0, [0.03, -0.02, 0.08], np.diag([0.012, 0.010, 0.006]))
FLANGE = "tool0"


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf("ur5")


@pytest.fixture(scope="module")
def usual(robot: RobotModel) -> FrictionModel:
    return FrictionModel(DriveTrain.direct(robot.joint_names))


def true_arm(robot: RobotModel) -> RobotModel:
    """An arm whose links are up to 20 % heavier than the URDF says."""
    return robot.with_pi(robot.pi * np.linspace(0.9, 1.2, robot.n_bodies)[:, None])


def run(
    robot: RobotModel, payload: np.ndarray, rng: np.random.Generator, noise: float, phase: float
) -> JointStream:
    """Joint torques of Fourier motion with friction, noise in N m."""
    t = np.arange(0.0, 8.0, 0.02)
    n = robot.nv
    rates = np.outer(2 * np.pi * np.array([0.125, 0.375, 0.75]), np.ones(n))
    shift = phase + np.arange(3 * n).reshape(3, n) * 2.399
    size = np.array([0.7, 0.35, 0.15])[:, None] * np.ones(n)
    angle = rates * t[:, None, None] + shift
    q = (size * np.sin(angle)).sum(axis=1)
    v = (size * rates * np.cos(angle)).sum(axis=1)
    a = (-size * rates**2 * np.sin(angle)).sum(axis=1)
    tau = robot.inverse_dynamics(q, v, a) + carried(robot, payload, q, v, a)
    tau += 3.0 * np.tanh(v / 0.005) + 2.0 * v + 0.5 * a - 0.1
    stamps = (t * 1e9).astype(np.int64)
    return JointStream(
        robot.joint_names,
        stamps,
        q,
        v,
        a,
        tau + noise * rng.normal(size=tau.shape),
        EffortKind.ACTUATOR_TORQUE,
    )


def carried(
    robot: RobotModel, payload: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Torques of the payload by pinocchio: the arm with the body appended minus without."""
    if not np.any(payload):
        return np.zeros_like(q)
    model = robot.pin_model.copy()
    frame = model.frames[robot.frame_id(FLANGE)]
    body = pin.Inertia.FromDynamicParameters(payload)
    model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    loaded = RobotModel(robot.name, model)
    return loaded.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)


def test_payload_regressor_is_the_appended_bodys_torque(
    robot: RobotModel, rng: np.random.Generator
) -> None:
    q, v, a = rng.normal(size=(3, 30, robot.nv))
    Y = payload_torque_regressor(robot, FLANGE, q, v, a)
    assert Y.shape == (30, robot.nv, 10)
    np.testing.assert_allclose(Y @ PAYLOAD, carried(robot, PAYLOAD, q, v, a), atol=1e-10)


def test_payload_is_recovered_from_clean_torques(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    estimate = PayloadFromTorques(robot, FLANGE, friction=usual, gain_sd=0.0).fit(
        [run(arm, PAYLOAD, rng, 1e-6, 0.3)], [run(arm, 0 * PAYLOAD, rng, 1e-6, 0.0)]
    )
    np.testing.assert_allclose(estimate.values, PAYLOAD, atol=2e-4)
    assert estimate.physically_consistent
    assert estimate.rank == estimate.structural_rank == 10
    assert set(estimate.verdicts) == {ParameterVerdict.IDENTIFIABLE}


@pytest.mark.slow
def test_noisy_payload_lies_within_its_covariance(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    scores = []
    for k in range(10):
        estimate = PayloadFromTorques(robot, FLANGE, friction=usual, gain_sd=0.0).fit(
            [run(arm, PAYLOAD, rng, 0.5, k)], [run(arm, 0 * PAYLOAD, rng, 0.5, k + 0.5)]
        )
        error = (estimate.values - PAYLOAD)[:4]
        scores.append(error @ np.linalg.solve(estimate.covariance[:4, :4], error) / 4)
        assert estimate.physically_consistent
    assert 0.3 < np.mean(scores) < 2.0


def test_wrong_drive_gains_stay_within_the_stated_deviation(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    loaded, unloaded = run(arm, PAYLOAD, rng, 0.1, 0.3), run(arm, 0 * PAYLOAD, rng, 0.1, 0.0)
    wrong = 1.0 + 0.05 * np.array([1, -1, 1, 1, -1, 1])
    streams = [
        dataclasses.replace(s, effort=np.asarray(s.effort) * wrong) for s in (loaded, unloaded)
    ]
    honest = PayloadFromTorques(robot, FLANGE, friction=usual, gain_sd=0.05).fit(
        streams[:1], streams[1:]
    )
    blind = PayloadFromTorques(robot, FLANGE, friction=usual, gain_sd=0.0).fit(
        streams[:1], streams[1:]
    )
    error = abs(honest["payload.m"] - PAYLOAD[0])
    assert error < 3 * honest.standard_deviations[0]
    assert error > 3 * blind.standard_deviations[0]
    assert honest.standard_deviations[0] > 0.045 * PAYLOAD[0]  # partly a common error


def test_arm_without_payload_carries_nothing(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    nothing = 0 * PAYLOAD
    estimate = PayloadFromTorques(robot, FLANGE, friction=usual).fit(
        [run(arm, nothing, rng, 0.5, 0.3)], [run(arm, nothing, rng, 0.5, 0.0)]
    )
    assert estimate["payload.m"] < 3 * estimate.standard_deviations[0] + 1e-9
    assert any("may be no load" in note for note in estimate.notes)


def test_nominal_model_alone_gives_a_wider_but_honest_mass(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    loaded = run(arm, PAYLOAD, rng, 0.1, 0.3)
    nominal = PayloadFromTorques(robot, FLANGE, friction=usual).fit([loaded])
    both = PayloadFromTorques(robot, FLANGE, friction=usual).fit(
        [loaded], [run(arm, 0 * PAYLOAD, rng, 0.1, 0.0)]
    )
    assert nominal.standard_deviations[0] > 3 * both.standard_deviations[0]
    assert abs(nominal["payload.m"] - PAYLOAD[0]) < 3 * nominal.standard_deviations[0]


@pytest.mark.parametrize("last_link", ["wrist_3_link", "load"])
def test_identified_arm_replaces_the_unloaded_recording(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator, last_link: str
) -> None:
    robot = RobotModel.from_urdf(robot.urdf_xml.replace('"wrist_3_link"', f'"{last_link}"'))
    assert last_link in robot.body_names
    arm = true_arm(robot)
    estimator = PayloadFromTorques(robot, FLANGE, friction=usual)
    friction = np.tile([3.0, 2.0, 0.5, -0.1], robot.nv)
    values = np.concatenate([arm.pi.ravel(), friction])
    identified = Estimate(
        method="physical",
        names=estimator.arm_names,
        values=values,
        units=("",) * len(values),
        covariance=1e-8 * np.eye(len(values)),
        verdicts=(ParameterVerdict.IDENTIFIABLE,) * len(values),
        consistent=dict.fromkeys(robot.body_names, True),
    )
    found = estimator.fit([run(arm, PAYLOAD, rng, 0.1, 0.3)], identified=identified)
    assert found["payload.m"] == pytest.approx(PAYLOAD[0], abs=0.02)


def test_shape_prior_keeps_an_even_bodys_inertia(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    shape = Shape.box([0.1, 0.1, 0.2])
    even = 2.0 * shape.parameters_per_mass @ (shape.volumes / shape.volume)
    loaded, unloaded = run(arm, even, rng, 2.0, 0.3), run(arm, 0 * even, rng, 2.0, 0.0)
    errors = []
    for prior in (None, DensityPrior(shape)):
        found = PayloadFromTorques(robot, FLANGE, friction=usual, gain_sd=0.0, density=prior).fit(
            [loaded], [unloaded]
        )
        errors.append(np.linalg.norm(found.values[4:] - even[4:]))
    assert errors[1] < 0.5 * errors[0]
    assert found.verdicts[0] is ParameterVerdict.IDENTIFIABLE
    assert ParameterVerdict.PRIOR_DOMINATED in found.verdicts[4:]


def test_shape_in_the_wrong_place_is_named(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    arm = true_arm(robot)
    loaded, unloaded = run(arm, PAYLOAD, rng, 0.5, 0.3), run(arm, 0 * PAYLOAD, rng, 0.5, 0.0)
    notes = {}
    for z in (0.08, -0.1):
        shape = Shape.box([0.2, 0.2, 0.2]).posed(
            np.block([[np.eye(3), np.array([[0.03], [-0.02], [z]])], [np.zeros((1, 3)), 1.0]])
        )
        estimate = PayloadFromTorques(
            robot, FLANGE, friction=usual, gain_sd=0.0, density=DensityPrior(shape)
        ).fit([loaded], [unloaded])
        notes[z] = [note for note in estimate.notes if "contradict" in note]
    assert not notes[0.08]
    assert notes[-0.1]


def test_payload_near_the_base_is_partly_unidentifiable(
    robot: RobotModel, usual: FrictionModel, rng: np.random.Generator
) -> None:
    """The first joint turns about the vertical: only the moment of inertia about it counts."""
    arm = true_arm(robot)
    frame = robot.body_names[0]
    estimate = PayloadFromTorques(robot, frame, friction=usual).fit(
        [run(arm, 0 * PAYLOAD, rng, 0.1, 0.3)], [run(arm, 0 * PAYLOAD, rng, 0.1, 0.0)]
    )
    assert estimate.rank == estimate.structural_rank == 1
    assert estimate.verdicts[0] is ParameterVerdict.UNIDENTIFIABLE


def test_frame_on_the_base_is_refused(robot: RobotModel) -> None:
    with pytest.raises(EstimationError, match="no joint carries it"):
        PayloadFromTorques(robot, "base_link")


def test_currents_are_refused_as_torques(robot: RobotModel, rng: np.random.Generator) -> None:
    stream = run(robot, PAYLOAD, rng, 0.1, 0.0)
    currents = dataclasses.replace(stream, effort_kind=EffortKind.MOTOR_CURRENT)
    with pytest.raises(SignalError, match="motor_current"):
        PayloadFromTorques(robot, FLANGE).fit([currents], [stream])
    with pytest.raises(SignalError, match="no velocities or accelerations"):
        PayloadFromTorques(robot, FLANGE).fit([dataclasses.replace(stream, a=None)])


def test_foreign_estimate_is_refused_as_the_arm(
    robot: RobotModel, rng: np.random.Generator
) -> None:
    foreign = Estimate(
        method="OLS",
        names=("elsewhere.m",),
        values=np.ones(1),
        units=("kg",),
        covariance=np.eye(1),
        verdicts=(ParameterVerdict.IDENTIFIABLE,),
    )
    with pytest.raises(EstimationError, match="full parameters"):
        PayloadFromTorques(robot, FLANGE).fit(
            [run(robot, PAYLOAD, rng, 0.1, 0.0)], identified=foreign
        )


def test_gains_come_from_the_controllers_own_targets(rng: np.random.Generator) -> None:
    torque = rng.normal(size=(500, 2)) * [30.0, 5.0]
    v = rng.normal(size=(500, 2))
    truth = np.array([12.0, 9.5])
    current = torque / truth + 0.3 * np.tanh(v / 0.01) + 0.2 * v + 0.01
    found = DriveGains.from_targets(current + rng.normal(size=(500, 2)) * 0.05, torque, v)
    assert np.all(np.abs(found.gains - truth) < 4 * found.sd)
    torque[:, 1] = 0.0
    with pytest.raises(EstimationError, match="joint 2"):
        DriveGains.from_targets(current, torque, v)


def ur10e_streams(shared_data: Path, name: str) -> tuple[list[JointStream], RobotModel]:
    """Torques with the gains that the controller itself uses in the unloaded recording."""
    columns = ColumnMap.load(ROOT / "config/columns/ur10e_csv.yaml")
    folder = shared_data / "ur10e/identification"
    trained = folder / "ur-20_02_19_14harm50sec.csv"
    current, torque = (
        read_table(trained, dataclasses.replace(columns, effort=tuple(range(k, k + 6)))).joints
        for k in (19, 25)
    )
    gains = DriveGains.from_targets(current.effort, torque.effort, current.v).gains
    streams = []
    for part in read_table(folder / name, columns).joints.split_at_gaps(0.1):
        smooth = ZeroPhaseFilter(8.0).smooth(part, 50.0).select(slice(25, -25))
        streams.append(
            dataclasses.replace(
                smooth,
                effort=np.asarray(smooth.effort) * gains,
                effort_kind=EffortKind.ACTUATOR_TORQUE,
            )
        )
    return streams, RobotModel.from_urdf(shared_data / "ur10e/ur10e.urdf")


@pytest.mark.slow
def test_real_ur10e_payload_is_weighed_by_its_currents(shared_data: Path) -> None:
    """The true mass of 2.805 kg is stated by the authors of the recording; the gains don't depend
    on it.
    """
    unloaded, robot = ur10e_streams(shared_data, "ur-20_02_19_14harm50sec.csv")
    loaded, _ = ur10e_streams(shared_data, "ur-20_02_19_14harm50secLoad.csv")
    other, _ = ur10e_streams(shared_data, "ur-20_02_12-40sec_12harm.csv")
    estimate = PayloadFromTorques(robot, "tool0").fit(loaded, unloaded)
    payload = PayloadSummary.of(estimate)
    assert abs(payload.mass - 2.805) < 2 * payload.mass_sd
    assert payload.mass_sd < 0.15
    assert estimate.physically_consistent
    assert ParameterVerdict.PRIOR_DOMINATED in estimate.verdicts[4:]
    control = PayloadFromTorques(robot, "tool0").fit(other, unloaded)
    assert control["payload.m"] < 3 * control.standard_deviations[0]
