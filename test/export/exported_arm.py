# SPDX-License-Identifier: Apache-2.0
"""An identified arm of two joints, its recordings, and random trees of bodies."""

from __future__ import annotations

import numpy as np
from two_joint_arm import URDF, swing

from sysid_core.estimation.arm import Identification
from sysid_core.estimation.fit import LeastSquares
from sysid_core.export.projection import Projection
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import EffortKind, JointStream, Recording

USUAL = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.INERTIA)
LOADED = (*USUAL, FrictionTerm.LOAD, FrictionTerm.OFFSET)
TRUTH = {"F_c": (2.0, 1.0), "F_v": (1.5, 0.5), "I_a": (0.3, 0.1), "F_l": (0.15, 0.1)}
TRUTH["beta"] = (0.4, -0.3)


def with_drives(
    model: RobotModel,
    terms: tuple[FrictionTerm, ...] = (),
    rng: np.random.Generator | None = None,
    **values: float,
) -> Projection:
    """A robot with friction of these terms: random values, or those of each symbol (0: not given)."""
    friction = FrictionModel(DriveTrain.direct(model.joint_names), terms)
    given = [values.get(name.rsplit(".", 1)[1], 0.0) for name in friction.names]
    return Projection(model, friction, given if rng is None else rng.uniform(0.1, 1.0, len(given)))


def identified(
    terms: tuple[FrictionTerm, ...], rng: np.random.Generator, noise: float = 0.02
) -> tuple[Identification, list[Recording], list[Recording]]:
    """The arm with friction of these terms, identified; runs of the fit, and one kept aside."""
    model = RobotModel.from_urdf(URDF)
    friction = FrictionModel(DriveTrain.direct(model.joint_names), terms)
    values = [
        TRUTH[name.split(".")[1]][model.joint_names.index(name.split(".")[0])]
        for name in friction.names
    ]
    runs = []
    for seconds in (20.0, 10.0):
        t, q, v, a = swing(rng, seconds)
        rigid = model.inverse_dynamics(q, v, a)
        tau = rigid + friction.regressor(q, v, a, rigid) @ np.array(values)
        tau += noise * rng.normal(size=tau.shape)
        stamps = np.round(t * 1e9).astype(np.int64)
        stream = JointStream(
            model.joint_names, stamps, q, v, effort=tau, effort_kind=EffortKind.LINK_TORQUE
        )
        runs.append(Recording(stream, source=f"{seconds:g} s"))
    estimator = LeastSquares("joint", fixed=["inertials"])
    return Identification.of(model, runs[:1], friction, estimator), runs[:1], runs[1:]
