# SPDX-License-Identifier: Apache-2.0
"""Robots with mimic joints and rotors."""

from sysid_studies.cheetah3 import coupling_matrix

# The Kinova Gen3's joint origins as its URDF writes them: right angles with four decimals.
GEN3 = [
    ("0 0 0.15643", "-3.1416 2.7629E-18 -4.9305E-36"),
    ("0 0.005375 -0.12838", "1.5708 2.1343E-17 -1.1102E-16"),
    ("0 -0.21038 -0.006375", "-1.5708 1.2326E-32 -2.9122E-16"),
    ("0 0.006375 -0.21038", "1.5708 -6.6954E-17 -1.6653E-16"),
    ("0 -0.20843 -0.006375", "-1.5708 2.2204E-16 -6.373E-17"),
    ("0 0.00017505 -0.10593", "1.5708 9.2076E-28 -8.2157E-15"),
    ("0 -0.10593 -0.00017505", "-1.5708 -5.5511E-17 9.6396E-17"),
]


def chain_urdf(origins, kind="continuous", extra=""):
    parts = ['<robot name="chain"><link name="link0"/>']
    for i, (xyz, rpy) in enumerate(origins, start=1):
        parts.append(
            f'<link name="link{i}"/><joint name="joint{i}" type="{kind}">'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><parent link="link{i - 1}"/><child link="link{i}"/>'
            '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        )
    return "".join(parts) + extra + "</robot>"


def hand_urdf(follower_parent="palm", offset="0.2"):
    """A revolute wrist with two prismatic or revolute fingers, of which the second mimics the
    first.
    """
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
    return f"""<robot name="hand"><link name="base"/><link name="arm"/><link name="palm"/>
    <link name="one"/><link name="two"/>
    <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
      <origin xyz="0 0 0.3" rpy="0.3 0 0"/><axis xyz="0 1 0"/>{limit}</joint>
    <joint name="wrist" type="revolute"><parent link="arm"/><child link="palm"/>
      <origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>{limit}</joint>
    <joint name="leader" type="revolute"><parent link="palm"/><child link="one"/>
      <origin xyz="0.1 0.03 0"/><axis xyz="0 0 1"/>{limit}</joint>
    <joint name="follower" type="revolute"><parent link="{follower_parent}"/><child link="two"/>
      <origin xyz="0.1 -0.03 0"/><axis xyz="0 0 1"/>{limit}
      <mimic joint="leader" multiplier="-1.5" offset="{offset}"/></joint></robot>"""


def coupled_regressor(model, rng, K=60):
    G = coupling_matrix(model)
    q, v, a = (rng.uniform(-2, 2, (K, G.shape[1])) @ G.T for _ in range(3))
    for mimic in model.mimic_joints:
        q[:, model.joint_names.index(mimic.joint)] += mimic.offset
    return (G.T @ model.torque_regressor(q, v, a)).reshape(-1, 10 * model.n_bodies)
