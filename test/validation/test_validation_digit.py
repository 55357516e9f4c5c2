# SPDX-License-Identifier: Apache-2.0
"""The real Digit's legs and arms, where its files are given."""

from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.estimation import Estimate
from sysid_core.identifiability import ConstrainedRanks
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.planning import Trajectory
from sysid_core.planning.closed_chain import AssemblyMap, LoopExcitation
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.robot.loops.file import closed_chain_from_mapping
from sysid_core.simulation import ClosedChainPlant
from sysid_studies.constrained.robot import delay_of, identify_drives, perturbed_truth
from sysid_studies.constrained.tracking import ComputedTorque, Gains, recording_of, track


@pytest.fixture(scope="module")
def digit(shared_data):
    folder = shared_data / "digit"
    if not (folder / "digit_left_leg_loops.yaml").exists():
        pytest.skip("no Digit files")
    return folder


def right_leg(folder) -> dict:
    """The left leg's loops mirrored: y changes sign, names change side."""
    text = (folder / "digit_left_leg_loops.yaml").read_text()
    raw = yaml.safe_load(text.replace("left_", "right_"))
    raw = copy.deepcopy(raw)
    for loop in raw["loops"]:
        for end in ("a", "b"):
            loop[end]["xyz"][1] *= -1
    for entry in raw["joints"].values():
        entry.pop("lower", None)
    return raw


@pytest.mark.parametrize("side", ["left", "right"])
def test_both_legs_assemble_from_the_whole_robots_description(digit, side, rng, tmp_path):
    leg = leg_of(digit, side, tmp_path)
    assert leg.n == 15 and all(name.startswith(side) for name in leg.model.joint_names)
    box = AssemblyMap.motion_box(leg, rng)
    found = leg.try_assemble(box.positions(rng.uniform(-1, 1, (100, 6))))
    assert found.assembled.all()


def leg_of(digit, side: str, folder) -> ClosedChain:
    if side == "left":
        return load_closed_chain(digit / "digit_left_leg_loops.yaml")
    path = folder / "right.yaml"
    path.write_text(yaml.safe_dump(right_leg(digit)))
    return load_closed_chain(path, digit / "digit-v3-armfixedspecific-springfixed.urdf")


def test_the_right_leg_is_the_left_one_in_a_mirror(digit, rng, tmp_path):
    """Same torques, but for the sign, at mirrored states: the generated loops are the right ones."""
    left, right = (leg_of(digit, side, tmp_path) for side in ("left", "right"))
    q_a = AssemblyMap.motion_box(left, rng).positions(rng.uniform(-1, 1, (20, 6)))
    v_a, a_a = rng.normal(size=(2, 20, 6))
    u = [
        leg.torques(leg.motion(*(sign * x for x in (q_a, v_a, a_a))))
        for leg, sign in ((left, 1.0), (right, -1.0))
    ]
    np.testing.assert_allclose(u[1], -u[0], atol=2e-3 * np.abs(u[0]).max())


@pytest.mark.slow
def test_deviations_cover_the_truth_of_both_simulated_legs(digit, rng, tmp_path):
    """From 2 x 5 s, 90 % are within two standard deviations (ideal: 95 %), and all within 5 % of
    the truth.
    """
    left, right = (leg_of(digit, side, tmp_path) for side in ("left", "right"))
    planned = LoopExcitation(duration=5.0).plan(left, rng, 2)
    z, relative = [], []
    for leg in (left, right):
        leg = dataclasses.replace(leg, box=AssemblyMap.motion_box(leg, rng))
        motions = planned if leg.model is left.model else [in_a_mirror(t) for t in planned]
        gains = Gains.for_chain(leg, 60.0)
        truth = perturbed_truth(leg, rng)
        plant = ClosedChainPlant(truth)
        runs = [track(plant, ComputedTorque(leg, t, gains, feedforward=False)) for t in motions]
        recordings = [recording_of(run, rng) for run in runs]
        estimate = identify_drives(leg, recordings, delay_of(leg, recordings))
        true = np.array([x for j in leg.actuated for x in truth.drive(j).values])
        found, sd = estimate.values[-len(true) :], estimate.standard_deviations[-len(true) :]
        z.append((found - true) / sd)
        relative.append(np.abs(found / true - 1.0).reshape(-1, 4)[:, :3])
    assert np.mean(np.abs(z) <= 2.0) >= 0.9
    assert np.max(relative) < 0.05


def in_a_mirror(motion: Trajectory) -> Trajectory:
    """The left leg's motion, for the right one."""
    names = tuple(name.replace("left", "right") for name in motion.joint_names)
    turned = {key: -getattr(motion, key) for key in ("q", "v", "a")}
    return dataclasses.replace(motion, joint_names=names, **turned)


@pytest.fixture(scope="module")
def arm(digit) -> ClosedChain:
    """Digit's right arm; friction of its URDF, drives of a made-up but plausible size."""
    model = RobotModel.from_urdf(digit / "digit-v3-right-arm-only.urdf")
    drive = {"friction": 2.0, "damping": 2.0, "armature": 0.1, "torque_limit": 80.0}
    raw = {"actuated": list(model.joint_names), "joints": dict.fromkeys(model.joint_names, drive)}
    return closed_chain_from_mapping(raw, model)


def test_what_an_arm_can_tell_is_the_same_exactly_and_by_samples(arm, rng):
    assert not arm.passive
    exact = structural_identifiability(arm.model)
    ranks = ConstrainedRanks.of(arm, rng)
    assert exact.n_base == ranks.inertial.rank == ranks.open_tree.rank == 24


@pytest.mark.slow
def test_an_arm_is_identified_on_the_command_line(arm, digit, rng, tmp_path):
    """All parameters, simulated by MuJoCo: masses 15 % off, drives off by factors of 1.25 to 2."""
    heavier = arm.model.with_pi(arm.model.pi * rng.uniform(0.85, 1.15, (arm.n, 1)))
    truth = perturbed_truth(arm.with_model(heavier), rng)
    plant, gains = ClosedChainPlant(truth), Gains.for_chain(arm, 60.0)
    motions = LoopExcitation(8.0, inertials=True, generations=4).plan(arm, rng, 3)
    names = ", ".join(arm.actuated)
    columns = tmp_path / "columns.yaml"
    columns.write_text(
        f"schema: robot_sysid/columns/1\nheader: false\ndelimiter: ','\njoints: [{names}]\n"
        "time: {column: 0, unit: s}\nposition: {columns: [1, 2, 3, 4], unit: rad}\n"
        "velocity: {columns: [5, 6, 7, 8], unit: rad/s}\n"
        "effort: {columns: [9, 10, 11, 12], kind: actuator_torque}\n"
    )
    for k, motion in enumerate(motions):
        run = track(plant, ComputedTorque(arm, motion, gains, feedforward=False))
        joints = recording_of(run, rng).joints
        rows = np.column_stack([run.time, joints.q, joints.v, joints.effort])
        np.savetxt(tmp_path / f"{k}.csv", rows, delimiter=",")
    result = CliRunner().invoke(
        app,
        [
            "identify", str(tmp_path / "0.csv"), str(tmp_path / "1.csv"),
            "--validate", str(tmp_path / "2.csv"), "--columns", str(columns),
            "--robot", str(digit / "digit-v3-right-arm-only.urdf"), "--method", "lmi",
            "--friction", "usual", "--delay", "auto", "--out", str(tmp_path / "out"), "--json", "-",
        ],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    numbers = json.loads(result.stdout)
    assert (
        numbers["rank"]
        == numbers["structural_rank"]
        == ConstrainedRanks.of(arm, rng).with_drives.rank
    )
    assert numbers["physically_consistent"]
    for joint in arm.actuated:
        assert numbers["joints"][joint]["validation"]["r2"] > 0.99
    estimate = Estimate.load(tmp_path / "out" / "estimate.yaml")
    for joint in arm.actuated:
        assert estimate[f"{joint}.F_c"] == pytest.approx(truth.drive(joint).F_c, rel=0.05)
        assert estimate[f"{joint}.F_v"] == pytest.approx(truth.drive(joint).F_v, rel=0.05)
