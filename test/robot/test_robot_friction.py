# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm
from sysid_core.robot.friction import GEARED_ARM_TERMS, play

JOINTS = ("j1", "j2")


def test_the_usual_terms_are_the_papers_formula():
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 20, 2))
    model = FrictionModel(DriveTrain.direct(JOINTS), coulomb_velocity=1e-9)
    assert model.names[:4] == ("j1.F_c", "j1.F_v", "j1.I_a", "j1.beta")
    x = rng.normal(size=(2, 4))
    expected = np.sign(v) * x[:, 0] + v * x[:, 1] + a * x[:, 2] + x[:, 3]
    assert model.regressor(q, v, a) @ x.ravel() == pytest.approx(expected)


def test_play_keeps_at_standstill_what_the_motion_has_left():
    q = np.concatenate([np.linspace(0, 0.1, 50), np.full(30, 0.1), np.linspace(0.1, 0.0999, 5)])
    z = play(q, 2e-4)
    assert np.all(z[49:80] == 1.0)
    assert z[-1] == pytest.approx(1.0 - 1e-4 / 2e-4)


def test_load_terms_follow_the_rigid_torque():
    drives = DriveTrain.direct(JOINTS)
    model = FrictionModel(drives, (FrictionTerm.LOAD, FrictionTerm.SATURATION))
    v, load = np.array([[1.0, -1.0]]), np.array([[-20.0, 5.0]])
    Phi = model.regressor(v, v, v, load)
    assert Phi[0, 0] == pytest.approx([20.0, -400.0, 0.0, 0.0])
    assert Phi[0, 1] == pytest.approx([0.0, 0.0, -5.0, 25.0])
    with pytest.raises(ModelError, match="rigid-body torques"):
        model.regressor(v, v, v)


def test_a_coupled_drive_does_the_same_work_on_its_joints():
    rng = np.random.default_rng(1)
    drives = DriveTrain(JOINTS, [1.0, 1.0], {"wrist": {"j1": 1.0, "j2": 2.0}})
    model = FrictionModel(drives)
    assert "wrist.F_v" in model.names and "wrist.beta" not in model.names
    q, v, a = rng.normal(size=(3, 10, 2))
    x = np.zeros(len(model.names))
    x[model.names.index("wrist.F_v")] = 3.0
    tau = model.regressor(q, v, a) @ x
    rate = v @ [1.0, 2.0]
    assert np.sum(tau * v, axis=1) == pytest.approx(3.0 * rate**2)


def test_axes_may_have_terms_of_their_own():
    model = FrictionModel(
        DriveTrain(JOINTS, [1.0, 1.0], waves={"ripple": {"j2": [100.0]}}),
        (FrictionTerm.VISCOUS,),
        {"j2": (FrictionTerm.COULOMB, FrictionTerm.RIPPLE)},
    )
    assert model.names == ("j1.F_v", "j2.F_c", "j2.F_rc_100", "j2.F_rs_100")
    assert model.non_negative == (True, True, False, False)
    assert len(model.units) == 4
    q = np.array([[0.0, 0.02]])
    assert model.regressor(q, q, q)[0, 1, 2:] == pytest.approx([np.cos(2.0), np.sin(2.0)])


def test_runout_resists_motion_in_both_directions_and_returns_with_every_turn_of_the_motor():
    drives = DriveTrain(JOINTS, [1.0, 1.0], waves={"runout": {"j2": [50.0]}})
    model = FrictionModel(drives, (FrictionTerm.COULOMB, FrictionTerm.RUNOUT))
    assert model.names == ("j1.F_c", "j2.F_c", "j2.F_oc_50", "j2.F_os_50")
    q = np.random.default_rng(2).uniform(-1.0, 1.0, (20, 2))
    v, x = np.ones_like(q), np.array([1.0, 1.0, 0.4, -0.3])
    forward = model.regressor(q, v, v) @ x
    assert model.regressor(q, -v, v) @ x == pytest.approx(-forward)
    assert model.regressor(q + 2.0 * np.pi / 50.0, v, v) @ x == pytest.approx(forward)
    # Coulomb friction of 1 N m that varies by the amplitude 0.5 N m.
    assert np.all(forward[:, 1] >= 0.5) and np.all(forward[:, 1] <= 1.5)
    assert np.ptp(forward[:, 1]) > 0.7


def test_waves_of_four_kinds_grow_with_speed_or_turn_over_with_direction_as_declared():
    kinds = {"ripple": 1, "runout": -1, "speed_ripple": -3, "speed_runout": 3}
    waves = {kind: {"j2": [2.0, 46.5]} for kind in kinds}
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-1.0, 1.0, (20, 2)), np.full((20, 2), 0.5)
    for kind, change in kinds.items():  # from 0.5 rad/s to 1.5 rad/s the other way
        model = FrictionModel(DriveTrain(JOINTS, [1.0, 1.0], waves=waves), (FrictionTerm(kind),))
        assert [name[-5:] for name in model.names[2:]] == ["_46p5", "_46p5"]
        x = rng.normal(size=4)
        slow = model.regressor(q, v, v) @ x
        assert model.regressor(q, -3.0 * v, v) @ x == pytest.approx(change * slow)
        assert model.regressor(q + 4.0 * np.pi, v, v) @ x == pytest.approx(slow)
        assert np.all(slow[:, 0] == 0.0) and np.ptp(slow[:, 1]) > 0.0


def test_waves_of_almost_the_same_number_have_names_of_their_own():
    waves = {"ripple": {"j1": [202.0, 202.0001]}}
    model = FrictionModel(DriveTrain(JOINTS, [1.0, 1.0], waves=waves), (FrictionTerm.RIPPLE,))
    assert len(set(model.names)) == len(model.names) == 4


def test_friction_is_higher_until_the_motion_after_a_reversal_has_broken_away():
    q = np.concatenate([np.linspace(0.0, 0.1, 101), np.linspace(0.099, 0.0, 100)])[:, None]
    v = np.gradient(q, axis=0) * 1e3
    model = FrictionModel(DriveTrain.direct(("j",)), (FrictionTerm.BREAKAWAY,))
    (extra,) = model.regressor(q, v, v)[:, :, 0].T
    assert model.names == ("j.F_b",) and model.non_negative == (True,)
    assert extra[25:99] == pytest.approx(0.0, abs=1e-9)  # 0.02 rad on, and as long as it goes on
    assert extra[102] < -1.8 and np.all(extra[103:120] < -0.1)
    assert extra[145:] == pytest.approx(0.0, abs=1e-9)


def test_thinning_grows_with_the_root_of_speed():
    model = FrictionModel(DriveTrain.direct(("j",)), (FrictionTerm.THINNING,))
    v = np.array([[-4.0], [0.25], [1.0]])
    assert model.regressor(v, v, v)[:, 0, 0] == pytest.approx([-2.0, 0.5, 1.0])


def test_wrong_drives_and_terms_are_refused():
    drives = DriveTrain.direct(JOINTS)
    with pytest.raises(ModelError, match=r"unknown kinds or axes .*j9"):
        DriveTrain(JOINTS, [1.0, 1.0], waves={"runout": {"j9": [50.0]}})
    with pytest.raises(ModelError, match=r"unknown kinds or axes .*rumble"):
        DriveTrain(JOINTS, [1.0, 1.0], waves={"rumble": {"j1": [50.0]}})
    with pytest.raises(ModelError, match="each given once"):
        DriveTrain(JOINTS, [1.0, 1.0], waves={"ripple": {"j1": [50.0, 50.0]}})
    with pytest.raises(ModelError, match="waves per turn"):
        FrictionModel(drives, (FrictionTerm.RIPPLE,))
    with pytest.raises(ModelError, match="twice"):
        FrictionModel(drives, (FrictionTerm.LOAD, FrictionTerm.LOAD))
    with pytest.raises(ModelError, match="unknown axes"):
        FrictionModel(drives, GEARED_ARM_TERMS, {"j9": ()})
    with pytest.raises(ModelError, match="one value for each"):
        DriveTrain(JOINTS, [1.0])
    with pytest.raises(ModelError, match="not zero"):
        DriveTrain(JOINTS, [1.0, 0.0])
    with pytest.raises(ModelError, match="names"):
        DriveTrain(JOINTS, [1.0, 1.0], {"m": {"j7": 1.0}})
    with pytest.raises(ModelError, match="j3"):
        drives.ordered(["j1", "j3"])
