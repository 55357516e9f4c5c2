# SPDX-License-Identifier: Apache-2.0
"""Identification with figaroh (github.com/thanhndv212/figaroh-plus), from positions to base
parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace
from typing import Any

import numpy as np

from sysid_core.errors import BatchError
from sysid_core.estimation.arm import Processing
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import JointStream, Recording
from sysid_studies.bench.peers.peer import PeerFit

LONGEST = 20_000  # samples of a fit: its regressor is dense


def fit(model: RobotModel, recordings: Sequence[Recording], drives: DriveTrain) -> PeerFit:
    """Fit by the weighted least squares of figaroh for base parameters, friction, drive inertias
    and offsets.

    The median filter, the Butterworth filter and the numerical differences are those of figaroh.
    The cut-off frequency is that of the plain fits of this package, because the default of figaroh
    (2 Hz at 100 Hz) is meant for one robot. Its model has gains, but no couplings and no springs.

    Raises:
        BatchError: A joint is continuous, which the differences of figaroh do not support.
    """
    if model.pin_model.nq != model.pin_model.nv:
        raise BatchError(
            "figaroh gets joint positions as numbers, but a joint turns without end.",
            remedy="Omit this method for the robot.",
        )
    processing = Processing()
    streams = [_regular(run.joints.ordered(model.joint_names)) for run in recordings]
    torques = [drives.torques(s.effort, s.q) for s in streams if s.effort is not None]
    every = max(1, -(-sum(len(s) for s in streams) // LONGEST))
    solver = _solver(model, streams, torques, processing, every)
    with redirect_stdout(StringIO()):
        solver.process_data()
        solver.calculate_full_regressor()
        solver.initialize_standard_parameters()
        solver.solve(decimate=False, plotting=False, wls=True)

    def efforts(recording: Recording) -> Array:
        stream = recording.joints.ordered(model.joint_names)
        regular = _regular(stream)
        regressor = solver.regressor_of(regular)
        tau = (regressor @ solver.phi_base).reshape(model.nv, len(regular)).T
        effort = drives.efforts(tau, regular.q)
        return np.stack([np.interp(stream.time, regular.time, e) for e in effort.T], axis=1)

    return PeerFit(model, processing, efforts)


def _regular(stream: JointStream) -> JointStream:
    """Recording resampled at equal time steps, as figaroh's numerical derivatives require."""
    stamps = np.linspace(stream.stamps_ns[0], stream.stamps_ns[-1], len(stream)).astype(np.int64)
    when = (stamps - stream.stamps_ns[0]) * 1e-9

    def at(values: Array | None) -> Array | None:
        if values is None:
            return None
        return np.stack([np.interp(when, stream.time, x) for x in values.T], axis=1)

    q = at(stream.q)
    assert q is not None
    return JointStream(
        stream.names, stamps, q, effort=at(stream.effort), effort_kind=stream.effort_kind
    )


def _solver(
    model: RobotModel,
    streams: Sequence[JointStream],
    torques: Sequence[Array],
    processing: Processing,
    every: int,
) -> Any:
    from figaroh.identification.base_identification import BaseIdentification
    from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced

    n = model.nv
    pin_model = model.pin_model
    robot = SimpleNamespace(
        model=pin_model, data=pin_model.createData(), q0=np.zeros(n), v0=np.zeros(n)
    )

    class Solver(BaseIdentification):  # type: ignore[misc]
        """Solver of figaroh that filters each recording separately."""

        def load_param(self, config_file: str, setting_type: str = "identification") -> None:
            self.identif_config = _settings(model)

        def load_trajectory_data(self, data_source: str | None = None) -> dict[str, Any]:
            return {
                "timestamps": np.concatenate([s.time for s in streams]),
                "positions": np.concatenate([s.q for s in streams]),
                "velocities": None,
                "accelerations": None,
                "torques": np.concatenate(torques),
            }

        def filter_kinematics_data(self, filter_config: Mapping[str, Any] | None = None) -> None:
            each = [self.kinematics(s) for s in streams]
            self.processed_data = {
                key: np.concatenate([one[key] for one in each])[::every] for key in each[0]
            }

        def process_torque_data(self, **kwargs: Any) -> Array:
            return np.asarray(self.raw_data["torques"])[::every]

        def kinematics(self, stream: JointStream) -> dict[str, Array]:
            rate = (len(stream) - 1) / float(stream.time[-1])
            cutoff = min(processing.motion_cutoff_hz, 0.4 * rate)
            self.raw_data, kept = (
                {"timestamps": stream.time, "positions": stream.q},
                self.raw_data,
            )
            try:
                super().filter_kinematics_data(
                    {
                        "differentiation_method": "gradient",
                        "filter_params": {"f_butter": cutoff, "f_sample": rate},
                    }
                )
            finally:
                self.raw_data = kept
            return dict(self.processed_data)

        def regressor_of(self, stream: JointStream) -> Array:
            motion = self.kinematics(stream)
            full = build_regressor_basic(
                self.robot,
                motion["positions"],
                motion["velocities"],
                motion["accelerations"],
                self.identif_config,
            )
            reduced = build_regressor_reduced(full, self._idx_eliminated)
            return np.asarray(reduced[:, self._base_indices])

    solver = Solver(robot, "")
    solver.raw_data = {}
    return solver


def _settings(model: RobotModel) -> dict[str, Any]:
    n = model.nv
    return {
        "robot_name": model.name,
        "active_joints": list(model.joint_names),
        "act_idxq": list(range(n)),
        "act_idxv": list(range(n)),
        "is_joint_torques": True,
        "is_external_wrench": False,
        "force_torque": None,
        "has_friction": True,
        "has_actuator_inertia": True,
        "has_joint_offset": True,
        "has_coupled_wrist": False,
        "qr_relative_tolerance": None,
        **{key: [0.0] * n for key in ("fv", "fs", "Ia", "off")},
    }
