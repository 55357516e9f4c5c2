# SPDX-License-Identifier: Apache-2.0
"""Ranks of closed chains, against an independent implementation's figures."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.identifiability import ConstrainedRanks
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, Loop, LoopEnd, load_closed_chain


def test_ranks_of_the_leg_are_98_120_and_156(rng):
    ranks = ConstrainedRanks.of(load_closed_chain("own-leg"), rng)
    assert ranks.open_tree.rank == 101
    assert ranks.inertial.rank == 98
    assert ranks.with_drives.rank == 120
    assert ranks.with_all_joints.rank == 156
    assert ranks.inertial.gap > 1e8


def test_drive_inertia_of_the_first_joints_hides_behind_the_masses(rng):
    """98 + 4 per driven joint would be 122, but two drive inertias can't be told from the links."""
    ranks = ConstrainedRanks.of(load_closed_chain("own-leg"), rng)
    assert 98 + 24 - ranks.with_drives.rank == 2


def test_digits_leg_has_the_same_ranks(shared_data, rng):
    path = shared_data / "digit" / "digit_left_leg_loops.yaml"
    if not path.exists():
        pytest.skip("no Digit files")
    ranks = ConstrainedRanks.of(load_closed_chain(path), rng)
    assert (ranks.inertial.rank, ranks.with_drives.rank, ranks.with_all_joints.rank) == (
        98,
        120,
        156,
    )


def test_an_open_chain_has_the_rank_of_its_tree():
    chain = ClosedChain(RobotModel.from_urdf("ur5"))
    ranks = ConstrainedRanks.of(chain, np.random.default_rng(3))
    assert ranks.inertial.rank == ranks.open_tree.rank


def test_a_four_bar_that_assembles_on_a_third_of_its_circle_has_ranks(rng):
    lengths = (0.6, 0.55, 0.35)  # crank, coupler, rocker; the ground is 1 m
    urdf, parent, x = "<robot name='bar'><link name='base'/>", "base", 0.0
    for i, length in enumerate(lengths):
        urdf += (
            f"<link name='l{i}'><inertial><mass value='1'/><origin xyz='.3 0 0'/><inertia"
            " ixx='.01' iyy='.02' izz='.02' ixy='0' ixz='0' iyz='0'/></inertial></link>"
            f"<joint name='j{i}' type='revolute'><parent link='{parent}'/><child link='l{i}'/>"
            f"<origin xyz='{x} 0 0'/><axis xyz='0 0 1'/>"
            "<limit lower='-3.14159' upper='3.14159' velocity='5' effort='50'/></joint>"
        )
        parent, x = f"l{i}", length
    pin = Loop("pin", "point", LoopEnd("l2", [lengths[2], 0, 0]), LoopEnd("base", [1.0, 0, 0]))
    chain = ClosedChain(
        RobotModel.from_urdf(urdf + "</robot>"), (pin,), ("j0",), home=np.array([0.3, 0.8, -2.0])
    )
    circle = np.linspace(-np.pi, np.pi, 200)[:, None]
    assert 0.2 < chain.try_assemble(circle).assembled.mean() < 0.5
    assert 0 < ConstrainedRanks.of(chain, rng).inertial.rank < 10
