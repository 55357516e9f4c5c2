# SPDX-License-Identifier: Apache-2.0
"""Coverage of the intervals of two standard deviations of identified servos: true values, and
values from the other half.

Usage: python benchmarks/servos/deviations.py [ROBOT…] [--recordings NPZ]

A simulated SO-101 has stiction, load friction, backlash, delay and inertia of random known size,
12-bit encoders, and is simulated at a tenth of the identification's time step. The motions of a
real robot's recordings are split into two halves, which are identified separately.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sysid_core.robot import RobotModel
from sysid_core.servos import (
    TERMS,
    ServoIdentification,
    ServoModel,
    ServoRecording,
    Term,
    identify_servos,
    read_recordings,
)
from sysid_core.servos.model import JointServo
from sysid_studies.bench.measure import score_deviations
from sysid_studies.table import print_head, print_row

TICK = 2 * np.pi / 4096
_RANGES = {
    Term.COMPLIANCE: (0.05, 0.1),
    Term.TIME_CONSTANT: (0.03, 0.08),
    Term.FRICTION: (0.005, 0.03),
    Term.ZERO: (-0.001, 0.001),
    Term.LOAD_FRICTION: (0.05, 0.3),
    Term.BREAKAWAY: (0.002, 0.008),
    Term.BREAKAWAY_SPEED: (0.05, 0.15),
    Term.INERTIA: (0.0005, 0.002),
    Term.BACKLASH: (0.003, 0.01),
}
# Of unlimited stiffness: only the varying inertia of their bodies shows it, not gravity.
_UPRIGHT = ("shoulder_pan", "wrist_roll")


def simulated(rng: np.random.Generator) -> tuple[ServoModel, ServoRecording]:
    """Return a robot with random servos and 2 min of its motion at 50 Hz."""
    robot = RobotModel.from_urdf("so101")
    delay = rng.uniform(0.01, 0.04)
    servos = []
    for joint in robot.joint_names:
        values = {term: rng.uniform(*limits) for term, limits in _RANGES.items()}
        if joint in _UPRIGHT:
            del values[Term.COMPLIANCE]
        servos.append(JointServo(joint, values | {Term.DELAY: delay}))
    model = ServoModel(robot, tuple(servos))
    t = np.arange(0.0, 120.0, 0.02)
    middle = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.5])
    frequencies = np.exp(rng.uniform(np.log(0.05), np.log(1.5), (5, robot.nv)))
    phases = rng.uniform(0, 2 * np.pi, (5, robot.nv))
    waves = np.sin(2 * np.pi * t[:, None, None] * frequencies + phases) * 0.12
    target = middle + waves.sum(axis=1) * np.minimum(t / 2.0, 1.0)[:, None]
    q = model.simulate(t, target, t, target[0], step=0.0005)
    q = np.round(q / TICK) * TICK
    return model, ServoRecording("simulated", robot.joint_names, t, q, t, target)


def scores(
    first: ServoIdentification, truth: ServoModel | ServoIdentification
) -> dict[Term, list[tuple[float, float]]]:
    """Return errors and standard deviations of the first identification by term; a missing term of
    the true model counts as zero.
    """
    other = truth.model if isinstance(truth, ServoIdentification) else truth
    out: dict[Term, list[tuple[float, float]]] = defaultdict(list)
    for a, b in zip(first.model.servos, other.servos, strict=True):
        for term, sd in a.deviations.items():
            if isinstance(truth, ServoIdentification) and term not in b.deviations:
                continue
            spread = np.hypot(sd, b.deviations.get(term, 0.0))
            out[term].append((a.values[term] - b.values.get(term, 0.0), float(spread)))
    return out


def table(found: dict[Term, list[tuple[float, float]]]) -> None:
    """Print by term the number of values, the share within two standard deviations, the root mean
    square and median of the errors in standard deviations, and the interval score (in the term's
    scale).
    """
    print_head("term", "values", "within two", "rms", "median", "interval score")
    every = {term.value: np.array(x).T / TERMS[term].scale for term, x in found.items()}
    every["all"] = np.concatenate(list(every.values()), axis=1)
    for name, (error, sd) in every.items():
        z = np.abs(error / sd)
        numbers = np.sqrt(np.mean(z**2)), np.median(z), score_deviations(error, sd).interval
        print_row(name, len(z), f"{np.mean(z < 2):.1%}", *(f"{x:.2f}" for x in numbers))


def main(
    robots: Annotated[list[int] | None, typer.Argument()] = None, recordings: Path | None = None
) -> None:
    """Print the tables of simulated robots and of halves of recordings."""
    total: dict[Term, list[tuple[float, float]]] = defaultdict(list)
    for seed in robots or range(6):
        truth, recording = simulated(np.random.default_rng(seed))
        result = identify_servos([recording], truth.robot)
        for term, z in scores(result, truth).items():
            total[term] += z
    table(total)
    if recordings:
        motions = read_recordings([recordings])
        robot = RobotModel.from_urdf("so101")
        halves = [identify_servos(motions[k::2], robot) for k in range(2)]
        table(scores(*halves))


if __name__ == "__main__":
    typer.run(main)
