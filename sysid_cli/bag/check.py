# SPDX-License-Identifier: Apache-2.0
"""`sysid bag check`: whether a recording will do, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysid_cli.app import errors, example
from sysid_cli.bag.check_table import show_check
from sysid_cli.bag.group import (
    JointTopicOption,
    JsonOption,
    PathArgument,
    WrenchTopicOption,
    bag,
    require_bag,
    write_json,
)
from sysid_cli.recordings import BagRobotOption, EffortKindOption
from sysid_core.errors import SignalError, SysIdError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import JointStream, Recording, TimingReport, WrenchStream

_NOISE_SAMPLES = 30_000  # say enough about the noise
USES = ("arm", "payload", "sequential", "closed-chain")


@bag.command(epilog=example("sysid bag check recording.mcap"))
def check(
    path: PathArgument,
    joint_topic: JointTopicOption = "",
    wrench_topic: WrenchTopicOption = "",
    effort_kind: EffortKindOption = "",
    robot: BagRobotOption = "",
    sensor_frame: Annotated[
        str, typer.Option(help="Frame of the force-torque sensor; default: the wrench's.")
    ] = "",
    loops: Annotated[
        str, typer.Option(help="Loops file of a closed chain, or a reference robot with loops.")
    ] = "",
    use: Annotated[
        str, typer.Option("--for", help=f"The use that counts: {', '.join(USES)}; default: any.")
    ] = "",
    json_out: JsonOption = "",
) -> None:
    """Say in one table what a recording holds and shows, and whether it will do for each use.

    Exit status 0 if it will do for the use asked for (or for any), 1 if something has to be done
    first, 3 if that can't be judged.
    """
    require_bag(path)
    from sysid_core.diagnosis import UseJudge
    from sysid_core.reasons import Outcome
    from sysid_core.robot.loops import load_closed_chain
    from sysid_core.signals.bags import read_bag

    if use and use not in USES:
        raise SignalError(f"No use '{use}'.", remedy=f"Choose one of: {', '.join(USES)}.")
    with errors.status("Reading") as status:
        recording = read_bag(
            path,
            joint_topic=joint_topic or None,
            wrench_topic=wrench_topic or None,
            effort_kind=effort_kind or None,
        )
        status.update("Looking at the samples")
        streams = {"joint states": _joint_facts(recording.joints)}
        if recording.wrench is not None:
            streams["wrench"] = _wrench_facts(recording.wrench)
        for name, key in (("joint states", "joints"), ("wrench", "wrench")):
            if name in streams:
                streams[name] |= _dropped(recording.timing[key])
        status.update("Looking at the motion")
        model, problem = _model(recording, robot)
        judge = UseJudge(
            recording,
            model,
            sensor_frame=sensor_frame,
            chain=load_closed_chain(loops, robot or None) if loops else None,
            wrench_sd=streams.get("wrench", {}).get("noise"),
        )
        uses = judge.uses()
    joints = recording.joints
    fit = any(u.judged and u.verdict.ok for u in uses if use in ("", u.name))
    result: dict[str, Any] = {
        "path": str(path),
        "fit": fit,
        "uses": [{"use": u.name, "shown": u.shown, **u.verdict.to_dict()} for u in uses],
        "streams": streams,
        "wrench_clock": None
        if judge.clock is None
        else {
            "offset_s": judge.clock.offset_s,
            "offset_sd": judge.clock.offset_sd,
            "drift": judge.clock.drift,
            "drift_sd": judge.clock.drift_sd,
        },
        "effort_delay": None
        if judge.lag is None
        else {"seconds": judge.lag.seconds, "sd": judge.lag.sd},
        "joints": list(joints.names),
        "velocity": joints.v is not None,
        "effort_kind": joints.effort_kind.value if joints.effort is not None else None,
        "urdf": bool(recording.urdf_xml),
        "marks": [mark.label for mark in recording.marks],
        "notes": [*recording.notes, *([problem] if problem else [])],
    }
    if json_out != "-":
        show_check(result, uses)
    write_json(json_out, result)
    seen = any(u.judged for u in uses if use in ("", u.name))
    raise typer.Exit(0 if fit else 1 if seen else Outcome.NOT_JUDGED.exit_status)


def _model(recording: Recording, robot: str) -> tuple[RobotModel | None, str]:
    """The robot, joints that weren't recorded held; or why there is none."""
    from sysid_core.robot import RobotModel, hold_joints

    if not robot and not recording.urdf_xml:
        return None, ""
    try:
        model = RobotModel.from_urdf(robot or recording.urdf_xml)
        model = hold_joints(model, measured=recording.joints.names)
    except SysIdError as err:
        if robot:
            raise
        return None, f"The recorded robot description can't be used: {err}"
    return (model, "") if model.nv else (None, "The description has none of the recorded joints.")


def _joint_facts(stream: JointStream) -> dict[str, Any]:
    from sysid_core.signals import quantisation, saturated_share, standstill_share

    rows = slice(None, None, max(len(stream) // _NOISE_SAMPLES, 1))
    saturated = None if stream.effort is None else saturated_share(stream.effort).tolist()
    return {
        **_timing(stream),
        "noise": _noise(stream.time, stream.q),
        "noise_unit": "rad or m",
        "step": quantisation(stream.q[:_NOISE_SAMPLES]).tolist(),
        "saturated": saturated,
        "standstill": standstill_share(stream.time[rows], stream.q[rows]) if len(stream) else 1.0,
    }


def _wrench_facts(stream: WrenchStream) -> dict[str, Any]:
    from sysid_core.signals import quantisation, saturated_share

    return {
        **_timing(stream),
        "frame": stream.frame,
        "noise": _noise(stream.time, stream.wrench),
        "noise_unit": "N or N m",
        "step": quantisation(stream.wrench[:_NOISE_SAMPLES]).tolist(),
        "saturated": saturated_share(stream.wrench).tolist(),
    }


def _noise(time: Any, values: Any) -> list[float] | None:
    """Standard deviation of a sample, by the longest span without gaps."""
    import numpy as np

    from sysid_core.signals.filters import fit_splines

    breaks = np.flatnonzero(np.diff(time) > 0.1) + 1
    rows = max(np.split(np.arange(len(time)), breaks), key=len)[:_NOISE_SAMPLES]
    if len(rows) < 100:
        return None
    return list(fit_splines(time[rows], values[rows]).noise_sd.tolist())


def _timing(stream: JointStream | WrenchStream) -> dict[str, Any]:
    from sysid_core.signals import check_timing

    report, _ = check_timing(stream.stamps_ns)
    return {
        "samples": report.kept,
        "seconds": float(stream.time[-1]) if len(stream) else 0.0,
        "rate_hz": report.rate_hz,
        "jitter_ms": report.jitter_s * 1e3,
        "gaps": report.gaps,
        "longest_gap_ms": report.longest_gap_s * 1e3,
    }


def _dropped(report: TimingReport) -> dict[str, Any]:
    """What was wrong with the stamps as they were recorded."""
    return {
        "duplicates": report.duplicates,
        "backward": report.backward,
        "clock_jumps": report.resets,
        "invalid": report.invalid,
    }
