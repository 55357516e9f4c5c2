# SPDX-License-Identifier: Apache-2.0
"""The crossing between messages and the core's types."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from sensor_msgs.msg import JointState

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.planning import Trajectory
from sysid_nodes import conversions


def test_joint_arrays_are_mapped_by_name() -> None:
    message = JointState(name=["b", "x", "a"], position=[2.0, 9.0, 1.0], effort=[4.0, 9.0, 3.0])
    q, v, effort = conversions.joint_arrays_from_message(message, ["a", "b"])
    assert q.tolist() == [1.0, 2.0] and v is None
    assert effort is not None and effort.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (JointState(name=["a"], position=[1.0]), r"lacks \['b'\]"),
        (JointState(name=["a", "b"], position=[1.0]), "2 names and 1 position"),
        (JointState(name=["a", "b"], velocity=[1.0, 2.0]), "no positions"),
    ],
)
def test_a_broken_joint_state_is_named(message: JointState, words: str) -> None:
    with pytest.raises(SignalError, match=words):
        conversions.joint_arrays_from_message(message, ["a", "b"])


def test_stamps_survive_the_round_trip() -> None:
    for ns in (0, 1, 999_999_999, 1_795_175_277_606_274_339):
        assert conversions.ns_from_stamp(conversions.stamp_from_ns(ns)) == ns


def test_a_trajectory_survives_the_round_trip(rng: np.random.Generator) -> None:
    time = np.linspace(0.0, 1.0, 11)
    q, v, a = rng.normal(size=(3, 11, 2))
    trajectory = Trajectory("r", "", ("a", "b"), time, q, v, a)
    message = conversions.message_from_trajectory(trajectory)
    t2, q2, v2, a2 = conversions.trajectory_arrays(message, ["b", "a"])
    np.testing.assert_allclose(t2, time, atol=1e-9)
    for x, y in ((q, q2), (v, v2), (a, a2)):
        np.testing.assert_array_equal(x[:, ::-1], y)


def test_an_estimate_survives_the_round_trip(rng: np.random.Generator) -> None:
    root = rng.normal(size=(3, 3))
    estimate = Estimate(
        method="test",
        names=("a", "b", "c"),
        values=np.array([1.0, 2.0, 3.0]),
        units=("kg", "m", ""),
        covariance=root @ root.T,
        verdicts=(
            ParameterVerdict.IDENTIFIABLE,
            ParameterVerdict.COMBINATION,
            ParameterVerdict.PRIOR_DOMINATED,
        ),
        consistent={"payload": True},
        rank=2,
        structural_rank=3,
        n_samples=7,
        urdf_hash="abc",
    )
    message = conversions.message_from_estimate(
        estimate, stamp_ns=5, frame="f", reference_point="origin", model="payload"
    )
    back = conversions.estimate_from_message(message)
    assert back.names == estimate.names and back.verdicts == estimate.verdicts
    np.testing.assert_array_equal(back.covariance, estimate.covariance)
    assert back.physically_consistent and back.rank == 2 and back.urdf_hash == "abc"
