# SPDX-License-Identifier: Apache-2.0
"""`sysid watch`: shows the state of the running nodes in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sysid_monitor.graph_view import (
    GraphView,
    Snapshot,
    bridge_state,
    margins,
    payload_state,
    recorded,
)

STYLES = {"ok": "green", "warn": "yellow", "error": "bold red", "stale": "dim"}


def watch(namespace: str = "", seconds: float = float("inf")) -> int:
    """Show the state of the nodes until Ctrl-C, or for some time.

    Args:
        namespace: Namespace of the nodes.
        seconds: Duration [s].

    Returns:
        Exit status: 0, or 1 if no node was found or a node reports an error at the end.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = Node("sysid_watch")
    view = GraphView(node, namespace)
    end = time.monotonic() + seconds
    try:
        with Live(page(view.snapshot(), namespace), refresh_per_second=4) as live:
            while time.monotonic() < end:
                rclpy.spin_once(node, timeout_sec=0.1)
                live.update(page(view.snapshot(), namespace))
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 1 if view.snapshot().worst in ("error", "stale") else 0


def page(snapshot: Snapshot, namespace: str = "") -> Any:
    """Return all displays as one renderable of rich; a display that fails is replaced by its error
    message.
    """
    displays = {
        "nodes": lambda: _health(snapshot, namespace),
        "motion": lambda: _motion(snapshot),
        "streams": lambda: _streams(snapshot),
        "payload": lambda: _payload(snapshot),
        "arm": lambda: _arm(snapshot),
        "payload bridge": lambda: _bridge(snapshot),
    }
    parts = [_shown(name, display) for name, display in displays.items()]
    return Group(*(part for part in parts if part is not None))


def _shown(name: str, display: Callable[[], Any]) -> Any:
    try:
        return display()
    except Exception as err:  # of a message that no node of ours sends
        return Text(f"{name} failed: {type(err).__name__}: {err}", style=STYLES["error"])


def _health(snapshot: Snapshot, namespace: str) -> Any:
    table = Table(expand=True, show_edge=False)
    for column in ("node", "state", "what"):
        table.add_column(column, overflow="fold")
    for aspect in snapshot.health:
        style = STYLES[aspect.level]
        table.add_row(
            Text(aspect.name), Text(aspect.level, style=style), Text(aspect.message, style=style)
        )
    if not snapshot.health:
        where = f" in namespace '{namespace}'" if namespace else ""
        return Panel(
            f"No node of robot_sysid was found{where}. Start them with `sysid up`, check"
            " ROS_DOMAIN_ID, and see `sysid doctor`.",
            title="nodes",
        )
    return Panel(table, title="nodes", border_style=STYLES[snapshot.worst])


def _motion(snapshot: Snapshot) -> Any:
    state = snapshot.executor
    if state is None:
        return None
    line = Text(
        f"{state.state}  {state.segment}  {100 * state.progress:.0f} %, {state.time_left:.0f} s left,"
        f" tracking error {state.tracking_error:.3g}  {state.message}\n{margins(snapshot)}"
    )
    return Panel(Group(line, ProgressBar(total=1.0, completed=state.progress)), title="motion")


def _streams(snapshot: Snapshot) -> Any:
    if not snapshot.streams:
        return None
    table = Table(expand=True, show_edge=False)
    for column in ("topic", "rate [Hz]", "late [ms]", "lost", "gaps", "invalid"):
        table.add_column(column, justify="left" if column == "topic" else "right")
    for topic, s in sorted(snapshot.streams.items()):
        style = "red" if s.stale else "yellow" if s.lost or s.invalid else ""
        numbers = (f"{s.rate_hz:.1f}", f"{s.latency_ms:.1f}", s.lost, s.gaps, s.invalid)
        table.add_row(Text(topic), *(str(n) for n in numbers), style=style)
    return Panel(Group(table, Text(recorded(snapshot))), title="streams")


def _payload(snapshot: Snapshot) -> Any:
    if snapshot.payload is None or not snapshot.history:
        return None
    now = snapshot.history[-1]
    com = ", ".join(
        f"{1e3 * c:.1f} ± {2e3 * s:.1f}" for c, s in zip(now.com, now.com_sd, strict=True)
    )
    text = (
        f"mass {now.mass:.4g} ± {2 * now.mass_sd:.2g} kg\ncentre of mass {com} mm (± 2 sd)\n"
        f"{payload_state(snapshot.payload)}. {snapshot.payload.advice}"
    )
    return Panel(Text(text), title=Text(f"payload in {snapshot.payload.header.frame_id}"))


def _arm(snapshot: Snapshot) -> Any:
    message = snapshot.parameters
    if message is None:
        return None
    text = (
        f"{message.method}: {len(message.names)} parameters, rank {message.rank} of"
        f" {message.structural_rank}; "
        + ("physically consistent" if message.physically_consistent else "not consistent")
    )
    return Panel(Text(text), title=Text(f"identified {message.robot}"))


def _bridge(snapshot: Snapshot) -> Any:
    message = snapshot.bridge
    if message is None:
        return None
    text = f"{bridge_state(message)}. {message.message}"
    if message.proposal:
        text += f"\nproposed {message.proposed.m:.4g} kg, id {message.proposal}"
    return Panel(Text(text), title="payload to the controller")
