# SPDX-License-Identifier: Apache-2.0
"""`sysid robot save` writes the published description of a robot to a file."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from std_msgs.msg import String

from sysid_core.errors import SysIdError
from sysid_core.files import write_text
from sysid_core.robot import RobotModel, received_urdf
from sysid_nodes.client.live_client import LiveClient


def save_robot(path: Path, *, topic: str, namespace: str, timeout_s: float, force: bool) -> int:
    """Write the robot description, received on its topic, to a file.

    Args:
        path: Path of the URDF to write.
        topic: Topic on which the robot publishes its description.
        namespace: Namespace of a relative topic.
        timeout_s: Longest time to wait for the message [s].
        force: Replace an existing file.

    Raises:
        SysIdError: No description was published, it is not a URDF, or the file exists.
    """
    if path.exists() and not force:
        raise SysIdError(f"'{path}' exists.", remedy="Give another name, or --force.")
    with LiveClient.open(namespace) as client:
        client.follow(String, topic)
        try:
            text = client.wait_for(topic, timeout_s).data
        except SysIdError as err:
            domain = os.environ.get("ROS_DOMAIN_ID", "0")
            raise SysIdError(
                f"No description was published on '{topic}' (ROS_DOMAIN_ID {domain}).",
                remedy="Start the driver, or name its topic with --topic; `ros2 topic list` shows the topics."
                "",
            ) from err
    model = RobotModel.from_urdf(received_urdf(text))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    Console().print(
        f"{path}: {model.name}, {len(model.joint_names)} joints, hash {model.urdf_hash}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    return 0
