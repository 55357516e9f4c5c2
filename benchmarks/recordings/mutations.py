# SPDX-License-Identifier: Apache-2.0
"""Verdicts of `identify` for faulty and for correct recordings and descriptions.

    python benchmarks/recordings/mutations.py OUT.csv [ARM ...] [--only TEXT] [--sample 8]
    python benchmarks/recordings/mutations.py OUT.csv --table

Joints and sizes of the faults are drawn at random, with the arm's name as seed. The arms are
divided into two halves (`HALVES`): settings chosen on one half are judged on the other. Every line
of OUT.csv is one case and is written immediately, so that an interrupted run can be continued.
"""

from __future__ import annotations

import csv
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
import typer
from real_arms import ARMS, part_of

from sysid_core.diagnosis import collect_samples
from sysid_core.diagnosis.evidence import regressor
from sysid_core.errors import SysIdError
from sysid_core.estimation.arm_fit import ArmFit, FitSettings
from sysid_core.estimation.fit import Regression
from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.validation import Prediction, judge_identification
from sysid_core.workflows import ArmData
from sysid_studies.bench.recipe import Split
from sysid_studies.table import print_head, print_row

FIELDS = ("arm", "case", "outcome", "named", "harm", "reasons")
HALVES = (
    ("ur10e", "ar5", "panda", "xmate7", "mtm"),
    ("kr300", "ur10", "tx40", "sawyer", "mit6", "psm"),
)
OTHERS = ("panda", "ur10", "xarm7", "ur5")  # whose URDF is taken for another's
SIZE = ("effort-scale", "effort-unit", "efforts-are-torques", "effort-thousandths")
AT_REST = ("in motion", "while it moves")  # refused so, a part of a recording says nothing
DOUBTS = ("cannot-tell", "blocks-unpredicted")  # warnings that accept nothing
SEED = 20261126
BAD = 1.5  # times the right model's error on right data


@dataclass(frozen=True)
class Mutation:
    """A fault that is added to correct data.

    Attributes:
        name: Description of the fault.
        codes: Codes of the reasons that state this fault.
        apply: Function that returns the arm with the fault.
        joints: The joints of which at least one and no other must be stated, separated by blanks;
            "": any joints.
    """

    name: str
    codes: tuple[str, ...]
    apply: Callable[[Split], Split]
    joints: str = ""


Columns = dict[str, Any]


def columns(change: Callable[[Columns], None]) -> Callable[[Split], Split]:
    """Return a function that changes the recorded arrays, with the joints in the robot's order."""

    def apply(arm: Split) -> Split:
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


def scaled(keys: str, factor: float, joint: int | None = None) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        for key in keys.split():
            if c[key] is not None:
                c[key][:, slice(None) if joint is None else joint] *= factor

    return columns(change)


def ordered(keys: str, order: list[int]) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        for key in keys.split():
            if c[key] is not None:
                c[key] = c[key][:, order]

    return columns(change)


def effort(change: Callable[[np.ndarray], None]) -> Callable[[Split], Split]:
    return columns(lambda c: change(c["effort"]))


def clock(factor: float) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        c["stamps_ns"] = ((c["stamps_ns"] - c["stamps_ns"][0]) * factor).astype(np.int64)
        c["v"] = None

    return columns(change)


def shifted(joint: int, degrees: float) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        c["q"][:, joint] += np.radians(degrees)

    return columns(change)


def frozen(joint: int) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        c["q"][:, joint] = c["q"][0, joint]
        if c["v"] is not None:
            c["v"][:, joint] = 0.0

    return columns(change)


def late(seconds: float, joint: int | None = None) -> Callable[[Split], Split]:
    def change(c: Columns) -> None:
        time = (c["stamps_ns"] - c["stamps_ns"][0]) * 1e-9
        n = c["effort"].shape[1]
        for j in range(n) if joint is None else (joint,):
            c["effort"][:, j] = np.interp(time - seconds, time, c["effort"][:, j].copy())

    return columns(change)


def tilted(degrees: float, rng: np.random.Generator) -> Callable[[Split], Split]:
    towards = rng.normal(size=3)

    def apply(arm: Split) -> Split:
        axis = np.cross(arm.model.gravity, towards)
        R = pin.AngleAxis(np.radians(degrees), axis / np.linalg.norm(axis)).toRotationMatrix()
        return replace(arm, model=arm.model.with_gravity(R @ arm.model.gravity))

    return apply


def hand(arm: Split) -> np.ndarray:
    """Parameters of a tool with 4 % of the arm's mass at a tenth of its reach: 0.7 kg on a Panda,
    1.3 kg on a UR10.
    """
    model = arm.model
    mass, reach = 0.04 * float(np.sum(model.pi[:, 0])), 0.1 * _reach(model)
    pi = np.zeros_like(model.pi)
    pi[-1, [0, 3]] = mass, mass * reach
    pi[-1, [4, 6]] = mass * reach**2 * 1.3
    pi[-1, 9] = 0.3 * mass * reach**2
    return pi


def _reach(model: RobotModel) -> float:
    return float(
        sum(np.linalg.norm(place.translation) for place in model.pin_model.jointPlacements[2:])
    )


def described_tool(arm: Split) -> Split:
    return replace(arm, model=arm.model.with_pi(arm.model.pi + hand(arm)))


def carried(first: float) -> Callable[[Split], Split]:
    """Add a tool that the description lacks, after this share of every recording."""

    def apply(arm: Split) -> Split:
        load = arm.model.with_pi(arm.model.pi + hand(arm))

        def change(c: Columns) -> None:
            t = (c["stamps_ns"] - c["stamps_ns"][0]) * 1e-9
            v = np.gradient(c["q"], t, axis=0)
            k = max(3, int(0.05 / max(float(np.median(np.diff(t))), 1e-4)))
            smooth = np.apply_along_axis(lambda x: np.convolve(x, np.ones(k) / k, "same"), 0, v)
            a = np.gradient(smooth, t, axis=0)
            more = load.inverse_dynamics(c["q"], v, a) - arm.model.inverse_dynamics(c["q"], v, a)
            c["effort"] += (np.arange(len(t)) >= first * len(t))[:, None] * more / arm.drives.gains

        return columns(change)(arm)

    return apply


def weightless(arm: Split) -> Split:
    def change(c: Columns) -> None:
        still = 0.0 * c["q"]
        c["effort"] -= arm.model.inverse_dynamics(c["q"], still, still) / arm.drives.gains

    return columns(change)(arm)


def another(name: str) -> Callable[[Split], Split]:
    def apply(arm: Split) -> Split:
        model = RobotModel.from_urdf(name)
        model = model.with_locked(model.joint_names[arm.model.nv :])
        model = model.with_gravity(arm.model.gravity)
        names = dict(zip(arm.model.joint_names, model.joint_names, strict=True))

        def renamed(run: Any) -> Any:
            stream = run.joints.ordered(arm.model.joint_names)
            names_now = tuple(names[joint] for joint in stream.names)
            return replace(run, joints=replace(stream, names=names_now))

        drives = DriveTrain(model.joint_names, arm.drives.gains)
        fitted, judged = (tuple(renamed(r) for r in runs) for runs in (arm.fitted, arm.judged))
        return Split(model, drives, fitted, judged)

    return apply


def both(*changes: Callable[[Split], Split]) -> Callable[[Split], Split]:
    def apply(arm: Split) -> Split:
        for change in changes:
            arm = change(arm)
        return arm

    return apply


def mutations(name: str, arm: Split, draw: int = 0) -> Iterator[Mutation]:
    """Yield the faults that are tried on an arm, about 40; joints and sizes are drawn at random."""
    rng = np.random.default_rng([SEED, zlib.crc32(name.encode()), draw])
    names, n = arm.model.joint_names, arm.model.nv
    every, motion = "q v effort", "q v"
    weighing = [j for j in range(n) if j > 0]  # the first joint's zero shows on a tilted base only

    def one(kind: str, codes: str, make: Callable[[int], Callable[[Split], Split]]) -> Mutation:
        j = int(rng.choice(weighing))
        return Mutation(kind, tuple(codes.split()), make(j), names[j])

    gain = "gain joint-scale"
    yield Mutation("effort sign, all", ("effort-signs",), scaled("effort", -1.0))
    yield one("effort sign", "effort-sign", lambda j: scaled("effort", -1.0, j))
    yield one("effort sign again", "effort-sign", lambda j: scaled("effort", -1.0, j))
    yield one("position sign", "position-sign", lambda j: scaled(motion, -1.0, j))
    yield one("joint sign", "joint-sign", lambda j: scaled(every, -1.0, j))
    for kind, keys in (("efforts", "effort"), ("joints", every), ("efforts again", "effort")):
        swap = list(range(n))
        i, j = rng.choice(n, 2, replace=False)
        swap[i], swap[j] = swap[j], swap[i]
        code = "effort-order" if keys == "effort" else "joint-order"
        yield Mutation(f"{kind} exchanged", (code,), ordered(keys, swap))
    yield Mutation(
        "efforts shifted by one", ("effort-order",), ordered("effort", [*range(1, n), 0])
    )
    for kind, low, high in (("zero a little", 8.0, 25.0), ("zero", 30.0, 180.0)):
        degrees = float(rng.uniform(low, high) * rng.choice([-1.0, 1.0]))
        yield one(kind, "zero-angle", lambda j, x=degrees: shifted(j, x))  # type: ignore[misc]
    yield Mutation("upside down", ("mounting",), tilted(180.0, rng))
    for kind, low, high in (("tilted", 10.0, 30.0), ("sideways", 60.0, 120.0)):
        yield Mutation(kind, ("mounting",), tilted(float(rng.uniform(low, high)), rng))
    yield Mutation("degrees", ("angle-unit", "units"), scaled(motion, 180.0 / np.pi))
    for factor in (1000.0, float(rng.uniform(1.7, 5.0)), 0.1):
        yield Mutation(f"efforts x {factor:.3g}", SIZE, scaled("effort", factor))
    for kind, factor in (("gain x 10", 10.0), ("gain x 3", 3.0), ("gain x 0.3", 0.3)):
        yield one(kind, gain, lambda j, x=factor: scaled("effort", x, j))  # type: ignore[misc]
    yield Mutation("clock x 2", ("stamps", "stamps-inertia"), clock(2.0))
    yield Mutation("clock x 0.5", ("stamps", "stamps-inertia"), clock(0.5))
    yield Mutation("gravity subtracted", ("gravity-subtracted", "weight-lacking"), weightless)
    yield one("one joint late", "joint-late", lambda j: late(0.05, j))
    yield Mutation("all late", ("efforts-late", "efforts-late-corrected"), late(0.05))
    yield one("dead effort", "effort-dead", lambda j: scaled("effort", 0.0, j))
    yield one("frozen position", "position-frozen", frozen)
    yield Mutation("hand described, not there", ("load-surplus",), described_tool)
    yield Mutation("tool not described", ("load-lacking",), carried(0.0))
    yield Mutation("tool from the middle on", ("load-comes-or-goes",), carried(0.5))
    other = next(x for x in OTHERS if x != name and RobotModel.from_urdf(x).nv >= n)
    yield Mutation("another robot", ("no-model", "other-robot"), another(other))
    no_model = ("no-model", "joint-chance")
    yield Mutation(
        "efforts are noise",
        no_model,
        effort(lambda x: x.__setitem__(slice(None), rng.normal(size=x.shape))),
    )
    yield Mutation("efforts of another run", no_model, columns(_rolled))
    yield from several(arm, rng)


def several(arm: Split, rng: np.random.Generator) -> Iterator[Mutation]:
    """Yield faults of two or three joints, and two faults of different kinds."""
    names, n = arm.model.joint_names, arm.model.nv

    def some(count: int) -> list[int]:
        drawn = rng.choice(np.arange(1, n), min(count, n - 1), replace=False)
        return sorted(int(j) for j in drawn)

    for kind, keys in (("effort", "effort"), ("position", "q v"), ("joint", "q v effort")):
        joints = some(int(rng.integers(2, 4)))
        change = both(*(scaled(keys, -1.0, j) for j in joints))
        codes = (f"{kind}-signs", f"{kind}-sign", *(("other-robot",) if kind == "joint" else ()))
        told = " ".join(names[j] for j in joints)
        yield Mutation(f"{kind} signs of some", codes, change, told)
    joints = some(3)
    turns = 90.0 * rng.choice([-1, 1, 2], len(joints))
    signs = rng.choice([-1.0, 1.0], len(joints))
    parts = [
        both(scaled("q v effort", sign, j), shifted(j, float(turn)))
        for j, turn, sign in zip(joints, turns, signs, strict=True)
    ]
    told = " ".join(names[j] for j in joints)
    conventions = ("other-robot", "joint-sign", "zero-angle")
    yield Mutation("another convention", conventions, both(*parts), told)
    i, j = some(2)
    degrees = float(rng.uniform(30.0, 90.0))
    pairs = {
        "sign and zero": ("effort-sign zero-angle", scaled("effort", -1.0, i), shifted(j, degrees)),
        "gain and sign": ("gain effort-sign", scaled("effort", 5.0, i), scaled("effort", -1.0, j)),
        "sideways and sign": ("mounting effort-sign", tilted(90.0, rng), scaled("effort", -1.0, j)),
        "clock and zero": ("stamps stamps-inertia zero-angle", clock(2.0), shifted(j, degrees)),
    }
    for kind, (codes, *changes) in pairs.items():
        yield Mutation(kind, tuple(codes.split()), both(*changes))


def _rolled(c: Columns) -> None:
    c["effort"] = np.roll(c["effort"], len(c["effort"]) // 3, axis=0)


def outcome(arm: Split) -> Verdict:
    """Verdict of `identify`: of the examination if that fails, otherwise of the fit as well."""
    try:
        data = ArmData.of(arm.model, arm.fitted, arm.drives, FitSettings())
        if data.examination.verdict.failures:
            return data.examination.verdict
        fit = ArmFit.of(data.model, data.runs, data.friction, FitSettings())
        fitted = [Prediction.of(fit.identification, run) for run in data.runs]
        return judge_identification(
            fit.identification, fitted, (), data.examination, fit.spread, fit.lags
        )
    except np.linalg.LinAlgError as err:
        return Verdict((Reason.failure("refused", message=f"crash: {err}", remedy=""),))
    except SysIdError as err:
        units = any(word in err.message for word in ("In degrees", "derivative of its position"))
        return Verdict(
            (Reason.failure("refused", message=err.message, remedy="units" if units else ""),)
        )


def error_of(arm: Split, right: Split) -> float:
    """Relative torque error on correct data of the parameters that are fitted to the faulty data
    (ridge regression towards the URDF).
    """
    train = collect_samples(arm.model, arm.fitted, arm.drives, count=600)
    test = collect_samples(arm.model, arm.judged, right.drives, count=600)
    A, tau = regressor(train), train.tau
    weight = 1.0 / np.maximum(tau.std(axis=0), 1e-9)
    prior = np.concatenate([arm.model.pi.ravel(), np.zeros(4 * arm.model.nv)])
    n_inertial = arm.model.pi.size
    scale = np.concatenate(
        [arm.model.inertial_scale, Regression.friction_scale(A[:, :, n_inertial:], tau)]
    )
    X = (A * weight[:, None]).reshape(-1, len(prior)) * scale
    y = (tau * weight).ravel() - (X / scale) @ prior
    x = prior + scale * np.linalg.solve(X.T @ X + np.eye(len(prior)), X.T @ y)
    measured = test.tau
    left = (measured - regressor(test) @ x) / np.maximum(measured.std(axis=0), 1e-9)
    return float(np.sqrt(np.mean(left[:, test.used] ** 2)))


def splits(arm: Split) -> Iterator[tuple[str, Split]]:
    """Yield correct recordings, whole and in parts of at least 6 s, to count false alarms."""
    for which, run in enumerate((*arm.fitted, *arm.judged)):
        duration = float(run.joints.time[-1])
        for parts in (1, 2):
            if duration / parts >= 6.0:
                for k in range(parts):
                    part = part_of(run, k / parts, (k + 1) / parts)
                    case = f"right: run {which + 1}, part {k + 1} of {parts}"
                    yield case, replace(arm, fitted=(part,))


def named(verdict: Verdict, codes: tuple[str, ...], joints: str) -> str:
    """`right`, `wrong` or `open` (refused without a cause, or with several indistinguishable ones)."""
    causes = [r for r in verdict.reasons if r.code in CAUSES and r.severity.value != "held"]
    if any(r.code == "cannot-tell" for r in verdict.failures):
        return "open"  # beside a named cause, it is a doubt
    if any(r.code == "refused" and r.data["remedy"] == "units" for r in verdict.reasons):
        return "right" if "units" in codes else "wrong"
    if not causes:
        general = any(r.code in ("no-model", "joint-chance") for r in verdict.failures)
        return "right" if general and "no-model" in codes else "open"
    first = sorted(causes, key=lambda r: r.severity.value != "failure")[0]
    if first.code == "one-of":
        told = zip(first.data["causes"], first.data["joints"], strict=True)
        hit = any(
            c in codes and (not joints or {*j.split(", ")} <= {*joints.split()}) for c, j in told
        )
        return "right" if hit else "wrong"
    if first.code not in codes:
        return "wrong"
    if "load-surplus" in codes or "load-lacking" in codes:
        return "right"
    told = first.data.get("joints", [first.data.get("joint")])
    return "right" if not joints or set(told) <= set(joints.split()) else "wrong"


_CODES = """effort-signs effort-sign position-signs position-sign joint-signs joint-sign effort-order
position-order joint-order zero-angle mounting angle-unit gain joint-scale stamps stamps-inertia
gravity-subtracted weight-lacking joint-late efforts-late effort-dead efforts-late-corrected one-of
position-frozen load-surplus load-lacking load-comes-or-goes other-robot"""
CAUSES = {*SIZE, *_CODES.split()}


def table(path: Path) -> None:
    """Print the table of both halves."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    print_head(
        *("half", "wrong cases", "named", "cannot tell or unnamed", "wrong cause", "accepted"),
        *("of them bad", "false alarms", "right, not judged", "right, in doubt"),
    )
    for title, arms in (("first", HALVES[0]), ("second", HALVES[1])):
        mine = [r for r in rows if r["arm"] in arms]
        for row in mine:  # a refusal names no cause
            row["doubted"] = row["outcome"] == "pass" and any(x in row["reasons"] for x in DOUBTS)
            if row["doubted"] or (row["reasons"].startswith("refused") and row["named"] == "wrong"):
                row["named"] = "open"
        faults = [r for r in mine if not r["case"].startswith("right")]
        right = [
            r
            for r in mine
            if r["case"].startswith("right") and not any(x in r["reasons"] for x in AT_REST)
        ]
        # A fault that does no harm needn't be found (the zero of a vertical axis, say).
        told = [r for r in faults if r["outcome"] != "pass" or float(r["harm"]) > 1.1]
        passed = [r for r in told if not r["named"]]
        print_row(
            title,
            f"{len(told)} (and {len(faults) - len(told)} without effect)",
            *(
                _share([r for r in told if r["named"] == x], told)
                for x in ("right", "open", "wrong")
            ),
            _share(passed, told),
            sum(float(r["harm"]) > BAD for r in passed),
            f"{_share([r for r in right if r['outcome'] == 'fail'], right)} of {len(right)}",
            sum(r["outcome"] == "not judged" for r in right),
            _share([r for r in right if r["doubted"]], right),
        )


def _share(some: list[Any], of: list[Any]) -> str:
    return f"{len(some)} ({100 * len(some) / max(len(of), 1):.0f} %)"


def cases_of(name: str, arm: Split, sample: int, draw: int) -> Iterator[tuple[Mutation, Split]]:
    """Yield correct parts of an arm's recordings, and faults drawn at random."""
    for case, part in splits(arm):
        yield Mutation(case, (), lambda _, part=part: part), part
    faults = list(mutations(name, arm, draw))
    rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
    for i in sorted(rng.permutation(len(faults))[:sample]):
        yield faults[i], arm


def row_of(name: str, arm: Split, case: Mutation, right_error: float) -> dict[str, str] | None:
    """Judge a case and return its row; None if a correct part of a recording is at rest."""
    changed = case.apply(arm)
    verdict = outcome(changed)
    if not case.codes and any(x in str(r.data) for x in AT_REST for r in verdict.reasons):
        return None
    refused = verdict.outcome in (Outcome.FAIL, Outcome.NOT_JUDGED)
    bad = refused or any(r.code in CAUSES for r in verdict.warnings)
    harm = error_of(changed, arm) / right_error if case.codes and not bad else 1.0
    said = (
        f"{r.code}({r.data.get('joint', r.data.get('message', ''))})"
        for r in (*verdict.notable, *verdict.not_judged)
    )
    not_judged = verdict.outcome is Outcome.NOT_JUDGED
    return {
        "arm": name,
        "case": case.name,
        "outcome": "not judged" if not_judged else "fail" if bad else "pass",
        "named": named(verdict, case.codes, case.joints) if bad else "",
        "harm": f"{harm:.3g}",
        "reasons": " ".join(said)[:200],
    }


def main(
    out: Path,
    arms: Annotated[list[str] | None, typer.Argument(metavar="ARM")] = None,
    only: str = "",
    sample: int = 100,
    draw: int = 0,
    summary: Annotated[bool, typer.Option("--table")] = False,
) -> None:
    """Judge the cases that the file lacks, or print its table."""
    if summary:
        return table(out)
    done = set()
    if out.exists():
        with out.open() as file:
            done = {(row["arm"], row["case"]) for row in csv.DictReader(file)}
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for name in arms or ARMS:
            arm = ARMS[name]()
            right_error = error_of(arm, arm)
            for case, of in cases_of(name, arm, sample, draw):
                if (name, case.name) in done or only not in case.name:
                    continue
                row = row_of(name, of, case, right_error)
                if row is not None:
                    writer.writerow(row)
                    file.flush()
                    print(*row.values(), case.joints, sep=" | ", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
