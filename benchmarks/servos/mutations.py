# SPDX-License-Identifier: Apache-2.0
"""Verdicts for servo recordings with an added fault: cause stated, failed, in doubt, or passed.

Usage: python benchmarks/servos/mutations.py DATA [HALF]

DATA holds so101_sage, go2_in_air and kscale_sts3215_pendulum. The cases of half 0 were used while
the verdicts were developed; those of half 1 are other motions and joints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_core.servos import ServoRecording, identify_servos, read_recordings
from sysid_core.servos.examine import Finding
from sysid_studies.table import print_head, print_row

Change = Callable[[ServoRecording], ServoRecording]
Case = tuple[int, str, str, Change, set[str]]  # half, data, fault, change, codes that name it
TICK = 2 * np.pi / 4096  # [rad]
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial>
<origin xyz="{x} 0 {z}"/><mass value="{mass}"/>
<inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3.2" upper="3.2" effort="9" velocity="9"/></joint></robot>"""


def on_columns(
    columns: Sequence[int], what: str, change: Callable[[NDArray[np.float64]], object]
) -> Change:
    """Return a change of some columns of `q`, of `target`, or of both."""

    def changed(r: ServoRecording) -> ServoRecording:
        new = {}
        for name in ("q", "target") if what == "both" else (what,):
            x = np.array(getattr(r, name))
            x[:, columns] = change(x[:, columns])
            new[name] = x
        return replace(r, **new)

    return changed


def ordered(what: str, order: Sequence[int]) -> Change:
    """Return a change of the order of the columns of `q`, of `target`, or of both."""
    return on_columns(range(len(order)), what, lambda x: x[:, list(order)])


def timed(q: Callable, target: Callable | None = None) -> Change:  # type: ignore[type-arg]
    """Return a change of the times of positions and of commands."""
    return lambda r: replace(r, t=q(r.t), t_target=(target or q)(r.t_target))


def limp(r: ServoRecording, column: int) -> ServoRecording:
    """Change a servo to one without torque, which the arm's motion shakes by three increments."""
    noise = np.random.default_rng(0).integers(-3, 4, len(r.t)) * TICK
    return on_columns([column], "q", lambda x: x[:1] + noise[:, None])(r)


def _other(a: int, b: int, n: int = 6) -> list[int]:
    order = list(range(n))
    order[a], order[b] = b, a
    return order


NAMES = {"so101": "SO-101", "go2": "Go2", "pendulum": "pendulum"}
SIGN, ZERO, ORDER = {"servo-sign"}, {"servo-zero", "servo-slack"}, {"servo-order"}
TURNED, OFFSET = {"servo-direction", "servo-gravity"}, {"servo-offset", "servo-gravity"}
EXCHANGED, MOUNT = {"servo-exchanged"}, {"servo-mount", "servo-gravity"}
MASSES = {"servo-masses"}
UNITS, DEAD, TIMES = {"servo-degrees"}, {"servo-dead"}, {"refused"}
IN_DOUBT = {"servo-direction": "direction", "servo-offset": "zero", "servo-exchanged": "exchange"}
BY_TYPE = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]  # hips, thighs, calves


def cases() -> list[Case]:
    """Return all cases."""
    out: list[Case] = []
    for half, (lift, elbow, wrist) in enumerate(((1, 2, 3), (2, 3, 1))):
        arm = "so101"
        out += [
            (half, arm, "sign of a command", on_columns([lift], "target", lambda x: -x), SIGN),
            (half, arm, "sign of a position", on_columns([elbow], "q", lambda x: -x), SIGN),
            (half, arm, "sign of both", on_columns([elbow], "both", lambda x: -x), TURNED),
            (half, arm, "sign of both, another joint", on_columns([wrist], "both", lambda x: -x), TURNED),
            (half, arm, "sign of both, all joints", on_columns(range(6), "both", lambda x: -x), TURNED),
            (half, arm, "zero of a position, 0.4 rad", on_columns([lift], "q", lambda x: x + 0.4), ZERO),
            (half, arm, "zero of both, 0.6 rad", on_columns([lift], "both", lambda x: x + 0.6), OFFSET),
            (half, arm, "zero of both, -0.6 rad", on_columns([wrist], "both", lambda x: x - 0.6), OFFSET),
            (half, arm, "zero of both, 90°", on_columns([elbow], "both", lambda x: x + np.pi / 2), OFFSET),
            (half, arm, "commands exchanged", ordered("target", _other(lift, elbow)), ORDER),
            (half, arm, "both exchanged", ordered("both", _other(elbow, wrist)), EXCHANGED),
            (half, arm, "order reversed", ordered("both", [5, 4, 3, 2, 1, 0]), EXCHANGED),
            (half, arm, "degrees", on_columns(range(6), "both", np.degrees), UNITS),
            (half, arm, "dead servo", lambda r, j=lift: limp(r, j), DEAD),
            (half, arm, "another robot's URDF" if half else "upside down",
             lambda r: r, MASSES if half else MOUNT | OFFSET | EXCHANGED | TURNED),
            (half, arm, "0.3 s between samples", lambda r: replace(
                r, t=r.t[::15], q=r.q[::15]), TIMES),
        ]  # fmt: skip
        leg = 1 if half else 7
        out += [
            (half, "go2", "sign of both", on_columns([leg], "both", lambda x: -x), TURNED),
            (half, "go2", "zero of both, 0.6 rad", on_columns([leg + 1], "both", lambda x: x + 0.6), OFFSET),
            (half, "go2", "joints by type" if half else "commands of a leg exchanged",
             ordered("both" if half else "target", BY_TYPE if half else _other(1, 2, 12)),
             EXCHANGED if half else ORDER),
            (half, "pendulum", "zero of both, 0.6 rad", on_columns([0], "both", lambda x, h=half: x + 0.6 * (1 - 2 * h)), OFFSET),
            (half, "pendulum", "zero of both, 90°" if half else "upside down", on_columns(
                [0], "both", lambda x, h=half: x + np.pi / (1 + h)), OFFSET | MOUNT | TURNED),
            (half, "pendulum", "milliseconds" if half else "sign of both",
             timed(lambda t: 1e3 * t) if half else on_columns([0], "both", lambda x: -x),
             TIMES if half else TURNED),
        ]  # fmt: skip
    return out


def recordings(data: Path, name: str, half: int) -> tuple[list[ServoRecording], RobotModel]:
    """Return the motions of a half, and the robot."""
    if name == "so101":
        motions = (
            ("pick_place", "oscillation_low_freq") if half else ("random_waypoints", "wave_motion")
        )
        found = read_recordings([data / "so101_sage" / "motions.npz"], motions=motions)
        return list(found), RobotModel.from_urdf("so101")
    if name == "go2":
        robot = RobotModel.from_urdf("go2")
        r = read_recordings([data / "go2_in_air" / "traj_0.npz"])[0]
        part = r.t > r.t[len(r.t) // 2] if half else r.t <= r.t[len(r.t) // 2]
        return [
            replace(r, t=r.t[part], q=r.q[part], t_target=r.t[part], target=r.target[part])
        ], robot
    runs = data / "kscale_sts3215_pendulum" / "runs.npz"
    with np.load(runs) as content:
        mass, arm, kp, file, kind = (
            content[k] for k in ("mass", "arm", "kp", "filename", "trajectory")
        )
    heavy = np.unique(mass)[1 + half]
    chosen = (
        (mass == heavy) & (arm == arm.max()) & (kp == (16, 24)[half]) & (kind != "lift_and_drop")
    )
    names = [Path(str(x)).stem for x in file[chosen]]
    robot = RobotModel.from_urdf(PENDULUM.format(x=0.0, z=-arm.max(), mass=heavy))
    return list(read_recordings([runs], motions=names)), robot


def in_words(found: Finding) -> str:
    """Return the code of a finding with its joint and number."""
    return f"{found.reason.value} {found.joint} {found.value:.2g} {found.other}".strip()


def _touched(change: Change, r: ServoRecording, robot: RobotModel) -> set[str]:
    """Return the joints whose columns a fault changes."""
    new = change(r)
    if new.q.shape != r.q.shape:
        return set()
    columns = (new.q != r.q).any(axis=0) | (new.target != r.target).any(axis=0)
    return {robot.joint_names[j] for j in np.flatnonzero(columns)}


def main(
    data: Path, which: Annotated[int | None, typer.Argument(metavar="HALF")] = None, only: str = ""
) -> None:
    """Print a row for each unchanged recording and each fault."""
    print_head("half", "recording", "fault", "verdict", "named", "reasons", "CPU")
    for half in (0, 1) if which is None else (which,):
        as_they_are: list[Case] = [(half, name, "none", lambda r: r, set()) for name in NAMES]
        for _, name, fault, change, codes in as_they_are + [c for c in cases() if c[0] == half]:
            if only not in f"{name} {fault}":
                continue
            motions, robot = recordings(data, name, half)
            if fault == "another robot's URDF":
                robot = RobotModel.from_urdf("ur5")
            if name == "so101" and fault == "upside down":
                robot = robot.with_gravity([0.0, 0.0, 9.81])
            start = time.process_time()
            try:
                result = identify_servos([change(r) for r in motions], robot)
                found = {f.reason.value for f in result.findings}
                verdict = result.outcome.value
                doubts = {
                    f.other
                    for f in result.findings
                    if f.reason.value == "servo-untold"
                    and f.joint in _touched(change, motions[0], robot)
                }
                said = ", ".join(sorted({in_words(f) for f in result.findings}))
            except SysIdError as err:
                found, verdict, said, doubts = {"refused"}, "refused", str(err), set()
            named = "named" if found & codes else ""
            if not named and any(
                IN_DOUBT.get(code, "-") in doubt for code in codes for doubt in doubts
            ):
                named = "in doubt"
            cpu = time.process_time() - start
            print_row(half, NAMES[name], fault, verdict, named, said[:400], f"{cpu:.0f} s")


if __name__ == "__main__":
    typer.run(main)
