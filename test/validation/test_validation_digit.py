"""The real Digit's legs and arms, where its files are given."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import yaml

from sysid_core.estimation import identify_constrained
from sysid_core.excitation import motion_box, sine_trajectory
from sysid_core.robot import (
    ClosedChain,
    RobotModel,
    closed_chain_from_mapping,
    load_closed_chain,
    try_assemble,
)
from sysid_core.validation import ClosedChainPlant, ComputedTorque, Gains, recording_of, track


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
    if side == "left":
        leg = load_closed_chain(digit / "digit_left_leg_loops.yaml")
    else:
        path = tmp_path / "right.yaml"
        path.write_text(yaml.safe_dump(right_leg(digit)))
        leg = load_closed_chain(path, digit / "digit-v3-armfixedspecific-springfixed.urdf")
    assert leg.n == 15 and all(name.startswith(side) for name in leg.model.joint_names)
    box = motion_box(leg, rng)
    found = try_assemble(leg, box.positions(rng.uniform(-1, 1, (100, 6))))
    assert found.assembled.all()


def test_the_left_leg_is_identified_from_its_simulation(digit, rng):
    leg = load_closed_chain(digit / "digit_left_leg_loops.yaml")
    box = motion_box(leg, rng)
    wish = sine_trajectory(leg, box, 1.5, duration=8.0)
    run = track(ClosedChainPlant(leg), ComputedTorque(leg, wish, Gains.for_chain(leg)))
    nothing = leg.with_drives({j: type(leg.drive(j))() for j in leg.actuated})
    estimate = identify_constrained(recording_of(run, rng), nothing)
    for joint in leg.actuated:
        drive = leg.drive(joint)
        assert estimate[f"{joint}.F_c"] == pytest.approx(drive.F_c, rel=0.03)
        assert estimate[f"{joint}.F_v"] == pytest.approx(drive.F_v, rel=0.05)


def test_an_arm_is_an_open_chain(digit, rng):
    arm = RobotModel.from_urdf(digit / "digit-v3-right-arm-only.urdf")
    chain = closed_chain_from_mapping({"actuated": list(arm.joint_names)}, arm)
    assert isinstance(chain, ClosedChain) and not chain.passive
    plant = ClosedChainPlant(chain)
    plant.reset(np.zeros(chain.n))
    for _ in range(20):
        plant.step(np.zeros(chain.n))
    assert np.all(np.isfinite(plant.v)) and np.any(plant.v != 0)
