# SPDX-License-Identifier: Apache-2.0
"""Arms with their vendors' grippers: joint names, mimics and masses as in the vendors' descriptions.

- Robotiq 2F-85: `robotiq_description/urdf/robotiq_2f_85_macro.urdf.xacro` (ros2_robotiq_gripper, main):
  one driven knuckle, five joints that mimic it; 0.9 kg.
- xArm gripper: `xarm_description/urdf/gripper/xarm_gripper.urdf.xacro` (xarm_ros2): `drive_joint`, five mimics.
"""

from __future__ import annotations

from pathlib import Path

from sysid_core.robot import RobotModel

ROBOTIQ = (
    "robotiq_85_left_knuckle_joint",
    "robotiq_85_right_knuckle_joint",
    "robotiq_85_left_inner_knuckle_joint",
    "robotiq_85_right_inner_knuckle_joint",
    "robotiq_85_left_finger_tip_joint",
    "robotiq_85_right_finger_tip_joint",
)
XARM = (
    "drive_joint",
    "left_finger_joint",
    "left_inner_knuckle_joint",
    "right_outer_knuckle_joint",
    "right_finger_joint",
    "right_inner_knuckle_joint",
)
GRIPPERS = {"ur": ("ur5", "tool0", ROBOTIQ), "xarm": ("xarm7", "link_eef", XARM)}

_LINK = """<link name="{link}"><inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="{link}"/>
<origin xyz="0 0 0.05"/><axis xyz="0 1 0"/><limit lower="0" upper="0.85" velocity="2" effort="50"/>{mimic}</joint>"""


def with_gripper(vendor: str, path: Path) -> str:
    """A vendor's arm with its gripper, written as URDF; the file's name."""
    robot, flange, joints = GRIPPERS[vendor]
    parts = [
        _LINK.format(link="gripper_base", z=0.03, mass=0.6),
        f'<joint name="gripper_mount" type="fixed"><parent link="{flange}"/>'
        '<child link="gripper_base"/></joint>',
    ]
    for joint in joints:
        link = joint.replace("_joint", "_link")
        mimic = "" if joint == joints[0] else f'<mimic joint="{joints[0]}"/>'
        parts.append(_LINK.format(link=link, z=0.01, mass=0.05))
        parts.append(_JOINT.format(joint=joint, parent="gripper_base", link=link, mimic=mimic))
    text = RobotModel.from_urdf(robot).urdf_xml
    path.write_text(text.replace("</robot>", "\n".join(parts) + "\n</robot>"), encoding="utf-8")
    return str(path)
