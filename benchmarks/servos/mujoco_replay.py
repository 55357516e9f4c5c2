# SPDX-License-Identifier: Apache-2.0
"""Errors of MuJoCo's replay of an exported servo model against this package's simulation and the
recording.

Usage: python benchmarks/servos/mujoco_replay.py DIR NPZ MOTION…

DIR is a folder of `sysid servos identify`. Errors are those of all joints, root mean square [mrad].
"""

from __future__ import annotations

import argparse

import mujoco
import numpy as np
from numpy.typing import NDArray

from sysid_core.servos import (
    ServoModel,
    ServoRecording,
    Term,
    load_servos,
    read_recordings,
    replay,
    servo_mjcf,
)


def in_mujoco(model: ServoModel, r: ServoRecording) -> NDArray[np.float64]:
    """Positions in MuJoCo with the exported file, with the zero offsets subtracted from the
    commands, shape (K, n) [rad].
    """
    plant = mujoco.MjModel.from_xml_string(servo_mjcf(model).text)
    data = mujoco.MjData(plant)
    target = r.target - [servo.values.get(Term.ZERO, 0.0) for servo in model.servos]
    joints = [plant.joint(name).qposadr[0] for name in model.joints]
    drives = [plant.actuator(name).id for name in model.joints]
    data.qpos[joints] = r.q[0]
    for drive, first in zip(drives, target[0], strict=True):
        if kept := int(plant.actuator_history[drive, 0]):
            mujoco.mj_initCtrlHistory(plant, data, drive, None, np.full(kept, first))
    q = np.empty_like(r.q)
    t, t_target = r.t - r.t[0], r.t_target - r.t[0]
    for k, now in enumerate(t):
        while data.time < now - 1e-9:
            held = np.searchsorted(t_target, data.time + 1e-9, side="right") - 1
            data.ctrl[drives] = target[max(held, 0)]
            mujoco.mj_step(plant, data)
        q[k] = data.qpos[joints]
    return q


def main() -> None:
    """Print a row for each motion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("recordings")
    parser.add_argument("motions", nargs="+")
    options = parser.parse_args()
    model = load_servos(options.model)
    print("motion | command to ours | MuJoCo to ours | ours to real | MuJoCo to real")
    for item in replay(model, read_recordings([options.recordings], motions=options.motions)):
        r, theirs = item.recording, in_mujoco(model, item.recording)
        sent = np.stack([np.interp(r.t, r.t_target, x) for x in r.target.T], axis=1)
        pairs = ((sent, item.q), (theirs, item.q), (item.q, r.q), (theirs, r.q))
        errors = (1e3 * np.sqrt(np.mean((x - y) ** 2)) for x, y in pairs)
        print(r.name, *(f"{x:.2f}" for x in errors), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
