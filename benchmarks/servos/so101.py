# SPDX-License-Identifier: Apache-2.0
"""Open-loop errors of an SO-101's servos on motions that were not fitted: beside the simplest servo,
with given surroundings, and in MuJoCo.

Usage: python benchmarks/servos/so101.py DATA

DATA holds so101_sage. Errors are root mean square [mrad], those of five joints without the gripper, in
MuJoCo with it.
The simplest servo is of first order, with stiction, gravity and delay, fitted joint by joint.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer

from sysid_core.export import write_mjcf
from sysid_core.robot import RobotModel
from sysid_core.servos import (
    JointServo,
    Replay,
    ServoMjcf,
    ServoModel,
    ServoRecording,
    identify_servos,
    read_recordings,
)
from sysid_core.servos.choose import BASE, joint_motions
from sysid_core.servos.fit import solve_joint
from sysid_core.servos.ground import Ground, Surface
from sysid_core.servos.model import TERMS, body_tree
from sysid_studies.table import print_head, print_row

FOUR = ("chirp_sweep", "friction_gravity", "multisine", "step_response")
TWO = ("pick_place", "random_waypoints")
STOPPED = ("single_joint_wrist_roll",)
LEANING = (
    "dual_joint_elbow_wrist", "figure_eight", "oscillation_low_freq", "pick_place",
    "random_waypoints", "single_joint_elbow",
)  # fmt: skip
TABLE, STOPS = -0.05, (-1.02, 1.99)  # [m], [rad] of the wrist roll joint
ROBOT = RobotModel.from_urdf("so101")


def simplest(recordings: Sequence[ServoRecording]) -> ServoModel:
    """Return servos of first order, each fitted alone to all samples."""
    tree = body_tree(ROBOT, ROBOT.joint_names)
    unit = tree.unit_of_torque([r.q for r in recordings])
    motions = joint_motions(recordings, body_tree(ROBOT.with_pi(ROBOT.pi / unit), tree.joints))
    start = {term: TERMS[term].start for term in BASE}
    fits = [
        JointServo(j, solve_joint(m, start).values)
        for j, m in zip(tree.joints, motions, strict=True)
    ]
    return ServoModel(ROBOT, tuple(servo.in_newton_metres(unit) for servo in fits))


def surrounded(model: ServoModel) -> ServoModel:
    """Return the model with the table and the stop of the wrist roll joint."""
    servos = (replace(s, stops=STOPS) if s.joint == "wrist_roll" else s for s in model.servos)
    return replace(model, servos=tuple(servos), ground=Ground(TABLE, Surface.of_robot(ROBOT)))


def errors(items: Sequence[Replay]) -> tuple[str, str]:
    """Return the error over all motions and that of the median motion, as two cells."""
    of = [item.rms[:5] for item in items]
    every = Replay.overall(of, [item.recording.duration for item in items])
    median = np.median(np.sqrt(np.mean(np.square(of), axis=1)))
    return f"{1e3 * every:.1f}", f"{1e3 * median:.1f}"


def main(data: Path) -> None:
    """Print the errors by fitted motions, then by surroundings for the first of them."""
    path = data / "so101_sage" / "motions.npz"
    motions = [r.matched(ROBOT) for r in read_recordings([path])]
    print_head(
        *("fitted", "others", "all", "median motion"),
        *("simplest servo, all", "median motion", "CPU [s]"),
    )
    models = []
    for what, names, every, first in (
        ("four excitation motions", FOUR, 1, 0),
        ("two minutes at 25 Hz, even samples", TWO, 2, 0),
        ("odd samples", TWO, 2, 1),
    ):
        fitted = [
            replace(r, t=r.t[first::every], q=r.q[first::every]) for r in motions if r.name in names
        ]
        others = [r for r in motions if r.name not in names]
        start = time.process_time()
        models.append(identify_servos(fitted, ROBOT).model)
        cpu = time.process_time() - start
        ours, theirs = (
            errors(Replay.all_of(model, others)) for model in (models[-1], simplest(fitted))
        )
        print_row(what, len(others), *ours, *theirs, f"{cpu:.0f}")
    print()
    print_head("others of the four motions", "share", "RMS", "with table and stop")
    others = [r for r in motions if r.name not in FOUR]
    without, told = Replay.all_of(models[0], others), Replay.all_of(surrounded(models[0]), others)
    seconds = [r.duration for r in others]
    total = Replay.overall([item.rms[:5] for item in without], seconds) ** 2 * sum(seconds)
    free = [r.name for r in others if r.name not in (*STOPPED, *LEANING)]
    for what, group in (
        ("wrist roll at its stop", STOPPED),
        ("leaning on the table", LEANING),
        ("the rest", free),
        ("all", [r.name for r in others]),
    ):
        which = [k for k, r in enumerate(others) if r.name in group]
        of = [seconds[k] for k in which]
        e, beside = (Replay.overall([x[k].rms[:5] for k in which], of) for x in (without, told))
        share = e**2 * sum(of) / total
        print_row(f"{len(which)}, {what}", f"{share:.0%}", f"{1e3 * e:.1f}", f"{1e3 * beside:.1f}")
    print()
    print_head("motion", "command to ours", "MuJoCo to ours", "ours to real", "MuJoCo to real")
    shown = [item for item in without if item.recording.name in free]
    with tempfile.TemporaryDirectory() as folder:
        path = write_mjcf(Path(folder) / "arm.xml", ServoMjcf.of(models[0]).text)
        simulated = ServoMjcf.replay(path, models[0], shown)
    for ours, theirs in zip(shown, simulated, strict=True):
        apart = Replay(replace(ours.recording, q=ours.q), theirs.q)
        columns = (apart.command_rms, apart.rms, ours.rms, theirs.rms)
        print_row(
            ours.recording.name, *(f"{1e3 * Replay.overall([x], [1.0]):.1f}" for x in columns)
        )


if __name__ == "__main__":
    typer.run(main)
