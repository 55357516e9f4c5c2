# SPDX-License-Identifier: Apache-2.0
"""`sysid doctor` checks the requirements of commands and nodes, and recommends remedies."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib import util
from pathlib import Path

import typer
from rich.text import Text

from sysid_cli.base import app, console, copy_json, remark
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows
from sysid_core.errors import SysIdError

DISTRIBUTION = "robot_sysid"
_EXTRAS = ("", "examples")  # of the package metadata that users need


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes:
        name: Name of the checked part.
        found: Version or state that was found.
        ok: True if it is sufficient.
        required: True if commands or nodes do not work without it.
        remedy: Recommended action if it is not sufficient.
    """

    name: str
    found: str
    ok: bool
    required: bool = True
    remedy: str = ""


def check_python() -> Check:
    """Check the version of Python."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Check(
        "Python",
        f"{version} ({sys.prefix})",
        sys.version_info >= (3, 10),
        remedy="Use Python 3.10 or newer.",
    )


def check_packages() -> list[Check]:
    """Compare installed versions with the ranges in the metadata of this package."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or ()]
    except metadata.PackageNotFoundError:
        return [
            Check(
                DISTRIBUTION, "not installed", False, remedy="Run `pip install .` or `make setup`."
            )
        ]
    checks = []
    for need in wanted:
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in _EXTRAS):
            continue
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            version = ""
        fits = bool(version) and need.specifier.contains(version, prereleases=True)
        required = need.marker is None or need.marker.evaluate({"extra": ""})
        checks.append(
            Check(
                need.name,
                f"{version or 'not installed'} (needs {need.specifier or 'any'})",
                fits,
                required,
                f"Run `pip install '{need.name}{need.specifier}'`.",
            )
        )
    return checks


def check_solver() -> Check:
    """Check that cvxpy finds the solver of the semidefinite programs."""
    try:
        import cvxpy

        found = cvxpy.installed_solvers()
    except ImportError as err:
        return Check("convex solvers", str(err), False, remedy="Run `pip install cvxpy clarabel`.")
    return Check(
        "convex solvers",
        ", ".join(found),
        "CLARABEL" in found,
        remedy="Run `pip install clarabel`.",
    )


def check_robots() -> Check:
    """Check that the robot models for demos and tests are installed."""
    from sysid_core.robot import example_robots

    count = len(example_robots())
    return Check(
        "robot models",
        f"{count} of example-robot-data" if count else "not found",
        count > 0,
        False,
        "Run `pip install example-robot-data` to have the robots of demos and tests.",
    )


_SET_UP = "Run `make setup` in the checkout and `source scripts/env.sh`."
_TOO_OLD = ("foxy", "galactic", "humble", "iron")  # distributions before Jazzy
_LOOPBACK_S = 20.0  # discovery and a round trip take well below a second


def check_ros() -> list[Check]:
    """Check the ROS 2 distribution, and that the package's messages are built for it."""
    distro = os.environ.get("ROS_DISTRO", "")
    wheel = _version("ros-rclpy")
    if not _importable("rclpy"):
        remedy = (
            f"ROS 2 {distro} is sourced, but this Python ({sys.version_info[0]}."
            f"{sys.version_info[1]}) doesn't see it: use a venv with --system-site-packages."
            if distro
            else f"Source a ROS 2 installation, or install the wheels: {_SET_UP}"
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
            remedy="ROS 2 Jazzy or newer is needed. Source its setup.bash, or use a shell without a sourced ROS 2: the packages from PyPI are used then.",
        ),
        Check(
            "robot_sysid messages",
            "built" if built else "not found",
            built,
            remedy=_SET_UP + _compilers(),
        ),
    ]


def check_loopback(timeout_s: float = _LOOPBACK_S) -> Check:
    """Send a message from one process to another and back over DDS, on this computer."""
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


def check_shared_memory(folder: Path = Path("/dev/shm")) -> Check:
    """Check for shared-memory ports of Fast DDS left by a killed process."""
    half_made = half_made_ports(folder)
    numbers = [int(path.name.removeprefix("fastdds_port")) for path in half_made]
    domains = sorted({(number - 7400) // 250 for number in numbers})
    return Check(
        "shared memory of DDS",
        f"left by a killed process: {', '.join(path.name for path in half_made)}"
        if half_made
        else "sound",
        not half_made,
        remedy=f"Nodes with ROS_DOMAIN_ID {', '.join(map(str, domains))} can hang at their start."
        f" Stop them and delete {' '.join(f'{path}*' for path in half_made)}"
        " (or run `fastdds shm clean`).",
    )


def half_made_ports(folder: Path = Path("/dev/shm"), older_s: float = 2.0) -> list[Path]:
    """Return the empty files of shared-memory ports of Fast DDS whose process was killed while it
    created them.

    A process that opens such a port waits forever.
    """
    return [
        path
        for path in sorted(folder.glob("fastdds_port*"))
        if path.name.removeprefix("fastdds_port").isdigit()
        and (status := path.stat()).st_size == 0
        and time.time() - status.st_mtime > older_s
    ]


def check_optional_ros() -> list[Check]:
    """Check the optional requirements of the live nodes."""
    optional = (
        ("launch_ros", "launch files", "`sysid up` starts the same nodes without launch_ros."),
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
    """Return a ROS_DOMAIN_ID on whose discovery port nothing listens yet."""
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


@command(app, example="sysid doctor --offline")
def doctor(*, offline: bool = False, json_path: JsonPathOption = "") -> None:
    """Check the installation, ROS 2 and DDS, and print a remedy for each missing part.

    Exit status 1 if a required part is missing.

    Args:
        offline: Skip the checks of ROS, for offline work.
    """
    checks = [check_python(), *check_packages(), check_solver(), check_robots()]
    without_ros = all(check.ok for check in checks if check.required)
    if not offline:
        ros = check_ros()
        checks += ros
        if all(check.ok for check in ros):
            checks += [check_loopback(), check_shared_memory()]
        checks += check_optional_ros()
    healthy = all(check.ok for check in checks if check.required)
    result = {"healthy": healthy, "checks": [asdict(check) for check in checks]}
    if not copy_json(result, json_path):
        _show(checks, healthy, without_ros)
    raise typer.Exit(0 if healthy else 1)


def _show(checks: list[Check], healthy: bool, without_ros: bool) -> None:
    marks = {True: Text("ok", "green"), False: Text("no", "red"), None: Text("–", "yellow")}
    print_rows(
        ("", "what", "found"),
        ((marks[c.ok or (False if c.required else None)], c.name, c.found) for c in checks),
        left=("what", "found"),
        box=None,
    )
    for check in checks:
        if not check.ok:
            remark(f"{check.name}:", check.remedy, "bold")
    if healthy:
        console.print("All requirements are met.", style="green")
    elif without_ros:
        console.print("Not ready for live work. Ready offline: plan, identify, weigh, validate.")
    else:
        console.print("Not ready.", style="red")
