# SPDX-License-Identifier: Apache-2.0
"""Certificates of recorded motion, and regroupings in words."""

import numpy as np
import pytest

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability import BaseParameters, Excitation
from sysid_core.identifiability.rpna import combination_text, structural_identifiability
from sysid_core.identifiability.rpna.answer import StructuralVerdict
from sysid_core.robot import RobotModel


def test_certificate_of_full_motion_is_maximal(rng):
    model = RobotModel.from_urdf("puma560")
    Y = model.torque_regressor(*model.random_states(60, rng))
    excitation = Excitation.measured(structural_identifiability(model), Y)

    assert excitation.maximally_exciting
    assert excitation.missing == ()
    assert 1 < excitation.condition_number < 1e3


def test_certificate_names_what_a_poor_motion_doesnt_show(rng):
    model = RobotModel.from_urdf("two-link-parallel")
    q, v, a = rng.normal(size=(3, 60, 2))
    q[:, 1] = v[:, 1] = a[:, 1] = 0.0  # the elbow is held straight
    Y = model.torque_regressor(q, v, a)
    excitation = Excitation.measured(structural_identifiability(model), Y)

    # tau1 = (Izz1 + Izz2 + 2 l mx2) a, tau2 = (Izz2 + l mx2) a + l my2 v^2: 3 of 4.
    assert (excitation.rank, excitation.structural_rank) == (3, 4)
    assert not excitation.maximally_exciting
    assert np.isinf(excitation.condition_number)
    (missing,) = excitation.missing
    assert set(missing) == {"link1.Izz", "link2.mx", "link2.Izz"}
    direction = np.zeros(20)
    names = [p.name for p in structural_identifiability(model).parameters]
    for name, value in missing.items():
        direction[names.index(name)] = value
    assert np.abs(Y @ direction).max() < 1e-9
    assert "do not excite" in str(excitation)


def test_certificate_refuses_a_regressor_of_another_robot():
    answer = structural_identifiability(RobotModel.from_urdf("puma560"))
    with pytest.raises(IdentifiabilityError, match="60 parameters"):
        Excitation.measured(answer, np.ones((10, 50)))


def test_parameters_come_back_from_base_values_with_and_without_a_prior(rng):
    base = structural_identifiability(RobotModel.from_urdf("puma560")).base
    pi, prior = rng.normal(size=(2, 60))
    pi_b = base.base_values(pi)
    plain, near = base.full_values(pi_b), base.full_values(pi_b, prior)

    np.testing.assert_allclose(base.base_values(plain), pi_b, atol=1e-10)
    np.testing.assert_allclose(base.base_values(near), pi_b, atol=1e-10)
    assert np.linalg.norm(near - prior) <= np.linalg.norm(pi - prior)
    assert np.linalg.norm(plain) <= np.linalg.norm(pi)
    assert isinstance(base, BaseParameters)


def test_regroupings_say_in_words_what_they_mean():
    answer = structural_identifiability(RobotModel.from_urdf("puma560"))
    by_name = {r.base: r for r in answer.regroupings}

    assert by_name["link6.Izz"].meaning == "identifiable alone"
    assert (
        "inertia transfer of link3, link4, link5, link6 into link2" in by_name["link2.mx"].meaning
    )
    assert by_name["link2.mx"].terms["link3.m"] == pytest.approx(0.4318)
    assert "Iyy of link6 itself" in by_name["link6.Ixx"].meaning
    assert str(answer.transfers[5]) == "link6 into link5 across joint6: m; mz; Ixx + Iyy"


def test_a_combination_has_no_ones_in_it():
    terms = {"a.Ixx": 1.0, "b.Iyy": 1.0 - 1e-9, "b.mz": -0.5, "c.m": -1.0 - 1e-9}
    assert combination_text(terms) == "a.Ixx + b.Iyy - 0.5 b.mz - c.m"


def test_verdicts_are_asked_by_name():
    answer = structural_identifiability(RobotModel.from_urdf("puma560"))
    assert answer.verdict("link1.m") is StructuralVerdict.UNIDENTIFIABLE
    with pytest.raises(IdentifiabilityError, match=r"no parameter 'm1'.*link1\.m"):
        answer.verdict("m1")


def test_bad_gravity_is_refused():
    with pytest.raises(IdentifiabilityError, match="three numbers"):
        structural_identifiability(RobotModel.from_urdf("scara"), gravity=[0, -9.81])
