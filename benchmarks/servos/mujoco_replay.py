# SPDX-License-Identifier: Apache-2.0
"""Errors of MuJoCo's replay of an exported servo model against this package's simulation and the
recording.

Usage: python benchmarks/servos/mujoco_replay.py DIR NPZ MOTION…

DIR is a folder of `sysid servos identify`. Errors are those of all joints, root mean square [mrad].
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from sysid_core.export import write_mjcf
from sysid_core.servos import load_servos, read_recordings, replay, replay_in_mujoco, servo_mjcf


def main() -> None:
    """Print a row for each motion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("recordings")
    parser.add_argument("motions", nargs="+")
    options = parser.parse_args()
    model = load_servos(options.model)
    ours = replay(model, read_recordings([options.recordings], motions=options.motions))
    with tempfile.TemporaryDirectory() as folder:
        path = write_mjcf(Path(folder) / "arm.xml", servo_mjcf(model).text)
        simulated = replay_in_mujoco(path, model, ours)
    print("motion | command to ours | MuJoCo to ours | ours to real | MuJoCo to real")
    for item, theirs in zip(ours, (one.q for one in simulated), strict=True):
        r = item.recording
        sent = np.stack([np.interp(r.t, r.t_target, x) for x in r.target.T], axis=1)
        pairs = ((sent, item.q), (theirs, item.q), (item.q, r.q), (theirs, r.q))
        errors = (1e3 * np.sqrt(np.mean((x - y) ** 2)) for x, y in pairs)
        print(r.name, *(f"{x:.2f}" for x in errors), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
