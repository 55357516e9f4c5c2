# SPDX-License-Identifier: Apache-2.0
"""Update times of the controllers, with percentiles, compared with those of ros2_control's own
controllers.

    python benchmarks/export/update_times.py OUT SOURCE.c [--cycles N]

SOURCE.c was written by `sysid export --to c`. Needs a sourced ROS 2 with
joint_trajectory_controller and this package. The controllers are loaded by pluginlib and updated as
by the controller manager: in a thread with real-time priority (if permitted) on core 1 of at least
two; all other threads run on core 0. A cycle updates in this order: `interfaces`, which reads and
writes the interfaces of a torque controller and computes nothing; the motion guard, which plays a
motion to the torque controller; the torque controller; joint_trajectory_controller, which plays the
same motion to position commands; and `machine`, which waits for 1 us (paced: 4 us), about as long as
an update: time beyond that is due to interruptions, which all of them have. `packed`: cycles without a pause, as on a core that nothing
else uses; `paced`: cycles at 1000 Hz, so that other programs use the caches in the pauses. Columns:
median, percentiles 99 and 99.9 and maximum in microseconds, allocations per update.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path

import typer


def host(out: Path) -> Path:
    """Compile the program that calls the controllers against the sourced ROS 2; return its path."""
    source, build = Path(__file__).with_suffix(""), out / "build"
    flags = "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--unresolved-symbols=ignore-in-shared-libs"
    subprocess.run(
        ["cmake", "-S", source, "-B", build, flags], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    return build / "update_times"


def main(out: Path, source: Path, cycles: int = 20000) -> None:
    """Print the table."""
    out.mkdir(parents=True, exist_ok=True)
    source = source.resolve()
    library = out.resolve() / f"lib{source.stem}.so"
    subprocess.run(
        ["cc", "-O3", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True
    )
    code = ctypes.CDLL(str(library))
    n = ctypes.c_int.in_dll(code, f"{source.stem}_sizes").value
    names = (ctypes.c_char_p * n).in_dll(code, f"{source.stem}_joint_names")
    joints = [name.decode() for name in names]
    limits = {"lower": -10.0, "upper": 10.0, "velocity": 10.0, "acceleration": 50.0}
    parameters = {
        "motion_guard": {
            "joints": joints,
            "command_interfaces": ["position", "velocity", "acceleration"],
            "downstream": "torque_controller",
            "executor_timeout": 1e9,
            "deviation": 1.0,
            "limits": {key: [value] * n for key, value in limits.items()},
        },
        "torque_controller": {
            "model_library": str(library),
            "effort_limit": [1e4] * n,
            "velocity_limit": [10.0] * n,
        },
        "joint_trajectory_controller": {
            "joints": joints,
            "command_interfaces": ["position"],
            "state_interfaces": ["position", "velocity"],
        },
    }
    file = out / "controllers.yaml"
    file.write_text(json.dumps({k: {"ros__parameters": v} for k, v in parameters.items()}))
    program = host(out)
    print("calls | controller | median | 99 % | 99.9 % | largest | allocations", flush=True)
    for mode in ("packed", "paced"):
        subprocess.run([str(program), str(file), str(cycles), mode, *joints], check=True)


if __name__ == "__main__":
    typer.run(main)
