# SPDX-License-Identifier: Apache-2.0
"""Short animations of the documentation, each computed by the code that it explains."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from concept_pictures import BLUE, GREEN, GREY, ORANGE, played_stop
from matplotlib.figure import Figure
from PIL import Image

FRAMES = 40
LARGEST = 300_000  # bytes


def animate_all(out: Path) -> list[Path]:
    """Write every animation as GIF into a folder."""
    made = []
    for draw in (exciting_motion, convergence, stop_on_the_path):
        path = out / f"{draw.__name__}.gif"
        frames, milliseconds = draw()
        save(frames, path, milliseconds)
        assert path.stat().st_size < LARGEST, path
        made.append(path)
    return made


def save(figures: Iterator[Figure], path: Path, milliseconds: int) -> None:
    """Write figures as frames of a GIF that repeats; the last frame is shown for a second."""
    frames = []
    for figure in figures:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=80, facecolor="white")
        frames.append(Image.open(buffer).convert("RGB"))
    last = frames[-1].quantize(32)  # its palette serves all: unchanged parts cost nothing
    frames = [frame.quantize(palette=last, dither=Image.Dither.NONE) for frame in frames]
    pauses = [milliseconds] * (len(frames) - 1) + [1200]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=pauses, loop=0, optimize=True
    )


def exciting_motion() -> tuple[Iterator[Figure], int]:
    """A Panda that plays its planned motion, and the joints' angles beside it."""
    from sysid_core.planning import MotionLimits, plan_arm_motion
    from sysid_core.planning.design import Unknowns
    from sysid_core.report.space import skeleton
    from sysid_core.robot import load_robot

    whole = load_robot("panda")
    model = whole.with_locked([n for n in whole.joint_names if "finger" in n])
    limits = MotionLimits.from_model(model, tcp_frame="panda_link8", tcp_speed=0.8)
    plan = plan_arm_motion(
        model, limits, unknowns=Unknowns.of_arm(model),
        n_candidates=12, n_starts=1, n_iterations=20, processes=1,
    )  # fmt: skip
    motion = plan.trajectory
    rows = np.unique(np.linspace(0, len(motion.time) - 1, FRAMES).astype(int))
    q = motion.q[:, model.columns_from(motion.joint_names)]
    lines = skeleton(model, q[rows], "panda_link8")
    tip = skeleton(model, q[::10], "panda_link8")[:, -2]
    reach = 0.55 * np.nanmax(np.abs(lines))

    def frames() -> Iterator[Figure]:
        for k in range(len(rows)):
            figure = Figure(figsize=(7.2, 3.2))
            space = figure.add_axes((0.0, 0.0, 0.5, 1.0), projection="3d")
            space.plot(*lines[k].T, color=BLUE, lw=5, solid_capstyle="round")
            space.plot(*tip[: rows[k] // 10 + 1].T, color=ORANGE, lw=1.0)
            space.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(0, 2 * reach))
            space.set_axis_off()
            beside = figure.add_axes((0.58, 0.16, 0.4, 0.72))
            beside.plot(motion.time, q, color="#d5dae0", lw=1)
            end = rows[k] + 1
            beside.plot(motion.time[:end], q[:end], lw=1.4)
            beside.set(xlabel="time [s]", xlim=(0, motion.time[-1]))
            beside.set_title("joint angles [rad]", loc="left", fontsize=9)
            yield figure

    return frames(), 110


def convergence() -> tuple[Iterator[Figure], int]:
    """The running payload while the samples of a swing come in; bands: two standard deviations."""
    from sysid_core.estimation.payload import PayloadSummary
    from sysid_core.estimation.payload_live import OnlinePayload
    from sysid_core.robot import mass_com_inertia_from_pi
    from sysid_studies.payload.runs import Case, simulate

    thing, run = simulate(Case("Hammer", 1.0, "moderate", "encoders", 3.0, 0, faults=True))
    online, data = OnlinePayload(thing.shape), run.causal
    rows = np.unique(np.linspace(12, len(data) - 1, FRAMES).astype(int))
    values, sds = [], []
    for k in range(len(data)):
        online.update(
            data.time[k], data.wrench[k], data.omega[k], data.alpha[k], data.a[k],
            data.gravity[k], run.covariance[k],
        )  # fmt: skip
        if k in rows:
            p = PayloadSummary.of(online.estimate())
            values.append([p.mass, *(1e3 * p.com)])
            sds.append([p.mass_sd, *(1e3 * p.com_sd)])
    x, sd, time = np.array(values), np.array(sds), data.time[rows]
    mass, com, _ = mass_com_inertia_from_pi(thing.pi)
    truth = [float(mass), *(1e3 * com)]
    titles = ("mass [kg]", "centre of mass x [mm]", "y [mm]", "z [mm]")

    def frames() -> Iterator[Figure]:
        for k in range(1, len(rows) + 1):
            figure = Figure(figsize=(7.2, 2.4), layout="constrained")
            for i, axis in enumerate(figure.subplots(1, 4)):
                axis.axhline(truth[i], color=GREEN, ls="--", lw=1)
                low, high = x[:k, i] - 2 * sd[:k, i], x[:k, i] + 2 * sd[:k, i]
                axis.fill_between(time[:k], low, high, color=BLUE, alpha=0.25, lw=0)
                axis.plot(time[:k], x[:k, i], color=BLUE, lw=1.6)
                half = 3 * float(np.median(sd[:, i])) + abs(x[-1, i] - truth[i])
                axis.set(xlim=(0, time[-1]), ylim=(truth[i] - 2 * half, truth[i] + 2 * half))
                axis.set_title(titles[i], loc="left", fontsize=8)
                axis.tick_params(labelsize=7)
                axis.set_xlabel("time [s]", fontsize=7)
            yield figure

    return frames(), 90


def stop_on_the_path() -> tuple[Iterator[Figure], int]:
    """A robot that is stopped stays on the checked path; joints that brake alone leave it."""
    path, along, alone, begin = played_stop()
    steps = np.unique(np.linspace(0, len(along) - 1, FRAMES).astype(int))

    def frames() -> Iterator[Figure]:
        for k in steps:
            figure = Figure(figsize=(5.4, 3.2), layout="constrained")
            axis = figure.subplots()
            axis.plot(*path.T, color="#c9ced4", lw=7, label="checked path")
            axis.plot(*along[: k + 1].T, color=BLUE, lw=2, label="stop along the path")
            axis.plot(*along[k], "o", color=BLUE)
            if k > begin:
                there = min(k - begin, len(alone) - 1)
                axis.plot(
                    *alone[: there + 1].T, color=ORANGE, lw=2, ls="--", label="each joint alone"
                )
                axis.plot(*alone[there], "o", color=ORANGE)
                axis.plot(*along[begin], "x", color="black")
            colour = GREY if k <= begin else "#b3261e"
            axis.set_title("moving" if k <= begin else "stop!", loc="left", color=colour)
            axis.set(xlabel="joint 1 [rad]", ylabel="joint 2 [rad]")
            axis.legend(frameon=False, fontsize=8, loc="lower center")
            yield figure

    return frames(), 60
