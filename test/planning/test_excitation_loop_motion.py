# SPDX-License-Identifier: Apache-2.0
"""Motions of closed chains put together, slowed to their limits, with all joints."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sysid_core.planning import HeldBox, MotionLimits, Trajectory
from sysid_core.planning.closed_chain import LoopExcitation, plan_loop_motion
from sysid_core.planning.closed_chain.motion import slowed
from sysid_core.robot.loops import load_closed_chain

QUICK = LoopExcitation(duration=4.0, fill=0.5, population=3, generations=1, rate_hz=100.0)


@pytest.fixture(scope="module")
def leg():
    return load_closed_chain("own-leg")


def limits(leg, tcp_speed):
    return MotionLimits.from_model(leg.model, acceleration=100.0, tcp_speed=tcp_speed)


def test_a_slowed_motion_keeps_its_path_and_its_derivatives():
    t = np.linspace(0.0, 3.0, 301)
    x = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    v = np.stack([np.cos(t), -2 * np.sin(2 * t)], axis=1)
    a = np.stack([-np.sin(t), -4 * np.cos(2 * t)], axis=1)
    slow = slowed(Trajectory("r", "", ("a", "b"), t, x, v, a), 0.4, 100.0)
    s = 0.4 * slow.time
    np.testing.assert_allclose(slow.duration, 3.0 / 0.4)
    np.testing.assert_allclose(slow.q[:, 0], np.sin(s), atol=1e-12)
    np.testing.assert_allclose(slow.v[:, 1], -0.8 * np.sin(2 * s), atol=1e-9)
    np.testing.assert_allclose(slow.a[:, 0], -0.16 * np.sin(s), atol=1e-6)


def test_motions_are_joined_with_rests_and_close_their_loops(leg):
    trajectory, check = plan_loop_motion(leg, limits(leg, 50.0), QUICK, n_motions=2, seed=3)
    assert check.is_safe and trajectory.joint_names == leg.model.joint_names
    assert [s.label for s in trajectory.segments] == [
        "still", "motion_1", "still", "motion_2", "still",
    ]  # fmt: skip
    assert np.max(np.abs(leg.loop_residual(trajectory.q))) < 1e-10
    assert not any("Slowed" in note for note in trajectory.notes)


def test_a_motion_that_is_too_fast_is_slowed_until_it_keeps_to_its_limits(leg):
    fast, _ = plan_loop_motion(leg, limits(leg, 50.0), QUICK, n_motions=1, seed=3)
    slow, check = plan_loop_motion(leg, limits(leg, 0.3), QUICK, n_motions=1, seed=3)
    assert check.is_safe and 0.9 < check.usage["tcp speed"] <= 1.0
    assert slow.duration > 1.5 * fast.duration
    assert any("tcp speed" in note for note in slow.notes)
    assert np.max(np.abs(leg.loop_residual(slow.q))) < 1e-6


def test_efforts_are_the_motors_with_the_loops_closed_and_what_is_held(leg):
    held = HeldBox((0.1, 0.1, 0.1), mass=2.0)
    within = limits(leg, 50.0).replace(held=held)
    trajectory, check = plan_loop_motion(leg, within, QUICK, n_motions=1, seed=3)
    k = leg.actuated_columns
    moved = trajectory.q[:, k], trajectory.v[:, k], trajectory.a[:, k]
    loaded = dataclasses.replace(leg, model=held.attached_to(leg.model, within.tcp_frame))
    torques, empty = (x.torques(x.motion(*moved)) for x in (loaded, leg))
    share = np.max(np.abs(torques) / leg.torque_limits)
    assert check.usage["effort"] == pytest.approx(share, rel=0.02)
    assert share > 1.05 * np.max(np.abs(empty) / leg.torque_limits)
    drives = {
        name: dataclasses.replace(leg.drive(name), torque_limit=0.5 * share * limit)
        for name, limit in zip(leg.actuated, leg.torque_limits, strict=True)
    }
    patient = dataclasses.replace(QUICK, torque_share=10.0)
    weak = leg.with_drives(drives)
    _, refused = plan_loop_motion(weak, limits(weak, 50.0), patient, n_motions=1, seed=3)
    assert {v.kind for v in refused.violations} == {"effort"}
