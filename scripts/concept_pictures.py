# SPDX-License-Identifier: Apache-2.0
"""Pictures of the documentation's concepts, each computed by the code that it explains."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8A8F98"


def draw_all(out: Path) -> list[Path]:
    """Write every picture as SVG into a folder."""
    mpl.rcParams.update({"svg.fonttype": "none", "font.size": 9, "axes.spines.top": False})
    mpl.rcParams.update({"axes.spines.right": False, "svg.hashsalt": "robot_sysid"})
    pictures = {
        "identifiable": identifiable,
        "transfer": transfer,
        "friction": friction,
        "stop": stop,
        "verdict": verdict,
    }
    written = []
    for name, draw in pictures.items():
        path = out / f"{name}.svg"
        draw().savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})
        written.append(path)
    return written


def identifiable() -> Figure:
    """Every inertial parameter of a UR5 by its verdict."""
    from sysid_core.identifiability.rpna import structural_identifiability
    from sysid_core.robot import load_robot

    answer = structural_identifiability(load_robot("ur5"))
    rows = ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    symbols = {p.name: p.verdict.symbol for p in answer.parameters}
    kinds = {
        "★": (GREEN, "alone"),
        "●": (BLUE, "as a combination"),
        "○": ("#c9dcea", "absorbed into combinations"),
        "✕": ("#d8dbe0", "not at all"),
    }
    figure = Figure(figsize=(7.2, 3.0))
    axis = figure.subplots()
    for i, body in enumerate(answer.bodies):
        for j, row in enumerate(rows):
            colour, _ = kinds[symbols[f"{body.name}.{row}"]]
            axis.add_patch(mpl.patches.Rectangle((j + 0.05, i + 0.08), 0.9, 0.84, color=colour))
    axis.set(xlim=(0, 10), ylim=(6, 0))
    axis.set_xticks(np.arange(10) + 0.5, rows)
    axis.set_yticks(np.arange(6) + 0.5, [b.name for b in answer.bodies])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    handles = [mpl.patches.Patch(color=colour, label=label) for colour, label in kinds.values()]
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, borderpad=0.1)
    axis.set_title(f"UR5: {answer.n_base} of {answer.n_parameters} parameters are seen", loc="left")
    figure.subplots_adjust(bottom=0.17)
    return figure


def transfer() -> Figure:
    """Two kilograms more in the forearm that no motion shows: the neighbours' values make up for it."""
    from sysid_core.robot import load_robot

    model = load_robot("ur5")
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 6.0, 300)
    phase, pace = rng.uniform(0, 6, 6), rng.uniform(0.8, 2.0, 6)
    q = np.sin(t[:, None] * pace + phase)
    v, a = np.cos(t[:, None] * pace + phase) * pace, -q * pace**2
    Y = model.torque_regressor(q, v, a)
    _, s, Vt = np.linalg.svd(Y.reshape(-1, Y.shape[-1]), full_matrices=True)
    hidden = Vt[int((s > 1e-9 * s[0]).sum()) :]  # changes of the parameters that no torque shows
    names = [f"{body}.{row}" for body in model.body_names for row in ("m", "mx", "my", "mz")]
    index = [10 * k + i for k in range(model.n_bodies) for i in range(4)]
    heavier = index[names.index("forearm_link.m")]
    direction = hidden.T @ hidden[:, heavier]
    pi = model.pi.ravel()
    other = pi + 2.0 * direction / direction[heavier]
    shown = [i for i, k in enumerate(index) if abs(other[k] - pi[k]) > 0.02]
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.3])
    place = np.arange(len(shown))
    for offset, values, colour, label in (
        (-0.2, pi, BLUE, "the URDF"),
        (0.2, other, ORANGE, "forearm 2 kg heavier"),
    ):
        left.barh(place + offset, [values[index[i]] for i in shown], 0.4, color=colour, label=label)
    left.set_yticks(place, [names[i] for i in shown], fontsize=7)
    left.invert_yaxis()
    left.legend(frameon=False, fontsize=7)
    left.set_title("other masses and centres …", loc="left", fontsize=9)
    for values, colour, style in ((pi, BLUE, "-"), (other, ORANGE, "--")):
        right.plot(t, (Y @ values).reshape(len(t), -1)[:, 1:4], style, color=colour, lw=1.3)
    right.set(xlabel="time [s]", ylabel="torque [N m]")
    right.set_title("… the same torques, whatever the motion", loc="left", fontsize=9)
    return figure


def friction() -> Figure:
    """Effect of the friction terms on an oscillating joint, and at a reversal."""
    from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm

    t = np.linspace(0.0, 4.0, 4000)
    q, v = -0.5 * np.cos(np.pi * t / 2), 0.25 * np.pi * np.sin(np.pi * t / 2)
    a = np.gradient(v, t)
    load = 20.0 * np.cos(q)
    cases = {
        "coulomb": {"coulomb": 5.0},
        "+ viscous": {"coulomb": 5.0, "viscous": 8.0},
        "+ stribeck": {"coulomb": 5.0, "viscous": 8.0, "stribeck": 3.0},
        "+ load": {"coulomb": 5.0, "viscous": 8.0, "load": 0.15},
    }
    reversal = {
        "coulomb": {"coulomb": 5.0},
        "+ play": {"coulomb": 3.0, "play": 2.0},
        "+ breakaway": {"coulomb": 5.0, "breakaway": 2.0},
    }
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.subplots(1, 2)
    slow = -0.004 * np.cos(np.pi * t / 2)
    motions = ((q, v, a, load), (slow, np.gradient(slow, t), np.zeros_like(t), load))
    for axis, group, (x, dx, ddx, rigid) in zip(axes, (cases, reversal), motions, strict=True):
        for (label, sizes), colour in zip(group.items(), (GREY, BLUE, ORANGE, GREEN), strict=False):
            terms = tuple(FrictionTerm(name) for name in sizes)
            model = FrictionModel(DriveTrain.direct(("joint",)), terms)
            Phi = model.regressor(x[:, None], dx[:, None], ddx[:, None], rigid[:, None])
            tau = (Phi @ np.array([sizes[n.value] for n in model.terms])).ravel()
            start = len(t) // 2 if axis is axes[1] else 0
            abscissa = 1e3 * x if axis is axes[1] else dx
            axis.plot(abscissa[start:], tau[start:], color=colour, lw=1.4, label=label)
        axis.legend(frameon=False, fontsize=7)
        axis.axhline(0, color="#cccccc", lw=0.7, zorder=0)
    axes[0].set(xlabel="velocity [rad/s]", ylabel="friction torque [N m]", title="a swing")
    axes[1].set(xlabel="position [mrad]", title="a reversal, a few milliradians")
    return figure


def played_stop() -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The checked path, a stop along it and one of each joint alone, (K, 2), and its first step."""
    q, x, _, _, alone, begin = _stopped()
    return q, x, alone, begin


def _stopped() -> tuple[np.ndarray, ...]:
    """Path, positions, velocities and rate while it stops; joints alone; where the stop begins."""
    from sysid_core.execution.path_follower import PathFollower
    from sysid_core.planning import Trajectory

    t = np.linspace(0.0, 3.0, 301)
    s = t / 3.0
    shape = 10 * s**3 - 15 * s**4 + 6 * s**5
    q = np.column_stack([2.0 * shape, 0.9 * np.sin(np.pi * shape)])
    v = np.gradient(q, t, axis=0)
    v[[0, -1]] = 0.0
    a = np.gradient(v, t, axis=0)
    limit = np.array([1.5, 4.0])
    motion = Trajectory("arm", "", ("joint 1", "joint 2"), t, q, v, a)
    follower = PathFollower(motion, limit)
    played, begin = [], 120
    for k in range(400):
        follower.advance(0.01, 0.0 if k > begin else 1.0)
        played.append((follower.q.copy(), follower.v.copy(), follower.rate))
        if k > begin and follower.rate == 0.0:
            break
    x, dx, rate = (np.array(column) for column in zip(*played, strict=True))
    alone, speed = x[begin].copy(), dx[begin].copy()
    each = [alone.copy()]
    while np.any(np.abs(speed) > 1e-6):
        speed = np.sign(speed) * np.maximum(np.abs(speed) - limit * 0.01, 0.0)
        alone = alone + speed * 0.01
        each.append(alone.copy())
    return q, x, dx, rate, np.array(each), begin


def stop() -> Figure:
    """A stop along the path against one that brakes every joint by itself."""
    q, x, dx, rate, each_path, begin = _stopped()
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(*q.T, color="#c9ced4", lw=6, label="checked path")
    left.plot(*x.T, color=BLUE, lw=1.6, label="stop along the path")
    left.plot(*each_path.T, color=ORANGE, lw=1.6, ls="--", label="each joint by itself")
    left.plot(*x[begin], "o", color="black", ms=4)
    left.annotate("abort", x[begin], (6, -12), textcoords="offset points", fontsize=8)
    left.set(xlabel="joint 1 [rad]", ylabel="joint 2 [rad]")
    left.legend(frameon=False, fontsize=7, loc="lower center")
    time = 0.01 * np.arange(len(x))
    right.plot(time, dx, color=BLUE, lw=1.4)
    right.plot(time, rate, color=GREY, lw=1.0, ls=":")
    right.axvline(0.01 * begin, color="black", lw=0.8)
    right.set(xlabel="time [s]", ylabel="velocity [rad/s], rate on the path (dotted)")
    return figure


def verdict() -> Figure:
    """The shipped recording, judged as it is and with one sign wrong."""
    from sysid_core.diagnosis import examine
    from sysid_core.estimation.arm import Processing, identify
    from sysid_core.estimation.fit import LeastSquares
    from sysid_core.robot import USUAL_TERMS, FrictionModel, RobotModel
    from sysid_core.signals import ColumnMap, read_table
    from sysid_core.validation import Prediction, judge_identification

    root = Path(__file__).resolve().parents[1] / "examples" / "ur5"
    columns = ColumnMap.load(root / "columns.yaml")
    model = RobotModel.from_urdf("ur5")
    drives = columns.drives.ordered(model.joint_names)
    train, held_out = (read_table(root / f"{n}.csv", columns) for n in ("train", "validate"))
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, wrong in zip(axes, (False, True), strict=True):
        runs = [flipped(r) if wrong else r for r in (train, held_out)]
        examination = examine(model, runs[:1], drives, gains_known=True)
        found = identify(
            model, runs[:1], FrictionModel(drives, USUAL_TERMS), LeastSquares("none"), Processing()
        )
        predictions = [Prediction.of(found, run) for run in runs]
        judged = judge_identification(found, predictions[:1], predictions[1:], examination)
        p = predictions[1]
        axis.plot(p.time, p.measured[:, 1], color="#56B4E9", lw=2.4, label="measured")
        axis.plot(p.time, p.predicted[:, 1], color=GREEN, lw=1.1, label="predicted")
        title = "the recording as it is" if not wrong else "sign of shoulder_lift's position wrong"
        error = 100 * p.relative_error()
        axis.set_title(
            f"{title}\n{judged.outcome.value.upper()}: error {error:.1f} %",
            loc="left",
            fontsize=9,
            color={"pass": "#1a7f4b", "warn": "#9a6700"}.get(judged.outcome.value, "#b3261e"),
        )
        axis.set_xlabel("time [s]")
    axes[0].set_ylabel("shoulder_lift [A]")
    axes[0].legend(frameon=False, fontsize=7)
    return figure


def flipped(recording: object) -> object:
    """The recording with the sign of the second joint's position turned."""
    from dataclasses import replace

    joints = recording.joints  # type: ignore[attr-defined]
    sign = np.ones(joints.q.shape[1])
    sign[1] = -1.0
    turned = replace(joints, q=joints.q * sign, v=None if joints.v is None else joints.v * sign)
    return replace(recording, joints=turned)  # type: ignore[type-var]
