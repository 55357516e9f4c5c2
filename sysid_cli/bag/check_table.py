# SPDX-License-Identifier: Apache-2.0
"""The tables of `sysid bag check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from sysid_cli.app import console
from sysid_cli.tables import print_table
from sysid_core.reasons import advice_of

if TYPE_CHECKING:
    from sysid_core.diagnosis import Use

_STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red"}


def show_check(result: dict[str, Any], uses: Sequence[Use]) -> None:
    """Show what the streams hold, what it will do for, and what to do.

    Args:
        result: As in the JSON file.
        uses: Judged.
    """
    print_table(_streams_table(result))
    for note in result["notes"]:
        console.print(note, style="yellow", soft_wrap=True)
    print_table(_uses_table(uses))
    fit = [use.name for use in uses if use.judged and use.verdict.ok]
    if result["fit"]:
        console.print(f"Fit for: {', '.join(fit)}.", style="green")
    else:
        console.print("Not fit as it is.", style="bold red")


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
    """The largest of values that are noted where they aren't zero."""
    largest = max(values or [0.0])
    return f"up to {form.format(largest)}" if largest > 1e-12 else ""


def _uses_table(uses: Sequence[Use]) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0))
    for column in ("for", "verdict", "what it shows", "why, and what to do"):
        table.add_column(column, overflow="fold")
    for use in uses:
        outcome = use.verdict.outcome.value
        verdict = Text(outcome, style=_STYLES[outcome]) if use.judged else Text("–")
        why = "\n".join(map(advice_of, use.verdict.notable or use.verdict.not_judged))
        table.add_row(use.name, verdict, use.shown, why)
    return table
