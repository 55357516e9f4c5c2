# SPDX-License-Identifier: Apache-2.0
"""`sysid bag`: what is in a recording, whether it is fit for use, and its repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sysid_core.cli.app import app, console, example, remark
from sysid_core.cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.signals import JointStream, WrenchStream
    from sysid_core.signals.bags import StoredBag

bag = typer.Typer(help="rosbag2 bags: look into, check, recover. No ROS needed.")
app.add_typer(bag, name="bag", no_args_is_help=True)

_NOISE_SAMPLES = 30_000  # say enough about the noise

PathArgument = Annotated[Path, typer.Argument(help="rosbag2 folder, or an .mcap or .db3 file.")]
JsonOption = Annotated[
    str, typer.Option("--json", help="Also write the findings here; - for standard output.")
]


@bag.command(epilog=example("sysid bag info recording.mcap"))
def info(path: PathArgument, json_out: JsonOption = "") -> None:
    """List topics, counts, rates, what the logger noted, and damage."""
    from sysid_core.signals.bags import open_bag

    with console.status("Reading", spinner="line"):
        stored = open_bag(path)
    result = {
        "path": str(path),
        "files": [file.name for file in stored.files],
        "messages": stored.count,
        "seconds": stored.seconds,
        "topics": [
            {"name": t.name, "type": t.type, "messages": t.count, "rate_hz": t.rate_hz}
            for t in stored.topics
        ],
        "custom_data": stored.custom_data,
        "damage": list(stored.damage),
    }
    if json_out != "-":
        _show_info(stored)
    _write(json_out, result)


@bag.command(epilog=example("sysid bag recover truncated.mcap repaired"))
def recover(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="Folder to create for the whole bag.")],
) -> None:
    """Write all that can be read of a damaged bag into a new one with index and metadata."""
    from sysid_core.signals.bags import open_bag, recover_bag

    with console.status("Recovering", spinner="line"):
        damage = open_bag(path).damage
        stored = recover_bag(path, out)
    for sentence in damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if not damage:
        console.print(f"'{path}' was whole; it has been copied.", soft_wrap=True)
    console.print(
        f"{stored.count} messages over {stored.seconds:.1f} s are in '{out}'.",
        soft_wrap=True,
    )


@bag.command(epilog=example("sysid bag cut recording.mcap part --start 10 --end 70"))
def cut(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="Folder to create for the part.")],
    start: Annotated[float, typer.Option(min=0.0, help="Begin of the part, s.")] = 0.0,
    end: Annotated[float, typer.Option(min=0.0, help="End of the part, s.")] = float("inf"),
) -> None:
    """Write a part of a bag into a new one; the robot's description is kept."""
    from sysid_core.signals.bags import cut_bag

    _tell_written(cut_bag(path, out, start_s=start, end_s=end), out)


@bag.command(epilog=example("sysid bag merge monday.mcap tuesday.mcap --out both"))
def merge(
    paths: Annotated[list[Path], typer.Argument(help="Bags, in any order.")],
    out: Annotated[Path, typer.Option(help="Folder to create.")],
) -> None:
    """Write several bags into one, in the order in which messages were received."""
    from sysid_core.signals.bags import merge_bags

    _tell_written(merge_bags(paths, out), out)


@bag.command(epilog=example("sysid bag export recording.mcap recording.csv"))
def export(
    path: PathArgument,
    out: Annotated[Path, typer.Argument(help="File that ends in .npz, .csv or .parquet.")],
    joint_topic: Annotated[str, typer.Option(help="Topic of the joint states.")] = "",
    wrench_topic: Annotated[str, typer.Option(help="Topic of the wrenches.")] = "",
) -> None:
    """Write joint states and wrenches as a table that other programs read."""
    from sysid_core.signals import export_recording
    from sysid_core.signals.bags import read_bag

    recording = read_bag(path, joint_topic=joint_topic or None, wrench_topic=wrench_topic or None)
    for note in recording.notes:
        console.print(note, style="yellow", soft_wrap=True)
    for file in export_recording(recording, out):
        console.print(f"'{file}' written.", soft_wrap=True)


def _tell_written(stored: StoredBag, out: Path) -> None:
    console.print(
        f"{stored.count} messages over {stored.seconds:.1f} s are in '{out}'.",
        soft_wrap=True,
    )


@bag.command(epilog=example("sysid bag check recording.mcap"))
def check(
    path: PathArgument,
    joint_topic: Annotated[str, typer.Option(help="Topic of the joint states.")] = "",
    wrench_topic: Annotated[str, typer.Option(help="Topic of the wrenches.")] = "",
    effort_kind: Annotated[str, typer.Option(help="What `effort` means, if the bag is mute.")] = "",
    json_out: JsonOption = "",
) -> None:
    """Say whether a recording is fit for identification: stamps, noise, efforts, description.

    Exit status 0 if it is, 1 if something has to be done first.
    """
    from sysid_core.plausibility import effort_faults, stream_faults
    from sysid_core.signals import EffortKind
    from sysid_core.signals.bags import read_bag

    with console.status("Reading", spinner="line"):
        recording = read_bag(
            path,
            joint_topic=joint_topic or None,
            wrench_topic=wrench_topic or None,
            effort_kind=effort_kind or None,
        )
        streams = {"joint states": _joint_facts(recording.joints)}
        if recording.wrench is not None:
            streams["wrench"] = _wrench_facts(recording.wrench)
    joints = recording.joints
    todo = [*stream_faults(joints), *effort_faults(joints).reasons]
    if joints.effort is not None and joints.effort_kind is EffortKind.UNKNOWN:
        todo.append("Nothing says what `effort` means: pass --effort-kind.")
    if joints.effort_kind is EffortKind.GRAVITY_COMPENSATED:
        todo.append("Efforts without gravity can't be used: record torques or motor currents.")
    if joints.effort is None and recording.wrench is None:
        todo.append("Neither efforts nor wrenches: nothing tells of forces.")
    result: dict[str, Any] = {
        "path": str(path),
        "fit": not todo,
        "todo": todo,
        "streams": streams,
        "joints": list(joints.names),
        "velocity": joints.v is not None,
        "effort_kind": joints.effort_kind.value if joints.effort is not None else None,
        "urdf": bool(recording.urdf_xml),
        "marks": [mark.label for mark in recording.marks],
        "notes": list(recording.notes),
    }
    if json_out != "-":
        _show_check(result)
    _write(json_out, result)
    raise typer.Exit(0 if not todo else 1)


def _joint_facts(stream: JointStream) -> dict[str, Any]:
    from sysid_core.signals import quantisation, saturated_share, standstill_share

    rows = slice(None, None, max(len(stream) // _NOISE_SAMPLES, 1))
    saturated = None if stream.effort is None else saturated_share(stream.effort).tolist()
    return {
        **_timing(stream),
        "noise": _noise(stream.time, stream.q),
        "noise_unit": "rad or m",
        "position_step": quantisation(stream.q[:_NOISE_SAMPLES]).tolist(),
        "effort_saturated": saturated,
        "standstill": standstill_share(stream.time[rows], stream.q[rows]) if len(stream) else 1.0,
    }


def _wrench_facts(stream: WrenchStream) -> dict[str, Any]:
    return {
        **_timing(stream),
        "frame": stream.frame,
        "noise": _noise(stream.time, stream.wrench),
        "noise_unit": "N or N m",
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


def _show_info(stored: StoredBag) -> None:
    table = Table(box=None, title=f"{stored.count} messages over {stored.seconds:.1f} s")
    for column in ("topic", "type", "messages", "Hz"):
        table.add_column(column, justify="right" if column in ("messages", "Hz") else "left")
    for topic in stored.topics:
        table.add_row(
            topic.name,
            topic.type,
            str(topic.count),
            f"{topic.rate_hz:.1f}" if topic.count > 1 else "–",
        )
    print_table(table)
    for key, value in stored.custom_data.items():
        console.print(f"{key}: {value}", soft_wrap=True)
    for sentence in stored.damage:
        console.print(sentence, style="yellow", soft_wrap=True)
    if stored.damage:
        remark("what to do:", "`sysid bag recover` makes a whole bag of it.", "bold")


def _show_check(result: dict[str, Any]) -> None:
    table = Table(box=None)
    for column in ("stream", "samples", "s", "Hz", "jitter ms", "gaps", "longest ms"):
        table.add_column(column, justify="left" if column == "stream" else "right")
    for name, facts in result["streams"].items():
        table.add_row(
            name,
            str(facts["samples"]),
            f"{facts['seconds']:.1f}",
            f"{facts['rate_hz']:.1f}",
            f"{facts['jitter_ms']:.2f}",
            str(facts["gaps"]),
            f"{facts['longest_gap_ms']:.1f}",
        )
    print_table(table)
    for name, facts in result["streams"].items():
        if facts["noise"]:
            low, high = min(facts["noise"]), max(facts["noise"])
            console.print(f"noise of {name}: {low:.1e} to {high:.1e} {facts['noise_unit']}")
    joints = result["streams"]["joint states"]
    console.print(f"standstill: {100.0 * joints['standstill']:.0f} % of the time")
    steps = [
        f"{n} {s:.1e}" for n, s in zip(result["joints"], joints["position_step"], strict=True) if s
    ]
    if steps:
        console.print(f"positions in steps of: {', '.join(steps)} rad or m", soft_wrap=True)
    for name, share in zip(result["joints"], joints["effort_saturated"] or (), strict=False):
        if share > 0.001:
            words = f"the effort of {name} is clipped in {100.0 * share:.1f} % of the samples"
            console.print(f"{words}: record a gentler motion.", style="yellow", soft_wrap=True)
    measured = ["positions", *(["velocities"] if result["velocity"] else [])]
    if result["effort_kind"]:
        measured.append(f"efforts ({result['effort_kind']})")
    console.print(f"{len(result['joints'])} joints: {', '.join(measured)}", soft_wrap=True)
    console.print("robot description: " + ("yes" if result["urdf"] else "no: give --robot later"))
    if result["marks"]:
        console.print(f"marks: {', '.join(result['marks'])}", soft_wrap=True)
    for note in result["notes"]:
        console.print(note, style="yellow", soft_wrap=True)
    for sentence in result["todo"]:
        remark("to do:", sentence, "bold red")
    if result["fit"]:
        console.print("Fit for identification.", style="green")


def _write(target: str, result: dict[str, Any]) -> None:
    if target == "-":
        print(json.dumps(result, indent=2))
    elif target:
        Path(target).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
