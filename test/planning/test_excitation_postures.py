# SPDX-License-Identifier: Apache-2.0
"""Motions from posture to posture: what gravity shows, and ways that are safe."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import ExcitationError
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory, check_motion
from sysid_core.planning.design import Unknowns
from sysid_core.planning.postures import PosturePlan
from sysid_core.robot import FrictionTerm, RobotModel


@pytest.fixture(scope="module")
def checker() -> MotionChecker:
    model = RobotModel.from_urdf("ur5")
    wrist = model.with_locked(dict(zip(model.joint_names[:3], [0.0, -1.2, 1.2], strict=True)))
    limits = MotionLimits.from_model(wrist, tcp_frame="tool0", tcp_speed=1.0, ground_height=0.0)
    return MotionChecker(wrist, limits)


def test_chosen_postures_tell_more_than_random_ones_and_are_at_rest(checker, rng):
    unknowns = Unknowns.of_arm(checker.model, terms=(FrictionTerm.OFFSET,))
    plan = PosturePlan.of(checker, unknowns, 6, still=0.5, seed=2)
    assert check_motion(checker.model, plan.trajectory, checker.limits).is_safe
    spans = [s for s in plan.trajectory.segments if s.label.startswith("posture")]
    for span, q in zip(spans, plan.postures, strict=True):
        k = (plan.trajectory.time > span.start + 1e-9) & (plan.trajectory.time < span.end)
        np.testing.assert_allclose(plan.trajectory.q[k], np.tile(q, (k.sum(), 1)))
        assert not plan.trajectory.v[k].any()

    def volume(q: np.ndarray) -> float:
        information = unknowns.information(q, 0 * q, 0 * q, 3.0) + unknowns.prior_information
        return float(np.linalg.slogdet(information)[1])

    random = [volume(rng.uniform(-np.pi, np.pi, plan.postures.shape)) for _ in range(20)]
    assert volume(plan.postures) > np.median(random)  # which keep to no limits
    again = PosturePlan.of(checker, unknowns, 6, still=0.5, seed=2)
    np.testing.assert_array_equal(again.trajectory.q, plan.trajectory.q)


def test_given_postures_are_passed_in_their_order(checker, tmp_path):
    given = np.array([[-1.2, -1.4, 0.2], [-1.5, -1.0, 0.6], [-1.0, -1.6, 0.0]])
    trajectory = PosturePlan.through(checker, given, still=0.2)
    spans = [s for s in trajectory.segments if s.label.startswith("posture")]
    np.testing.assert_allclose([trajectory.at(s.end)[0] for s in spans], given, atol=1e-9)
    file = tmp_path / "given.csv"
    high = MotionChecker(checker.model, checker.limits.replace(ground_height=0.9))
    with pytest.raises(ExcitationError, match="ground"):
        PosturePlan.through(high, given)
    with pytest.raises(ExcitationError, match="do not belong"):
        PosturePlan.through(checker, given[:, :2])
    model = RobotModel.from_urdf("ur5")
    full = np.hstack([np.tile([0.0, -1.2, 1.2], (3, 1)), given])
    file.write_text(
        "\n".join([",".join(model.joint_names), *(",".join(map(str, q)) for q in full)])
    )
    out = tmp_path / "motion"
    arguments = ["plan", "postures", "ur5", "--through", str(file), "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--tcp-speed", "1"])
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(Trajectory.load(out / "trajectory.npz").q[-1], full[-1], atol=1e-9)
    file.write_text("elbow_joint\n1.0\n")
    assert "holds no postures" in str(CliRunner().invoke(app, arguments).exception)
