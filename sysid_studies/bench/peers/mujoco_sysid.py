# SPDX-License-Identifier: Apache-2.0
"""Identification with mujoco.sysid (google-deepmind/mujoco, python/mujoco/sysid): its parameters
and its optimiser.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from sysid_core.estimation.arm import Processing
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording
from sysid_core.signals.filters import ZeroPhaseFilter
from sysid_core.simulation import MujocoPlant
from sysid_studies.bench.peers.peer import PeerFit

mujoco = lazy_import("mujoco")

ROWS = 500  # samples of a fit: its Jacobian is by differences
ITERATIONS = 40


def fit(model: RobotModel, recordings: Sequence[Recording], drives: DriveTrain) -> PeerFit:
    """Fit by the least squares of mujoco.sysid for pseudo-inertia, armature, damping and dry
    friction of every joint.

    mujoco.sysid compares simulated with measured motion. A torque-driven arm that is simulated
    without its controller falls within tenths of a second. Therefore torques are compared here:
    those measured, and those of MuJoCo's inverse dynamics for the motion that the plain fits of
    this package use. A constant torque per joint is added, as by its `apply_bias`.
    """
    processing = Processing()
    motions, torques = [], []
    for run in recordings:
        for motion, rate in processing.prepare_motion(model, run):
            low_pass = ZeroPhaseFilter(processing.motion_cutoff_hz)
            assert motion.effort is not None and motion.v is not None and motion.a is not None
            tau = low_pass.apply(drives.torques(motion.effort, motion.q), rate)
            moving = np.any(np.abs(motion.v) > processing.moving, axis=1)
            motions.append(np.stack([motion.q, motion.v, motion.a])[:, moving])
            torques.append(tau[moving])
    motion_rows, measured = np.concatenate(motions, axis=1), np.concatenate(torques)
    pick = np.linspace(0, len(measured) - 1, min(ROWS, len(measured))).astype(int)
    inverse = _Inverse(model)
    best = inverse.fit(motion_rows[:, pick], measured[pick])

    def efforts(recording: Recording) -> Array:
        return processing.predicted_efforts(
            model, recording, drives, lambda q, v, a: [inverse.torques(best, np.stack([q, v, a]))]
        )[0]

    return PeerFit(model, processing, efforts, physically_consistent=True)


def _set_body(name: str, spec: Any, param: Any) -> None:
    """Set the inertia of a body in a MuJoCo specification explicitly, because mujoco.sysid would
    compute it from the geometry.
    """
    from mujoco.sysid._src.model_modifier import pi_from_theta, skew

    pi = pi_from_theta(param.value)
    body = spec.body(name)
    body.mass, body.ipos = float(pi[0]), pi[1:4] / pi[0]
    about_com = pi[4:].reshape(3, 3) + pi[0] * skew(body.ipos) @ skew(body.ipos)
    body.fullinertia = about_com[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]


class _Inverse:
    """MuJoCo's inverse dynamics with the parameters of mujoco.sysid."""

    def __init__(self, model: RobotModel) -> None:
        from mujoco.sysid import Parameter, ParameterDict, body_inertia_param
        from mujoco.sysid._src.parameter import InertiaType

        self.joints = model.joint_names
        nominal = MujocoPlant.spec_of(model)  # its reading of a body changes the spec
        compiled = nominal.compile()
        self.spec = MujocoPlant.spec_of(model)
        self.params = ParameterDict()
        for joint in self.joints:
            self.params.add(
                body_inertia_param(
                    nominal,
                    compiled,
                    f"body_{joint}",
                    inertia_type=InertiaType.Pseudo,
                    modifier=partial(_set_body, f"body_{joint}"),
                )
            )
        ones = np.ones(model.nv)
        for key, start, least, most in (
            ("armature", 0.1, 0.0, 1e3),
            ("damping", 1.0, 0.0, 1e4),
            ("frictionloss", 1.0, 0.0, 1e4),
            ("bias", 0.0, -1e3, 1e3),
        ):
            self.params.add(Parameter(key, start * ones, least * ones, most * ones))

    def fit(self, motion: Array, measured: Array) -> Any:
        from mujoco.sysid import optimize

        scale = measured.std(axis=0)
        scale[scale == 0.0] = 1.0

        def residual(x: Array, params: Any) -> tuple[list[Array], None, None]:
            columns = x.reshape(len(x), -1)
            out = []
            for column in columns.T:
                params.update_from_vector(column)
                out.append(((self.torques(params, motion) - measured) / scale).ravel())
            stacked = np.stack(out, axis=1)
            return [stacked if x.ndim > 1 else stacked[:, 0]], None, None

        with redirect_stdout(StringIO()):  # it prints every iteration
            best, _ = optimize(
                self.params, residual, optimizer="mujoco", verbose=False, max_iters=ITERATIONS
            )
        return best

    def torques(self, params: Any, motion: Array) -> Array:
        """Torques, shape (K, n), for a motion of shape (3, K, n)."""
        from mujoco.sysid import apply_param_modifiers_spec

        spec = apply_param_modifiers_spec(params, self.spec)
        for j, name in enumerate(self.joints):
            joint = spec.joint(name)
            joint.armature = float(params["armature"].value[j])
            joint.damping = [float(params["damping"].value[j]), 0.0, 0.0]
        compiled = spec.compile()
        data = mujoco.MjData(compiled)
        out = np.empty(motion.shape[1:])
        for k, (q, v, a) in enumerate(motion.transpose(1, 0, 2)):
            data.qpos, data.qvel, data.qacc = q, v, a
            mujoco.mj_inverse(compiled, data)
            out[k] = data.qfrc_inverse
        dry = params["frictionloss"].value * np.sign(motion[1])
        return out + dry + params["bias"].value
