# SPDX-License-Identifier: Apache-2.0
"""Locked joints: the bodies beyond a locked joint are merged with the body before it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError


def lock_joints(tree: pin.Model, positions: Mapping[str, float]) -> pin.Model:
    """Kinematic tree without the given joints, each fixed at its position [rad or m].

    Raises:
        ModelError: A joint with several degrees of freedom has a position other than zero.
    """
    tree = tree.copy()
    reference = pin.neutral(tree)
    for name, value in positions.items():
        joint = tree.joints[tree.getJointId(name)]
        if value == 0.0:
            continue
        if joint.nv != 1:
            raise ModelError(
                f"Joint '{name}' has {joint.nv} degrees of freedom.",
                remedy="Only joints with one degree of freedom are locked at a position.",
            )
        here = slice(joint.idx_q, joint.idx_q + joint.nq)
        reference[here] = value if joint.nq == 1 else [np.cos(value), np.sin(value)]
    # A link may be called as its joint is: pinocchio then doesn't know which to fix.
    twins = {f.name: f"{f.name}|link" for f in tree.frames if f.name in tuple(tree.names)}
    for i, frame in enumerate(tree.frames):
        if frame.type == pin.FrameType.BODY and frame.name in twins:
            tree.frames[i].name = twins[frame.name]
    reduced = pin.buildReducedModel(tree, [tree.getJointId(name) for name in positions], reference)
    own = {twin: name for name, twin in twins.items()}
    for i, frame in enumerate(reduced.frames):
        reduced.frames[i].name = own.get(frame.name, frame.name)
    return reduced
