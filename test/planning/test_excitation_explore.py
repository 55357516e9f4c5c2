# SPDX-License-Identifier: Apache-2.0
"""Explorations: pieces for what is unknown, until enough is known or it can't be."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory, check_motion
from sysid_core.planning.design import Ending, Explorer, Goal, Unknowns
from sysid_core.robot import RobotModel

HOME = np.array([-1.2, -1.4, 0.2])


@pytest.fixture(scope="module")
def wrist() -> RobotModel:
    model = RobotModel.from_urdf("ur5")
    return model.with_locked(dict(zip(model.joint_names[:3], [0.0, -1.2, 1.2], strict=True)))


@pytest.fixture(scope="module")
def checker(wrist) -> MotionChecker:
    limits = MotionLimits.from_model(wrist, tcp_frame="tool0", tcp_speed=1.0, ground_height=0.0)
    return MotionChecker(wrist, limits)


@cache
def unknowns(model: RobotModel) -> Unknowns:
    return Unknowns.of_arm(model)


def explorer(checker: MotionChecker, **options) -> Explorer:
    settings = {"period": 3.0, "n_iterations": 8, **options}
    return Explorer(checker, unknowns(checker.model), **settings)


def play(explorer: Explorer, piece: Trajectory, share: float = 1.0) -> np.ndarray:
    """A robot that follows perfectly, as far as it is let."""
    last = int(share * (len(piece.time) - 1))
    part = slice(0, last + 1, 5)
    explorer.add(piece.q[part], piece.v[part], piece.a[part], float(piece.time[last]))
    return piece.q[last]


def test_an_exploration_ends_when_what_was_asked_for_is_known(checker):
    asked = unknowns(checker.model).names[-6:]
    one = explorer(checker, goal=Goal(0.25, asked, longest=60.0))
    q, open_before = HOME, len(one.open_names)
    while one.ending is Ending.OPEN:
        piece = one.next_piece(q)
        assert check_motion(checker.model, piece, checker.limits).is_safe
        np.testing.assert_allclose(piece.q[0], q, atol=1e-9)
        np.testing.assert_allclose(piece.v[-1], 0.0, atol=1e-12)
        q = play(one, piece)
        assert len(one.open_names) <= open_before
        open_before = len(one.open_names)
    assert one.ending is Ending.REACHED and not one.open_names
    assert one.expectation.relative[-6:].max() <= 0.25 and one.n_pieces > 1
    with pytest.raises(ExcitationError, match="no further piece: reached"):
        one.next_piece(q)


def test_a_piece_that_was_broken_off_counts_for_what_was_played(checker):
    whole, half = explorer(checker), explorer(checker)
    piece = whole.next_piece(HOME)
    play(whole, piece)
    q = play(half, piece, 0.5)
    before = explorer(checker).expectation.relative
    assert np.all(half.expectation.relative <= before + 1e-9)
    assert half.expectation.mean_deviation > whole.expectation.mean_deviation
    # It goes on from where the robot was stopped.
    np.testing.assert_allclose(half.next_piece(q).q[0], q, atol=1e-9)


def test_a_fault_before_anything_was_played_changes_nothing(checker):
    one = explorer(checker)
    before = one.expectation.deviation
    one.add(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3)), 0.0)
    np.testing.assert_allclose(one.expectation.deviation, before)
    assert one.ending is Ending.OPEN


def test_what_cannot_be_known_is_said(checker):
    """Motion that tells nothing new ends it, with names."""
    one = explorer(checker, goal=Goal(1e-6))
    still = np.tile(HOME, (10, 1))
    for _ in range(5):
        if one.ending is not Ending.OPEN:
            break
        one.add(still, 0 * still, 0 * still, 0.01)
    assert one.ending is Ending.IN_VAIN
    assert "not known well enough: wrist_1_link" in str(one)
    late = explorer(checker, goal=Goal(1e-6, longest=1.0))
    piece = late.next_piece(HOME)
    play(late, piece)
    assert late.ending is Ending.OUT_OF_TIME


def test_a_piece_that_would_show_more_than_is_asked_for_gives_way_to_a_shorter_one(checker):
    name = unknowns(checker.model).names[-1]
    one = explorer(checker, goal=Goal(0.3, names=(name,)), period=8.0, n_iterations=0)
    piece = one.next_piece(HOME)
    assert piece.duration < 4.1
    play(one, piece)
    assert one.ending is Ending.REACHED


def test_pieces_keep_to_the_longest_time_of_motion(checker):
    one = explorer(checker, goal=Goal(1e-6, longest=5.0), n_iterations=0)
    q, played = HOME, []
    while one.ending is Ending.OPEN:
        piece = one.next_piece(q)
        played.append(piece.duration)
        q = play(one, piece)
    np.testing.assert_allclose(played, [3.0, 2.0], atol=0.02)
    assert one.ending is Ending.OUT_OF_TIME


def test_only_what_was_asked_for_counts(checker):
    name = unknowns(checker.model).names[-1]
    one = explorer(checker, goal=Goal(0.3, names=(name,)))
    assert one.open_names == (name,)
    play(one, one.next_piece(HOME))
    assert one.ending is Ending.REACHED
    with pytest.raises(ExcitationError, match="No base parameters"):
        explorer(checker, goal=Goal(names=("elbow.m",)))


def test_the_same_seed_explores_alike(checker):
    pieces = [explorer(checker, seed=3).next_piece(HOME) for _ in range(2)]
    np.testing.assert_array_equal(pieces[0].q, pieces[1].q)


def test_without_iterations_the_best_random_piece_is_played(checker):
    one = explorer(checker, n_iterations=0)
    play(one, one.next_piece(HOME))
    assert one.n_pieces == 1 and one.duration > 0


def test_a_cancel_while_planning_makes_do_with_the_best_so_far(checker):
    one = explorer(checker, n_iterations=500)
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) >= 3

    piece = one.next_piece(HOME, stop=stop)
    assert len(asked) < 10  # of 500 iterations
    assert check_motion(checker.model, piece, checker.limits).is_safe


def test_pieces_join_at_rest_and_lead_elsewhere(checker):
    one = explorer(checker)
    first = one.next_piece(HOME)
    q = play(one, first)
    second = one.next_piece(q)
    np.testing.assert_allclose(second.q[0], first.q[-1], atol=1e-9)
    assert np.abs(first.q[-1] - HOME).max() > 0.05
    for piece in (first, second):
        np.testing.assert_allclose(piece.v[[0, -1]], 0.0, atol=1e-9)
        np.testing.assert_allclose(piece.a[[0, -1]], 0.0, atol=1e-9)
