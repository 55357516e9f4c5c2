# SPDX-License-Identifier: Apache-2.0
"""Choice of a robot's tool frame, whose speed is limited."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from sysid_core.errors import ExcitationError
from sysid_core.robot import RobotModel

MOVES = 1e-6  # [m/rad], a smaller Jacobian is none
_ARM, _FINGER = 4, 8  # joints in a row: of an arm at least, of a finger at most
_FINGERS = "finger", "knuckle"  # in the names of links that are fixed to the hand
_GRIPPER = (*_FINGERS, "gripper")  # in the names of joints


def moving_joints(model: RobotModel, frame: str) -> tuple[str, ...]:
    """Return the joints that move the origin of a frame, determined by its Jacobian at a few random
    postures.

    Raises:
        ModelError: There is no such frame.
    """
    frame_id, data = model.frame_id(frame), model.pin_model.createData()
    rng, reach = np.random.default_rng(0), np.zeros(model.nv)
    for _ in range(5):
        if model.pin_model.nq == model.nv or all(j.nv <= 1 for j in model.pin_model.joints):
            q = model.configuration(rng.uniform(-1.5, 1.5, size=model.nv))
        else:
            q = pin.randomConfiguration(
                model.pin_model, -np.ones(model.pin_model.nq), np.ones(model.pin_model.nq)
            )
        J = pin.computeFrameJacobian(model.pin_model, data, q, frame_id, pin.LOCAL_WORLD_ALIGNED)[
            :3
        ]
        reach = np.maximum(reach, np.linalg.norm(J, axis=0))
    names = [
        n
        for n, d in zip(model.joint_names, model.degrees_of_freedom, strict=True)
        for _ in range(d)
    ]
    return tuple(dict.fromkeys(n for n, r in zip(names, reach, strict=True) if r > MOVES))


def tool_frame(model: RobotModel, asked: str | None = None) -> tuple[str, str]:
    """Return the frame with limited speed, and a sentence that states it.

    By default it is the last link of the URDF, unless another link is carried by more joints (the
    last link may be a sensor on the base). For an arm with a gripper it is the hand, not a finger,
    whether the fingers have joints or are fixed in the description.

    Raises:
        ExcitationError: The requested frame does not move, so that a limit of its speed has no
            effect.
        ModelError: There is no such frame.
    """
    links = [f.name for f in model.pin_model.frames if f.type == pin.FrameType.BODY]
    if asked:
        carriers = moving_joints(model, asked)
        if not carriers:
            raise ExcitationError(
                f"The tool frame '{asked}' does not move with any joint, so that a speed limit has"
                " no effect.",
                remedy=f"Name a link at the robot's tip: {', '.join(_moving(model, links)[-8:])}.",
            )
        return asked, _sentence(model, asked, carriers)
    carried = {
        name: len(
            model.pin_model.supports[model.pin_model.frames[model.frame_id(name)].parentJoint]
        )
        for name in links
    }
    most = max(carried.values())
    best = [name for name in links if carried[name] == most]
    best = [n for n in best if not any(word in n.lower() for word in _FINGERS)] or best
    name = next((n for n in reversed(best) if moving_joints(model, n)), "")
    name = name or next(reversed(_moving(model, links)), best[-1])
    name = _hand(model, links, name) or name
    return name, _sentence(model, name, moving_joints(model, name))


def _moving(model: RobotModel, links: Sequence[str]) -> list[str]:
    return [name for name in links if moving_joints(model, name)]


def _hand(model: RobotModel, links: Sequence[str], tip: str) -> str:
    """Last moving link before an arm branches into fingers; "" if it does not branch."""
    pin_model = model.pin_model
    parents = list(pin_model.parents)
    chain = list(pin_model.supports[pin_model.frames[model.frame_id(tip)].parentJoint])
    forks = [i for i, joint in enumerate(chain[:-1]) if parents[1:].count(joint) > 1]
    since = [at - before for before, at in zip([0, *forks], forks, strict=False)]
    hands = [at for at, joints in zip(forks, since, strict=True) if joints >= _ARM]
    if not hands or len(chain) - 1 - hands[-1] > _FINGER:
        return ""
    joint = chain[hands[-1]]
    carried = [n for n in links if pin_model.frames[model.frame_id(n)].parentJoint == joint]
    return next((name for name in reversed(carried) if moving_joints(model, name)), "")


def _sentence(model: RobotModel, frame: str, movers: Sequence[str]) -> str:
    text = f"The TCP speed limit applies to '{frame}'"
    if not movers:
        return f"{text}, whose origin lies on the joint axes: it has no effect."
    carriers = model.pin_model.supports[model.pin_model.frames[model.frame_id(frame)].parentJoint]
    others = [n for i, n in enumerate(model.joint_names, start=1) if i not in list(carriers)]
    if not others:
        return f"{text}."
    shown = ", ".join(others) if len(others) <= 8 else f"{len(others)} joints"
    return f"{text}; the speed of the bodies moved only by {shown} is not limited."


def joints_beside_arm(model: RobotModel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the joints of grippers, by their names, and the joints without position limits that do
    not carry the tool, such as the wheels of a mobile base; no motion of the arm excites either.

    Args:
        model: Robot on a fixed base.
    """
    fingers = tuple(n for n in model.joint_names if any(word in n.lower() for word in _GRIPPER))
    pin_model = model.pin_model
    frame = model.frame_id(tool_frame(model, None)[0])
    carriers = {pin_model.names[j] for j in pin_model.supports[pin_model.frames[frame].parentJoint]}
    lower, upper = model.position_limits
    wheels = tuple(
        name
        for name, reach in zip(model.joint_names, upper - lower, strict=True)
        if name not in carriers and not np.isfinite(reach)
    )
    return fingers, wheels
