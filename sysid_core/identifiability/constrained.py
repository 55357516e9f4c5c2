# SPDX-License-Identifier: Apache-2.0
"""Identifiability of a closed chain by numerical ranks of the projected regressor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.identifiability.base_parameters import NumericalRank
from sysid_core.robot.loops import ClosedChain, DrivenRobot

STATES = 150  # random ones, several times the unknowns of a leg
TOLERANCE = 1e-8  # relative to the largest singular value of the column-scaled matrix


@dataclass(frozen=True)
class ConstrainedRanks:
    """Ranks of the constrained observation matrix of a closed chain, at random postures with closed
    loops.

    Attributes:
        open_tree: Rank of the inertial columns if the loops are cut and all joints are measured.
        inertial: Rank of the inertial columns of the closed chain.
        with_drives: Rank with friction and drive parameters of the actuated joints.
        with_all_joints: Rank with friction and drive parameters of all joints.
        n_inertial: Number of inertial parameters.
    """

    open_tree: NumericalRank
    inertial: NumericalRank
    with_drives: NumericalRank
    with_all_joints: NumericalRank
    n_inertial: int

    @classmethod
    def of(cls, chain: ClosedChain, rng: np.random.Generator) -> ConstrainedRanks:
        """Return the ranks at random postures with closed loops, with random velocities and
        accelerations.

        Rounded angles in the URDF are replaced by the exact ones.

        Args:
            chain: Closed chain.
            rng: Random number generator for the states.

        Raises:
            IdentifiabilityError: Hardly any posture closes the loops.
        """
        model = DrivenRobot.of(chain).with_exact_angles()[0]
        assert isinstance(model, DrivenRobot)
        chain = model.chain
        q = chain.random_postures(STATES, rng)
        q_a = q[:, chain.actuated_columns]
        v_a, a_a = rng.normal(size=(2, *q_a.shape)) * np.array([2.0, 8.0])[:, None, None]
        motion = chain.motion(q_a, v_a, a_a, q=q)
        W = chain.regressor(motion, chain.model.joint_names)
        W = W.reshape(-1, W.shape[2])
        split = 10 * chain.model.n_bodies
        own = [chain.model.joint_names.index(name) for name in chain.actuated]
        drives = [split + 4 * i + k for i in own for k in range(4)]
        Y = chain.model.torque_regressor(*chain.model.random_states(STATES, rng))
        return cls(
            open_tree=NumericalRank.of(Y.reshape(-1, split), TOLERANCE),
            inertial=NumericalRank.of(W[:, :split], TOLERANCE),
            with_drives=NumericalRank.of(W[:, [*range(split), *drives]], TOLERANCE),
            with_all_joints=NumericalRank.of(W, TOLERANCE),
            n_inertial=split,
        )
