# SPDX-License-Identifier: Apache-2.0
"""Planned motion: inputs, result and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sysid_core.errors import ExcitationError
from sysid_core.files import write_json
from sysid_core.planning import (
    HeldBox,
    LimitsFile,
    MotionCheck,
    MotionChecker,
    MotionLimits,
    Trajectory,
)
from sysid_core.report import Figure, ReportIndex, motion_report
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain
from sysid_core.settings import numbers
from sysid_core.workflows.plan_settings import PlanSettings

PlanProgress = Callable[[float, str], None]  # the share that is done and what is being done

# Of the drives' torques, for rigid bodies; the rest is left for friction.
EFFORT_SHARE = 0.8
# Rows of a table that is open at first: 12 rows fill 1.2 screens of 844 px on a phone.
SHOWN_ROWS = 12


def limits_of(settings: PlanSettings, model: RobotModel) -> MotionLimits:
    """Return the motion limits from the limits file, or else from the settings.

    Raises:
        ExcitationError: The corners of the workspace or the held object are invalid.
    """
    held, workspace = _held_box(settings), _workspace_corners(settings)
    if settings.limits:
        limits = LimitsFile.read(settings.limits, model)
        return limits if held is None else limits.replace(held=held)
    return MotionLimits.from_model(
        model,
        acceleration=settings.acceleration,
        velocity_share=settings.VELOCITY_SHARE,
        effort_share=EFFORT_SHARE,
        tcp_frame=settings.tcp_frame or None,
        tcp_speed=settings.tcp_speed,
        workspace=workspace,
        ground_height=settings.ground,
        held=held,
    )


def _held_box(settings: PlanSettings) -> HeldBox | None:
    if not settings.held:
        if settings.held_mass:
            raise ExcitationError(
                "--held-mass requires the position of the mass.",
                remedy="Give its box as well: --held.",
            )
        return None
    x, y, z, *centre = numbers(settings.held, (3, 6), "--held", ExcitationError)
    where = (centre[0], centre[1], centre[2]) if centre else (0.0, 0.0, 0.0)
    return HeldBox((x, y, z), where, settings.held_mass)


def _workspace_corners(
    settings: PlanSettings,
) -> tuple[tuple[float, float, float], tuple[float, float, float]] | None:
    if not settings.workspace:
        return None
    w = numbers(settings.workspace, (6,), "--workspace", ExcitationError)
    if not all(low < high for low, high in zip(w[:3], w[3:], strict=True)):
        raise ExcitationError(
            f"--workspace {settings.workspace}: the first corner must lie below the second on all"
            " axes.",
            remedy="Write X0,Y0,Z0,X1,Y1,Z1 with X0 < X1, Y0 < Y1 and Z0 < Z1.",
        )
    return (w[0], w[1], w[2]), (w[3], w[4], w[5])


@dataclass(frozen=True)
class Planning:
    """Inputs of a search for a motion.

    Attributes:
        robot: Name or file of the robot.
        model: The robot with locked joints held fixed.
        limits: Motion limits.
        rate_hz: Sampling rate of the motion [Hz].
        seed: Seed of the random numbers; the same seed gives the same motion.
        progress: Function called with the completed share and a description of the step.
        inputs: Files with their hashes, settings, and the key that identifies the computation.
    """

    robot: str
    model: RobotModel
    limits: MotionLimits
    rate_hz: float
    seed: int
    progress: PlanProgress
    inputs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Planned:
    """Result of a search for a motion.

    Attributes:
        trajectory, check: Motion, and the result of its safety check.
        schema: Schema of `result`.
        result: Results that are specific to this kind of motion, as plain numbers and words.
        title, facts, remarks, figures: Contents of the report.
        chain: Closed chain of the robot; None: an open chain.
        tables: Further tables of the report: heading, columns, rows.
        lines: Lines of text about the motion.
        others: Further motions to be checked and written, by file name.
    """

    trajectory: Trajectory
    check: MotionCheck
    schema: str
    result: Mapping[str, object]
    title: str
    facts: Mapping[str, object]
    remarks: Sequence[str] = ()
    figures: Sequence[tuple[Figure, str]] = ()
    chain: ClosedChain | None = None
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[object]]]] = ()
    lines: Sequence[str] = ()
    others: Mapping[str, Trajectory] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedMotion:
    """Planned motion with its robot and limits.

    Attributes:
        planning: Inputs of the search.
        found: Motion with its safety check.
    """

    planning: Planning
    found: Planned

    def to_dict(self) -> dict[str, object]:
        """Plan as plain data for plan.json."""
        trajectory, check = self.found.trajectory, self.found.check
        return {
            "schema": self.found.schema,
            "robot": trajectory.robot,
            "urdf_hash": trajectory.urdf_hash,
            "joint_names": list(trajectory.joint_names),
            "duration": trajectory.duration,
            "seed": self.planning.seed,
            "inputs": self.planning.inputs,
            **self.found.result,
            "usage": {kind: float(share) for kind, share in check.usage.items()},
            "notes": list(check.notes),
            "limits": self.planning.limits.as_dict(),
        }

    def write(self, out: Path) -> None:
        """Write trajectory, plan.json and report to a folder.

        Raises:
            ExcitationError: A motion is not safe; no file is written.
        """
        model, found = self.planning.model, self.found
        checker = MotionChecker(model, self.planning.limits)
        out.mkdir(parents=True, exist_ok=True)
        trajectory = checker.export(found.trajectory, out / "trajectory.npz")
        for name, other in found.others.items():
            checker.export(other, out / f"{name}.npz")
        report = motion_report(
            checker,
            trajectory,
            found.check,
            title=f"{found.title}: {model.name}",
            facts={
                "duration": f"{trajectory.duration:.1f} s",
                **found.facts,
                "seed": self.planning.seed,
            },
            remarks=found.remarks,
            figures=found.figures,
            chain=found.chain,
        )
        for heading, columns, rows in found.tables:
            if len(rows) > SHOWN_ROWS:
                report.table(columns, rows, heading, folded=True)
            else:
                report.heading(heading)
                report.table(columns, rows)
        ReportIndex.add(report, out / "report.html")
        write_json(out / "plan.json", self.to_dict())
