# SPDX-License-Identifier: Apache-2.0
"""Motions of closed chains stay where the loops assemble and excite what they should."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from sysid_core.errors import ExcitationError, ModelError
from sysid_core.identifiability import BaseParameters, Excitation
from sysid_core.planning.closed_chain import AssemblyMap, LoopExcitation
from sysid_core.planning.closed_chain.plan import shown_by_motions, structural_rows
from sysid_core.robot.loops import ClosedChain, ConstrainedMotion, load_closed_chain
from sysid_studies.constrained.robot import sine_trajectory

SMALL = LoopExcitation(duration=5.0, generations=3, population=8, rate_hz=200.0)


@pytest.fixture(scope="module")
def leg() -> ClosedChain:
    return load_closed_chain("own-leg")


def condition(chain: ClosedChain, trajectories) -> float:
    blocks = []
    for t in trajectories:
        motion = chain.motion(t.q[::10], t.v[::10], t.a[::10])
        W = chain.drive_regressor(motion, chain.actuated)
        blocks.append(W.reshape(-1, W.shape[2]))
    W = np.vstack(blocks)
    s = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    return float(s[0] / s[-1])


def test_toes_share_a_foot(leg):
    assert leg.coupled_drives == (("toe_a", "toe_b"),)


def test_the_legs_box_assembles_everywhere_and_uniquely(leg, rng):
    found = AssemblyMap.of(leg, rng, 300, box=AssemblyMap.motion_box(leg, rng))
    assert found.assembled.all() and found.within_limits.all() and found.unique
    assert found.residual <= 1e-12


def test_a_range_needs_drives_that_determine_the_mechanism(leg, rng):
    first, *others = leg.loops
    first = dataclasses.replace(first, b=first.a)  # holds nothing
    loose = dataclasses.replace(leg, loops=(first, *others))  # its box is given, as the leg's
    with pytest.raises(ModelError, match="do not determine the passive joints"):
        AssemblyMap.motion_box(loose, rng)


def test_a_box_is_found_where_none_is_given(leg, rng):
    box = AssemblyMap.motion_box(dataclasses.replace(leg, box=None), rng)
    assert {"toe_a-toe_b", "toe_a+toe_b"} < set(box.names)
    assert np.all(box.half > 0.1)
    found = AssemblyMap.of(leg, rng, 200, box=box)
    assert found.assembled.all() and found.within_limits.all()


def test_not_everything_within_the_joints_limits_assembles(leg, rng):
    found = AssemblyMap.of(leg, rng, 200)
    assert 0.85 < found.assembled.mean() < 1.0
    assert found.within_limits.mean() < found.assembled.mean()


def test_planned_motions_are_smooth_safe_and_well_conditioned(leg, rng):
    planned = SMALL.plan(leg, rng, 2)
    for t in planned:
        assert t.joint_names == leg.actuated
        np.testing.assert_allclose(t.v[[0, -1]], 0.0, atol=1e-9)
        rate = 1.0 / (t.time[1] - t.time[0])
        np.testing.assert_allclose(np.gradient(t.q, 1 / rate, axis=0)[5:-5], t.v[5:-5], atol=2e-3)
        np.testing.assert_allclose(np.gradient(t.v, 1 / rate, axis=0)[5:-5], t.a[5:-5], atol=5e-2)
        motion = leg.motion(t.q, t.v, t.a)
        assert np.abs(leg.loop_residual(motion.q)).max() <= 1e-12
        assert np.all(np.abs(leg.torques(motion)) <= leg.torque_limits)
        assert np.abs(t.v).max() <= SMALL.velocity * 1.05
    assert condition(leg, planned) < 10.0


def shown(chain: ClosedChain, *motions: ConstrainedMotion) -> Excitation:
    names = chain.parameter_names(chain.actuated)
    structure = structural_rows(chain, chain.actuated)
    rows = [chain.regressor(motion).reshape(-1, len(names)) for motion in motions]
    return Excitation.measured(BaseParameters.sampled(structure, names), np.vstack(rows), structure)


def test_planned_motions_excite_every_direction_that_can_be_identified(leg, rng):
    config = dataclasses.replace(
        SMALL, duration=15.0, inertials=True, generations=3, harmonics=8, rate_hz=50.0
    )
    planned = config.plan(leg, rng, 2)
    found = shown_by_motions(leg, planned)
    assert found.rank == len(found.names) == 120
    assert found.condition_number < 60.0
    assert not found.unexcited()


def test_what_vigorous_motion_shows_is_the_measure(leg, rng):
    """Random states excite nearly the same directions as those of the structural analysis."""
    q_a = leg.box.positions(rng.uniform(-1, 1, (400, 6)))
    v_a, a_a = rng.normal(size=(2, 400, 6)) * np.array([2.0, 8.0])[:, None, None]
    found = shown(leg, leg.motion(q_a, v_a, a_a, ordered=False))
    assert found.condition_number < 8.0


def test_what_one_joint_cannot_show_is_named(leg):
    t = sine_trajectory(leg, leg.box, 1.8, duration=2.0, alone=True)
    knee = next(s for s in t.segments if s.label == "knee")
    rows = np.flatnonzero((t.time >= knee.start) & (t.time <= knee.end))[::10]
    found = shown(leg, leg.motion(t.q[rows], t.v[rows], t.a[rows]))
    assert found.rank < 60
    first = found.unexcited()[0]
    assert first.startswith("Not excited at all") and "F_v, I_a of toe_b" in first
    assert not re.search(r"of knee\b(?!_)", first)
    assert any("against" in sentence for sentence in found.unexcited()[1:])


def test_weak_drives_are_an_error(leg, rng):
    weak = leg.with_drives(
        {j: dataclasses.replace(leg.drive(j), torque_limit=0.1) for j in leg.actuated}
    )
    with pytest.raises(ExcitationError, match="torque limits"):
        SMALL.plan(weak, rng, 1)


@pytest.mark.parametrize("speed", [1.8, 3.0, 5.0])
def test_sines_reach_their_peak_velocity(leg, speed):
    t = sine_trajectory(leg, leg.box, speed, duration=6.0)
    peaks = np.abs(t.v).max(axis=0)
    np.testing.assert_allclose(peaks[:4], speed, rtol=0.02)
    assert np.all(peaks[4:] <= 2.0 * speed)


def test_coordinates_can_move_one_after_another(leg):
    t = sine_trajectory(leg, leg.box, 5.0, duration=2.0, alone=True)
    assert [s.label for s in t.segments] == list(leg.box.names)
    assert t.segments[4].joints == ("toe_a", "toe_b")
    center = leg.box.center
    for segment in t.segments:
        rows = (t.time >= segment.start) & (t.time <= segment.end)
        for j, joint in enumerate(leg.actuated):
            assert (np.ptp(t.q[rows, j]) > 0.1) == (joint in segment.joints)
        np.testing.assert_allclose(t.q[rows][0], center, atol=1e-12)
