# SPDX-License-Identifier: Apache-2.0
"""Export of identified servos to MuJoCo, Isaac Lab and C, with a proof of its accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.export import (
    Projection,
    Proof,
    Target,
    actuators_of,
    largest_differences,
    reader_of,
    write_c,
    write_mjcf,
)
from sysid_core.files import write_json, write_yaml
from sysid_core.progress import Progress, Step, silent
from sysid_core.robot import Array, DriveTrain, FrictionModel, FrictionTerm
from sysid_core.servos import Replay, ServoMjcf, ServoModel, Term, load_servos
from sysid_core.workflows.inputs import recorded_settings
from sysid_core.workflows.settings import ServoSettings

SERVOS = "servos.yaml"


@dataclass(frozen=True)
class ServoErrors:
    """RMS position errors of a servo robot over all motions [rad].

    Attributes:
        inside: Error of the simulation with the identified servos [rad].
        exported: Error of MuJoCo's simulation with the exported file [rad].
        apart: RMS difference between the two simulations [rad].
        command: RMS difference between the command and the simulation with the identified servos
            [rad].
        held_out: True if the motions were not fitted.
    """

    inside: float
    exported: float
    apart: float
    command: float
    held_out: bool


@dataclass(frozen=True)
class ExportedServos:
    """Exported servo robot.

    Attributes:
        file: MJCF file or C source.
        actuators: Values of the actuators for Isaac Lab.
        proof: Proof, which `sysid verify` repeats.
        differences: Largest torque difference between servos and file, by joint name [N m].
        tolerance: Largest torque difference that rounding explains [N m].
        errors: Position errors over the recorded motions; None: the recordings were not found.
        sentences: Sentences on omissions and assumptions of the file.
    """

    file: Path
    actuators: Path
    proof: Path
    differences: Mapping[str, float]
    tolerance: float
    errors: ServoErrors | None
    sentences: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """True if the torques of the exported file equal those of the servos within `tolerance`."""
        return max(self.differences.values()) <= self.tolerance


@dataclass(frozen=True, eq=False)
class _Driven(Projection):
    """Robot with the linear terms of its servos, whose commands are zero.

    Attributes:
        stiffness: Stiffness of each joint's servo, shape (n,) [N m/rad]; 0: no servo.
        force: Largest torque of the servos, shape (n,) [N m].
    """

    stiffness: Array = field(kw_only=True)
    force: Array = field(kw_only=True)

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques that must act on the joints in addition to those of the servos, shapes
        (K, n) to (K, n) [N m].
        """
        return super().torques(q, v, a) + np.clip(self.stiffness * q, -self.force, self.force)


def _driven(
    model: ServoModel,
    assumed: Mapping[str, float],
    raised: Mapping[str, float] = MappingProxyType({}),
) -> _Driven:
    """Robot with the terms of the servos that MJCF supports, computed from the identified terms;
    and with the armature that MuJoCo needs.
    """
    names = model.robot.joint_names
    of = {servo.joint: servo for servo in model.servos}
    rows = []
    for name in names:
        terms = of[name].values if name in of else {}
        x = {term: terms.get(term, 0.0) for term in Term}
        K = assumed.get(name) or (1.0 / x[Term.COMPLIANCE] if name in of else 0.0)
        load = x[Term.LOAD_FRICTION] * of[name].load if name in of else 0.0
        dry = K * (x[Term.FRICTION] + x[Term.BREAKAWAY]) + load
        force = K / x[Term.INVERSE_LIMIT] if x[Term.INVERSE_LIMIT] > 0.0 else np.inf
        armature = raised.get(name, K * x[Term.INERTIA])
        rows.append((K, force, dry, K * x[Term.TIME_CONSTANT], armature))
    K, force, *friction = np.array(rows).T
    kinds = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.INERTIA)
    values = {
        f"{name}.{symbol}": x
        for symbol, column in zip(("F_c", "F_v", "I_a"), friction, strict=True)
        for name, x in zip(names, column, strict=True)
    }
    terms_of = FrictionModel(DriveTrain.direct(names), kinds)
    ordered = np.array([values[name] for name in terms_of.names])
    return _Driven(model.robot, terms_of, ordered, stiffness=K, force=force)


def servo_differences(
    model: ServoModel,
    target: Target,
    file: Path,
    states: int = Proof.STATES,
    seed: int = Proof.SEED,
) -> tuple[dict[str, float], float]:
    """Return the torque differences between servos and exported file by joint, and the difference
    that rounding explains [N m].

    Args:
        model: Identified servos.
        target: Format of the file: MJCF; or C, with the torques that the servos must produce.
        file: Exported file.
        states: Number of random states.
        seed: Seed of the random states.
    """
    made = ServoMjcf.of(model)
    robot: Projection = _driven(model, made.assumed, {} if target.holds_all else made.raised)
    if target.holds_all:
        robot = Projection(robot.model, robot.friction, robot.values)
    reader = reader_of(target, file, robot)
    differences, torque = largest_differences(reader, robot, states=states, seed=seed)
    return differences, target.tolerance(torque)


def servo_errors(folder: Path, file: Path, data: Path | None = None) -> ServoErrors:
    """Return the position errors of servos and exported file over the motions of the
    identification: the held-out motions, or, if there are none, the fitted motions.

    Args:
        folder: Result folder of `sysid servos identify`.
        file: Exported MJCF file.
        data: Folder to search for recordings that are not at their stored path; None: none.

    Raises:
        SysIdError: Recordings are missing or have changed, or MuJoCo refuses the file.
    """
    settings, _ = recorded_settings(folder, ServoSettings, data)
    files, model = settings.files, load_servos(folder)
    motions = files.read_others(settings.unseen) if settings.unseen else files.read()
    inside = Replay.all_of(model, motions)
    seconds = [item.recording.duration for item in inside]
    exported = ServoMjcf.replay(file, model, inside)
    simulated = [replace(x.recording, q=x.q) for x in inside]
    apart = [Replay(r, x.q) for r, x in zip(simulated, exported, strict=True)]
    errors = ([x.rms for x in xs] for xs in (inside, exported, apart))
    command = [x.command_rms for x in apart]
    own, theirs, beside, sent = (Replay.overall(of, seconds) for of in (*errors, command))
    return ServoErrors(own, theirs, beside, sent, held_out=bool(settings.unseen))


def stated_servos(
    model: ServoModel,
    target: Target,
    differences: Mapping[str, float],
    tolerance: float,
    errors: ServoErrors | None,
) -> dict[str, object]:
    """Return the numbers of a proof; see `servo_differences` and `servo_errors`."""
    return {
        "target": target.value,
        "tolerance": tolerance,
        "largest_difference": dict(differences),
        "errors": None if errors is None else asdict(errors),
        "losses": list(ServoMjcf.of(model).sentences),
    }


def export_servos(
    folder: Path, file: Path, *, data: Path | None = None, progress: Progress = silent
) -> ExportedServos:
    """Export identified servos, with a proof beside the file.

    Args:
        folder: Result folder of `sysid servos identify`.
        file: File to write: C code of the torques if it ends in `.c`, otherwise MJCF with position
            actuators. Beside `arm.xml`, `arm_actuators.yaml` contains actuators for Isaac Lab, and
            `arm.xml.proof.json` the proof.
        data: Folder to search for recordings that are not at their stored path; None: none.
        progress: Function called with each step.

    Raises:
        SysIdError: The folder contains no servos, or the format cannot represent the robot.
    """
    progress(Step.WRITING)
    folder = folder.parent if folder.is_file() else folder
    target = Target.C if file.suffix == ".c" else Target.MJCF
    model = load_servos(folder)
    made = ServoMjcf.of(model)
    driven = _driven(model, made.assumed)
    actuators = file.with_name(f"{file.stem}_actuators.yaml")
    files = [file, actuators]
    if target is Target.C:
        files.append(write_c(file.parent, driven, file.stem)[0])
    else:
        write_mjcf(file, made.text)
    values = actuators_of(driven, driven.stiffness, driven.force)
    known = {servo.joint: servo.values.get(Term.DELAY, 0.0) for servo in model.servos}
    late = (known.get(joint, 0.0) for joint in model.robot.joint_names)
    delays = dict(zip(values, late, strict=True))
    write_yaml(actuators, {"actuators": values, "delays": delays})
    progress(Step.PREDICTING)
    differences, tolerance = servo_differences(model, target, file)
    errors, sentences = None, made.sentences
    try:
        errors = servo_errors(folder, file, data) if target is Target.MJCF else None
    except SysIdError as err:
        sentences = (*sentences, f"The position errors are not stated: {err}")
    proof = file.with_name(f"{file.name}.proof.json")
    stated = stated_servos(model, target, differences, tolerance, errors)
    exported = stated | {"files": [Proof.hashed(one, file.parent) for one in files]}
    write_json(proof, Proof.of(model.robot, folder, SERVOS, [exported]))
    return ExportedServos(file, actuators, proof, differences, tolerance, errors, sentences)
