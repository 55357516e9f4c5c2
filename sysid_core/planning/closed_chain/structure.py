# SPDX-License-Identifier: Apache-2.0
"""Structural equations of a closed chain, and the excitation of its parameters by planned motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.identifiability import Excitation, measure_excitation, sampled_base_parameters
from sysid_core.identifiability.rpna import with_exact_angles
from sysid_core.planning.closed_chain.box import motion_box
from sysid_core.planning.trajectory import Trajectory
from sysid_core.robot import Array
from sysid_core.robot.loops import (
    ClosedChain,
    constrained_motion,
    constrained_parameter_names,
    projected_regressor,
)

_SAMPLES = 400  # of a motion
_STATES = 120  # random ones: torques of six drives are four times the unknowns of a leg


def shown_by_motions(chain: ClosedChain, motions: Sequence[Trajectory]) -> Excitation:
    """Excitation of all inertial and drive parameters by planned motions.

    Args:
        chain: The mechanism.
        motions: Motions of its actuated joints at least.
    """
    names = constrained_parameter_names(chain, chain.actuated)
    structure = structural_rows(chain, chain.actuated)
    rows = []
    for motion in motions:
        k = [motion.joint_names.index(name) for name in chain.actuated]
        few = slice(None, None, max(1, len(motion.time) // _SAMPLES))
        states = (x[few][:, k] for x in (motion.q, motion.v, motion.a))
        W = projected_regressor(chain, constrained_motion(chain, *states))
        rows.append(W.reshape(-1, len(names)))
    return measure_excitation(sampled_base_parameters(structure, names), np.vstack(rows), structure)


def structural_rows(chain: ClosedChain, drives: tuple[str, ...]) -> Array:
    """Triangular factor of the projected regressor at random consistent states, shape (p, p).

    Rounded angles of the URDF count as the exact ones.

    Args:
        chain: The mechanism.
        drives: Joints with friction and drive columns.
    """
    rng = np.random.default_rng(7)
    chain = chain.with_model(with_exact_angles(chain.model)[0].with_pi(chain.model.pi))
    box = motion_box(chain, rng)
    q_a = box.positions(rng.uniform(-1.0, 1.0, (_STATES, chain.n_actuated)))
    v_a, a_a = rng.normal(size=(2, *q_a.shape)) * np.array([2.0, 8.0])[:, None, None]
    motion = constrained_motion(chain, q_a, v_a, a_a, ordered=False)
    W = projected_regressor(chain, motion, drives)
    return np.asarray(np.linalg.qr(W.reshape(-1, W.shape[2]), mode="r"))
