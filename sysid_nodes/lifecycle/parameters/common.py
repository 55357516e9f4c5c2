# SPDX-License-Identifier: Apache-2.0
"""Parameters that every node has."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.lifecycle.parameters.schema import parameter


@dataclass(frozen=True)
class CommonConfig:
    """Parameters of every node, besides its own."""

    autostart: bool = parameter(
        True, "Configure and activate at once; false leaves that to a lifecycle manager."
    )
    use_sim_time: bool = parameter(False, "Take the time from /clock.", live=True)
    joints: tuple[str, ...] = parameter(
        (),
        "Joints of the description that move, names or patterns such as fr3_joint*; empty: those that"
        " joint_states has. All others are held.",
    )
    lock: tuple[str, ...] = parameter(
        (),
        "Joints that are held besides, JOINT or JOINT=POSITION (rad or m); where no position is"
        " given, the state or the description says it.",
    )
    mount: tuple[float, ...] = parameter(
        (),
        "How the base is mounted in the world, where not as the description says: roll, pitch, yaw"
        " [rad]; list of numbers, 3 or none.",
    )
