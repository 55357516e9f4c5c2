# SPDX-License-Identifier: Apache-2.0
"""A sequential identification from recording to report, as one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Identification, Processing, identify
from sysid_core.estimation.fit import LeastSquares
from sysid_core.estimation.sequential import (
    LockedTorque,
    SequentialIdentification,
    SequentialLeastSquares,
    Unexcited,
    identify_sequentially,
)
from sysid_core.identifiability.composite_bodies import minimal_constants
from sysid_core.identifiability.rpna import with_exact_angles
from sysid_core.planning import Trajectory
from sysid_core.report import Report, sequential_report, step_rows
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, Recording
from sysid_core.validation import Prediction, predict_recording


@dataclass(frozen=True, eq=False)
class SequentialRun:
    """A sequential identification, its predictions, and rivals on the same runs.

    Attributes:
        result: The identification with steps and segments.
        validation: Predictions of other runs.
        rivals: Predictions of the same other runs by other estimates, by name.
    """

    result: SequentialIdentification
    validation: tuple[Prediction, ...]
    rivals: Mapping[str, tuple[Prediction, ...]]

    @property
    def estimate(self) -> Estimate:
        """In base parameters, as from every other estimator."""
        return self.result.fit.estimate

    @property
    def identification(self) -> Identification:
        """The identified robot."""
        return self.result.identification

    def report(self) -> Report:
        """The page: verdicts, predictions, steps, growth of the error, rivals."""
        return sequential_report(self.result, self.validation, self.rivals)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        fit = self.result.fit
        keys = (
            "joint",
            "samples",
            "settled",
            "postponed",
            "condition",
            "residual_rms",
            "variance_from_other_steps",
            "sd_against_all_at_once",
        )
        return {
            "steps": [dict(zip(keys, row, strict=True)) for row in step_rows(fit)],
            "constants": dict(zip(fit.constants, fit.values.tolist(), strict=True)),
            "constants_sd": dict(zip(fit.constants, fit.standard_deviations.tolist(), strict=True)),
            "segments": len(self.result.segments),
            "validation": [p.to_dict() for p in self.validation],
            "rivals": {name: [p.to_dict() for p in runs] for name, runs in self.rivals.items()},
        }


def run_sequential(
    recordings: Recording | Sequence[Recording],
    trajectory: Trajectory | None,
    model: RobotModel,
    *,
    friction: FrictionModel | None = None,
    validation: Sequence[Recording] = (),
    at_once: Sequence[Recording] = (),
    unexcited: Unexcited | str = Unexcited.REFUSE,
    processing: Processing | None = None,
) -> SequentialRun:
    """Identify one joint at a time, predict other runs, and compare with all joints at once.

    Args:
        recordings: Recordings of the sequential motion.
        trajectory: The plan that was played; None where there was none.
        model: The robot as its URDF describes it.
        friction: Terms and drives; default: the usual ones, efforts are torques.
        validation: Runs that are not fitted.
        at_once: Runs that the rival, ordinary least squares over all joints, is fitted to; empty:
            no rival.
        unexcited: What happens to constants that no step shows.
        processing: Rates and cut-offs.

    Raises:
        EstimationError: The motion isn't exciting, or no joint moves alone.
        SignalError: The recording can't be used.
    """
    runs = [recordings] if isinstance(recordings, Recording) else list(recordings)
    friction = friction or FrictionModel(DriveTrain.direct(model.joint_names))
    estimator = SequentialLeastSquares(
        minimal_constants(with_exact_angles(model)[0]),
        locked=locked_torque_of(runs),
        unexcited=unexcited,
    )
    result = identify_sequentially(
        model, runs, friction, estimator, processing, trajectory=trajectory
    )
    rivals = {}
    if at_once and validation:
        rival = identify(model, at_once, friction, LeastSquares(), processing)
        rivals["all joints at once (OLS)"] = tuple(
            predict_recording(rival, run) for run in validation
        )
    return SequentialRun(
        result=result,
        validation=tuple(predict_recording(result.identification, run) for run in validation),
        rivals=rivals,
    )


def locked_torque_of(recordings: Sequence[Recording]) -> LockedTorque:
    """Torques of joints at standstill count only where all were measured behind the gears."""
    behind = all(run.joints.effort_kind is EffortKind.LINK_TORQUE for run in recordings)
    return LockedTorque.MEASURED if behind else LockedTorque.HIDDEN
