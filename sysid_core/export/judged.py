# SPDX-License-Identifier: Apache-2.0
"""Accuracy of exported files: held-out prediction errors of the identified and of the exported
model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import Identification
from sysid_core.export.geometry import MeshFolder
from sysid_core.export.projection import Projections, Target, projections
from sysid_core.export.urdf import UrdfReader, remarks_on, urdf_of, with_meshes
from sysid_core.reasons import Reason
from sysid_core.robot import Array, DriveTrain, is_physically_consistent
from sysid_core.robot.loops import DrivenRobot
from sysid_core.signals import Recording
from sysid_core.validation import Prediction

# Largest errors over those inside that pass without a warning. Goals of the exporter: 1.1 where the
# target holds all terms, or with what it lacks explained; 2 where terms are lost.
LOSING = 2.0
UNEXPLAINED = 1.1

Torques = Callable[[Array, Array, Array], Array]  # q, v, a of (K, n) to (K, n)


@dataclass(frozen=True)
class ExportedError:
    """Prediction errors of one exported file, relative to the efforts and over all recordings.

    Attributes:
        target: Format of the file.
        inside: Relative error of the identified model [-].
        exported: Relative error of the written file, as read by other software [-].
        held_out: True if the recordings were not used in the fit.
        costs: Reduction of the error if a missing term were present, for each term the format
            lacks.
        lost: Reduction of the relative error if all missing terms were present [-]; terms can
            partly replace each other.
        joints: Errors of the model and of the exported file, by joint name [unit of the efforts].
    """

    target: Target
    inside: float
    exported: float
    held_out: bool
    costs: Mapping[str, float]
    lost: float
    joints: Mapping[str, tuple[float, float]]

    @property
    def rise(self) -> float:
        """Ratio of the exported file's prediction error to that of the identified model."""
        return self._over(self.inside)

    @property
    def unexplained_rise(self) -> float:
        """Ratio of the exported file's error to the error that the model and the lost terms
        explain.

        The remaining error is due to the friction at standstill in the simulator, or to wrongly
        fitted or written terms.
        """
        return self._over(self.inside + max(self.lost, 0.0))

    def _over(self, error: float) -> float:
        return self.exported / error if error > 0.0 else float(self.exported > 0.0)

    @property
    def unexplained(self) -> bool:
        """True if the lost terms do not explain the larger error, so that another fault is likely."""
        return self.unexplained_rise > UNEXPLAINED

    @property
    def worth_a_warning(self) -> bool:
        """True if the export causes a larger error than the identification, or is faulty."""
        return self.rise > LOSING or self.unexplained

    @property
    def stated_costs(self) -> str:
        """Lost terms with the increase of the error due to each, in decreasing order, and of all
        together.
        """
        shown = [name for name, cost in self.costs.items() if abs(cost) >= 5e-5]  # 0.01 % in print
        shown.sort(key=lambda name: -self.costs[name])
        costs = [f"{name} {100.0 * self.costs[name]:+.2f} %" for name in shown]
        together = [f"all {100.0 * self.lost:+.2f} %"] if len(shown) > 1 else []
        return ", ".join(costs + together)

    def warnings(self, file: str) -> tuple[Reason, ...]:
        """Return the warning about a larger or unexplained error of the file; empty if there is
        none.

        Args:
            file: Name of the file for the warning.
        """
        if not self.worth_a_warning:
            return ()
        sizes = {
            "inside": 100.0 * self.inside,
            "exported": 100.0 * self.exported,
            "rise": self.rise,
        }
        if self.unexplained:
            more = {"unexplained": self.unexplained_rise}
            return (Reason.warning("export-differs", file=file, **sizes, **more),)
        return (Reason.warning("export-loses", file=file, **sizes, lost=self.stated_costs),)

    def to_dict(self) -> dict[str, object]:
        """Return the errors as plain data for result.json and proof.json."""
        return {
            "target": self.target.value,
            "inside": self.inside,
            "exported": self.exported,
            "rise": self.rise,
            "unexplained_rise": self.unexplained_rise,
            "warning": self.worth_a_warning,
            "held_out": self.held_out,
            "lost": self.lost,
            "lost_terms": dict(self.costs),
            "joints": {
                name: {"rms_inside": own, "rms_exported": theirs}
                for name, (own, theirs) in self.joints.items()
            },
        }


def judge_export(
    identification: Identification,
    target: Target,
    torques: Torques,
    runs: Sequence[Recording],
    predictions: Sequence[Prediction],
    *,
    held_out: bool,
    projections: Projections,
) -> ExportedError:
    """Compare the errors of the exported and the identified robot.

    Args:
        identification: Identified robot.
        target: Format of the file.
        torques: Function that returns the torques of a motion according to the reader of the file.
        runs: Runs to be predicted.
        predictions: Predictions of the identified robot, one for each run.
        held_out: True if these runs were not fitted.
        projections: Model with the terms of the format, and models with the lost terms restored.

    Raises:
        EstimationError: There are no runs.
    """
    if not runs:
        raise EstimationError(
            "No recording is available to evaluate the export.", remedy="Give a recording."
        )
    robot, given_back = projections.robot, projections.given_back
    meant_and_rivals = [robot, projections.whole, *given_back.values()]

    def models(q: Array, v: Array, a: Array) -> list[Array]:
        return [torques(q, v, a), *(one.torques(q, v, a) for one in meant_and_rivals)]

    drives = identification.friction.drives
    plain = DriveTrain(drives.joint_names, drives.gains)  # the models have their own springs
    rigid, made = identification.model, []
    for run, own in zip(runs, predictions, strict=True):
        efforts = identification.processing.predicted_efforts(rigid, run, plain, models)
        made.append([replace(own, predicted=one, nominal=None) for one in efforts])
    exported = [of_run[0] for of_run in made]
    read, meant, whole, *others = (
        _pooled([of_run[i] for of_run in made]) for i in range(3 + len(given_back))
    )
    return ExportedError(
        target,
        _pooled(predictions),
        read,
        held_out,
        {name: meant - error for name, error in zip(given_back, others, strict=True)},
        meant - whole,
        {
            name: (_rms(predictions, name), _rms(exported, name))
            for name in identification.model.joint_names
        },
    )


def judging_runs(
    identification: Identification, fitted: Sequence[Recording], others: Sequence[Recording]
) -> tuple[list[Recording], list[Prediction], bool]:
    """Return the runs by which exports are judged, their predictions, and True if they were not
    fitted.

    Runs at rest are no basis for a judgement, because friction holds a joint with any torque.

    Args:
        identification: Identified robot.
        fitted: Runs of the fit.
        others: Runs that were not fitted.
    """
    for runs in (others, fitted):
        both = [(run, Prediction.of(identification, run)) for run in runs]
        moving = [(run, own) for run, own in both if own.motion.any()]
        if moving or runs is fitted:
            break
    chosen = moving or both
    return [run for run, _ in chosen], [own for _, own in chosen], runs is others


def _pooled(predictions: Sequence[Prediction]) -> float:
    """Relative error over all runs together, and over the joints that have efforts."""
    pairs = [
        p.columns(joint)
        for p in predictions
        for joint, measured in zip(p.joint_names, p.measured.T, strict=True)
        if np.any(measured != 0.0)
    ]
    residual = sum(float(np.sum((m - p) ** 2)) for m, p in pairs)
    measured = sum(float(np.sum(m**2)) for m, _ in pairs)
    return float(np.sqrt(residual / measured)) if measured > 0.0 else float("nan")


def _rms(predictions: Sequence[Prediction], joint: str) -> float:
    pairs = [p.columns(joint) for p in predictions]
    residual = np.concatenate([m - p for m, p in pairs])
    return float(np.sqrt(np.mean(residual**2)))


@dataclass(frozen=True)
class Description:
    """URDF of the identified robot, and its prediction errors.

    Attributes:
        xml: URDF text.
        error: Held-out errors of the model and of the exported file.
    """

    xml: str
    error: ExportedError

    def in_folder(self, folder: Path, places: Sequence[Path]) -> str:
        """Return the URDF text for a file in a folder: mesh files with relative names are found
        from there.

        Args:
            folder: Folder of the file.
            places: Folders searched for meshes.
        """
        return with_meshes(self.xml, MeshFolder(folder, places, ()).name_of_original)

    @classmethod
    def of(
        cls,
        identification: Identification,
        fitted: Sequence[Recording],
        others: Sequence[Recording] = (),
    ) -> Description | None:
        """Write the identified robot as a URDF; None if the robot has no URDF, or if simulators would
        refuse the identified bodies.

        Args:
            identification: Identified robot.
            fitted: Runs of the fit, over which friction is projected.
            others: Runs that were not fitted; robot and file are compared on those in motion, if any.
        """
        model = identification.model
        if isinstance(model, DrivenRobot):  # a URDF has no loops
            return None
        if not (model.urdf_xml and np.all(is_physically_consistent(identification.pi))):
            return None
        in_terms = projections(identification, fitted, Target.URDF)
        xml = urdf_of(in_terms.robot, remarks_on(identification))
        reader = UrdfReader(xml, model.joint_names, model.gravity)
        judged, predictions, held_out = judging_runs(identification, fitted, others)
        error = judge_export(
            identification,
            Target.URDF,
            reader.torques,
            judged,
            predictions,
            held_out=held_out,
            projections=in_terms,
        )
        return cls(xml, error)
