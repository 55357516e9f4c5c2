# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402 -- threads are limited before numpy is imported
"""Time from arrays to a physically consistent estimate of all parameters of a Panda.

Run: python benchmarks/estimation/identify.py [samples]; with one thread, like `sysid` itself,
unless OMP_NUM_THREADS is set.
"""

from __future__ import annotations

import os
import sys
import time

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_variable, "1")

import numpy as np
from rich.console import Console
from rich.table import Table

from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.arm.equations import arm_structural_rows
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import (
    ConsistentLeastSquares,
    LeastSquares,
    Regression,
    friction_scale,
)
from sysid_core.robot import (
    INERTIAL_UNITS,
    USUAL_TERMS,
    DriveTrain,
    FrictionModel,
    RobotModel,
)
from sysid_core.signals import Recording


def simulated_run(model: RobotModel, samples: int, rate_hz: float) -> tuple[Recording, np.ndarray]:
    """Recording of a Fourier motion of all joints with friction, armature and noise; and its
    accelerations.
    """
    rng = np.random.default_rng(1)
    t = np.arange(samples) / rate_hz
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a_k, b_k = rng.normal(size=(2, 5, model.nv)) * 0.25
    phase = t[:, None] * w
    q = np.sin(phase) @ a_k + np.cos(phase) @ b_k
    v = (np.cos(phase) * w) @ a_k - (np.sin(phase) * w) @ b_k
    a = -(np.sin(phase) * w**2) @ a_k - (np.cos(phase) * w**2) @ b_k
    tau = model.inverse_dynamics(q, v, a) + 1.5 * np.tanh(v / 0.005) + 0.8 * v + 0.1 * a
    tau += rng.normal(size=tau.shape) * 0.3
    v_read = v + rng.normal(size=v.shape) * 1e-3
    return Recording.from_arrays(model.joint_names, t, q, v_read, effort=tau), a


def arrays_to_regression(
    model: RobotModel, friction: FrictionModel, recording: Recording, a: np.ndarray
) -> Regression:
    """Regression with all samples, without filtering."""
    q, v, tau = recording.joints.q, recording.joints.v, recording.joints.effort
    Phi = friction.regressor(q, v, a)
    return Regression(
        Y=np.concatenate([model.torque_regressor(q, v, a), Phi], axis=2),
        tau=tau,
        names=model.parameter_names + friction.names,
        units=INERTIAL_UNITS * model.n_bodies + friction.units,
        joints=model.joint_names,
        bodies=model.body_names,
        prior=np.concatenate([model.pi.ravel(), np.zeros(len(friction.names))]),
        prior_sd=np.concatenate([model.inertial_scale, friction_scale(Phi, tau)]),
        non_negative=np.concatenate(
            [np.zeros(10 * model.n_bodies, dtype=bool), np.array(friction.non_negative)]
        ),
        structure=arm_structural_rows(model, friction),
    )


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    model = RobotModel.from_urdf("panda").with_locked(
        ["panda_finger_joint1", "panda_finger_joint2"]
    )
    friction = FrictionModel(DriveTrain.direct(model.joint_names), USUAL_TERMS)
    recording, a = simulated_run(model, samples, 1000.0)
    table = Table(title=f"Panda, {samples} samples at 1 kHz, all parameters: seconds, best of 3")
    for column in ("from", "method", "regressor", "fit", "total", "rank"):
        table.add_column(column, justify="right")

    def row(source: str, name: str, build: object, fit: object) -> None:
        best = None
        for _ in range(3):
            start = time.perf_counter()
            data = build()  # type: ignore[operator]
            middle = time.perf_counter()
            estimate = fit(data)  # type: ignore[operator]
            end = time.perf_counter()
            if best is None or end - start < best[2]:
                best = (middle - start, end - middle, end - start, estimate)
        table.add_row(
            source,
            name,
            *(f"{x:.3f}" for x in best[:3]),
            f"{best[3].rank}/{best[3].structural_rank}",
        )

    for estimator in (
        LeastSquares("none"),
        LeastSquares("joint"),
        ConsistentLeastSquares(),
        ConsistentLeastSquares("entropic"),
    ):
        row(
            "all samples, unfiltered",
            estimator.name,
            lambda: arrays_to_regression(model, friction, recording, a),
            estimator.fit,
        )
    for estimator in (LeastSquares("joint"), ConsistentLeastSquares()):
        row(
            "recording, filtered and decimated",
            estimator.name,
            lambda: ArmEquations.build(model, [recording], friction, Processing(rate_hz=1000.0)),
            lambda equations, e=estimator: identify_equations(equations, e).estimate,
        )
    Console().print(table)


if __name__ == "__main__":
    main()
