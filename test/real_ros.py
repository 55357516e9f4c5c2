# SPDX-License-Identifier: Apache-2.0
"""The parts of a ROS 2 installation that PyPI lacks: launch, ros2 (the command), control_msgs, sros2.

With a sourced ROS they are there. Otherwise they are built once from their sources, where those are:
`../shared/ros_sources` or SYSID_ROS_SOURCES, a folder with an `overlay.sh PROJECT OUT`. Nothing of it
comes into the repository; the result is kept in the user's cache folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MESSAGES = ROOT / "test" / "drivers" / "messages"  # of the vendors' drivers, as far as emulated
PROBE = "import control_msgs.action, launch, launch_ros, ros2cli"
# What a process that has been started in the environment of this checkout needs besides.
_SOURCE = """
set -e
source "$1/scripts/env.sh"
source "$2/install/local_setup.bash"
export PYTHONPATH="$PYTHONPATH:$2/python" PATH="$2/python/bin:$PATH"
export AMENT_PREFIX_PATH="$AMENT_PREFIX_PATH:$2/python:$(realpath "$1/.venv")"
env -0
"""


def sources() -> Path:
    """Folder of the sources, which may not exist."""
    return Path(os.environ.get("SYSID_ROS_SOURCES", ROOT.parent / "shared" / "ros_sources"))


def real_ros_environment() -> dict[str, str] | str:
    """Environment variables in which these parts work, or the reason why there is none."""
    here = dict(os.environ)
    if _works(here):
        return _with_messages(here)
    script = sources() / "overlay.sh"
    if not script.is_file():
        return (
            "needs launch, ros2cli and control_msgs: source a ROS 2 installation, or set"
            f" SYSID_ROS_SOURCES (looked at {script})"
        )
    out = _cache()
    out.mkdir(parents=True, exist_ok=True)
    with (out.parent / f"{out.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # once for all workers and checkouts of one .venv
        subprocess.run(["bash", str(script), str(ROOT), str(out)], check=True, capture_output=True)
        answer = subprocess.run(
            ["bash", "-c", _SOURCE, "bash", str(ROOT), str(out)],
            check=True,
            capture_output=True,
        )
    environment = _variables(answer.stdout)
    if not _works(environment):
        return f"the overlay in {out} doesn't work: delete it"
    return _with_messages(environment)


def _with_messages(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the vendors' messages, built once (half a minute)."""
    inputs = sorted(path for path in MESSAGES.rglob("*") if path.is_file())
    text = "".join(path.read_text(encoding="utf-8") for path in inputs)
    of = (ROOT / ".venv").resolve(), environment.get("ROS_DISTRO"), text
    out = _cached("messages", str(of))
    out.mkdir(parents=True, exist_ok=True)
    with (out.parent / f"{out.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "done").exists():
            build = [*("colcon", "--log-base", str(out / "log"), "build", "--merge-install")]
            build += ["--base-paths", str(MESSAGES), "--build-base", str(out / "build")]
            build += ["--install-base", str(out / "install"), "--cmake-args", "-DBUILD_TESTING=OFF"]
            build += [f"-DPython3_EXECUTABLE={_python()}"]
            there = [
                p.name for p in MESSAGES.iterdir() if _has(environment, p.name)
            ]  # a ROS has tf2
            build += ["--packages-skip", *there] if there else []
            prefixes = {"CMAKE_PREFIX_PATH": environment.get("AMENT_PREFIX_PATH", "")}
            subprocess.run(build, env=prefixes | environment, check=True, capture_output=True)
            (out / "done").touch()
    command = f'. "{out}/install/local_setup.bash" && env -0'
    answer = subprocess.run(
        ["bash", "-c", command], env=environment, check=True, capture_output=True
    )
    return _variables(answer.stdout)


def _cache() -> Path:
    return _cached("ros", f"{(ROOT / '.venv').resolve()} {(sources() / 'VERSIONS').read_text()}")


def _cached(what: str, text: str) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "robot_sysid" / f"{what}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _variables(output: bytes) -> dict[str, str]:
    pairs = (item.partition("=") for item in output.decode().split("\0") if item)
    return {name: value for name, _, value in pairs}


def _python() -> str:
    python = ROOT / ".venv" / "bin" / "python"
    return str(python) if python.exists() else "python3"


def _has(environment: dict[str, str], package: str) -> bool:
    probe = [_python(), "-c", f"import {package}"]
    return subprocess.run(probe, env=environment, capture_output=True).returncode == 0


def _works(environment: dict[str, str]) -> bool:
    return (
        subprocess.run([_python(), "-c", PROBE], env=environment, capture_output=True).returncode
        == 0
    )
