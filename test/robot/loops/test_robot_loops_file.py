# SPDX-License-Identifier: Apache-2.0
"""The file of a closed chain, and mechanisms that are refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import yaml
from loop_mechanisms import four_bar

from sysid_core.errors import ModelError
from sysid_core.robot.loops import ClosedChain, JointDrive, Loop, LoopEnd, load_closed_chain
from sysid_core.robot.loops.file import closed_chain_from_mapping

PIN = {
    "name": "pin",
    "a": {"link": "coupler", "xyz": [0.4, 0, 0]},
    "b": {"link": "rocker", "xyz": [0, 0, 0.2]},
}


def entry(**changes):
    return {"actuated": ["drive"], "loops": [PIN], **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actuated": ["drivee"]}, "drivee"),
        ({"joints": {"crankk": {"friction": 1.0}}}, "crankk"),
        ({"joints": {"drive": {"friction": -1.0}}}, r"`joints.drive.friction` is -1"),
        ({"loops": [{"name": "x", "a": {"link": "coupler"}}]}, r"`loops\[0\].b` is missing"),
        (
            {
                "loops": [
                    {"name": "x", "type": "glue", "a": {"link": "crank"}, "b": {"link": "base"}}
                ]
            },
            "glue",
        ),
        ({"loops": [{"name": "x", "a": {"link": "nowhere"}, "b": {"link": "base"}}]}, "nowhere"),
        ({"loops": []}, "isn't fully actuated"),
        ({"home": {"elbow": 1.0}}, "elbow"),
        ({"home": {"drive": "up"}}, "'up'"),
        ({"home": [0.0]}, "`home`"),
        ({"passive": ["drive", "middle", "far"]}, "as actuated and as passive"),
        ({"passive": "middle"}, "expected a list"),
        ({"measured": ["drive"]}, "passive joints"),
        ({"joints": {"drive": 3}}, r"`joints.drive` is 3"),
        ({"joints": {"drive": {"friction": "much"}}}, "'much'"),
        ({"joints": {"drive": {"friction": float("nan")}}}, "nan"),
        ({"joints": {"drive": {"fricton": 1.0}}}, r"write `friction`"),
        ({"joints": {"drive": {"torque_limit": 0}}}, r"torque_limit` is 0"),
        ({"loops": [PIN, PIN]}, "same name"),
        (
            {"loops": [PIN | {"a": {"link": "coupler", "xyz": [0.4, "x", 0]}}]},
            r"`loops\[0\].a.xyz\[1\]`",
        ),
        ({"loops": [PIN | {"a": {"link": "coupler", "rpy": [0, 0]}}]}, r"`loops\[0\].a.rpy`"),
        ({"loops": [PIN | {"type": "rod", "length": "long"}]}, "'long'"),
        ({"loops": {"pin": PIN}}, "expected a list"),
        ({"excitation": [{"joints": {"drive": 1}, "half": 0.0}]}, r"`excitation\[0\].half`"),
        ({"excitation": [{"joints": "drive", "half": 0.2}]}, "joints` is 'drive'"),
        ({"excitation": [{"joints": {"middle": 1}, "half": 0.2}]}, "middle"),
    ],
)
def test_wrong_entries_are_named(changes, message):
    model = four_bar("point").model
    with pytest.raises(ModelError, match=message):
        closed_chain_from_mapping(entry(**changes), model)


def test_a_loop_that_holds_nothing_is_refused():
    """Both ends of the loop are on the coupler, so that the rocker moves freely."""
    loose = closed_chain_from_mapping(entry(loops=[PIN | {"b": PIN["a"]}]), four_bar("point").model)
    with pytest.raises(ModelError, match="do not determine the passive joints"):
        loose.require_determined(np.zeros((1, 3)))
    four_bar("point").require_determined(np.zeros((1, 3)))


def test_a_file_without_actuated_joints_is_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({"loops": []}))
    with pytest.raises(ModelError, match="actuated"):
        load_closed_chain(path)


def test_drives_are_merged_by_joint(leg):
    other = leg.with_drives({"knee": JointDrive(F_c=9.0)})
    assert other.drive("knee").F_c == 9.0
    assert other.drive("toe_a") == leg.drive("toe_a")


def test_digits_left_leg_assembles(shared_data, rng):
    path = shared_data / "digit" / "digit_left_leg_loops.yaml"
    if not path.exists():
        pytest.skip("no Digit files")
    leg = load_closed_chain(path)
    assert (leg.n, leg.n_actuated, leg.n_equations) == (15, 6, 9)
    lower, upper = (x[leg.actuated_columns] for x in leg.model.position_limits)
    found = leg.try_assemble(rng.uniform(lower, upper, (300, 6)))
    assert 0.6 < found.assembled.mean() < 0.8  # an independent implementation found 211 of 300
    gap = np.abs(leg.loop_residual(np.zeros((1, 15)))).max()
    assert 1e-4 < gap < 2e-3  # the description itself misses closure by about 0.9 mm
    assert np.abs(leg.loop_residual(found.q[found.assembled])).max() <= 1e-12


@pytest.mark.parametrize("turned", [(np.pi, 0, 0), (0, np.pi, 0), (0, 0, np.pi)])
def test_a_weld_whose_frames_are_turned_by_180_degrees_does_not_assemble(turned):
    right = four_bar("weld")
    (loop,) = right.loops
    frame = LoopEnd("base", loop.b.xyz, pin.rpy.rpyToMatrix(*turned))
    wrong = ClosedChain(
        right.model, (Loop("weld", "weld", loop.a, frame),), right.actuated, home=right.home
    )
    assert right.try_assemble([[0.3]]).assembled.all()
    assert not wrong.try_assemble([[0.3]]).assembled.any()
    assert np.linalg.norm(wrong.loop_residual(right.home[None])[0, 3:]) == pytest.approx(np.pi)
