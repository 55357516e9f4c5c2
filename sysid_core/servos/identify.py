# SPDX-License-Identifier: Apache-2.0
"""Identification of all servos of a robot, with terms chosen on held-out blocks of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sysid_core.errors import ModelError, SignalError
from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array, BodyTree
from sysid_core.servos.examine import GRAVITY, Finding, ServoReason, examine, examine_fit, joined
from sysid_core.servos.fit import (
    BLOCK,
    COMMON,
    FEWEST_BLOCKS,
    TRIAL_STEP,
    JointFit,
    JointMotion,
    Prior,
    at_bound,
    block_covariance,
    block_weights,
    errors,
    independent_data,
    solve_joint,
)
from sysid_core.servos.gravity import Witness, examine_conventions
from sysid_core.servos.ground import Ground, Surface, find_ground, reach
from sysid_core.servos.masses import examine_masses
from sysid_core.servos.model import ANYWHERE, TERMS, JointServo, ServoModel, Term, body_tree
from sysid_core.servos.recording import ROUNDING, ServoRecording, match_joints, taken_by_place
from sysid_core.servos.stops import FREE, Stops, find_stops

# What all servos with gears have, weakly shown or not: left out, the others take it over, and motions that
# were not fitted suffer (two minutes of an SO-101's work: median 6.8 to 5.6 mrad).
BASE = (
    Term.TIME_CONSTANT, Term.FRICTION, Term.BREAKAWAY, Term.BREAKAWAY_SPEED, Term.ZERO, Term.DELAY,
)  # fmt: skip
# What held-out blocks may add. Limits come last: nearly all motions have a largest speed and error, which
# other terms explain better.
CHOICES = (
    Term.INVERSE_ACCELERATION, Term.INTEGRAL, Term.INERTIA, Term.BACKLASH, Term.INVERSE_SPEED, Term.INVERSE_LIMIT,
)  # fmt: skip


# What isn't the drive's alone: the URDF's masses and what the robot leans on, and the assembly.
_OWN = (Term.COMPLIANCE, Term.ZERO)
# [s] Four time constants of a hobby servo, after which 98 % of its answer to a step are over.
_SELDOM = 0.2
# Fewer drives say nothing of how far drives of a robot differ.
_FEWEST_DRIVES = 3
# Of the samples are below the limit at which a search begins: the rest reach it.
_OFTEN = 0.9
# That a term is there: less is not worth a mention (Kass and Raftery 1995). Chosen on robots 5 to 8 of the
# benchmark: 20 : 1 leaves out weak terms that are there, whose friction others then take over.
_ODDS = float(np.log(3.0))
_CHANCE = 0.1  # that the blocks of a term which changes nothing would say as much
_ENOUGH = 240.0  # [s] of motions, 60 blocks, that choose terms
_ANY_ZERO = Prior(0.0, np.pi)  # [rad] shows one that is wrong
# Relative deviation between a gain that was set with the URDF's masses and what gravity shows of both:
# torque constants and masses of links with cables differ by about as much from their data sheets.
_GAIN = 0.2
# A surface or a stop takes from servos what they wrongly had to explain, so that both are looked for again.
_PASSES = 3


@dataclass(frozen=True)
class JointResult:
    """Result of the identification of one joint's servo.

    Attributes:
        servo: Model of the servo.
        held_out: RMS error on time blocks that were not fitted [rad].
        baseline: RMS difference of position and command on the same samples [rad].
        free_zero: Encoder zero if any angle is permitted, and its standard deviation [rad].
        witness: Fit of the servo; None if it cannot be fitted.
    """

    servo: JointServo
    held_out: float
    baseline: float
    free_zero: tuple[float, float]
    witness: Witness | None = field(default=None, repr=False, compare=False)


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

    If the arm leaned on a table, or a joint on a mechanical stop, these are detected, and the servos
    are identified once more with them.

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
    known = {joint: _known(gain / unit) for joint, gain in (gains or {}).items()}
    bench = _Bench(matched, tree, Surface.of_robot(tree.robot), ground, stops or {}, stopped, known)
    results, level, ends = bench.identified(progress)
    findings += [f for result in results for f in _findings(result, stopped)]
    if all(finding.reason.of_gravity for finding in findings if finding.reason.fails):
        progress("asking gravity for directions, zeros and order")
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
        f"{joint}: simulated with a mechanical stop at {end:.3f} rad, where it stood away from its commands."
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
    matched = [match_joints(recording, robot) for recording in recordings]
    other = [r.name for r in matched if r.joints != matched[0].joints]
    if other:
        raise SignalError(
            f"The motions {other} have other joints than '{matched[0].name}'.",
            remedy="Identify them separately.",
        )
    seldom = [(r.name, dt) for r in matched if (dt := float(np.median(np.diff(r.t)))) > _SELDOM]
    if seldom:
        raise SignalError(
            f"The positions of '{seldom[0][0]}' come every {seldom[0][1]:.3g} s: too slow for the"
            " response of servos.",
            remedy=f"Record a position every {_SELDOM} s or more often, and give times in seconds.",
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
        """Return the servos, the table and the stops; each is looked for with the last of the others
        until nothing changes.
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
        """Surface and stops that the motions show with these servos, in turn: a table, if it is
        new, may be what looks like a stop.
        """
        parameters = np.array([result.servo.vector for result in results])
        dead = any(why is not ServoReason.UNMOVED for why in self.stopped.values())
        if self.ground is None and not dead:
            progress("looking for a table")
            found = find_ground(
                self.tree, self.surface, parameters, self.motions, _blocks(self.motions),
                TRIAL_STEP, np.array(ends),
            )  # fmt: skip
            if found is not None and (level is None or found.height != level.height):
                return found, ends
        progress("looking for mechanical stops")
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
    moved: dict[str, _Drive] = {}
    rest: dict[str, _Drive] = {}
    for joint, m in zip(joints, motions, strict=True):
        if joint not in dead:
            (rest if joint in resting else moved)[joint] = _Drive(m, known.get(joint, COMMON))
    found = _identify_drives(moved, rest, progress) if moved else {}
    return [
        found[joint] if joint in found else _dead(joint, motions[j])
        for j, joint in enumerate(joints)
    ]


def _blocks(recordings: Sequence[ServoRecording]) -> list[NDArray[np.int64]]:
    """Number of the block of time of each sample of each recording."""
    out: list[NDArray[np.int64]] = []
    first = 0
    length = min(BLOCK, sum(r.duration for r in recordings) / FEWEST_BLOCKS)
    for recording in recordings:
        out.append(first + ((recording.t - recording.t[0]) // length).astype(np.int64))
        first = int(out[-1][-1]) + 1
    return out


def joint_motions(
    recordings: Sequence[ServoRecording],
    tree: BodyTree,
    ground: Ground | None = None,
    stops: Sequence[Stops] | None = None,
) -> list[list[JointMotion]]:
    """Return the part of the recordings that belongs to each joint, in the order of the tree, above
    a surface and between mechanical stops.
    """
    out: list[list[JointMotion]] = [[] for _ in tree.joints]
    for r, block in zip(recordings, _blocks(recordings), strict=True):
        still = tree.loads(r.q)
        weights = np.hypot(still.a, still.b).max(axis=0)
        loads = still.beside(tree.coupling(r.t, r.q), r.q)
        ways = None if ground is None else reach(tree, ground, r.q)
        for j, motions in enumerate(out):
            q, target = r.q[:, j].copy(), r.target[:, j].copy()
            way = ANYWHERE if ways is None else (ways[0][:, j].copy(), ways[1][:, j].copy())
            motion = JointMotion(
                r.t, r.t_target, target, loads, j, way,
                q=q, block=block, weight=float(weights[j]),
            )  # fmt: skip
            motions.append(motion if stops is None else motion.within(*stops[j]))
    return out


@dataclass(frozen=True)
class _Drive:
    """Joint that moved, with its data, and a fit that explains them, if there is one."""

    motions: list[JointMotion]
    priors: Mapping[Term, Prior]
    explained: JointFit | None = None

    @cached_property
    def start(self) -> dict[Term, float]:
        """Simplest model, from which the search starts."""
        known = self.feels_gravity or self.priors is not COMMON
        terms = BASE + ((Term.COMPLIANCE,) if known else ())
        terms += (Term.LOAD_FRICTION,) if self.feels_gravity else ()
        return {t: self.priors[t].mean for t in terms}

    @cached_property
    def data(self) -> float:
        """Effective number of independent data, from the errors that a fit leaves; without one, the
        simplest model.
        """
        fit = self.explained or solve_joint(
            self.motions, self.start, trial=True, priors=self.priors
        )
        return independent_data(self.motions, fit)

    def fit(
        self,
        start: Mapping[Term, float],
        weights: Array | None = None,
        *,
        trial: bool = False,
        priors: Mapping[Term, Prior] = MappingProxyType({}),
    ) -> JointFit:
        """Terms from all motions."""
        return solve_joint(
            self.motions, start, weights,
            trial=trial, priors={**self.priors, **priors}, data=self.data,
        )  # fmt: skip

    @cached_property
    def beginning(self) -> _Drive:
        """First part of each motion, long enough to choose the friction and drive terms by held-out blocks
        of time.
        """
        share = _ENOUGH / sum(float(m.t[-1] - m.t[0]) for m in self.motions)
        if share >= 1.0:
            return self
        parts = [m.part(slice(max(int(share * len(m.t)), 2))) for m in self.motions]
        blocks = np.concatenate([m.block for m in parts])
        number = dict(zip(np.unique(blocks), range(len(blocks)), strict=False))
        renumbered = [
            replace(m, block=np.array([number[b] for b in m.block], dtype=np.int64)) for m in parts
        ]
        return replace(self, motions=renumbered)

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        return np.concatenate([m.block for m in self.motions])

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        return (self.blocks % 2 == 0).astype(float), (self.blocks % 2 == 1).astype(float)

    @cached_property
    def feels_gravity(self) -> bool:
        return max(m.weight for m in self.motions) > GRAVITY

    @cached_property
    def reached(self) -> dict[Term, float]:
        """Values of the limits (torque, speed) that these motions would just reach; beyond them a
        limit has no effect, so that a search has no gradient.
        """
        grids = [np.arange(m.t[0], m.t[-1], 0.5 * _SELDOM) for m in self.motions]
        q = [np.interp(grid, m.t, m.q) for grid, m in zip(grids, self.motions, strict=True)]
        speeds = [np.abs(x[2:] - x[:-2]) / _SELDOM for x in q]
        off = [np.abs(np.interp(m.t, m.t_target, m.target) - m.q) for m in self.motions]
        speed, error = (float(np.quantile(np.concatenate(x), _OFTEN)) for x in (speeds, off))
        found = {Term.INVERSE_SPEED: speed, Term.INVERSE_LIMIT: error}
        return {term: 1.0 / x for term, x in found.items() if x > ROUNDING}

    def usual(self, terms: Iterable[Term]) -> dict[Term, float]:
        """Usual values of terms, and limits that these motions would just reach."""
        return {t: self.reached.get(t, self.priors[t].mean) for t in terms}

    def shows(self, fit: JointFit, term: Term) -> bool:
        """True if a term has an effect on these motions; a limit that no motion reaches has none."""
        without = replace(fit, values={**fit.values, term: 0.0})
        ours, others = (errors(self.motions, x.vector) for x in (fit, without))
        return term not in self.reached or not np.array_equal(ours, others)

    def halved(
        self, fits: Sequence[JointFit], terms: Sequence[Term], weights: Array
    ) -> list[JointFit]:
        """Fit terms to each half of the blocks, starting from earlier fits; and the first from usual
        values, the second from those of the first: terms that had to explain what is new may not
        find back.
        """
        other = self.usual(terms)
        found: list[JointFit] = []
        for fit, half in zip(fits, self.halves, strict=True):
            starts = {t: fit.values.get(t, self.priors[t].mean) for t in terms}, other
            tried = [self.fit(start, half * weights, trial=True) for start in starts]
            found.append(min(tried, key=lambda fit: fit.cost))
            other = found[0].values
        return found

    def squares(self, fits: Sequence[JointFit]) -> Array:
        """Mean squared error of each block, by the fit in which the block was not used."""
        counts = np.maximum(np.bincount(self.blocks), 1)
        total = np.zeros(len(counts))
        for fit, seen in zip(fits, self.halves, strict=True):
            r = errors(self.motions, fit.vector, TRIAL_STEP) * (1.0 - seen)
            total += np.bincount(self.blocks, r**2, minlength=len(counts))
        return np.asarray(total / counts)


def _known(gain: float) -> Mapping[Term, Prior]:
    """Priors of the parameters of a drive whose stiffness is known."""
    return {**COMMON, Term.COMPLIANCE: Prior(1.0 / gain, _GAIN / gain)}


def _dead(joint: str, motions: list[JointMotion]) -> JointResult:
    baseline = _baseline(motions)
    return JointResult(JointServo(joint), baseline, baseline, (0.0, 0.0))


def _baseline(motions: Sequence[JointMotion]) -> float:
    return rms(np.concatenate([np.interp(m.t, m.t_target, m.target) - m.q for m in motions]))


def _identify_drives(
    moved: Mapping[str, _Drive], resting: Mapping[str, _Drive], progress: Callable[[str], None]
) -> dict[str, JointResult]:
    """Select the terms, fit the values of each drive, and fit them again with a prior from the
    values of all drives.
    """
    drives = list(moved.values())
    chosen, squares = choose_terms([drive.beginning for drive in drives], progress)
    progress("fitting the servos")
    weights = _weights(drives, chosen)
    fits = [_best_start(d, f, w) for d, f, w in zip(drives, chosen, weights, strict=True)]
    # The simplest model left errors that persist; what these fits leave are more independent data.
    drives = [replace(d, explained=f) for d, f in zip(drives, fits, strict=True)]
    deviations = [
        {t: sd for t, sd in _deviations(d, f, w).items() if d.shows(f, t)}
        for d, f, w in zip(drives, fits, weights, strict=True)
    ]
    priors = _kin(fits, deviations)
    out = {}
    for joint, drive, fit, square, w in zip(moved, drives, fits, squares, weights, strict=True):
        # From a bound, where its change may show nothing, a term begins at what the others have.
        start = {t: priors[t].mean if t in priors and at_bound(fit, t) else x
                 for t, x in fit.values.items() if t in priors or drive.shows(fit, t)}  # fmt: skip
        last = drive.fit(start, w, priors=priors)
        sd = _deviations(drive, last, w, whole=True)
        zero = _free_zero(drive.beginning, last, priors)
        out[joint] = _result(drive, last, sd, float(np.sqrt(square)), zero, joint)
    terms = {term for result in out.values() for term in result.servo.values}
    return out | {joint: _at_rest(d, terms, priors, joint) for joint, d in resting.items()}


def _at_rest(
    drive: _Drive, terms: Collection[Term], kin: Mapping[Term, Prior], joint: str
) -> JointResult:
    """Servo of a joint that was never commanded to move: mean parameters of the other servos, and
    the compliance that explains its deflection under gravity.
    """
    priors = {**drive.priors, **kin}
    felt = (Term.COMPLIANCE, Term.LOAD_FRICTION)
    start = dict(drive.start)
    for term in terms:
        if term not in felt or (term is Term.LOAD_FRICTION and drive.feels_gravity):
            start[term] = priors[term].mean
    fit = drive.fit(start, priors=priors)
    sd = _deviations(drive, fit, whole=True)
    held = rms(errors(drive.motions, fit.vector))
    return replace(_result(drive, fit, sd, held, (0.0, 0.0), joint), witness=None)


def _best_start(drive: _Drive, chosen: JointFit, weights: Array) -> JointFit:
    """The more likely of two fits: one starts from the values at the end of the selection of terms,
    the other from usual values.

    Terms are selected one after another. The values of early terms, which first had to replace the
    later ones, may not return to their best values.
    """
    starts = chosen.values, drive.usual(chosen.values)
    fits = [drive.fit(start, weights) for start in starts]
    return min(fits, key=lambda fit: fit.sum_of_squares)


def _free_zero(drive: _Drive, fit: JointFit, priors: Mapping[Term, Prior]) -> tuple[float, float]:
    """Zero of a joint if any angle is possible, and its standard deviation: the more likely of two
    searches.

    The gravity term may have compensated for a wrong zero; the second search therefore starts from
    the usual stiffness and the median difference between command and position.
    """
    off = np.median(
        np.concatenate([np.interp(m.t, m.t_target, m.target) - m.q for m in drive.motions])
    )
    usual = {**fit.values, Term.ZERO: float(off)}
    if Term.COMPLIANCE in usual:
        usual[Term.COMPLIANCE] = drive.priors[Term.COMPLIANCE].mean
    starts = (fit.values, usual)
    free = {**priors, Term.ZERO: _ANY_ZERO}
    fits = [drive.fit(start, trial=True, priors=free) for start in starts]
    best = min(fits, key=lambda found: found.cost)
    return best.values[Term.ZERO], _deviations(drive, best)[Term.ZERO]


def _result(
    drive: _Drive,
    fit: JointFit,
    sd: dict[Term, float],
    held: float,
    zero: tuple[float, float],
    joint: str,
) -> JointResult:
    motions = drive.motions
    loads = [np.abs(m.loads.gravity(m.q[:, None])[:, m.joint]) for m in motions]
    servo = JointServo(joint, fit.values, sd, float(np.mean(np.concatenate(loads))))
    witness = Witness(motions, fit, drive.data)
    return JointResult(servo, held, _baseline(motions), zero, witness)


def _deviations(
    drive: _Drive, fit: JointFit, weights: Array | None = None, *, whole: bool = False
) -> dict[Term, float]:
    terms, covariance = block_covariance(drive.motions, fit, weights, whole=whole)
    return dict(zip(terms, map(float, np.sqrt(np.diag(covariance))), strict=True))


def _kin(fits: Sequence[JointFit], deviations: Sequence[Mapping[Term, float]]) -> dict[Term, Prior]:
    """Mean values of the parameters of a robot's drives, and their standard deviations between
    drives.

    The random-effects mean and variance of DerSimonian and Laird (1986): drives of the same type,
    bus and firmware differ little, so that the data of each drive also improve the estimates of the
    others; if the drives differ, they do not.
    """
    priors = {}
    for term in TERMS:
        found = [(f.values[term], sd[term]) for f, sd in zip(fits, deviations, strict=True)
                 if term in sd and sd[term] > 0.0]  # fmt: skip
        if len(found) < _FEWEST_DRIVES or term in _OWN:
            continue
        x, variance = np.array(found).T ** np.array([[1.0], [2.0]])
        w = 1.0 / variance
        mean = w @ x / w.sum()
        excess = float(w @ (x - mean) ** 2) - (len(x) - 1)
        between = max(excess / float(w.sum() - (w @ w) / w.sum()), 0.0)
        w = 1.0 / (variance + between)
        deviation = np.sqrt(between + 1.0 / w.sum())
        if deviation < TERMS[term].spread:
            priors[term] = Prior(float(w @ x / w.sum()), float(deviation))
    return priors


@dataclass(frozen=True)
class _Trial:
    """Fits of all drives to each half of the blocks, with the same additional terms.

    Attributes:
        fits: Fits of each drive.
        squares: Mean squared error of each block not fitted, by drive [rad²].
    """

    fits: list[list[JointFit]]
    squares: list[Array]

    def gains(self, other: _Trial) -> Array:
        """Logarithms of how much likelier this makes the blocks, shape (drives, blocks).

        Each block of each drive is one datum with its own variance, in addition to the usual one of
        the drive: whether a block that is replayed well already is replayed better still mustn't
        decide.
        """
        out = []
        for new, old in zip(self.squares, other.squares, strict=True):
            usual = min(np.median(old), np.median(new)) + ROUNDING**2
            out.append(0.5 * np.log((old + usual) / (new + usual)))
        return np.array(out)

    def likelier(self, other: _Trial) -> bool:
        """True if this makes the blocks three times as likely as the other trial, and a one-sided test
        at 10 % over the blocks confirms it, so that a few bad blocks do not decide.
        """
        gains = self.gains(other)
        mean, blocks = gains.mean(axis=0), gains.shape[1]
        sure = float(stdtrit(max(blocks - 1, 1), 1.0 - _CHANCE)) / np.sqrt(blocks)
        spread = mean.std(ddof=1 if blocks > 1 else 0)
        return bool(gains.sum() > _ODDS and mean.mean() > sure * spread)


def choose_terms(
    drives: Sequence[_Drive], progress: Callable[[str], None] = lambda phase: None
) -> tuple[list[JointFit], list[float]]:
    """Return the terms that improve the prediction of held-out blocks, the same terms for all
    drives.

    Every second block is held out of one fit, and fitted by the other. Terms are added one after
    another. At the end, each that was added must show that the others need it, searched for without
    it from where the search with it ended: an early term may only have stood for a later one, and a
    term may only have helped the search of the others.

    Returns:
        Fit of each drive to one half, and its mean squared error on blocks not fitted [rad²].
    """
    progress(f"simplest model of {len(drives)} servos; compiled once on a new machine")
    fits = [[d.fit(d.start, half, trial=True) for half in d.halves] for d in drives]
    # Blocks in which the robot leaned on something mustn't decide what the terms are tried with.
    weights = _weights(drives, [fit[0] for fit in fits])

    def trial(fits: list[list[JointFit]]) -> _Trial:
        return _Trial(fits, [d.squares(fit) for d, fit in zip(drives, fits, strict=True)])

    def with_terms(best: _Trial, change: Callable[[tuple[Term, ...]], tuple[Term, ...]]) -> _Trial:
        return trial([
            drive.halved(fit, change(tuple(fit[0].values)), w)
            for drive, fit, w in zip(drives, best.fits, weights, strict=True)
        ])  # fmt: skip

    best, added = trial(fits), []
    for term in CHOICES:
        progress(f"trying {term.value.replace('_', ' ')}")
        tried = with_terms(best, lambda terms, new=term: (*terms, new))
        # Not reached by any motion, as a speed limit may be.
        reached = any(f.values[term] != TERMS[term].start for fit in tried.fits for f in fit)
        if reached and tried.likelier(best):
            best = tried
            added.append(term)
    for term in added:
        progress(f"trying without {term.value.replace('_', ' ')}")
        tried = with_terms(best, lambda terms, old=term: tuple(t for t in terms if t != old))
        if not best.likelier(tried):
            best = tried
    counts = [np.bincount(drive.blocks) for drive in drives]
    held_out = [float(s @ c / c.sum()) for s, c in zip(best.squares, counts, strict=True)]
    return [fit[0] for fit in best.fits], held_out


def _weights(drives: Sequence[_Drive], fits: Sequence[JointFit]) -> list[Array]:
    return [
        block_weights(drive.motions, errors(drive.motions, fit.vector))
        for drive, fit in zip(drives, fits, strict=True)
    ]


def rms(x: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(x))))
