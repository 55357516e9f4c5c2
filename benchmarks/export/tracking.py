# SPDX-License-Identifier: Apache-2.0
"""Tracking errors of the demo's simulated arm under the torque controller, with the exported and
the nominal model.

    sysid identify examples/ur5/train.csv --robot ur5 --columns examples/ur5/columns.yaml \\
        --validate examples/ur5/validate.csv --to c --out OUT/result
    python benchmarks/export/tracking.py OUT

The control law and the simulated robot are those of `robot_sysid_controllers`, compiled here
without ROS. The simulated arm has the masses, friction and drive inertia of
`examples/ur5/truth.yaml`, which its URDF lacks. `nominal` is the C code of the URDF, `truth` that
of the simulated arm. The three motions start and end at rest and were not used for the
identification. Positions and velocities have noise of 0.02 mrad and 2 mrad/s.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import typer
import yaml

from sysid_core.export import JointFields, Target, mjcf_of, write_mjcf
from sysid_core.export.files import write_target
from sysid_core.export.projection import Projection
from sysid_core.robot import Array, DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_studies.table import print_head, print_row

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS, MUJOCO = ROOT / "robot_sysid_controllers", Path(mujoco.__file__).parent
PERIOD, SECONDS = 0.002, 12.0  # of the controller, of a motion [s]
HOME = np.array([0.0, -1.4, 1.2, -1.3, -1.5, 0.0])  # [rad]
NOISE = np.array([2e-5, 2e-3])  # [rad, rad/s]
BANDWIDTHS = (10.0, 30.0)  # of the feedback [rad/s]; 10 is the controller's default


def compiled(source: Path, out: Path, *more: str) -> Path:
    """Compile a shared library and return its path."""
    subprocess.run(
        ["c++" if source.suffix == ".cpp" else "cc", "-O3", "-shared", "-fPIC", str(source), *more]
        + ["-o", str(out), "-lm", "-ldl"],
        check=True,
    )
    return out


def motion(seed: int) -> Array:
    """Position, velocity and acceleration of a motion from rest to rest, shape (K, 3, 6)."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, SECONDS, PERIOD)
    A = rng.uniform(-0.35, 0.35, size=(3, 6))
    w = 2 * np.pi * np.array([0.1, 0.22, 0.35])[:, None]
    phase = rng.uniform(0.0, 2 * np.pi, size=(3, 6))
    x = w * t[:, None, None] + phase
    wave = [
        np.sum(A * f, axis=1)
        for f in (np.sin(x) - np.sin(phase), w * np.cos(x), -(w**2) * np.sin(x))
    ]
    u = np.clip(np.minimum(t, t[-1] - t) / 1.5, 0.0, 1.0)[:, None]
    sign = np.where(t < SECONDS / 2, 1.0, -1.0)[:, None] / 1.5
    s, ds, dds = 10 * u**3 - 15 * u**4 + 6 * u**5, 30 * u**2 * (1 - u) ** 2, 60 * u * (1 - u)
    dds, ds = dds * (1 - 2 * u) / 1.5**2, ds * sign
    q = HOME + s * wave[0]
    v = s * wave[1] + ds * wave[0]
    return np.stack([q, v, s * wave[2] + 2 * ds * wave[1] + dds * wave[0]], axis=1)


def bare(model: RobotModel, values: Array | None = None) -> Projection:
    """Robot with Coulomb and viscous friction and drive inertia; all zero by default."""
    terms = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.INERTIA)
    friction = FrictionModel(
        DriveTrain.direct(model.joint_names), terms if values is not None else ()
    )
    return Projection(model, friction, np.zeros(0) if values is None else values)


def plant_and_codes(out: Path) -> tuple[RobotModel, Path, dict[str, Path]]:
    """Return the arm's description, the MJCF of the simulated arm, and the C code of each model."""
    model = RobotModel.from_urdf("ur5")
    truth = yaml.safe_load((ROOT / "examples/ur5/truth.yaml").read_text())
    true = model.with_pi(np.array([truth["pi"][body] for body in model.body_names]))
    rows = {s: np.array(truth[s]) for s in ("F_c", "F_v", "I_a")}
    fields = {
        joint: JointFields(rows["I_a"][j], rows["F_v"][j], rows["F_c"][j])
        for j, joint in enumerate(model.joint_names)
    }
    plant = write_mjcf(out / "plant.xml", mjcf_of(true, fields))
    whole = bare(true, np.zeros(18))
    values = [
        rows[name.rpartition(".")[2]][model.joint_names.index(name.rpartition(".")[0])]
        for name in whole.friction.names
    ]
    sources = {
        "nominal": write_target(Target.C, bare(model), out / "nominal").files[0],
        "exported": next((out / "result/exports/c").glob("*.c")),
        "truth": write_target(Target.C, bare(true, np.array(values)), out / "truth").files[0],
    }
    return model, plant, sources


def main(out: Path) -> None:
    """Print the errors by bandwidth and code."""
    model, plant, sources = plant_and_codes(out)
    library = next(iter(sorted(MUJOCO.glob("libmujoco.so*"))))
    more = [f"-I{CONTROLLERS / 'include'}", f"-I{MUJOCO / 'include'}", "-std=c++17"]
    more += [str(CONTROLLERS / "src/exported_model.cpp"), str(library), f"-Wl,-rpath,{MUJOCO}"]
    track = ctypes.CDLL(
        str(compiled(Path(__file__).with_suffix(".cpp"), out / "track.so", *more))
    ).track
    pointer = ctypes.POINTER(ctypes.c_double)
    print_head("bandwidth [rad/s]", "code", "RMS [mrad]", "largest [mrad]")
    for bandwidth in BANDWIDTHS:
        for name, source in sources.items():
            code, found = compiled(source, source.with_name(f"lib{source.stem}.so")), []
            for seed in range(3):
                reference = motion(seed)
                noise = np.random.default_rng(seed).normal(size=(len(reference), 2, 6))
                noise, errors = noise * NOISE[:, None], np.empty((len(reference), 6))
                text, limits = ctypes.create_string_buffer(300), model.effort_limits
                arrays = [x.ctypes.data_as(pointer) for x in (limits, reference, noise, errors)]
                numbers = ctypes.c_double(PERIOD), ctypes.c_double(bandwidth)
                if track(
                    str(code).encode(), str(plant).encode(), len(reference), *numbers, *arrays, text
                ):
                    raise SystemExit(text.value.decode())
                found.append(errors)
            all_errors = 1e3 * np.concatenate(found)
            rms, largest = np.sqrt(np.mean(all_errors**2)), np.abs(all_errors).max()
            print_row(f"{bandwidth:g}", name, f"{rms:.2f}", f"{largest:.1f}")


if __name__ == "__main__":
    typer.run(main)
