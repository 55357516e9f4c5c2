# SPDX-License-Identifier: Apache-2.0
"""What `sysid doctor` finds of ROS 2, its messages and DDS."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from importlib import util

from sysid_cli.doctor.packages import Check
from sysid_core.errors import SysIdError

_SET_UP = "Run `make setup` in the checkout and `source scripts/env.sh`."
_TOO_OLD = ("foxy", "galactic", "humble", "iron")  # distributions before Jazzy
_LOOPBACK_S = 20.0  # discovery and a round trip take well below a second


def check_ros() -> list[Check]:
    """Which ROS 2, and whether the package's messages are built for it."""
    distro = os.environ.get("ROS_DISTRO", "")
    wheel = _version("ros-rclpy")
    if not _importable("rclpy"):
        remedy = (
            f"ROS 2 {distro} is sourced, but this Python ({sys.version_info[0]}."
            f"{sys.version_info[1]}) doesn't see it: use a venv with --system-site-packages."
            if distro
            else f"Source a ROS 2 installation, or have the wheels installed: {_SET_UP}"
        )
        return [Check("ROS 2", distro or "not found", False, remedy=remedy)]
    source = f"{distro} (sourced)" if distro else f"wheels, rclpy {wheel or 'unknown'}"
    rmw = os.environ.get("RMW_IMPLEMENTATION", "the default")
    built = _importable("robot_sysid.msg")
    return [
        Check(
            "ROS 2",
            f"{source}; middleware {rmw}",
            distro not in _TOO_OLD,
            remedy="Jazzy or newer is needed: source one, or source none to use the wheels.",
        ),
        Check(
            "robot_sysid messages",
            "built" if built else "not found",
            built,
            remedy=_SET_UP + _compilers(),
        ),
    ]


def check_loopback(timeout_s: float = _LOOPBACK_S) -> Check:
    """A message from one process to another and back, over DDS on this machine."""
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(free_domain()),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    command = [sys.executable, "-m", "sysid_nodes.client.loopback"]
    pipe = subprocess.PIPE
    echo = subprocess.Popen(
        [*command, "echo", str(timeout_s)], env=environment, stdout=pipe, stderr=pipe
    )
    try:
        ask = subprocess.run(
            [*command, "ask", str(timeout_s)],
            env=environment,
            timeout=2 * timeout_s,
            capture_output=True,
            text=True,
        )
        answered, trip, trouble = ask.returncode == 0, ask.stdout.strip(), ask.stderr.strip()
    except subprocess.TimeoutExpired:
        answered, trip, trouble = False, "", "no end"
    finally:
        echo.terminate()
        try:
            echo.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            echo.kill()
            echo.communicate()
    last = trouble.splitlines()[-1] if trouble else "no answer"
    return Check(
        "DDS between processes",
        f"round trip {trip} ms" if answered else f"fails: {last}",
        answered,
        remedy="Allow UDP multicast on the loopback (`ip link set lo multicast on`), check the"
        " firewall, and that /dev/shm is writable; try another RMW_IMPLEMENTATION.",
    )


def check_optional_ros() -> list[Check]:
    """What some uses of the live nodes need."""
    optional = (
        ("launch_ros", "launch files", "`sysid up` starts the same nodes without it."),
        ("control_msgs", "FollowJointTrajectory", "Install ros-<distro>-control-msgs."),
    )
    return [
        Check(
            f"{module} ({what})",
            "found" if (found := _importable(module)) else "not found",
            found,
            False,
            remedy,
        )
        for module, what, remedy in optional
    ]


def free_domain() -> int:
    """A ROS_DOMAIN_ID on whose discovery port nothing listens yet."""
    for domain in range(101, 0, -1):  # ports 7400 + 250 d stay below the ephemeral ones
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7400 + 250 * domain))
            except OSError:
                continue
        return domain
    raise SysIdError(
        "No ROS_DOMAIN_ID from 1 to 101 is free.", remedy="End some of the running ROS graphs."
    )


def _version(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _importable(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _compilers() -> str:
    missing = [tool for tool in ("cmake", "gcc") if shutil.which(tool) is None]
    return f" First install {' and '.join(missing)}." if missing else ""
