# SPDX-License-Identifier: Apache-2.0
"""Identification of all servos of a robot, with what they leaned on, and findings about the recordings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import ModelError, SignalError
from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import BodyTree
from sysid_core.servos.choose import SELDOM, JointData, joint_motions, time_blocks
from sysid_core.servos.examine import (
    FREE,
    Finding,
    ServoReason,
    Stops,
    examine,
    examine_fit,
    find_stops,
    joined,
)
from sysid_core.servos.fit import COMMON, TRIAL_STEP, JointMotion, Prior
from sysid_core.servos.gravity import examine_conventions
from sysid_core.servos.ground import Ground, Surface, find_ground
from sysid_core.servos.joints import JointResult, dead_joint, identify_drives, known_gain
from sysid_core.servos.masses import examine_masses
from sysid_core.servos.model import ServoModel, Term, body_tree
from sysid_core.servos.recording import ServoRecording, taken_by_place

# A surface or a stop takes from servos what they wrongly had to explain, so that both are looked for again.
_PASSES = 3


@dataclass(frozen=True)
class ServoIdentification:
    """Identified servos of a robot, with standard deviations, findings and assumptions.

    Attributes:
        model: Simulator with the identified servos.
        joints: Results of the joints.
        findings: Findings about the recordings or the result.
        motions: Names of the fitted motions.
        seconds: Total duration of the motions [s].
        notes: Assumptions, one sentence each.
    """

    model: ServoModel
    joints: tuple[JointResult, ...]
    findings: tuple[Finding, ...]
    motions: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...]

    @property
    def fit_for_use(self) -> bool:
        """True if no finding is a failure."""
        return self.verdict.ok

    @property
    def verdict(self) -> Verdict:
        """Verdict whose reasons are the findings; without findings, it passes."""
        reasons = tuple(finding.as_reason for finding in joined(self.findings))
        return Verdict(reasons or (Reason.held("servo-conventions"),))

    @property
    def outcome(self) -> Outcome:
        """Outcome of the verdict: pass, warn or fail."""
        return self.verdict.outcome


def identify_servos(
    recordings: Sequence[ServoRecording],
    robot: RobotModel,
    *,
    gains: Mapping[str, float] | None = None,
    ground: float | None = None,
    stops: Mapping[str, Stops] | None = None,
    progress: Callable[[str], None] = lambda phase: None,
) -> ServoIdentification:
    """Identify the servos of all recorded joints.

    If the arm leaned on a table, or a joint on a mechanical stop, these contacts are detected, and
    the servos are identified again with the contacts in the model.

    Args:
        recordings: One or more motions of the same joints.
        robot: Robot in the recordings.
        gains: Known stiffness (position gain) of the servos by joint name [N m/rad].
        ground: Height of the surface below the robot, relative to the origin of the base [m]; None:
            estimated from the motions, if the robot touched a surface.
        stops: Positions of the mechanical stops by joint name [rad]; infinite: none. Those of other
            joints are found from the motions, if they show any.
        progress: Function that is called with a description of the step.

    Raises:
        SignalError: The joints of the recordings differ from each other or from those of the robot,
            or the sampling rate is too low.
        ModelError: A surface is given, and the robot has no shapes that could touch it.
    """
    matched = _matched(recordings, robot)
    joints = matched[0].joints
    unit = body_tree(robot, joints).unit_of_torque([r.q for r in matched])
    tree = body_tree(robot.with_pi(robot.pi / unit), joints)
    findings = list(examine(matched, robot))
    if strange := next((r for r in recordings if taken_by_place(r, robot)), None):
        columns = ", ".join(strange.joints)
        findings.append(Finding(ServoReason.NAMES, "", float(len(strange.joints)), columns))
    stopped = {f.joint: f.reason for f in findings if f.reason.stops}
    known = {joint: known_gain(gain / unit) for joint, gain in (gains or {}).items()}
    bench = _Bench(matched, tree, Surface.of_robot(tree.robot), ground, stops or {}, stopped, known)
    results, level, ends = bench.identified(progress)
    findings += [f for result in results for f in _findings(result, stopped)]
    if all(finding.reason.of_gravity for finding in findings if finding.reason.fails):
        progress("testing directions, zeros and order of the joints against gravity")
        witnesses = [result.witness for result in results]
        named = all(recording.joints for recording in recordings)
        findings += examine_conventions(tree, matched, witnesses, named)
        if any(finding.reason.fails for finding in findings):
            findings = [f for f in findings if f.reason is not ServoReason.UNTOLD]
        else:
            findings += examine_masses(tree, matched, witnesses)
    results = [
        replace(x, servo=replace(x.servo.in_newton_metres(unit), stops=stop))
        for x, stop in zip(results, ends, strict=True)
    ]
    notes = [note for r in matched for note in r.notes]
    notes += [
        f"{joint}: simulated with a mechanical stop at {end:.3f} rad, where the joint rested although its commands were beyond."
        for joint, stop in zip(joints, ends, strict=True)
        for end in stop
        if joint not in bench.told and np.isfinite(end)
    ]
    model = ServoModel(robot, tuple(result.servo for result in results), level)
    return ServoIdentification(
        model=model,
        joints=tuple(results),
        findings=tuple(findings),
        motions=tuple(r.name for r in matched),
        seconds=float(sum(r.duration for r in matched)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _matched(recordings: Sequence[ServoRecording], robot: RobotModel) -> list[ServoRecording]:
    """Recordings with the joints of the robot; an error if these differ, or if the rate is too low."""
    matched = [recording.matched(robot) for recording in recordings]
    other = [r.name for r in matched if r.joints != matched[0].joints]
    if other:
        raise SignalError(
            f"The motions {other} have other joints than '{matched[0].name}'.",
            remedy="Identify them separately.",
        )
    seldom = [(r.name, dt) for r in matched if (dt := float(np.median(np.diff(r.t)))) > SELDOM]
    if seldom:
        raise SignalError(
            f"The positions of '{seldom[0][0]}' come every {seldom[0][1]:.3g} s: too slow for the"
            " response of servos.",
            remedy=f"Record a position every {SELDOM} s or more often, and give times in seconds.",
        )
    return matched


def _findings(result: JointResult, stopped: Collection[str]) -> Iterable[Finding]:
    """Findings about the fit of a joint's servo; none for joints that were not identified."""
    if result.witness is None or result.servo.joint in stopped:
        return ()
    weight = max(m.weight for m in result.witness.motions)
    return examine_fit(result.servo, weight, result.held_out, result.baseline, *result.free_zero)


@dataclass(frozen=True, eq=False)
class _Bench:
    """Motions of a robot, and what is known of its servos and of what they may lean on.

    Attributes:
        motions: Recordings with the joints of the tree.
        tree: Bodies of the robot, whose masses are in the unit of the fit.
        surface: Shapes of the robot that may touch a table.
        ground: Given height of the table [m]; None: to be found.
        told: Given mechanical stops by joint name [rad].
        stopped: Joints that are not identified, with the reason.
        known: Priors of the terms whose gains are known, by joint name.
    """

    motions: Sequence[ServoRecording]
    tree: BodyTree
    surface: Surface
    ground: float | None
    told: Mapping[str, Stops]
    stopped: Mapping[str, ServoReason]
    known: Mapping[str, Mapping[Term, Prior]]

    def __post_init__(self) -> None:
        joints = self.tree.joints
        if self.ground is not None and not len(self.surface.body):
            raise ModelError(
                f"The robot '{self.tree.robot.name}' has no collision shapes that could touch the"
                " surface.",
                remedy="Give a URDF with collision shapes whose meshes can be found.",
            )
        if unknown := [joint for joint in self.told if joint not in joints]:
            raise SignalError(
                f"The recordings have no joint {unknown} for the given stops.",
                remedy=f"Their joints: {list(joints)}.",
            )

    def identified(
        self, progress: Callable[[str], None]
    ) -> tuple[list[JointResult], Ground | None, list[Stops]]:
        """Return the servos, the table and the stops. Servos and obstacles are estimated in turn,
        each with the last result of the other, until the obstacles do not change.
        """
        level = None if self.ground is None else Ground(self.ground, self.surface)
        ends = [self.told.get(joint, FREE) for joint in self.tree.joints]
        results = self._servos(level, ends, progress)
        for _ in range(_PASSES):
            last = level, ends
            level, ends = self._obstacles(results, level, ends, progress)
            if (level, ends) == last:
                break
            results = self._servos(level, ends, progress)
        return results, level, ends

    def _servos(
        self, level: Ground | None, ends: Sequence[Stops], progress: Callable[[str], None]
    ) -> list[JointResult]:
        resting = {joint for joint, why in self.stopped.items() if why is ServoReason.UNMOVED}
        motions = joint_motions(self.motions, self.tree, level, ends)
        dead = set(self.stopped) - resting
        return _results(motions, self.tree.joints, dead, resting, self.known, progress)

    def _obstacles(
        self,
        results: Sequence[JointResult],
        level: Ground | None,
        ends: list[Stops],
        progress: Callable[[str], None],
    ) -> tuple[Ground | None, list[Stops]]:
        """Surface and mechanical stops that the motions show with these servos. If a new surface is
        found, the stops are not searched for yet, because contact with the surface may look like a
        stop.
        """
        parameters = np.array([result.servo.vector for result in results])
        dead = any(why is not ServoReason.UNMOVED for why in self.stopped.values())
        if self.ground is None and not dead:
            progress("searching for contact with a level surface")
            found = find_ground(
                self.tree, self.surface, parameters, self.motions, time_blocks(self.motions),
                TRIAL_STEP, np.array(ends),
            )  # fmt: skip
            if found is not None and (level is None or found.height != level.height):
                return found, ends
        progress("searching for mechanical stops")
        motions = joint_motions(self.motions, self.tree, level)
        robot = self.tree.robot
        limits = dict(zip(robot.joint_names, zip(*robot.position_limits, strict=True), strict=True))
        return level, [
            find_stops(motions[j], parameters[j], limits[joint])
            if joint not in self.told and joint not in self.stopped
            else ends[j]
            for j, joint in enumerate(self.tree.joints)
        ]


def _results(
    motions: list[list[JointMotion]],
    joints: Sequence[str],
    dead: Collection[str],
    resting: Collection[str],
    known: Mapping[str, Mapping[Term, Prior]],
    progress: Callable[[str], None],
) -> list[JointResult]:
    """Results of all joints; joints that do not move at all get servos without terms."""
    moved: dict[str, JointData] = {}
    rest: dict[str, JointData] = {}
    for joint, m in zip(joints, motions, strict=True):
        if joint not in dead:
            (rest if joint in resting else moved)[joint] = JointData(m, known.get(joint, COMMON))
    found = identify_drives(moved, rest, progress) if moved else {}
    return [
        found[joint] if joint in found else dead_joint(joint, motions[j])
        for j, joint in enumerate(joints)
    ]
