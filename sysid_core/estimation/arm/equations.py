"""The measurement equations of an open chain, `tau = Y pi + Phi phi`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.recordings import (
    Processing,
    Span,
    earlier,
    filled,
    prepare,
    shifted,
)
from sysid_core.estimation.fit import (
    Regression,
    friction_scale,
    inertial_scale,
    refuse_unmeasured,
    unmeasured_joints,
)
from sysid_core.identifiability import random_states
from sysid_core.identifiability.rpna import with_exact_angles
from sysid_core.robot import (
    INERTIAL_UNITS,
    Array,
    FrictionModel,
    RobotModel,
    inertial_parameter_names,
    joint_torque_regressor,
)
from sysid_core.signals import Recording
from sysid_core.signals.filters import ZeroPhaseFilter


@dataclass(frozen=True, eq=False)
class ArmEquations:
    """Unfiltered rigid-body regressors of several spans, from which regressions are made.

    Attributes:
        model: The robot.
        friction: Terms that resist.
        processing: Rates and cut-offs.
        spans: The data.
        Y: Rigid-body regressor of each span, (K_i, n, 10 N).
        structure: At random states, shape (s, p).
        prior: Inertial parameters to start from, shape (10 N,).
        scale: Their natural scale, shape (10 N,).
    """

    model: RobotModel
    friction: FrictionModel
    processing: Processing
    spans: tuple[Span, ...]
    Y: tuple[Array, ...]
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
            for span in prepare(model, recording, friction, processing)
        )
        Y = tuple(
            joint_torque_regressor(model, s.motion.q, filled(s.motion.v), filled(s.motion.a))
            for s in parts
        )
        return cls(
            model,
            friction,
            processing,
            parts,
            Y,
            arm_structural_rows(model, friction),
            model.pi.ravel(),
            inertial_scale(model),
        )

    def with_friction(self, friction: FrictionModel) -> ArmEquations:
        """The same data with other friction terms."""
        return replace(self, friction=friction, structure=arm_structural_rows(self.model, friction))

    def with_delay(self, delay: float) -> ArmEquations:
        """The same data with the motion as it was `delay` [s] before the efforts."""
        by, parts = delay - self.processing.delay, self.spans
        return replace(
            self,
            spans=tuple(replace(s, motion=earlier(s.motion, by)) for s in parts),
            Y=tuple(shifted(Y, s.motion.time, by) for Y, s in zip(self.Y, parts, strict=True)),
            processing=replace(self.processing, delay=delay),
        )

    def moving(self) -> list[NDArray[np.bool_]]:
        """Samples of every span in which some joint moves, each (K_i,)."""
        return [
            np.any(np.abs(filled(s.motion.v)) > self.processing.moving, axis=1) for s in self.spans
        ]

    def moving_share(self) -> float:
        """Share of the samples in which some joint moves."""
        return float(np.mean(np.concatenate(self.moving())))

    def unmeasured(self) -> NDArray[np.bool_]:
        """Joints whose efforts are zero throughout, shape (n,)."""
        return unmeasured_joints([s.tau for s in self.spans])

    def regression(
        self,
        pi: Array,
        keep: Sequence[NDArray[np.bool_]] | None = None,
        *,
        raw: bool = False,
    ) -> Regression:
        """Filtered, trimmed and decimated equations.

        Args:
            pi: Inertial parameters that the load-dependent friction is taken from, (10 N,).
            keep: Samples of every span to use, each (K_i,); default: those in motion.
            raw: Neither filtered nor decimated, as a prediction is judged.

        Raises:
            EstimationError: No joint moves, or no effort was measured.
        """
        silent = self.unmeasured()
        refuse_unmeasured(silent)
        keep = self.moving() if keep is None else keep
        blocks, taus, phi_raw, starts, count = [], [], [], [], 0
        for i, (span, Y) in enumerate(zip(self.spans, self.Y, strict=True)):
            motion, rate = span.motion, span.rate_hz
            v, a = filled(motion.v), filled(motion.a)
            Phi = self.friction.regressor(motion.q, v, a, Y @ pi)
            low_pass = ZeroPhaseFilter(self.processing.torque_cutoff_hz)
            full, tau, step = np.concatenate([Y, Phi], axis=2), span.tau, 1
            full[:, silent] = 0.0
            if not raw:
                full = _filtered(full, low_pass, rate)
                tau = low_pass.apply(tau, rate)
                step = max(1, int(rate / (6.0 * self.processing.torque_cutoff_hz)))
            use = np.zeros(len(tau), dtype=bool)
            trim = min(int(self.processing.end_trim * rate), len(tau) // 8)
            use[trim : len(tau) - trim : step] = True
            use &= keep[i]
            rows = np.flatnonzero(use)
            if not len(rows):
                continue
            # A hole in the samples ends the correlation of the noise.
            holes = np.flatnonzero(np.diff(rows) > step) + 1
            starts += [count, *(count + holes).tolist()]
            count += len(rows)
            blocks.append(full[rows])
            taus.append(tau[rows])
            phi_raw.append(Phi[rows])
        if not blocks:
            raise EstimationError(
                "No joint moves in these recordings.",
                remedy=f"Nothing is faster than {self.processing.moving} rad/s: move the robot, or"
                " lower the limit.",
            )
        tau_all = np.concatenate(taus)
        names = inertial_parameter_names(self.model) + self.friction.names
        friction_sd = friction_scale(np.concatenate(phi_raw), tau_all, self.friction.names)
        return Regression(
            Y=np.concatenate(blocks),
            tau=tau_all,
            names=names,
            units=INERTIAL_UNITS * self.model.n_bodies + self.friction.units,
            rows=self.model.joint_names,
            bodies=self.model.body_names,
            prior=np.concatenate([self.prior, np.zeros(len(self.friction.names))]),
            prior_sd=np.concatenate([self.scale, friction_sd]),
            non_negative=np.concatenate(
                [np.zeros(len(self.prior), dtype=bool), np.array(self.friction.non_negative)]
            ),
            structure=self.structure,
            starts=tuple(starts),
        )


def arm_structural_rows(model: RobotModel, friction: FrictionModel, seed: int = 7) -> Array:
    """Triangular factor of rigid-body and friction regressor at random states, shape (p, p).

    Rounded angles of the URDF count as the exact ones: a tilt of 1e-6 rad shows nothing in practice.
    """
    model = with_exact_angles(model)[0].with_pi(model.pi)
    rng = np.random.default_rng(seed)
    n_samples = max(12 * model.n_bodies, len(friction.names)) + 30
    q, v, a = random_states(model, n_samples, rng)
    angles = rng.uniform(-np.pi, np.pi, (n_samples, model.nv))
    if q.shape[1] == model.nv:
        angles = q
    Y = joint_torque_regressor(model, q, v, a)
    # Loads as the robot's own masses cause them, or masses of natural size where it has none.
    load = Y @ (model.pi.ravel() + 0.1 * inertial_scale(model))
    # Slow and fast samples, so that the terms near standstill differ from Coulomb friction.
    slow = v * np.where(rng.random(v.shape) < 0.5, 2e-3, 1.0)
    Phi = friction.regressor(angles, slow, a, load * rng.choice([-1.0, 1.0], v.shape))
    # Viscous and inertial columns belong to the same states as the rigid body's.
    same = friction.regressor(angles, v, a, load)
    rows = np.concatenate([np.concatenate([Y, same], 2), np.concatenate([Y, Phi], 2)])
    flat = rows.reshape(-1, rows.shape[2])
    return np.asarray(np.linalg.qr(flat, mode="r"))


def _filtered(values: Array, low_pass: ZeroPhaseFilter, rate_hz: float) -> Array:
    """Filter only the columns that aren't zero: half of a serial arm's regressor is."""
    K, n, p = values.shape
    flat = values.reshape(K, n * p)
    used = np.any(flat != 0.0, axis=0)
    out = np.zeros_like(flat)
    out[:, used] = low_pass.apply(flat[:, used], rate_hz)
    return out.reshape(K, n, p)
