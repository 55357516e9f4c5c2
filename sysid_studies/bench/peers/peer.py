# SPDX-License-Identifier: Apache-2.0
"""Interface to other identification packages, which are all evaluated in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from sysid_core.estimation.arm import Processing
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording


@dataclass(frozen=True, eq=False)
class PeerFit:
    """Robot identified by another package.

    Attributes:
        model: Robot model.
        processing: Cut-off frequencies of its filters.
        efforts: Function that returns the predicted efforts at the stamps of a recording, in its
            unit, shape (K, n); NaN without a prediction.
        physically_consistent: True if every body is physically consistent; None if the package does
            not identify bodies.
    """

    model: RobotModel
    processing: Processing
    efforts: Callable[[Recording], Array]
    physically_consistent: bool | None = None

    def predict_beside_nominal(self, recording: Recording) -> tuple[Array, None]:
        """Return the predicted efforts, shape (K, n); efforts of a nominal model are not available."""
        return self.efforts(recording), None

    def reaction(self, recording: Recording) -> None:
        """Return None: these packages know no reaction of controllers."""


@dataclass(frozen=True)
class Peer:
    """Other identification package.

    Attributes:
        name: Name in the rows, and of the module of this folder that runs the package.
        says: Description of the package in one line.
        packages: Required packages, installed by `pip install "robot_sysid[peers]"`.
    """

    name: str
    says: str
    packages: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """True if the package and its dependencies are installed."""
        return all(find_spec(package) for package in self.packages)

    def fit(
        self, model: RobotModel, recordings: Sequence[Recording], drives: DriveTrain
    ) -> PeerFit:
        """Identify the robot from recordings with the methods of the package."""
        found: PeerFit = import_module(f"sysid_studies.bench.peers.{self.name}").fit(
            model, recordings, drives
        )
        return found


PEERS = (
    Peer(
        "figaroh",
        "figaroh: base parameters by weighted least squares, its own filters and differences",
        ("figaroh",),
    ),
    Peer(
        "mujoco_sysid",
        "mujoco.sysid: pseudo-inertias by its optimiser, MuJoCo's inverse dynamics",
        ("absl", "tabulate"),
    ),
)
