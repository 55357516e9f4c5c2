# SPDX-License-Identifier: Apache-2.0
"""An arm's identification in a file, and data that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from whole_arm_estimators import WIDE
from whole_arm_simulation import (
    USUAL_VALUES,
    arm,
    friction_model,
    motion,
    recording,
)

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.arm import Identification
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import (
    ConsistentLeastSquares,
    LeastSquares,
)
from sysid_core.signals import EffortKind


def test_an_identification_is_kept_in_a_file(equations, tmp_path):
    result = identify_equations(equations, ConsistentLeastSquares())
    result.save(tmp_path)
    again = Identification.load(tmp_path, result.model)
    _, q, v, a = motion(np.random.default_rng(0), 2.0, 50.0)
    assert again.torques(q, v, a) == pytest.approx(result.torques(q, v, a), rel=1e-12)
    (tmp_path / "parameters.yaml").write_text("schema: something/1\n")
    with pytest.raises(EstimationError, match="not of schema"):
        Identification.load(tmp_path, result.model)


def test_a_saved_identification_is_read_by_name_whatever_the_order_of_its_keys(equations, tmp_path):
    result = identify_equations(equations, ConsistentLeastSquares())
    result.save(tmp_path)
    content = yaml.safe_load((tmp_path / "parameters.yaml").read_text())
    content["processing"]["max_gap"] = content["processing"].pop("max_gap_s")  # as it was called
    (tmp_path / "parameters.yaml").write_text(yaml.safe_dump(content, sort_keys=True))
    again = Identification.load(tmp_path, result.model)
    assert again.names == result.names
    assert again.parameters == pytest.approx(result.parameters, rel=1e-12)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("parameters", "link1.m"), None, "`parameters.link1.m`"),
        (("parameters", "link9.m"), 1.0, r"contains \['link9.m'\]"),
        (("processing", "rate"), 5.0, "`processing.rate` is not a known key"),
        (("processing", "delay"), float("nan"), "finite"),
        (("processing", "rate_hz"), 1e308, "at most"),
        (("friction", "terms"), ["magic"], r"`friction.terms\[0\]`"),
        (("drives", "gain"), [1.0], "gains"),
        (("locked",), 5, "expected a mapping"),
    ],
)
def test_a_damaged_identification_is_refused_by_file_and_key(
    equations, tmp_path, path, value, words
):
    result = identify_equations(equations, ConsistentLeastSquares())
    result.save(tmp_path)
    content = yaml.safe_load((tmp_path / "parameters.yaml").read_text())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (tmp_path / "parameters.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(EstimationError, match=words) as err:
        Identification.load(tmp_path, result.model)
    assert "parameters.yaml" in err.value.message
    assert err.value.remedy


@pytest.mark.parametrize("kind", [EffortKind.UNKNOWN, EffortKind.GRAVITY_COMPENSATED])
def test_undeclared_efforts_are_refused(kind):
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, np.random.default_rng(0), duration=2.0)
    with pytest.raises(SignalError, match="declared"):
        Identification.of(
            truth,
            [replace(run, joints=replace(run.joints, effort_kind=kind))],
            friction,
            LeastSquares(),
        )


def test_nan_missing_efforts_and_standstill_are_refused():
    truth, friction = arm(), friction_model()
    rng = np.random.default_rng(0)
    run = recording(truth, friction, USUAL_VALUES, rng, duration=3.0)
    effort = run.joints.effort.copy()
    effort[17, 1] = np.nan
    with pytest.raises(SignalError, match=r"joint2.*sample 17"):
        Identification.of(
            truth,
            [replace(run, joints=replace(run.joints, effort=effort))],
            friction,
            LeastSquares(),
        )
    with pytest.raises(SignalError, match="no efforts"):
        Identification.of(
            truth, [replace(run, joints=replace(run.joints, effort=None))], friction, LeastSquares()
        )
    still = recording(truth, friction, USUAL_VALUES, rng, duration=3.0, still=True)
    with pytest.raises(EstimationError, match="No joint moves"):
        Identification.of(truth, [still], friction, LeastSquares())
    with pytest.raises(EstimationError, match="No recording"):
        Identification.of(truth, [], friction, LeastSquares())


def test_fixing_an_unknown_name_and_a_prior_without_weight_are_refused(equations):
    with pytest.raises(EstimationError, match="link9"):
        identify_equations(equations, LeastSquares(fixed=["link9"]))
    with pytest.raises(EstimationError, match="must be positive"):
        ConsistentLeastSquares(prior_weight=0.0)


@pytest.mark.parametrize("name", ["ur5", "panda", "xarm7"])
def test_the_rank_target_is_the_structural_one(name):
    from sysid_core.estimation.arm.equations import arm_structural_rows
    from sysid_core.identifiability import NumericalRank
    from sysid_core.identifiability.rpna import structural_identifiability
    from sysid_core.robot import DriveTrain, FrictionModel, RobotModel

    model = RobotModel.from_urdf(name)
    friction = FrictionModel(DriveTrain.direct(model.joint_names))
    rows = arm_structural_rows(model, friction)
    exact = structural_identifiability(model.with_exact_angles()[0]).base
    inertial = rows[:, : 10 * model.n_bodies]
    assert NumericalRank.of(inertial).rank == exact.rank
    # xarm7: rpy of 1.5708 would tell a rotor from its link, by 5e-7 of what other directions show.
    for some in (model, model.with_locked({model.joint_names[-1]: 0.5})):
        friction = FrictionModel(DriveTrain.direct(some.joint_names))
        shown = NumericalRank.of(arm_structural_rows(some, friction)).singular_values
        assert not np.any((shown > 1e-12 * shown[0]) & (shown < 1e-4 * shown[0]))
    # The exact regrouping spans the same rows.
    assert inertial == pytest.approx(
        exact.base_regressor(inertial) @ exact.regrouping, abs=1e-8 * np.abs(inertial).max()
    )


@pytest.mark.parametrize("kind", [None, "gravity_compensated", "unknown"])
def test_prediction_does_not_look_at_efforts(kind):
    rng, model, friction = np.random.default_rng(6), arm(), friction_model()
    run = recording(model, friction, USUAL_VALUES, rng, noise=0.1, duration=8.0)
    result = Identification.of(model, [run], friction, LeastSquares("joint"), WIDE)
    stream = run.joints
    blind = replace(
        stream,
        effort=None if kind is None else 0.0 * stream.effort,
        effort_kind=EffortKind(kind or "unknown"),
    )
    np.testing.assert_array_equal(result.predict(replace(run, joints=blind)), result.predict(run))
