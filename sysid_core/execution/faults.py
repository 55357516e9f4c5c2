# SPDX-License-Identifier: Apache-2.0
"""Reasons for refusing or stopping a run: codes with data, and one table of their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sysid_core.settings import Kind


class FaultCode(Kind):
    """Code of a fault. The texts never change, because users search diagnostics and logs for them."""

    CANCELLED = "cancelled"
    SHUTDOWN = "executor_ends"
    SAFETY_INPUT = "safety_input"
    PAUSED = "robot_paused"
    DROPPED = "controller_dropped_motion"
    UNSAFE = "motion_refused"
    MOVES = "robot_moves_before_start"
    NOT_AT_REST = "robot_does_not_rest"
    NO_CLOCK = "clock_without_time"
    CLOCK_JUMP = "clock_jump"
    STATE_BACKWARDS = "state_before_the_last"
    STATE_FUTURE = "state_from_the_future"
    STATE_STALE = "state_stale"
    NO_STATE = "no_state"
    JOINTS_MISSING = "joints_missing"
    JOINTS_MALFORMED = "joints_malformed"
    NOT_FINITE = "measured_not_finite"
    WRENCH_STALE = "wrench_stale"
    WRENCH_MALFORMED = "wrench_malformed"
    POSITION = "position_limit"
    VELOCITY = "velocity_limit"
    EFFORT = "effort_limit"
    TRACKING_ERROR = "tracking_error"
    TCP_SPEED = "tcp_speed_limit"
    FORCE = "force_limit"
    TORQUE = "torque_limit"


_OUTSIDE = "{kind} of {joint} is {value:.4g}, outside [{lower:.4g}, {upper:.4g}]"
TEXTS: Mapping[FaultCode, str] = {
    FaultCode.CANCELLED: "cancelled by the operator",
    FaultCode.SHUTDOWN: "the executor stops",
    FaultCode.SAFETY_INPUT: "{text}",
    FaultCode.PAUSED: "the robot is paused: its speed scaling is {percent:.3g} % (or its topic gives a"
    " share from 0 to 1 instead of per cent)",
    FaultCode.DROPPED: "{text}",
    FaultCode.UNSAFE: "refused: {text}",
    FaultCode.MOVES: "refused: {joints} are moving, at up to {speed:.2g} rad/s or m/s: see"
    " rest_velocity",
    FaultCode.NOT_AT_REST: "the robot does not come to rest: {distance:.3g} rad from its goal after"
    " {seconds:g} s, moving at {speed:.2g} rad/s or m/s: see rest_velocity",
    FaultCode.NO_CLOCK: "the clock returns no time",
    FaultCode.CLOCK_JUMP: "clock jump of {seconds:.3f} s, or this process stalled for so long (a"
    " busy machine): see max_step_s",
    FaultCode.STATE_BACKWARDS: "clock jump: a state is {seconds:.3f} s older than the last",
    FaultCode.STATE_FUTURE: "clock jump: a state is {seconds:.3f} s in the future",
    FaultCode.STATE_STALE: "stale state: the newest is {seconds:.3f} s old",
    FaultCode.NO_STATE: "no joint state has arrived",
    FaultCode.JOINTS_MISSING: "wrong joint set: {joints} are missing from the measured state",
    FaultCode.JOINTS_MALFORMED: "wrong joint set: names, positions, velocities and efforts differ in number,"
    " or a joint occurs twice",
    FaultCode.NOT_FINITE: "NaN or infinite value in the measured {kind}",
    FaultCode.WRENCH_STALE: "stale wrench: the newest is {seconds:.3f} s old, so that forces aren't"
    " watched; is the sensor's driver running?",
    FaultCode.WRENCH_MALFORMED: "the wrench has {count} components instead of 6",
    FaultCode.POSITION: _OUTSIDE,
    FaultCode.VELOCITY: _OUTSIDE,
    FaultCode.EFFORT: _OUTSIDE,
    FaultCode.TRACKING_ERROR: _OUTSIDE,
    FaultCode.TCP_SPEED: "TCP speed is {value:.3f} m/s, limit {upper:.3f}",
    FaultCode.FORCE: "wrench: force is {value:.1f} N, limit {upper:.1f}",
    FaultCode.TORQUE: "wrench: torque is {value:.1f} N m, limit {upper:.1f}",
}
_WITHOUT_CLOCK = frozenset(
    (
        FaultCode.NO_CLOCK,
        FaultCode.CLOCK_JUMP,
        FaultCode.STATE_BACKWARDS,
        FaultCode.STATE_FUTURE,
    )
)
_LATE = (_WITHOUT_CLOCK - {FaultCode.NO_CLOCK}) | {FaultCode.STATE_STALE, FaultCode.WRENCH_STALE}
_LIMITS = frozenset(
    (
        FaultCode.POSITION,
        FaultCode.VELOCITY,
        FaultCode.EFFORT,
        FaultCode.TRACKING_ERROR,
        FaultCode.TCP_SPEED,
        FaultCode.FORCE,
        FaultCode.TORQUE,
    )
)


@dataclass(frozen=True)
class Fault:
    """Reason why a run ended early; its text is for display only.

    Attributes:
        code: Kind of fault.
        data: Numbers and names for the fault's text in `TEXTS`.
    """

    code: FaultCode
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def without_clock(self) -> bool:
        """True if time stamps are no longer reliable."""
        return self.code in _WITHOUT_CLOCK

    @property
    def late(self) -> bool:
        """True if messages or steps were late, or clocks differ."""
        return self.code in _LATE

    @property
    def exceeds(self) -> bool:
        """True if a measured quantity exceeded its limit."""
        return self.code in _LIMITS

    def __str__(self) -> str:
        """Return a sentence that describes the fault."""
        return TEXTS[self.code].format(**self.data)
