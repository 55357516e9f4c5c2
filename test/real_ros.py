# SPDX-License-Identifier: Apache-2.0
"""Requirements of tests on a complete ROS 2: launch, the command ros2, rqt, and drivers' messages.

launch, ros2 and rqt come from the sourced ROS 2, or from the prefix that SYSID_ROS_PREFIX names (a
folder with `local_setup.bash`). The vendors' messages, as far as the emulated drivers need them, are
interface definitions in `test/drivers/messages`, built once into the user's cache folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MESSAGES = ROOT / "test" / "drivers" / "messages"
PREFIX = "SYSID_ROS_PREFIX"
NEEDED = f"needs launch and ros2cli: source a ROS 2, or set {PREFIX} to the folder of one"


def real_ros_environment() -> dict[str, str] | None:
    """Environment variables in which launch and ros2 work; None where there are none."""
    environment = prefix_environment() or dict(os.environ)
    return environment if _has(environment, "launch, launch_ros, ros2cli") else None


def prefix_environment() -> dict[str, str] | None:
    """Environment variables with the folder that `PREFIX` names sourced; None where it names none."""
    prefix = os.environ.get(PREFIX)
    return _sourced(Path(prefix) / "local_setup.bash", dict(os.environ)) if prefix else None


def with_driver_messages(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the vendors' messages; the first call builds them (a minute)."""
    inputs = sorted(path for path in MESSAGES.rglob("*") if path.is_file())
    of = VENV.resolve(), environment.get("ROS_DISTRO"), [path.read_text() for path in inputs]
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    key = hashlib.sha256(str(of).encode()).hexdigest()[:12]
    out = base / "robot_sysid" / f"messages_{key}"
    out.mkdir(parents=True, exist_ok=True)
    with (out.parent / f"{out.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # once for all workers and checkouts of one .venv
        if not (out / "done").exists():
            _build(environment, out)
            (out / "done").touch()
    return _sourced(out / "install" / "local_setup.bash", environment)


def _build(environment: dict[str, str], out: Path) -> None:
    build = [*("colcon", "--log-base", str(out / "log"), "build", "--merge-install")]
    build += ["--base-paths", str(MESSAGES), "--build-base", str(out / "build")]
    build += ["--install-base", str(out / "install"), "--cmake-args", "-DBUILD_TESTING=OFF"]
    build += [f"-DPython3_EXECUTABLE={_python()}"]
    there = [p.name for p in MESSAGES.iterdir() if _has(environment, p.name)]  # a ROS has tf2
    build += ["--packages-skip", *there] if there else []
    prefixes = environment.get("AMENT_PREFIX_PATH", "")
    if not environment.get("ROS_DISTRO"):
        prefixes = f"{prefixes}:{VENV.resolve()}"
    paths = {"CMAKE_PREFIX_PATH": prefixes, "AMENT_PREFIX_PATH": prefixes}
    done = subprocess.run(build, env=environment | paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def _sourced(file: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment after a set-up file."""
    command = ["bash", "-c", f'. "{file}" >/dev/null && env -0']
    answer = subprocess.run(command, env=environment, check=True, capture_output=True)
    pairs = (item.partition("=") for item in answer.stdout.decode().split("\0") if item)
    return {name: value for name, _, value in pairs}


def _python() -> str:
    python = VENV / "bin" / "python"
    return str(python) if python.exists() else "python3"


def _has(environment: dict[str, str], modules: str) -> bool:
    probe = [_python(), "-c", f"import {modules}"]
    return subprocess.run(probe, env=environment, capture_output=True).returncode == 0
