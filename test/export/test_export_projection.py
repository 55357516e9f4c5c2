# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exported_arm import LOADED, TRUTH, USUAL, identified

from sysid_core.errors import ModelError
from sysid_core.export import Description, ExportedError, Target
from sysid_core.export.judged import judge_export
from sysid_core.export.projection import Projection, Projections, inside, lost_in, projections
from sysid_core.export.urdf import UrdfReader, urdf_of
from sysid_core.robot import RobotModel
from sysid_core.signals import Recording
from sysid_core.validation import Prediction


def judge(result, target, robot, runs, predictions) -> ExportedError:
    return judge_export(
        *(result, target, robot.torques, runs, predictions),
        held_out=True,
        projections=Projections(robot, {}, robot),
    )


def test_terms_that_the_target_holds_stay_as_they_are(rng):
    result, fitted, kept = identified(USUAL, rng)
    robot = projections(result, fitted, Target.MJCF).robot
    assert robot.lost == ("smooth_sign",)
    for symbol in ("F_c", "F_v", "I_a"):
        assert robot.of(symbol) == pytest.approx(TRUTH[symbol], rel=0.02, abs=0.01)
    own = [Prediction.of(result, run) for run in kept]
    smooth = projections(result, fitted, Target.MJCF).whole
    error = judge(result, Target.MJCF, smooth, kept, own)
    assert error.rise == pytest.approx(1.0, abs=0.02)
    assert error.inside == pytest.approx(own[0].relative_error(), rel=1e-12)
    assert not error.worth_a_warning


def test_friction_takes_over_what_the_lost_terms_explained(rng):
    result, fitted, kept = identified(LOADED, rng)
    found = Description.of(result, fitted, kept)
    assert found is not None
    robot = projections(result, fitted, Target.URDF).robot
    assert set(robot.lost) == {"inertia", "offset", "load", "smooth_sign"}
    assert robot.of("F_c")[0] > 1.3 * TRUTH["F_c"][0]  # load friction is part of it
    values = [result.friction_parameters[f"{j}.{s}"] for j in ("j1", "j2") for s in ("F_c", "F_v")]
    copied = replace(robot, values=np.array(values))
    own = [Prediction.of(result, run) for run in kept]
    as_copied = judge(result, Target.URDF, copied, kept, own)
    assert found.error.exported < as_copied.exported
    assert found.error.worth_a_warning == (found.error.rise > 2.0)
    assert found.error.exported - found.error.lost == pytest.approx(found.error.inside, rel=0.02)
    assert not found.error.unexplained  # losses explain all of it
    assert as_copied.unexplained and as_copied.worth_a_warning
    assert set(found.error.costs) == {"inertia", "offset", "load", "smooth_sign"}
    [warning] = replace(found.error, exported=3.0 * found.error.inside, lost=1.0).warnings("a.urdf")
    cost = f"load {100.0 * found.error.costs['load']:+.2f} %"
    assert warning.code == "export-loses" and cost in str(warning.data["lost"])
    assert all(found.error.costs[term] > 0.0 for term in ("inertia", "offset", "load"))


def test_the_description_is_judged_as_it_is_read(rng):
    result, fitted, _ = identified(LOADED, rng)
    robot = projections(result, fitted, Target.URDF).robot
    model = result.model
    reader = UrdfReader(urdf_of(robot), model.joint_names, model.gravity)
    q, v, a = rng.normal(size=(3, 50, 2))
    assert reader.torques(q, v, a) == pytest.approx(robot.torques(q, v, a), abs=1e-11)


def test_a_blow_in_the_recording_moves_no_friction(rng):
    result, fitted, _ = identified(LOADED, rng)
    clean = projections(result, fitted, Target.URDF).robot
    efforts = np.array(fitted[0].joints.effort)
    efforts[500:520] += 300.0
    struck = Recording(replace(fitted[0].joints, effort=efforts), source="struck")
    robot = projections(result, [struck], Target.URDF).robot
    assert robot.values == pytest.approx(clean.values, abs=0.15)  # its mean is 3 N m


def test_code_loses_nothing(rng):
    result, fitted, _ = identified(LOADED, rng)
    assert lost_in(result.friction, Target.C) == ()
    robot = projections(result, fitted, Target.C).robot
    q, v, a = (x[:, :2] for x in rng.normal(size=(3, 30, 2)))
    assert robot.torques(q, v, a) == pytest.approx(result.torques(q, v, a), abs=1e-12)


def test_a_result_without_description_has_no_urdf(rng):
    result, fitted, kept = identified(USUAL, rng)
    bare = replace(result, model=replace(result.model, urdf_xml=""))
    assert Description.of(bare, fitted, kept) is None
    with pytest.raises(ModelError, match="wasn't built from a URDF"):
        urdf_of(projections(bare, fitted, Target.URDF).robot)


def test_friction_that_is_not_finite_is_refused(rng):
    robot = inside(identified(USUAL, rng)[0])
    with pytest.raises(ModelError, match="finite"):
        Projection(robot.model, robot.friction, np.full(len(robot.values), np.nan))
    assert isinstance(robot.model, RobotModel)
