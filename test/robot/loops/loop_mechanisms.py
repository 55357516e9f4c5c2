# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops, and their random states."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import RobotModel
from sysid_core.robot.loops import (
    ClosedChain,
    Loop,
    LoopEnd,
)


def states(chain: ClosedChain, rng: np.random.Generator, n: int = 40):
    q_a = chain.box.positions(rng.uniform(-1, 1, (n, chain.n_actuated)))
    v_a, a_a = rng.normal(size=(2, n, chain.n_actuated)) * np.array([1.5, 6.0])[:, None, None]
    return q_a, v_a, a_a


def four_bar(kind: str) -> ClosedChain:
    """A planar parallelogram of revolute joints, closed in one of three ways."""
    urdf = """<robot name='four_bar'><link name='base'/>
    <link name='crank'><inertial><origin xyz='0 0 .1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='coupler'><inertial><origin xyz='.2 0 0'/><mass value='1'/>
      <inertia ixx='.002' iyy='.02' izz='.02' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <link name='rocker'><inertial><origin xyz='0 0 .1'/><mass value='1'/>
      <inertia ixx='.01' iyy='.01' izz='.002' ixy='0' ixz='0' iyz='0'/></inertial></link>
    <joint name='drive' type='revolute'><parent link='base'/><child link='crank'/>
      <axis xyz='0 1 0'/><limit lower='-2' upper='2' effort='50' velocity='10'/></joint>
    <joint name='middle' type='revolute'><parent link='crank'/><child link='coupler'/>
      <origin xyz='0 0 .2'/><axis xyz='0 1 0'/>
      <limit lower='-3' upper='3' effort='0' velocity='10'/></joint>
    <joint name='far' type='revolute'><parent link='base'/><child link='rocker'/>
      <origin xyz='.4 0 0'/><axis xyz='0 1 0'/>
      <limit lower='-3' upper='3' effort='0' velocity='10'/></joint></robot>"""
    model = RobotModel.from_urdf(urdf)
    if kind == "rod":  # the coupler's own joint stays free: it is driven, too
        loop = Loop(
            "bar", "rod", LoopEnd("crank", [0, 0, 0.2]), LoopEnd("rocker", [0, 0, 0.2]), 0.4
        )
        return ClosedChain(model, (loop,), ("drive", "middle"))
    if kind == "weld":  # coupler and rocker as one rigid piece: only the crank's circle is left
        loop = Loop("weld", "weld", LoopEnd("coupler", [0.4, 0, 0]), LoopEnd("base", [0.4, 0, 0.2]))
        return ClosedChain(model, (loop,), ("far",))
    loop = Loop("pin", "point", LoopEnd("coupler", [0.4, 0, 0]), LoopEnd("rocker", [0, 0, 0.2]))
    return ClosedChain(model, (loop,), ("drive",))
