# SPDX-License-Identifier: Apache-2.0
"""What happens to wrong recordings and descriptions: caught and named, caught, or accepted.

    python benchmarks/recordings/mutations.py OUT.csv [ARM ...] [--only TEXT] [--splits]

Every line of OUT.csv is one case and is written at once: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from real_arms import ARMS, RealArm, split

from sysid_core.diagnosis import examine, require_fit
from sysid_core.errors import SysIdError
from sysid_core.estimation.arm import (
    ArmEquations,
    Processing,
    choose_prior_weight,
    identify_equations,
    prediction_spread,
)
from sysid_core.estimation.fit import ConsistentLeastSquares
from sysid_core.reasons import Verdict
from sysid_core.robot import FrictionModel, with_gravity
from sysid_core.validation import judge_identification, predict_recording

FIELDS = ("arm", "case", "outcome", "named", "error", "right_error", "reasons")


@dataclass(frozen=True)
class Mutation:
    """A fault put into right data.

    Attributes:
        name: What it does.
        words: Texts of which one must be in the verdict that names it.
        apply: Makes the wrong arm.
    """

    name: str
    words: tuple[str, ...]
    apply: Callable[[RealArm], RealArm]


def columns(change: Callable[[dict[str, Any]], None]) -> Callable[[RealArm], RealArm]:
    """A mutation of the recorded arrays, joints in the robot's order."""

    def apply(arm: RealArm) -> RealArm:
        runs = []
        for run in arm.fitted:
            stream = run.joints.ordered(arm.model.joint_names)
            arrays = {
                key: None if getattr(stream, key) is None else np.array(getattr(stream, key))
                for key in ("q", "v", "effort", "stamps_ns")
            }
            change(arrays)
            runs.append(replace(run, joints=replace(stream, a=None, **arrays)))
        return replace(arm, fitted=tuple(runs))

    return apply


def scaled(keys: str, factor: float, joint: int | None = None) -> Callable[[RealArm], RealArm]:
    def change(c: dict[str, Any]) -> None:
        for key in keys.split():
            if c[key] is not None:
                c[key][:, slice(None) if joint is None else joint] *= factor

    return columns(change)


def ordered(keys: str, order: list[int]) -> Callable[[RealArm], RealArm]:
    def change(c: dict[str, Any]) -> None:
        for key in keys.split():
            if c[key] is not None:
                c[key] = c[key][:, order]

    return columns(change)


def effort(change: Callable[[np.ndarray], None]) -> Callable[[RealArm], RealArm]:
    return columns(lambda c: change(c["effort"]))


def clock(factor: float) -> Callable[[RealArm], RealArm]:
    def change(c: dict[str, Any]) -> None:
        c["stamps_ns"] = ((c["stamps_ns"] - c["stamps_ns"][0]) * factor).astype(np.int64)
        c["v"] = None

    return columns(change)


def shifted(joint: int, degrees: float) -> Callable[[RealArm], RealArm]:
    def change(c: dict[str, Any]) -> None:
        c["q"][:, joint] += np.radians(degrees)

    return columns(change)


def tilted(degrees: float) -> Callable[[RealArm], RealArm]:
    def apply(arm: RealArm) -> RealArm:
        axis = np.cross(arm.model.gravity, [0.3, 0.5, 0.8])
        R = pin.AngleAxis(np.radians(degrees), axis / np.linalg.norm(axis)).toRotationMatrix()
        return replace(arm, model=with_gravity(arm.model, R @ arm.model.gravity))

    return apply


def gains(factor: float, joint: int | None = None) -> Callable[[RealArm], RealArm]:
    def apply(arm: RealArm) -> RealArm:
        values = arm.drives.gains.copy()
        values[slice(None) if joint is None else joint] *= factor
        return replace(arm, drives=arm.drives.with_gains(values))

    return apply


def weightless(arm: RealArm) -> RealArm:
    def change(c: dict[str, Any]) -> None:
        still = 0.0 * c["q"]
        c["effort"] -= arm.model.inverse_dynamics(c["q"], still, still) / arm.drives.gains

    return columns(change)(arm)


def mutations(arm: RealArm) -> Iterator[Mutation]:
    """The faults that are tried on an arm, over 30."""
    n = arm.model.nv
    every, motion = "q v effort", "q v"
    sign, order = (
        ("opposite sign", "counts the other way", "count the other way"),
        ("order", "exchanged", "shifted"),
    )
    size, zero = (
        ("times those of the URDF", "is %", "times that of the URDF", "times what"),
        ("zero of", "mounted"),
    )
    yield Mutation("effort sign, all", sign, scaled("effort", -1.0))
    for j in (1, 2, 3):
        yield Mutation(f"effort sign, joint {j + 1}", sign, scaled("effort", -1.0, j))
        yield Mutation(f"position sign, joint {j + 1}", sign, scaled(motion, -1.0, j))
    for i, j in ((0, 1), (1, 2), (2, 3), (0, n - 1), (n - 2, n - 1)):
        swap = list(range(n))
        swap[i], swap[j] = j, i
        yield Mutation(f"efforts {i + 1} and {j + 1} exchanged", order, ordered("effort", swap))
        yield Mutation(f"joints {i + 1} and {j + 1} exchanged", order, ordered(every, swap))
    yield Mutation("joints reversed", order, ordered(every, list(range(n))[::-1]))
    yield Mutation("efforts shifted by one", order, ordered("effort", [*range(1, n), 0]))
    for j, degrees in ((1, 90.0), (1, -30.0), (2, 90.0), (2, 180.0), (3, 90.0)):
        yield Mutation(f"zero of joint {j + 1} off by {degrees:g}", zero, shifted(j, degrees))
    for degrees in (180.0, 90.0, 30.0, 10.0):
        yield Mutation(f"mount off by {degrees:g}", ("mounted", "zero of"), tilted(degrees))
    yield Mutation("degrees", ("limits", "degrees", "derivative"), scaled(motion, 180.0 / np.pi))
    yield Mutation("positions only in degrees", ("derivative", "limits"), scaled("q", 57.3))
    for factor in (1000.0, 2.0, 0.5, 0.1):
        yield Mutation(f"efforts x {factor:g}", size, scaled("effort", factor))
    yield Mutation("gain of joint 2 x 5", size, gains(5.0, 1))
    yield Mutation("gain of joint 3 x 0.3", size, gains(0.3, 2))
    yield Mutation("clock x 2", ("stamps",), clock(2.0))
    yield Mutation("clock x 0.5", ("stamps",), clock(0.5))
    yield Mutation("milliseconds", ("stamps", "gap"), clock(1000.0))
    yield Mutation("gravity-compensated", ("weight",), weightless)
    rng = np.random.default_rng(0)
    yield Mutation(
        "efforts are noise",
        ("is no model", "no better than chance"),
        effort(lambda x: x.__setitem__(slice(None), rng.normal(size=x.shape))),
    )
    yield Mutation("one spike", ("spikes",), effort(lambda x: x.__setitem__((len(x) // 2, 1), 1e6)))
    yield Mutation(
        "efforts are velocities",
        ("is no model", "times those", "lack the robot's weight"),
        columns(lambda c: c.__setitem__("effort", np.gradient(c["q"], axis=0) * 100.0)),
    )
    yield Mutation(
        "saturated joint 2",
        ("saturated",),
        effort(lambda x: x[:, 1].clip(*np.percentile(x[:, 1], [25, 75]), out=x[:, 1])),
    )
    yield Mutation(
        "dead effort of joint 3", ("dead",), effort(lambda x: x.__setitem__((slice(None), 2), 1.0))
    )
    yield Mutation("columns counted from 1", ("derivative", "limits"), columns(_from_one))
    yield Mutation("efforts of another run", ("is no model", "chance"), columns(_rolled))


def _from_one(c: dict[str, Any]) -> None:
    q, v, e = c["q"], c["v"], c["effort"]
    v = np.gradient(q, axis=0) * 100.0 if v is None else v
    c["q"], c["v"], c["effort"] = (
        np.column_stack([q[:, 1:], v[:, 0]]),
        np.column_stack([v[:, 1:], e[:, 0]]),
        np.column_stack([e[:, 1:], e[:, -1]]),
    )


def _rolled(c: dict[str, Any]) -> None:
    c["effort"] = np.roll(c["effort"], len(c["effort"]) // 3, axis=0)


def outcome(arm: RealArm) -> tuple[Verdict, Any]:
    """What the default command does: the verdict, and the robot (None if refused before the fit)."""
    try:
        for run in arm.fitted:
            require_fit(arm.model, run)
        examination = examine(arm.model, arm.fitted, arm.drives)
        if not examination.verdict.ok:
            return examination.verdict, None
        equations = ArmEquations.build(
            arm.model, arm.fitted, FrictionModel(arm.drives), Processing()
        )
        weight, _ = choose_prior_weight(equations)
        found = identify_equations(equations, ConsistentLeastSquares(prior_weight=weight))
        training = [predict_recording(found, run) for run in arm.fitted]
        spread = prediction_spread(equations, found.parameters, weight)
        return judge_identification(found, training, (), examination, spread), found
    except SysIdError as err:
        return Verdict((f"refused: {err}",)), None


def error_on(found: Any, arm: RealArm) -> float:
    """Relative torque error on right recordings that weren't fitted, whatever gains were used."""
    left = size = 0.0
    for run in arm.judged:
        p = predict_recording(found, run)
        rows = np.isfinite(p.predicted).all(axis=1) & p.motion
        torque = p.measured[rows] * arm.drives.gains
        predicted = p.predicted[rows] * found.friction.drives.gains
        left += float(np.sum(((torque - predicted) / arm.drives.gains) ** 2))
        size += float(np.sum(p.measured[rows] ** 2))
    return float(np.sqrt(left / size))


def splits(arm: RealArm) -> Iterator[tuple[str, RealArm]]:
    """Right recordings in parts of 6 s at least, for false alarms."""
    for which, run in enumerate((*arm.fitted, *arm.judged)):
        duration = float(run.joints.time[-1])
        for parts in (1, 2, 3, 5):
            if duration / parts >= 6.0:
                for k in range(parts):
                    part = split(run, k / parts, (k + 1) / parts)
                    yield (
                        f"right: run {which + 1}, part {k + 1} of {parts}",
                        replace(arm, fitted=(part,)),
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("arms", nargs="*", default=list(ARMS))
    parser.add_argument("--only", default="")
    parser.add_argument("--splits", action="store_true")
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {(row["arm"], row["case"]) for row in csv.DictReader(file)}
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for name in options.arms:
            arm = ARMS[name]()
            right = error_on(outcome(arm)[1], arm)
            cases: list[tuple[str, tuple[str, ...], RealArm | Mutation]] = (
                [(case, (), part) for case, part in splits(arm)]
                if options.splits
                else [(m.name, m.words, m) for m in mutations(arm)]
            )
            for case, words, made in cases:
                if (name, case) in done or options.only not in case:
                    continue
                wrong = made.apply(arm) if isinstance(made, Mutation) else made
                verdict, found = outcome(wrong)
                text = " ".join(verdict.reasons)
                row = {
                    "arm": name,
                    "case": case,
                    "outcome": verdict.outcome.value,
                    "named": any(word in text for word in words),
                    "error": "" if found is None else f"{error_on(found, arm):.4g}",
                    "right_error": f"{right:.4g}",
                    "reasons": text[:600],
                }
                writer.writerow(row)
                file.flush()
                print(*list(row.values())[:6], text[:90], sep=" | ", file=sys.stderr)


if __name__ == "__main__":
    main()
