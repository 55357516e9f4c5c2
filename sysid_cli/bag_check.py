# SPDX-License-Identifier: Apache-2.0
"""`sysid bag check` checks whether a recording is suitable for identification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from sysid_cli.bag import (
    JointTopicOption,
    PathArgument,
    WrenchTopicOption,
    bag,
    require_bag,
)
from sysid_cli.base import console, copy_json, errors
from sysid_cli.settings import BagRobotOption, EffortKindOption, JsonPathOption, command
from sysid_cli.tables import print_table
from sysid_core.errors import SignalError, SysIdError

if TYPE_CHECKING:
    from sysid_core.diagnosis import Use
    from sysid_core.robot import RobotModel
    from sysid_core.signals import Recording

_STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red"}


def show_check(result: dict[str, Any], uses: Sequence[Use]) -> None:
    """Show the streams of a recording, their possible uses, and recommended actions.

    Args:
        result: Content of the JSON file.
        uses: Verdict for each use.
    """
    print_table(_streams_table(result))
    for note in result["notes"]:
        console.print(note, style="yellow", soft_wrap=True)
    print_table(_uses_table(uses))
    fit = [use.name for use in uses if use.judged and use.verdict.ok]
    if result["fit"]:
        console.print(f"Suitable for: {', '.join(fit)}.", style="green")
    else:
        console.print("Not suitable in its present form.", style="bold red")


def _streams_table(result: dict[str, Any]) -> Table:
    streams = result["streams"]
    table = Table(box=None)
    table.add_column("")
    for name in streams:
        table.add_column(name)

    def row(title: str, *cells: str) -> None:
        if any(cells):
            table.add_row(title, *cells)

    def each(form: str, *keys: str) -> list[str]:
        return [form.format(*(facts[key] for key in keys)) for facts in streams.values()]

    row("samples", *each("{} over {:.1f} s", "samples", "seconds"))
    row("rate, jitter", *each("{:.1f} Hz, {:.2f} ms", "rate_hz", "jitter_ms"))
    row("gaps, longest", *each("{}, {:.1f} ms", "gaps", "longest_gap_ms"))
    row("repeated, backward", *each("{}, {}", "duplicates", "backward"))
    row("clock jumps", *each("{}", "clock_jumps"))
    row("NaN, infinite", *each("{}", "invalid"))
    row("noise", *(_noise_text(facts) for facts in streams.values()))
    row("steps", *(_largest(facts["step"], "{:.1e}") for facts in streams.values()))
    row("clipped", *(_largest(facts["saturated"], "{:.1%}") for facts in streams.values()))
    joints = streams["joint states"]
    row("standstill", f"{100.0 * joints['standstill']:.0f} % of the time")
    measured = ["positions", *(["velocities"] if result["velocity"] else [])]
    if result["effort_kind"]:
        measured.append(f"efforts ({result['effort_kind']})")
    frame = [streams["wrench"]["frame"]] if "wrench" in streams else []
    row("measured", f"{len(result['joints'])} joints: {', '.join(measured)}", *frame)
    row("delay, drift", _effort_delay(result["effort_delay"]), *_wrench_clock(result))
    row("description", "yes" if result["urdf"] else "no: give --robot")
    row("marks", ", ".join(dict.fromkeys(result["marks"])))
    return table


def _effort_delay(lag: dict[str, float] | None) -> str:
    if lag is None:
        return ""
    return f"efforts {1e3 * lag['seconds']:.1f} ± {1e3 * lag['sd']:.1f} ms behind positions"


def _wrench_clock(result: dict[str, Any]) -> list[str]:
    clock = result["wrench_clock"]
    if clock is None:
        return []
    late = f"{1e3 * clock['offset_s']:.2f} ± {1e3 * clock['offset_sd']:.2f} ms"
    return [f"{late}, {1e6 * clock['drift']:.0f} ± {1e6 * clock['drift_sd']:.0f} ppm"]


def _noise_text(facts: dict[str, Any]) -> str:
    noise = facts["noise"]
    return f"{min(noise):.1e} to {max(noise):.1e} {facts['noise_unit']}" if noise else ""


def _largest(values: Sequence[float] | None, form: str) -> str:
    """Return the text `up to X`, with the largest of the values; empty if all are zero."""
    largest = max(values or [0.0])
    return f"up to {form.format(largest)}" if largest > 1e-12 else ""


def _uses_table(uses: Sequence[Use]) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0))
    for column in ("for", "verdict", "what it shows", "reason and remedy"):
        table.add_column(column, overflow="fold")
    for use in uses:
        outcome = use.verdict.outcome.value
        verdict = Text(outcome, style=_STYLES[outcome]) if use.judged else Text("–")
        why = "\n".join(reason.advice for reason in use.verdict.notable or use.verdict.not_judged)
        table.add_row(use.name, verdict, use.shown, why)
    return table


USES = ("arm", "payload", "sequential", "closed-chain")


@command(bag, example="sysid bag check recording.mcap")
def check(
    *,
    path: PathArgument,
    joint_topic: JointTopicOption = "",
    wrench_topic: WrenchTopicOption = "",
    effort_kind: EffortKindOption = "",
    robot: BagRobotOption = "",
    sensor_frame: str = "",
    loops: str = "",
    use: Annotated[
        str,
        typer.Option(
            "--for", help=f"Task that decides the exit status: {', '.join(USES)}; default: any."
        ),
    ] = "",
    json_out: JsonPathOption = "",
) -> None:
    """Report the contents of a recording in one table, with a verdict for each task. The exit
    status is 0 if the recording is suitable for the task given with --for (without --for: for at
    least one task), 1 if it is not, and 3 if this cannot be judged.

    Args:
        sensor_frame: Frame of the force-torque sensor; default: that of the wrench messages.
        loops: File of the kinematic loops of a closed chain, or a reference robot with loops.
    """
    require_bag(path)
    from sysid_core.diagnosis import UseJudge
    from sysid_core.reasons import Outcome
    from sysid_core.robot.loops import load_closed_chain
    from sysid_core.signals import stream_facts
    from sysid_core.signals.bags import read_bag

    if use and use not in USES:
        raise SignalError(f"No use '{use}'.", remedy=f"Choose one of: {', '.join(USES)}.")
    with errors.progress("Reading") as status:
        recording = read_bag(
            path,
            joint_topic=joint_topic or None,
            wrench_topic=wrench_topic or None,
            effort_kind=effort_kind or None,
        )
        status.update("Checking the samples")
        streams = stream_facts(recording)
        status.update("Checking the motion")
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
    if not copy_json(result, json_out):
        show_check(result, uses)
    seen = any(u.judged for u in uses if use in ("", u.name))
    raise typer.Exit(0 if fit else 1 if seen else Outcome.NOT_JUDGED.exit_status)


def _model(recording: Recording, robot: str) -> tuple[RobotModel | None, str]:
    """Return the robot model, in which all joints without recorded data are locked, and an empty
    text; without a usable robot description, None and the reason.
    """
    from sysid_core.robot import RobotModel

    if not robot and not recording.urdf_xml:
        return None, ""
    try:
        model = RobotModel.from_urdf(robot or recording.urdf_xml)
        model = model.holding(measured=recording.joints.names)
    except SysIdError as err:
        if robot:
            raise
        return None, f"The recorded robot description is invalid: {err}"
    return (model, "") if model.nv else (None, "The description has none of the recorded joints.")
