# SPDX-License-Identifier: Apache-2.0
"""Measurement equations of a chain, `tau = Y pi + Phi phi` (rigid-body regressor and parameters,
friction regressor and parameters).

Errors of the model are functions of the motion and repeat with the motion. Blocks of time disagree
because of these errors only if they contain different motions; periods of a Fourier series, or a
trajectory that is played several times, therefore belong to the same block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.spatial import cKDTree

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.recordings import (
    Processing,
    earlier,
    refuse_unmeasured,
    unmeasured_joints,
    unmeasured_notes,
)
from sysid_core.estimation.arm.spans import RegressorBlocks, Span, evenly_spread, shifted
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.fit.regression import friction_scale_from_squares
from sysid_core.robot import Array, FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.loops import DrivenRobot
from sysid_core.signals import JointStream, Recording
from sysid_core.signals.filters import ZeroPhaseFilter

_TURNING_OVER = {FrictionTerm.PLAY, FrictionTerm.BREAKAWAY}  # within some motion after a reversal
_STEP = 0.1  # [s] between the states that are compared
_MOST = 4000  # states
_ALIKE = 0.25  # root mean square distance of states, in standard deviations of each coordinate
_LATER = 1.0  # [s]: neighbours in time are alike anyway
HELD = 32e6  # bytes of rigid-body regressors, and of filtered ones, that are held


def arm_structural_rows(model: RobotModel, friction: FrictionModel) -> Array:
    """Return the triangular factor of the rigid-body and friction regressor at random states, shape
    (p, p).

    Rounded angles of the URDF are replaced by exact ones, because a tilt of 1e-6 rad has no
    measurable effect.
    """
    model = model.with_exact_angles()[0].with_pi(model.pi)
    rng = np.random.default_rng(7)
    n_samples = max(12 * model.n_bodies, len(friction.names)) + 30
    q, v, a = model.random_states(n_samples, rng)
    angles = rng.uniform(-np.pi, np.pi, (n_samples, model.nv))
    if q.shape[1] == model.nv:
        angles = q
    Y = model.torque_regressor(q, v, a)
    # Loads as the robot's own masses cause them, or masses of natural size where it has none.
    load = Y @ (model.pi.ravel() + 0.1 * model.inertial_scale)
    # Slow and fast samples, so that the terms near standstill differ from Coulomb friction.
    slow = v * np.where(rng.random(v.shape) < 0.5, 2e-3, 1.0)
    Phi = friction.regressor(angles, slow, a, load * rng.choice([-1.0, 1.0], v.shape))
    # Viscous and inertial columns belong to the same states as the rigid body's.
    same = friction.regressor(angles, v, a, load)
    rows = np.concatenate([np.concatenate([Y, same], 2), np.concatenate([Y, Phi], 2)])
    if _TURNING_OVER & set(friction.all_terms):
        turned = same.copy()
        columns, walked = _turning_over(friction, v, a, rng)
        turned[:, :, columns] = walked[:, :, columns]
        rows = np.concatenate([rows, np.concatenate([Y, turned], 2)])
    flat = rows.reshape(-1, rows.shape[2])
    return np.asarray(np.linalg.qr(flat, mode="r"))


def _turning_over(
    friction: FrictionModel, v: Array, a: Array, rng: np.random.Generator
) -> tuple[list[int], Array]:
    """Columns of friction terms with memory, and the friction regressor along a random walk with
    small and large steps.

    After a reversal, friction terms with memory change over some distance. Successive random states
    are further apart than this distance, so that the columns of all terms with memory would be
    equal. These terms are therefore evaluated along a walk.
    """
    widths = friction.play_width, friction.breakaway_width
    sizes = np.exp(rng.uniform(np.log(0.1 * min(widths)), np.log(10.0 * max(widths)), v.shape))
    angles = np.cumsum(sizes * rng.choice([-1.0, 1.0], v.shape), axis=0)
    names = {
        name
        for axis in friction.drives.axis_names
        for term in _TURNING_OVER & set(friction.terms_of(axis))
        for name in friction.parameters_of(axis, term)
    }
    columns = [k for k, name in enumerate(friction.names) if name in names]
    return columns, friction.regressor(angles, v, a, np.zeros_like(v))


def first_times(motions: Sequence[JointStream]) -> tuple[Array, ...]:
    """Return the time at which the state (position and velocity) of each sample was first reached,
    one array (K_i,) per motion [s]; for a repeated motion, the times of its first occurrence.

    Args:
        motions: Gapless motions with velocities.
    """
    starts = np.cumsum([0.0] + [float(m.time[-1]) for m in motions[:-1]])
    step = max(_STEP, sum(float(m.time[-1]) for m in motions) / _MOST)
    states, times = [], []
    for motion, start in zip(motions, starts, strict=True):
        v = np.zeros_like(motion.q) if motion.v is None else motion.v
        rows = np.unique(np.searchsorted(motion.time, np.arange(0.0, motion.time[-1], step)))
        rows = rows[rows < len(motion.time)]
        states.append(np.column_stack([motion.q, v])[rows])
        times.append(start + motion.time[rows])
    grid, first = np.concatenate(times), np.concatenate(times)
    X = np.concatenate(states)
    X = X / np.maximum(np.std(X, axis=0), 1e-3)
    near = cKDTree(X).query_ball_point(X, _ALIKE * np.sqrt(X.shape[1]))
    earliest = grid[[min(found) for found in near]]
    again = grid - earliest > _LATER
    first[again] = earliest[again]
    out = []
    for motion, start in zip(motions, starts, strict=True):
        time = start + motion.time
        at = np.clip(np.searchsorted(grid, time, side="right") - 1, 0, len(grid) - 1)
        out.append(first[at] + (time - grid[at]))
    return tuple(out)


@dataclass(frozen=True, eq=False)
class ArmEquations:
    """Filtered recordings of an open or closed chain, from which regressions are built.

    Attributes:
        model: Robot model.
        friction: Friction terms.
        processing: Sampling rates and cut-off frequencies.
        spans: Gapless spans of all recordings, with motion and torques.
        Y: Unfiltered rigid-body regressor of each span, (K_i, n, 10 N); None for long recordings,
            whose regressor is recomputed for each use.
        structure: Regressor at random states, shape (s, p).
        prior: Prior inertial parameters, shape (10 N,).
        scale: Typical magnitudes of the inertial parameters (natural scale), by which they are
            normalised, shape (10 N,).
    """

    model: RobotModel
    friction: FrictionModel
    processing: Processing
    spans: tuple[Span, ...]
    Y: tuple[Array, ...] | None
    structure: Array
    prior: Array
    scale: Array

    @classmethod
    def build(
        cls,
        model: RobotModel,
        recordings: Sequence[Recording],
        friction: FrictionModel,
        processing: Processing,
    ) -> ArmEquations:
        """Filter the recordings and evaluate the rigid-body regressor along them."""
        parts = tuple(
            span
            for recording in recordings
            for span in processing.prepare(model, recording, friction)
        )
        return cls(
            model,
            friction,
            processing,
            parts,
            None,
            arm_structural_rows(model, friction),
            model.pi.ravel(),
            model.inertial_scale,
        ).with_spans(parts)

    def with_spans(self, spans: Sequence[Span]) -> ArmEquations:
        """Return a copy with other spans of data without gaps."""
        size = sum(len(s.tau) for s in spans) * self.model.nv * 10 * self.model.n_bodies
        Y = None
        if 8 * size <= HELD:
            Y = tuple(self.model.torque_regressor(*s.motion.kinematics) for s in spans)
        return replace(self, spans=tuple(spans), Y=Y)

    def with_friction(self, friction: FrictionModel) -> ArmEquations:
        """Return a copy with other friction terms."""
        return replace(self, friction=friction, structure=arm_structural_rows(self.model, friction))

    def with_delay(self, delay: float) -> ArmEquations:
        """Return a copy in which each effort is assigned to the motion `delay` [s] earlier."""
        by = delay - self.processing.delay
        Y = self.Y and tuple(
            shifted(Y, s.motion.time, by) for Y, s in zip(self.Y, self.spans, strict=True)
        )
        return replace(
            self,
            spans=tuple(replace(s, motion=earlier(s.motion, by)) for s in self.spans),
            Y=Y,
            processing=replace(self.processing, delay=delay),
        )

    def with_efforts_earlier(self, shifts: Array) -> ArmEquations:
        """Return a copy with the torques of each joint advanced by `shifts` [s], shape (n,)."""
        spans = []
        for span in self.spans:
            time, tau = span.motion.time, span.tau.copy()
            for j in np.flatnonzero(shifts):
                tau[:, j] = shifted(tau[:, j], time, -float(shifts[j]))
            spans.append(replace(span, tau=tau))
        return replace(self, spans=tuple(spans))

    def spread(self, samples: int) -> ArmEquations:
        """Return about `samples` samples in pieces that are evenly distributed over the recordings;
        all samples if there are fewer.
        """
        pieces = evenly_spread([len(s.tau) for s in self.spans], samples)
        if sum(len(s.tau) for s in self.spans) <= samples:
            return self
        return self.with_spans(
            [
                replace(span, motion=span.motion.select(piece), tau=span.tau[piece])
                for span, of_span in zip(self.spans, pieces, strict=True)
                for piece in of_span
            ]
        )

    def unmeasured(self) -> NDArray[np.bool_]:
        """Return a mask of joints whose efforts are zero throughout, shape (n,)."""
        return unmeasured_joints([span.tau for span in self.spans])

    @cached_property
    def motion_times(self) -> tuple[Array, ...]:
        """Time at which the state of each sample was first reached, one array (K_i,) per span
        [s].
        """
        return first_times([span.motion for span in self.spans])

    def moving(self) -> list[NDArray[np.bool_]]:
        """Return a mask of the samples in which at least one joint moves, for every span, each
        (K_i,).
        """
        return [
            np.any(np.abs(s.motion.kinematics[1]) > self.processing.moving, axis=1)
            for s in self.spans
        ]

    def with_provenance(self, estimate: Estimate, *others: ArmEquations) -> Estimate:
        """Return a copy of an estimate with notes on the robot, the data of these and other
        equations, and the omitted samples.
        """
        together = replace(self, spans=tuple(s for part in (self, *others) for s in part.spans))
        share = float(np.mean(np.concatenate(together.moving())))
        still = (
            f"{100.0 * (1.0 - share):.0f} % of the samples are at standstill and were excluded from"
            " the fit.",
        )
        return replace(
            estimate,
            robot=self.model.name,
            urdf_hash=self.model.urdf_hash,
            source=", ".join(dict.fromkeys(span.source for span in together.spans if span.source)),
            notes=(
                *estimate.notes,
                *(still if share < 0.995 else ()),
                *unmeasured_notes(self.model.joint_names, together.unmeasured()),
            ),
        )

    def regression(
        self,
        pi: Array,
        keep: Sequence[NDArray[np.bool_]] | None = None,
        *,
        raw: bool = False,
        fast: float = 0.0,
    ) -> Regression:
        """Return the regression from the filtered, trimmed and decimated samples.

        Args:
            pi: Inertial parameters for the load in load-dependent friction, shape (10 N,).
            keep: Mask of the samples of each span to use, each (K_i,); None: samples in motion.
            raw: True for equations without filter and decimation, with which a prediction is
                evaluated.
            fast: Minimum joint speed [rad/s]; equations near slower samples are omitted; 0: no
                minimum.

        Raises:
            EstimationError: No joint moves, or no effort was measured.
        """
        unmeasured = self.unmeasured()
        refuse_unmeasured(unmeasured)
        chosen = self._chosen(self.moving() if keep is None else keep, raw)
        tau, starts = chosen.tau, chosen.starts
        cutoff = None if raw else self.processing.torque_cutoff_hz
        blocks = RegressorBlocks(
            self.model, self.friction, self.spans, self.Y, chosen.rows, pi, cutoff, unmeasured
        )
        model, friction = self.model, self.friction
        sd = friction_scale_from_squares(blocks.friction_squares(), tau, friction.names)
        regression = Regression(
            names=model.parameter_names + friction.names,
            units=RobotModel.INERTIAL_UNITS * model.n_bodies
            + friction.units_of(model.prismatic_joints),
            bodies=model.body_names,
            prior=np.concatenate([self.prior, np.zeros(len(sd))]),
            prior_sd=np.concatenate([self.scale, sd]),
            non_negative=np.concatenate(
                [np.zeros(len(self.prior), bool), np.asarray(friction.non_negative, bool)]
            ),
            Y=np.concatenate(list(blocks)) if 8 * np.prod(blocks.shape) <= HELD else blocks,
            tau=tau,
            joints=model.joint_names,
            structure=self.structure,
            starts=starts,
            used=np.broadcast_to(~unmeasured, tau.shape) if np.any(unmeasured) else None,
            time=chosen.time,
            motion_time=chosen.motion_time,
            massless=self._massless(),
            recordings=chosen.recordings,
        )
        return regression if fast <= 0.0 else self._fast_only(regression, chosen, fast)

    def _massless(self) -> tuple[str, ...]:
        """Bodies of a closed chain that are described without mass, such as rods."""
        if not isinstance(self.model, DrivenRobot):
            return ()
        bodies = zip(self.model.body_names, self.model.pi, strict=True)
        return tuple(name for name, pi in bodies if not np.any(pi))

    def _fast_only(self, regression: Regression, chosen: _Chosen, fast: float) -> Regression:
        """Copy without the equations near standstill or reversal of a joint."""
        used = []
        for span, rows in zip(self.spans, chosen.rows, strict=True):
            reach = int(span.rate_hz / self.processing.torque_cutoff_hz)
            slow = np.abs(span.motion.kinematics[1]) < fast
            used.append(~maximum_filter1d(slow, 2 * reach + 1, axis=0)[rows])
        mask = np.concatenate(used) & (True if regression.used is None else regression.used)
        Y = np.where(mask[:, :, None], regression.matrix, 0.0)
        return replace(regression, Y=Y, tau=np.where(mask, regression.tau, 0.0), used=mask)

    def _chosen(self, keep: Sequence[NDArray[np.bool_]], raw: bool) -> _Chosen:
        """Samples that enter a regression, with their torques."""
        p = self.processing
        low_pass = ZeroPhaseFilter(p.torque_cutoff_hz)
        chosen, taus, times, starts, count, elapsed = [], [], [], [], 0, 0.0
        motion_times = []
        firsts: list[int] = []
        source = None
        for span, kept, motion_time in zip(self.spans, keep, self.motion_times, strict=True):
            inside = p.kept(len(span.tau), span.rate_hz, 1 if raw else None)
            rows = np.arange(len(span.tau))[inside]
            rows = rows[kept[inside]]
            chosen.append(rows)
            if not len(rows):
                continue
            if not firsts or span.source != source:
                firsts.append(count)
            source = span.source
            # A hole in the samples ends the correlation of the noise.
            holes = np.flatnonzero(np.diff(rows) > inside.step) + 1
            starts += [count, *(count + holes).tolist()]
            count += len(rows)
            tau = span.tau if raw else low_pass.apply(span.tau, span.rate_hz)
            taus.append(tau[rows])
            times.append(elapsed + span.motion.time[rows])
            motion_times.append(motion_time[rows])
            elapsed += float(span.motion.time[-1])
        if not taus:
            raise EstimationError(
                "No joint moves in these recordings.",
                remedy=f"No joint is faster than {p.moving} rad/s: move the robot, or lower the"
                " limit.",
            )
        return _Chosen(
            tuple(chosen),
            np.concatenate(taus),
            np.concatenate(times),
            np.concatenate(motion_times),
            tuple(starts),
            tuple(firsts),
        )


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Samples of a regression: rows of each span, torques, stamps, starts of spans and
    recordings.
    """

    rows: tuple[NDArray[np.intp], ...]
    tau: Array
    time: Array
    motion_time: Array
    starts: tuple[int, ...]
    recordings: tuple[int, ...]
