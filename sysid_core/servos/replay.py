# SPDX-License-Identifier: Apache-2.0
"""Open-loop replay: how far a model stays from recorded motions, beside "the position is the command"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.servos.bodies import Array
from sysid_core.servos.model import ServoModel
from sysid_core.servos.recording import ServoRecording, match_joints


@dataclass(frozen=True)
class Replay:
    """A motion beside its simulation.

    Attributes:
        recording: The motion, its columns in the model's order.
        q: Simulated positions, shape (K, n) [rad].
    """

    recording: ServoRecording
    q: Array

    @property
    def rms(self) -> Array:
        """Error of each joint, root mean square, shape (n,) [rad]."""
        return np.asarray(np.sqrt(np.mean((self.q - self.recording.q) ** 2, axis=0)))

    @property
    def command_rms(self) -> Array:
        """What the last command misses, shape (n,) [rad]."""
        r = self.recording
        last = np.maximum(np.searchsorted(r.t_target, r.t, side="right") - 1, 0)
        return np.asarray(np.sqrt(np.mean((r.target[last] - r.q) ** 2, axis=0)))


def replay(model: ServoModel, recordings: Iterable[ServoRecording]) -> tuple[Replay, ...]:
    """Simulate motions from their first position with their commands alone.

    Raises:
        SignalError: A motion has other joints than the model.
    """
    out = []
    for recording in recordings:
        matched = match_joints(recording, model.robot)
        if matched.joints != model.joints:
            if not set(model.joints) <= set(matched.joints):
                raise SignalError(
                    f"'{recording.name}' has the joints {list(matched.joints)}, the model"
                    f" {list(model.joints)}.",
                    remedy="Give motions of the same joints.",
                )
            columns = [matched.joints.index(joint) for joint in model.joints]
            matched = matched.of_joints(columns, model.joints)
        r = matched
        out.append(Replay(r, model.simulate(r.t_target, r.target, r.t, r.q[0])))
    return tuple(out)


def overall(values: Iterable[Array], seconds: Iterable[float]) -> float:
    """Root mean square over motions, each weighted by its time."""
    squares = [np.mean(np.square(x)) for x in values]
    return float(np.sqrt(np.average(squares, weights=list(seconds))))
