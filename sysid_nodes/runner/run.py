# SPDX-License-Identifier: Apache-2.0
"""Complete experiment: check the motion, play it slowly, play and record it, then identify or
weigh.

The runner's action and `sysid run` both call this function, each with its own way of commanding the
nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from robot_sysid.msg import PayloadEstimate

from sysid_core.errors import SysIdError
from sysid_nodes.conversions import ns_from_stamp

SETTLED_S = 2.0  # a constant payload estimate for so long is final; a running one changes at 10 Hz
ONLY_RECORD = "none"  # method
PATIENCE_S = 60.0  # for a new sample or a constant payload after the motion, on a busy machine


class Graph(Protocol):
    """Interface to the nodes of a robot in an experiment; each operation raises an error if it
    fails.
    """

    def now_ns(self) -> int:
        """Return the current time of the nodes' clock [ns]."""

    async def check(self) -> None:
        """Check the motion without playing it."""

    async def play(self, step: str, speed_scale: float) -> None:
        """Play the motion at a fraction of its speed."""

    async def start_recording(self) -> str:
        """Start a bag and return its path."""

    async def stop_recording(self) -> None:
        """Close the current bag."""

    async def payload(self, is_final: Callable[[PayloadEstimate | None], bool]) -> bool:
        """Wait until the newest message of the running payload is final; False on timeout."""

    async def save(self) -> str:
        """Save the payload estimate and return the path of its file."""

    async def identify(self, recording: str, method: str) -> Any:
        """Request an identification by `~/identify` and return its result."""


@dataclass(frozen=True)
class ExperimentResult:
    """Result of an experiment.

    Attributes:
        payload: Estimated payload; None if there is none.
        identified: Result of the action `~/identify`; None if the robot was not identified.
        saved: Path of the payload estimate or of the report; "" if the motion was only recorded.
    """

    payload: PayloadEstimate | None = None
    identified: Any = None
    saved: str = ""

    def __str__(self) -> str:
        """Result in one or two sentences."""
        if self.payload is None:
            return (
                "Nothing was estimated."
                if self.identified is None
                else str(self.identified.message)
            )
        found = self.payload
        mass = f"{found.inertia.m:.4f} ± {2 * found.inertia_sd.m:.4f} kg (2 sd)"
        return f"{mass} in frame '{found.header.frame_id}'. {found.advice}"


async def run_experiment(
    graph: Graph,
    *,
    slow: float,
    method: str,
    confirmed: Callable[[], bool] = lambda: True,
    settled_s: float = SETTLED_S,
) -> ExperimentResult | None:
    """Run the experiment. Without a confirmation after the checks, nothing moves and the result is
    None.

    Args:
        graph: Interface to the nodes.
        slow: Speed of a first pass as a fraction of the planned speed, below 1; 0: no first pass.
        method: "payload" to weigh the load on the sensor; "none" only to record; otherwise the
            estimator of the robot.
        confirmed: Function that asks a person before anything moves.
        settled_s: Time for which a payload must be constant to be final [s].

    Raises:
        SysIdError: A check fails, the motion is aborted, or there is no result.
    """
    if not 0.0 <= slow < 1.0:
        raise SysIdError(
            f"A first pass at {slow:g} times the planned speed is not slow.",
            remedy="Give a value below 1, such as 0.3, or 0 for no first pass.",
        )
    await graph.check()
    if not confirmed():
        return None
    if slow:
        await graph.play("first pass", slow)
    began_ns = graph.now_ns()
    recording = await graph.start_recording()
    try:
        await graph.play("playing", 1.0)
    finally:
        await graph.stop_recording()
    if method == ONLY_RECORD:
        return ExperimentResult()
    if method != "payload":
        found = await graph.identify(recording, method)
        return ExperimentResult(identified=found, saved=found.report)
    settled, used = Settled(began_ns, settled_s), 0
    while not await graph.payload(settled):
        if settled.samples_used == used:
            raise SysIdError(
                "No payload was estimated.",
                remedy="Check the estimator's sensor_frame and shape, and that the wrench arrives. See its log; `sysid payload` reads the bag."
                "",
            )
        used = settled.samples_used  # an estimator that is still catching up gets more time
    return ExperimentResult(payload=settled.first, saved=await graph.save())


class Settled:
    """Test whether a payload estimate stays constant over several messages.

    Missing messages do not count as constant, because a busy estimator publishes nothing.

    Args:
        began_ns: Time before which messages are ignored [ns].
        settled_s: Time for which the value must stay the same [s].
    """

    def __init__(self, began_ns: int, settled_s: float) -> None:
        self.first: PayloadEstimate | None = None
        self._began_ns, self._settled_ns = began_ns, settled_s * 1e9

    @property
    def samples_used(self) -> int:
        """Number of samples in the newest estimate; 0 without an estimate."""
        return 0 if self.first is None else int(self.first.samples_used)

    def __call__(self, latest: PayloadEstimate | None) -> bool:
        """Return True if the estimate has been constant up to the newest message."""
        if latest is None or ns_from_stamp(latest.header.stamp) < self._began_ns:
            return False
        if self.first is None or latest.samples_used != self.first.samples_used:
            self.first = latest
        apart = ns_from_stamp(latest.header.stamp) - ns_from_stamp(self.first.header.stamp)
        return bool(apart >= self._settled_ns)
