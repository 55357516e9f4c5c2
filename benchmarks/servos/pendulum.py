# SPDX-License-Identifier: Apache-2.0
"""STS3215 servos on a test bench with known masses: errors on held-out repetitions, and estimated
masses.

Usage: python benchmarks/servos/pendulum.py DATA [--kp KP]

A model is fitted for each mass, length and gain to one repetition of each motion and validated with
the other. It is compared with the models m1 to m4 of BAM (Duclusaud et al. 2025) in the same
simulation: their friction terms with the motor's viscous and back-EMF damping, rotor inertia and
duty limit, without delay. Masses are estimated with the stiffness that was identified with the
lightest mass at the same gain and length. Torque is off in part of `lift_and_drop`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sysid_core.robot import RobotModel
from sysid_core.servos import (
    TERMS,
    JointServo,
    Replay,
    ServoModel,
    ServoRecording,
    Term,
    identify_servos,
    read_recordings,
)
from sysid_core.servos.choose import joint_motions
from sysid_core.servos.fit import solve_joint
from sysid_core.servos.model import body_tree
from sysid_studies.table import print_head, print_row

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/>
<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-4" upper="4" effort="9" velocity="9"/></joint></robot>"""
MOTOR = (Term.COMPLIANCE, Term.TIME_CONSTANT, Term.INERTIA, Term.INVERSE_LIMIT, Term.FRICTION)
STRIBECK = (Term.BREAKAWAY, Term.BREAKAWAY_SPEED)
BAM = {
    "m1": MOTOR,
    "m2": (*MOTOR, *STRIBECK),
    "m3": (*MOTOR, Term.LOAD_FRICTION),
    "m4": (*MOTOR, *STRIBECK, Term.LOAD_FRICTION),
}


def bam(runs: Sequence[ServoRecording], robot: RobotModel, terms: Sequence[Term]) -> ServoModel:
    """Return a model with given terms, fitted to recordings from two initial values."""
    matched = [r.matched(robot) for r in runs]
    (motions,) = joint_motions(matched, body_tree(robot, robot.joint_names))
    usual = {term: TERMS[term].start for term in terms}
    starts = (usual, usual | {Term.COMPLIANCE: 0.2, Term.INVERSE_LIMIT: 0.5})
    fit = min((solve_joint(motions, s) for s in starts), key=lambda f: f.cost)
    return ServoModel(robot, (JointServo("joint", fit.values),))


def error(model: ServoModel, runs: Sequence[ServoRecording]) -> tuple[float, float]:
    """Root mean square errors of a model and of the command over recordings [rad]."""
    items = Replay.all_of(model, runs)
    seconds = [item.recording.duration for item in items]
    return (
        Replay.overall([item.rms for item in items], seconds),
        Replay.overall([item.command_rms for item in items], seconds),
    )


def main(data: Path, only: Annotated[int | None, typer.Option("--kp")] = None) -> None:
    """Print a row for each group, then the masses."""
    path = data / "kscale_sts3215_pendulum" / "runs.npz"
    names = ("mass", "arm", "kp", "filename", "trajectory")
    with np.load(path) as content:
        mass, arm, kp, file, kind = (content[k] for k in names)
    stiffness: dict[tuple[float, int], dict[float, float]] = defaultdict(dict)
    every: list[list[float]] = []
    print("Errors [mrad]:\n")
    print_head("kp", "arm [m]", "mass [kg]", "command", "ours", *BAM, "verdict")
    for gain, length, heavy in sorted(set(zip(kp, arm, mass, strict=True))):
        if only and gain != only:
            continue
        group = (mass == heavy) & (arm == length) & (kp == gain) & (kind != "lift_and_drop")
        halves: tuple[list[str], list[str]] = [], []
        for name in np.unique(kind[group]):
            for i, index in enumerate(np.flatnonzero(group & (kind == name))):
                halves[i % 2].append(Path(str(file[index])).stem)
        fitted, unseen = (read_recordings([path], motions=half) for half in halves)
        robot = RobotModel.from_urdf(PENDULUM.format(z=-length, mass=heavy))
        result = identify_servos(fitted, robot)
        ours, command = error(result.model, unseen)
        theirs = [error(bam(fitted, robot, terms), unseen)[0] for terms in BAM.values()]
        every.append([command, ours, *theirs])
        compliance = result.model.servos[0].values.get(Term.COMPLIANCE, np.nan)
        stiffness[float(length), int(gain)][float(heavy)] = 1.0 / compliance
        said = ", ".join(f.reason.value for f in result.findings)
        numbers = (f"{1e3 * x:.1f}" for x in every[-1])
        print_row(gain, length, heavy, *numbers, f"{result.outcome.value} {said}")
    total = np.sqrt(np.mean(np.square(every), axis=0))
    print_row("all", "", "", *(f"{1e3 * x:.1f}" for x in total), "")
    print()
    print_head("kp", "arm [m]", "found masses [kg] (error)")
    for (length, gain), found in stiffness.items():
        least = min(found)
        cells = [
            f"{m:.3f}: {m * found[least] / k:.3f} ({100 * (found[least] / k - 1):+.0f} %)"
            for m, k in sorted(found.items())
        ]
        print_row(gain, length, ", ".join(cells))


if __name__ == "__main__":
    typer.run(main)
