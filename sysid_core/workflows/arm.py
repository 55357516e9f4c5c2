# SPDX-License-Identifier: Apache-2.0
"""Identification of all joints at once, with settings chosen by cross-validation within the
recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import ModelError, SignalError
from sysid_core.estimation.arm import (
    ENOUGH,
    NO_PRIOR,
    ArmEquations,
    ArmLags,
    Estimator,
    Identification,
    PredictionSpread,
    Processing,
    choose_differentiation,
    choose_motion_cutoff,
    choose_prior_weight,
    choose_terms,
    identify_equations,
    lowered_prior_weight,
    prediction_spread,
    term_benefits,
    torque_lags,
)
from sysid_core.estimation.fit import LeastSquares
from sysid_core.estimation.loaded_arm import (
    KnownLoad,
    LoadedIdentification,
    identify_with_load,
    with_gains,
)
from sysid_core.estimation.payload import summarise_payload
from sysid_core.files import FileKind, read_yaml, write_yaml
from sysid_core.progress import Progress, Step, silent
from sysid_core.report import Report, identification_report
from sysid_core.robot import FrictionTerm
from sysid_core.signals import COLUMNS_SCHEMA, Recording
from sysid_core.validation import Prediction
from sysid_core.workflows.arm_data import ArmData
from sysid_core.workflows.choices import estimator_from, processing_of
from sysid_core.workflows.settings import WITH_PRIOR, FitSettings

MOST_TRIED = 100_000  # samples: some seconds of CPU
# While terms are chosen, the prior only keeps what the blocks don't show from running away.
SELECTION_PRIOR = 100.0
# Torque waves turn faster than a lower low-pass of regressor and torque lets through.
WAVES_HZ = 20.0


def load_dict(found: LoadedIdentification) -> dict[str, object]:
    """Gains and load as plain data for result.json."""
    load = summarise_payload(found.payload)
    return {
        "drive_gains": {
            joint: {"gain": float(gain), "sd": float(sd)}
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        },
        "load": {
            "mass": load.mass,
            "com": load.com.tolist(),
            "com_sd": load.com_sd.tolist(),
            "inertia": load.inertia.tolist(),
            "inertia_sd": load.inertia_sd.tolist(),
        },
    }


def load_section(report: Report, found: LoadedIdentification, load: KnownLoad) -> None:
    """Report section with gains and load."""
    report.heading("Drive gains, by the known load")
    report.table(
        ["joint", "gain", "standard deviation"],
        [
            [joint, float(gain), float(sd)]
            for joint, gain, sd in zip(
                found.identification.model.joint_names,
                found.gains.gains,
                found.gains.sd,
                strict=True,
            )
        ],
        f"Joint torque per unit of effort [N m/A for currents], from {load.mass:g} kg at"
        f" {load.frame}; the deviations of all parameters above include those of the gains",
    )
    summary = summarise_payload(found.payload)
    rows = [
        [f"centre of mass {axis}", float(c), float(sd), "m"]
        for axis, c, sd in zip("xyz", summary.com, summary.com_sd, strict=True)
    ]
    rows += [
        [
            f"I{a}{b} about the centre of mass",
            float(summary.inertia[i, j]),
            float(summary.inertia_sd[i, j]),
            "kg m²",
        ]
        for i, a in enumerate("xyz")
        for j, b in enumerate("xyz")
        if i <= j
    ]
    report.table(["load", "value", "standard deviation", "unit"], rows, f"in {load.frame}")


def write_columns(
    columns: Path | None, loaded: LoadedIdentification, run: Recording, path: Path
) -> None:
    """Write a column map with the estimated gains, for further recordings of this robot.

    Args:
        columns: The user's column map, if any.
        loaded: With the gains and their deviations.
        run: Where there was no map, what it says of joints and efforts is written.
        path: Path of the new map.
    """
    drives = loaded.identification.friction.drives
    if columns is None:
        raw: dict[str, Any] = {
            "schema": COLUMNS_SCHEMA,
            "joints": list(drives.joint_names),
            "effort": {"kind": run.joints.effort_kind.value},
        }
    else:
        raw = read_yaml(columns, FileKind("column map", "Check the path.", SignalError))
    section = dict(raw.get("drives") or {})
    old = section.get("gain")
    found = dict(zip(drives.joint_names, drives.gains.tolist(), strict=True))
    before = old if isinstance(old, list) else [1.0] * len(raw["joints"])
    section["gain"] = [
        found.get(joint, gain) for joint, gain in zip(raw["joints"], before, strict=True)
    ]
    sd = dict(zip(drives.joint_names, (loaded.gains.sd / drives.gains).tolist(), strict=True))
    section["gain_sd"] = [min(abs(sd.get(joint, 0.0)), 0.99) for joint in raw["joints"]]
    section["source"] = f"sysid identify --loaded, {loaded.identification.estimate.source}"
    head = "# With the drive gains that `sysid identify --loaded` found.\n"
    write_yaml(path, {**raw, "drives": section}, head=head)


@dataclass(frozen=True, eq=False)
class ArmFit:
    """Identification with settings that were chosen by cross-validation within the recordings.

    Attributes:
        identification: The result.
        lags: Estimated delays of the efforts.
        prior_weight: In use; None where the method has no prior.
        benefits: What each friction term buys on held-out blocks.
        load: Known load, if any.
        loaded: The result with its drive gains and load; None without loaded runs.
        spread: Whether the recordings determine the torques of other motions.
        differentiations: Held-out error of each way to differentiate, where several were tried.
    """

    identification: Identification
    lags: ArmLags
    prior_weight: float | None
    benefits: Mapping[str, Mapping[str, float]]
    load: KnownLoad | None = None
    loaded: LoadedIdentification | None = None
    spread: PredictionSpread | None = None
    differentiations: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Identification as plain data for result.json."""
        return {
            "delay": self.lags.common.seconds,
            "delay_sd": self.lags.common.sd,
            "joint_delays": {lag.joint: [lag.seconds, lag.sd] for lag in self.lags.joints},
            "delay_corrected": self.identification.processing.delay,
            "prior_weight": self.prior_weight,
            "differentiate": self.identification.processing.differentiate.value,
            "differentiate_errors": dict(self.differentiations),
            **({} if self.spread is None else {"prediction_spread": asdict(self.spread)}),
            "term_benefits": {term: dict(rises) for term, rises in self.benefits.items()},
            **({} if self.loaded is None else load_dict(self.loaded)),
        }

    def report(self, training: Sequence[Prediction], validation: Sequence[Prediction]) -> Report:
        """Report of the identification, without a verdict."""
        report = identification_report(
            self.identification, training, validation, self.benefits, self.lags.common
        )
        if self.loaded is not None and self.load is not None:
            load_section(report, self.loaded, self.load)
        return report


def fit_arm(data: ArmData, settings: FitSettings, progress: Progress = silent) -> ArmFit:
    """Choose the open settings, and identify the robot.

    Args:
        data: Robot and recordings.
        settings: What isn't left open. Positions alone or splines may replace measured velocities
            where neither cut-off nor way to differentiate is given, and the recordings have no more
            than `MOST_TRIED` samples.
        progress: Shows steps.

    Raises:
        EstimationError: The recordings don't determine what is asked.
    """

    def estimator(weight: float | None) -> Estimator:
        return estimator_from(settings.method, settings.fix, weight or 1.0, settings.prior_sd)

    estimator(1.0)  # refuses settings that don't go together before the work begins
    if settings.method in WITH_PRIOR and not np.any(data.model.pi[:, 0] > 0.0):
        raise ModelError(
            f"No link of '{data.model.name}' has a mass: method {settings.method} stays close to"
            " the masses of the description if the motion does not determine them.",
            remedy="Give the links rough <inertial> elements, or use --method ols.",
        )
    load = data.load
    processing, lags = processing_of(settings), None
    if load is None:
        # First of all: what smooths the motion, or lags behind reversals, would explain a delay.
        progress(Step.DELAY)
        lags = torque_lags(ArmEquations.build(data.model, data.runs, data.friction, processing))
        if settings.delay == "auto" and lags.common.worth_correcting:
            processing = replace(processing, delay=lags.common.seconds)
    equations, differentiations = _equations(data, settings, processing, progress)
    processing = equations.processing
    carrying = (
        ArmEquations.build(data.model, data.loaded, data.friction, processing) if load else None
    )
    if load and carrying:
        progress(Step.GAINS)
        equations, carrying = _with_gains_of_load(equations, carrying, load)
    if lags is None:  # the load gives the gains, without which torques can't be compared
        lags = torque_lags(equations)
        if settings.delay == "auto" and lags.common.worth_correcting:
            equations = equations.with_delay(lags.common.seconds)
    if settings.friction == "auto":
        progress(Step.FRICTION)
        equations = _with_chosen_terms(equations)
    weight = _prior_weight(equations, settings, load is not None, estimator, progress)
    progress(Step.FITTING)
    together = None
    if load and carrying:
        carrying = carrying.with_friction(equations.friction)
        carrying = carrying.with_delay(equations.processing.delay)
        together = identify_with_load(equations, carrying, load, estimator(weight))
        result, equations = together.identification, with_gains(equations, together.gains.gains)
    else:
        result = identify_equations(equations, estimator(weight))
    few = equations.spread(ENOUGH)
    progress(Step.BENEFITS)
    benefits = term_benefits(few, prior_weight=weight or 1.0)
    progress(Step.SPREAD)
    spread = prediction_spread(few, result.parameters, weight or NO_PRIOR, fixed=settings.fix)
    return ArmFit(result, lags, weight, benefits, load, together, spread, differentiations)


def _equations(
    data: ArmData, settings: FitSettings, processing: Processing, progress: Progress
) -> tuple[ArmEquations, dict[str, float]]:
    """Equations with the given smoothing of the motion, or with what predicts best.

    Returns:
        The equations, and the errors of all ways to differentiate where several were tried.
    """
    open_cutoff = not settings.motion_cutoff_hz
    progress(Step.BUILDING)
    if open_cutoff and settings.differentiate != "spline":
        progress(Step.CUTOFF)
        equations, _ = choose_motion_cutoff(data.model, data.runs, data.friction, processing)
    else:
        equations = ArmEquations.build(data.model, data.runs, data.friction, processing)
    samples = sum(len(run.joints) for run in data.runs)
    if not (open_cutoff and settings.differentiate == "auto" and samples <= MOST_TRIED):
        return equations, {}
    progress(Step.DIFFERENTIATION)
    return choose_differentiation(equations, data.runs)


def _with_gains_of_load(
    equations: ArmEquations, carrying: ArmEquations, load: KnownLoad
) -> tuple[ArmEquations, ArmEquations]:
    """Both data with the drives' gains that the known load gives."""
    gains = identify_with_load(equations, carrying, load, LeastSquares("joint")).gains.gains
    return with_gains(equations, gains), with_gains(carrying, gains)


def _prior_weight(
    equations: ArmEquations,
    settings: FitSettings,
    loaded: bool,
    estimator: Callable[[float | None], Estimator],
    progress: Progress,
) -> float | None:
    """The weight of the prior: as given, or chosen where 0 was given; None: there is no prior."""
    if settings.method not in WITH_PRIOR:
        return None
    if settings.prior_weight > 0.0:
        return settings.prior_weight
    if loaded:
        return 1.0  # the load's mass is to scale the torques, not the URDF's masses
    progress(Step.PRIOR)
    few = equations.spread(ENOUGH)
    return lowered_prior_weight(few, choose_prior_weight(few)[0], estimator)


def _with_chosen_terms(equations: ArmEquations) -> ArmEquations:
    drives = equations.friction.drives
    waves = equations.processing.torque_cutoff_hz >= WAVES_HZ
    candidates = [
        term for term in FrictionTerm if not term.waves or (waves and drives.waves.get(term.value))
    ]
    return equations.with_friction(
        choose_terms(equations.spread(ENOUGH), candidates, prior_weight=SELECTION_PRIOR)[0]
    )
