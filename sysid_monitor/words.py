# SPDX-License-Identifier: Apache-2.0
"""What a snapshot says, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_sysid.msg import PayloadBridgeState, PayloadEstimate

from sysid_monitor.graph_view import Snapshot


def margins(snapshot: Snapshot) -> str:
    """How much of each limit the motion uses now, the fullest first."""
    motion = _values(snapshot, "trajectory_executor: motion")
    shares = {k: float(v) for k, v in motion.items() if k != "state"}
    fullest = sorted(shares, key=lambda kind: -shares[kind])
    listed = ", ".join(f"{kind} {shares[kind]:.0%}" for kind in fullest)
    return f"of the limits: {listed}" if listed else ""


def recorded(snapshot: Snapshot) -> str:
    """How long and how large the running recording is."""
    bag = _values(snapshot, "data_logger: state")
    if "path" not in bag:
        return "nothing is being recorded"
    return (
        f"recording {Path(bag['path']).name}: {float(bag['seconds']):.0f} s, {bag['messages']} messages,"
        f" {int(bag['bytes']) / 1e6:.1f} MB"
    )


def _values(snapshot: Snapshot, aspect: str) -> dict[str, str]:
    return next((h.values for h in snapshot.health if h.name == aspect and h.level != "stale"), {})


def payload_state(message: Any) -> str:
    """Name of a running payload's state in words."""
    names = {
        PayloadEstimate.COLLECTING: "collecting samples",
        PayloadEstimate.MASS_KNOWN: "mass known",
        PayloadEstimate.COM_KNOWN: "mass and centre of mass known",
        PayloadEstimate.INERTIA_KNOWN: "inertia known",
        PayloadEstimate.PRIOR_DOMINATED: "prior-dominated: keep moving",
    }
    return names.get(message.state, f"state {message.state}")


def bridge_state(message: Any) -> str:
    """Name of the payload bridge's state in words."""
    names = {
        PayloadBridgeState.IDLE: "nothing is proposed",
        PayloadBridgeState.PROPOSED: "waits for confirmation",
        PayloadBridgeState.SENDING: "sending",
        PayloadBridgeState.SET: "the controller has it",
        PayloadBridgeState.FAILED: "failed",
    }
    return names.get(message.state, f"state {message.state}")
