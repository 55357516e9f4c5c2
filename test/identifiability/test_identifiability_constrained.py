"""Ranks of closed chains, against an independent implementation's figures."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.identifiability import constrained_ranks
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain


def test_ranks_of_the_leg_are_98_120_and_156(rng):
    ranks = constrained_ranks(load_closed_chain("own-leg"), rng)
    assert ranks.open_tree.rank == 101
    assert ranks.inertial.rank == 98
    assert ranks.with_drives.rank == 120
    assert ranks.with_all_joints.rank == 156
    assert ranks.inertial.gap > 1e8


def test_drive_inertia_of_the_first_joints_hides_behind_the_masses(rng):
    """98 + 4 per driven joint would be 122: two drive inertias can't be told from the links."""
    ranks = constrained_ranks(load_closed_chain("own-leg"), rng)
    assert 98 + 24 - ranks.with_drives.rank == 2


def test_digits_leg_has_the_same_ranks(shared_data, rng):
    path = shared_data / "digit" / "digit_left_leg_loops.yaml"
    if not path.exists():
        pytest.skip("no Digit files")
    ranks = constrained_ranks(load_closed_chain(path), rng)
    assert (ranks.inertial.rank, ranks.with_drives.rank, ranks.with_all_joints.rank) == (
        98,
        120,
        156,
    )


def test_an_open_chain_has_the_rank_of_its_tree():
    chain = ClosedChain(RobotModel.from_urdf("ur5"))
    ranks = constrained_ranks(chain, np.random.default_rng(3))
    assert ranks.inertial.rank == ranks.open_tree.rank
