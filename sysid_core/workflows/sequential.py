# SPDX-License-Identifier: Apache-2.0
"""Identification of open chains, one joint at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sysid_core.estimation.arm import ArmLags, Identification, PredictionSpread
from sysid_core.estimation.arm_fit import FitSettings, processing_of
from sysid_core.estimation.loaded_arm import LoadedIdentification
from sysid_core.estimation.sequential import (
    SequentialIdentification,
    SequentialLeastSquares,
    identify_sequentially,
)
from sysid_core.progress import Progress, Step, silent
from sysid_core.report import Report, sequential_report, step_rows
from sysid_core.validation import Prediction
from sysid_core.workflows.arm_data import ArmData


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """Result of a sequential identification.

    Attributes:
        result: The identification with steps and segments.
    """

    result: SequentialIdentification
    loaded: LoadedIdentification | None = None
    lags: ArmLags | None = None
    spread: PredictionSpread | None = None

    @property
    def identification(self) -> Identification:
        """Identified robot model."""
        return self.result.identification

    def report(self, validation: Sequence[Prediction]) -> Report:
        """Report with verdicts, predictions, steps and growth of the error."""
        return sequential_report(self.result, validation)

    def to_dict(self) -> dict[str, object]:
        """Result as plain data for result.json."""
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
        found = {
            "steps": [dict(zip(keys, row, strict=True)) for row in step_rows(fit)],
            "constants": dict(zip(fit.constants, fit.values.tolist(), strict=True)),
            "constants_sd": dict(zip(fit.constants, fit.standard_deviations.tolist(), strict=True)),
            "segments": len(self.result.segments),
        }
        return {"sequential": found}


def fit_sequentially(
    data: ArmData, settings: FitSettings, progress: Progress = silent
) -> SequentialFit:
    """Identify the robot one joint at a time.

    Args:
        data: Robot and recordings.
        settings: Rates and cut-offs.
        progress: Shows steps.

    Raises:
        EstimationError: The motion isn't exciting, or no joint moves alone.
        SignalError: The recording can't be used.
    """
    processing = processing_of(settings)
    estimator = SequentialLeastSquares.of_arm(data.model, data.runs, data.unexcited)
    progress(Step.FITTING)
    result = identify_sequentially(
        data.model, list(data.runs), data.friction, estimator, processing, trajectory=data.plan
    )
    return SequentialFit(result)
