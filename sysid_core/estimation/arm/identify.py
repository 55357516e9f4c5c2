# SPDX-License-Identifier: Apache-2.0
"""Identification of a whole arm, from recordings to a model that predicts torques."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.recordings import Processing, VelocityFeedback
from sysid_core.estimation.arm.spans import Estimator, require_recordings
from sysid_core.estimation.estimate import Estimate
from sysid_core.files import FileKind, FileSchema, Name, Number, Positive, Vector3, write_yaml
from sysid_core.robot import (
    Array,
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    Spring,
    SpringLaw,
    is_physically_consistent,
)
from sysid_core.signals import Recording

SCHEMA = "robot_sysid/identified_robot/1"
_FILE = FileKind(
    "identified robot", "Give the folder that `sysid identify` wrote.", EstimationError
)

CONSISTENT = ("lmi", "entropic")  # methods whose every link is a solid body's


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of the identification of a robot.

    Attributes:
        model: The robot as its URDF describes it.
        friction: Model of friction and drives (motor inertia, gain, offset).
        processing: Preprocessing of the recordings.
        estimate: Values with uncertainty, of base or full parameters.
        parameters: All parameters, inertial then friction, shape (p,). They are consistent with the
            estimate; if several values are, those closest to the URDF are used.
        names: Names of all parameters.
        scale: Natural scale of every parameter, which is its prior standard deviation, shape (p,);
            None if the result was read from a file.
        feedback: Velocity gains of the controllers; None: the efforts show no response to velocity
            noise.
    """

    model: RobotModel
    friction: FrictionModel
    processing: Processing
    estimate: Estimate
    parameters: Array
    names: tuple[str, ...]
    scale: Array | None = None
    feedback: VelocityFeedback | None = None

    @property
    def pi(self) -> Array:
        """Inertial parameters, shape (n_bodies, 10)."""
        return self.parameters[: 10 * self.model.n_bodies].reshape(-1, 10)

    @property
    def friction_parameters(self) -> dict[str, float]:
        """Values of the friction and drive parameters by name."""
        start = 10 * self.model.n_bodies
        return dict(zip(self.names[start:], self.parameters[start:].tolist(), strict=True))

    @property
    def physically_consistent(self) -> bool:
        """True if every body of `pi` is physically consistent and every friction parameter has the
        right sign.
        """
        signs = self.parameters[10 * self.model.n_bodies :][
            np.array(self.friction.non_negative, bool)
        ]
        return bool(np.all(is_physically_consistent(self.pi)) and np.all(signs >= 0.0))

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the joint torques along a motion without gaps, shapes (K, n) to (K, n) [N m].

        Known springs produce a part of these torques, and the drives the rest.
        """
        return self._torques(q, v, a, (self.pi,))[0]

    def _torques(self, q: Array, v: Array, a: Array, bodies: Sequence[Array]) -> list[Array]:
        """Torques for several sets of inertial parameters, with the identified friction."""
        Y = self.model.torque_regressor(q, v, a)
        beta = self.parameters[10 * self.model.n_bodies :]
        rigid = [Y @ np.ravel(pi) for pi in bodies]
        known = self.model.passive_torques(q, v, a)
        return [tau + self.friction.regressor(q, v, a, tau) @ beta + known for tau in rigid]

    def predict(self, recording: Recording) -> Array:
        """Return the predicted efforts at the stamps and in the unit of the recording; NaN in gaps.

        Args:
            recording: Joint states; their efforts are ignored.

        Returns:
            Efforts, shape (K, n), joints in the robot's order.
        """
        return self._predict(recording, (self.pi,))[0]

    def predict_beside_nominal(self, recording: Recording) -> tuple[Array, Array]:
        """Return the efforts predicted by the identified model and by the URDF's inertial
        parameters, each of shape (K, n).
        """
        identified, nominal = self._predict(recording, (self.pi, self.model.pi))
        return identified, nominal

    def _predict(self, recording: Recording, bodies: Sequence[Array]) -> tuple[Array, ...]:
        return self.processing.predicted_efforts(
            self.model,
            recording,
            self.friction.drives,
            lambda q, v, a: self._torques(q, v, a, bodies),
        )

    def reaction(self, recording: Recording) -> Array | None:
        """Return the efforts with which the controllers react to the noise of the velocities, at
        the stamps and in the unit of the recording, shape (K, n); None: no reaction is known.

        They are not part of the robot's torques: along a smooth motion they vanish.
        """
        if self.feedback is None:
            return None
        return self.feedback.efforts(self.model, recording, self.processing)

    def save(self, folder: str | Path) -> None:
        """Write `estimate.yaml` and `parameters.yaml`: all parameters, friction terms, drives and
        processing.

        Args:
            folder: Folder, which is created if it does not exist.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        friction, drives = self.friction, self.friction.drives
        raw = {
            "schema": SCHEMA,
            "robot": self.model.name,
            "urdf_hash": self.model.urdf_hash,
            "gravity": self.model.gravity.tolist(),
            "locked": {name: float(q) for name, q in self.model.locked.items()},
            "method": self.estimate.method,
            "parameters": dict(zip(self.names, self.parameters.tolist(), strict=True)),
            "friction": {
                "terms": [term.value for term in friction.terms],
                "own_terms": {a: [t.value for t in ts] for a, ts in friction.own_terms.items()},
                "coulomb_velocity": friction.coulomb_velocity,
                "stribeck_velocity": friction.stribeck_velocity,
                "play_width": friction.play_width,
                "breakaway_width": friction.breakaway_width,
            },
            "drives": {
                "joints": list(drives.joint_names),
                "gain": drives.gains.tolist(),
                "springs": [
                    {**dataclasses.asdict(spring), "law": spring.law.value}
                    for spring in drives.springs
                ],
                "couplings": {axis: dict(f) for axis, f in drives.couplings.items()},
                "waves": {
                    kind: {axis: list(waves) for axis, waves in axes.items()}
                    for kind, axes in drives.waves.items()
                },
            },
            "processing": dataclasses.asdict(self.processing),
        }
        if self.feedback is not None:
            raw["velocity_feedback"] = {
                **dataclasses.asdict(self.feedback),
                "gains": list(self.feedback.gains),
            }
        self.estimate.save(Path(folder) / "estimate.yaml")
        write_yaml(Path(folder) / "parameters.yaml", raw)

    @classmethod
    def load(cls, folder: str | Path, model: RobotModel) -> Identification:
        """Read an identification written by `save`.

        Args:
            folder: Folder with `estimate.yaml` and `parameters.yaml`.
            model: The identified robot, from the same URDF. Joints locked in the identification are
                locked in the result.

        Raises:
            EstimationError: The file is of another kind, or the robot is another one.
        """
        estimate, path = (
            Estimate.load(Path(folder) / "estimate.yaml"),
            Path(folder) / "parameters.yaml",
        )
        file = _FILE.read_schema(path, _File)
        if model.urdf_hash and file.urdf_hash and file.urdf_hash != model.urdf_hash:
            raise EstimationError(
                f"'{path}' was identified with another URDF ({file.urdf_hash}) than this one"
                f" ({model.urdf_hash}).",
                remedy="Give the URDF that was used for the identification.",
            )
        try:
            model = model.with_locked(
                {j: q for j, q in file.locked.items() if j in model.joint_names}
            )
            if file.gravity is not None:
                model = model.with_gravity(file.gravity)
            drives = DriveTrain(
                file.drives.joints,
                np.array(file.drives.gain),
                file.drives.couplings,
                file.drives.waves,
                tuple(Spring(**dict(spring)) for spring in file.drives.springs),
            ).ordered(model.joint_names)
            friction = FrictionModel(drives, **dict(file.friction))
            seen = file.velocity_feedback
            feedback = None if seen is None else VelocityFeedback(**dict(seen))
        except SysIdError as err:
            raise _FILE.refusal(path, err.message, err.remedy) from err
        names = (*model.parameter_names, *friction.names)
        missing = [name for name in names if name not in file.parameters]
        unknown = [name for name in file.parameters if name not in names]
        if missing or unknown:
            raise _FILE.refusal(
                path,
                f"`parameters` lacks {missing} and contains {unknown}, which are no parameters of '{model.name}'"
                if unknown
                else f"`parameters` lacks {missing}",
            )
        values = np.array([file.parameters[name] for name in names])
        return cls(model, friction, file.processing, estimate, values, names, feedback=feedback)

    @classmethod
    def of(
        cls,
        model: RobotModel,
        recordings: Sequence[Recording],
        friction: FrictionModel,
        estimator: Estimator,
        processing: Processing | None = None,
        *,
        load_rounds: int = 3,
    ) -> Identification:
        """Identify an open chain, or a closed chain represented by its `DrivenRobot`, from one or
        several recordings.

        Args:
            model: Robot model.
            recordings: Recordings of the same robot, fitted together.
            friction: Friction terms and drives.
            estimator: Whole-robot estimator, such as `ConsistentLeastSquares`.
            processing: Sampling rates and cut-off frequencies.
            load_rounds: Number of fits for load-dependent friction; each uses the load of the last one.
        """
        require_recordings(recordings)
        equations = ArmEquations.build(model, recordings, friction, processing or Processing())
        return identify_equations(equations, estimator, load_rounds=load_rounds)

    @property
    def consistency(self) -> str:
        """Sentence on the physical consistency of the links, or on the reason why it was not
        checked.
        """
        if self.physically_consistent:
            return "every link is physically consistent, and no friction coefficient is negative."
        if self.estimate.method in CONSISTENT:
            return "at least one link is not physically consistent."
        return (
            f"'{self.estimate.method}' estimates base parameters, which predict torques, but"
            " does not make each link physically consistent. For simulation use --method lmi."
        )


def identify_equations(
    equations: ArmEquations, estimator: Estimator, *, load_rounds: int = 3
) -> Identification:
    """Identify a robot from given equations, to compare estimators and friction terms."""
    pi = equations.prior
    for _ in range(load_rounds if equations.friction.needs_load else 1):
        regression = equations.regression(pi)
        estimate = estimator.fit(regression)
        parameters = regression.full_parameters(estimate, estimator.fixed)
        pi = parameters[: regression.n_inertial]
    return Identification(
        equations.model,
        equations.friction,
        equations.processing,
        equations.with_provenance(estimate),
        parameters,
        regression.names,
        regression.prior_sd,
    )


class _Friction(FileSchema):
    terms: tuple[FrictionTerm, ...]
    own_terms: dict[str, tuple[FrictionTerm, ...]]
    coulomb_velocity: Positive
    stribeck_velocity: Positive
    play_width: Positive
    breakaway_width: Positive


class _Spring(FileSchema):
    axis: Name
    law: SpringLaw
    preload: Number
    stiffness: Number
    stroke: Number
    exponent: Number
    anchors: tuple[Positive, Positive] | None
    zero: Number
    identified: bool


class _Drives(FileSchema):
    joints: tuple[Name, ...]
    gain: list[Number]
    couplings: dict[str, dict[str, Number]]
    waves: dict[str, dict[str, list[Number]]]
    springs: tuple[_Spring, ...] = ()


class _Feedback(FileSchema):
    gains: tuple[Number, ...]
    lag: int
    measured: bool


class _File(FileSchema):
    schema_: Literal["robot_sysid/identified_robot/1"] = Field(alias="schema")
    robot: str
    urdf_hash: str
    gravity: Vector3 | None = None
    locked: dict[str, Number] = Field(default_factory=dict)
    method: str
    parameters: dict[str, Number]
    friction: _Friction
    drives: _Drives
    processing: Processing
    velocity_feedback: _Feedback | None = None

    @field_validator("processing", mode="before")
    @classmethod
    def _named_as_today(cls, raw: object) -> object:
        """Rename the key `max_gap` of older files to `max_gap_s`."""
        if isinstance(raw, dict) and "max_gap" in raw:
            return {("max_gap_s" if key == "max_gap" else key): x for key, x in raw.items()}
        return raw
