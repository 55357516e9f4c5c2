# SPDX-License-Identifier: Apache-2.0
"""Servos as position actuators of MuJoCo, and the terms that MuJoCo lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.export import TIMESTEP, JointFields, PositionServo, mjcf_of
from sysid_core.lazy import lazy_import
from sysid_core.servos.model import TERMS, ServoModel, Term
from sysid_core.servos.replay import Replay
from sysid_core.simulation import PositionPlant

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")

# Terms without a field in MJCF; the zero can be taken from the commands beforehand.
LOST = (
    Term.ZERO,
    Term.INVERSE_ACCELERATION,
    Term.INVERSE_SPEED,
    Term.BACKLASH,
    Term.INTEGRAL,
)
# Terms for which the constant friction stands, as large as it was on average where a joint comes to rest.
CONSTANT = (Term.LOAD_FRICTION, Term.BREAKAWAY)
# Steps of damping to an armature. MuJoCo damps after it has found the friction forces: a light, damped
# joint that moves drags others out of their stiction. With two, MuJoCo's 4.5 mrad fall to 0.5 (SO-101).
_STEPS = 2.0


@dataclass(frozen=True)
class ServoMjcf:
    """MJCF of a robot with position servos.

    Attributes:
        text: MJCF text.
        lost: Terms that MJCF lacks, with their values, by joint name.
        constant: Terms included in the constant friction, with their values, by joint name.
        assumed: Assumed stiffness of the joints for which gravity does not determine it, by name [N
            m/rad].
        raised: Armature by joint name [kg m²], where MuJoCo's friction needs a larger one than the
            servo has.
        ground: Height of an omitted surface above the origin of the base [m]; None: no surface.
    """

    text: str
    lost: dict[str, dict[Term, float]]
    constant: dict[str, dict[Term, float]]
    assumed: dict[str, float]
    raised: dict[str, float]
    ground: float | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on omissions and assumptions of the file."""
        said = []
        what = [("Omitted", t, self.lost) for t in LOST]
        what += [("Replaced by a constant friction", t, self.constant) for t in CONSTANT]
        for how, term, joints in what:
            values = {j: terms[term] for j, terms in joints.items() if term in terms}
            if values:
                listed = ", ".join(f"{joint} {x:.3g}" for joint, x in values.items())
                facts = TERMS[term]
                said.append(f"{how}: {facts.meaning} [{facts.unit}]: {listed}.")
        for what_is, values in (
            ("Assumed stiffness [N m/rad] (median of the other joints, because gravity does not"
             " determine it)", self.assumed),
            ("Armature [kg m²], increased because otherwise MuJoCo's joints do not stick", self.raised),
        ):  # fmt: skip
            if values:
                said.append(f"{what_is}: {', '.join(f'{j} {x:.3g}' for j, x in values.items())}.")
        if self.ground is not None:
            said.append(
                f"Omitted: the surface at a height of {self.ground:.3f} m, relative to the origin"
                " of the base."
            )
        return tuple(said)

    @classmethod
    def of(cls, model: ServoModel) -> ServoMjcf:
        """Return the MJCF of a robot with a position actuator for each servo.

        Damping is written to the joint, because the force limit of the drive applies to the
        stiffness term (spring) alone, as in the simulation of this package. The dead time is the
        actuator's delay. At the start of a simulation, the buffer of the actuator's delay contains
        zeros; MuJoCo's `mj_initCtrlHistory` fills it. The range of a joint ends at its mechanical
        stops, and at the robot's limits where no stop is known.

        Args:
            model: Identified servo robot; joints without a servo get no actuator.

        Raises:
            ModelError: The stiffness of no joint is known, or MJCF cannot represent a joint.
        """
        known = {s.joint: s.stiffness for s in model.servos if s.stiffness is not None}
        if not known:
            raise ModelError(
                "No stiffness of a servo is known, so that torques cannot be computed, which MuJoCo needs.",
                remedy="Identify the servos with known gains: sysid servos identify … --gain JOINT=K.",
            )
        middle = float(np.median(list(known.values())))
        fields = {name: JointFields(driven=False) for name in model.robot.joint_names}
        names, bounds = model.robot.joint_names, np.transpose(model.robot.position_limits)
        limits = dict(zip(names, bounds, strict=True))
        lost, constant, assumed, raised = {}, {}, {}, {}
        for servo in model.servos:
            terms = servo.values
            K = known.get(servo.joint, middle)
            if servo.joint not in known:
                assumed[servo.joint] = middle
            inverse = terms.get(Term.INVERSE_LIMIT, 0.0)
            friction = K * (terms.get(Term.FRICTION, 0.0) + terms.get(Term.BREAKAWAY, 0.0))
            ends = np.where(np.isfinite(servo.stops), servo.stops, limits[servo.joint])
            armature, damping = (K * terms.get(t, 0.0) for t in (Term.INERTIA, Term.TIME_CONSTANT))
            if (least := _STEPS * TIMESTEP * damping) > armature:
                raised[servo.joint] = armature = least
            fields[servo.joint] = JointFields(
                armature=armature,
                damping=damping,
                frictionloss=friction + terms.get(Term.LOAD_FRICTION, 0.0) * servo.load,
                servo=PositionServo(
                    K,
                    force=K / inverse if inverse > 0.0 else np.inf,
                    delay=terms.get(Term.DELAY, 0.0),
                ),
                limits=(float(ends[0]), float(ends[1])),
            )
            lost[servo.joint], constant[servo.joint] = (
                {t: terms[t] for t in group if terms.get(t, 0.0) != 0.0}
                for group in (LOST, CONSTANT)
            )
        ground = None if model.ground is None else model.ground.height
        return cls(mjcf_of(model.robot, fields), lost, constant, assumed, raised, ground)

    @staticmethod
    def plant(model: ServoModel) -> PositionPlant:
        """Return the MuJoCo simulation of a robot from its MJCF, with the encoder offsets and the
        backlash that MJCF cannot describe.

        Args:
            model: True servos of the simulated robot.

        Raises:
            ModelError: The same conditions as in `ServoMjcf.of`.
        """
        terms = (
            [s.values.get(term, 0.0) for s in model.servos] for term in (Term.ZERO, Term.BACKLASH)
        )
        return PositionPlant(ServoMjcf.of(model).text, model.joints, *terms)

    @staticmethod
    def replay(path: Path, model: ServoModel, replays: Iterable[Replay]) -> tuple[Replay, ...]:
        """Simulate motions in MuJoCo with an exported file.

        The zero offsets of the servos are subtracted from the commands, because MJCF has no field
        for them.

        Args:
            path: MJCF file with a position actuator for each servo.
            model: Identified servos.
            replays: Recorded motions of the same joints.

        Raises:
            ModelError: MuJoCo refuses the file, or the file lacks a servo.
        """
        try:
            plant = mujoco.MjModel.from_xml_path(str(path))
            joints = [int(plant.joint(name).qposadr[0]) for name in model.joints]
            drives = [int(plant.actuator(name).id) for name in model.joints]
        except (ValueError, KeyError) as err:
            raise ModelError(
                f"'{path}' can't be simulated with the servos: {str(err).strip()}.",
                remedy="Write it again: sysid servos export DIR --out FILE.",
            ) from err
        zero = [servo.values.get(Term.ZERO, 0.0) for servo in model.servos]
        out = []
        for r in (item.recording for item in replays):
            data, target = mujoco.MjData(plant), r.target - zero
            data.qpos[joints] = r.q[0]
            for drive, first in zip(drives, target[0], strict=True):
                if kept := int(plant.actuator_history[drive, 0]):  # its dead time's buffer
                    mujoco.mj_initCtrlHistory(plant, data, drive, None, np.full(kept, first))
            q, t, t_target = np.empty_like(r.q), r.t - r.t[0], r.t_target - r.t[0]
            for k, now in enumerate(t):
                while data.time < now - 1e-9:
                    held = np.searchsorted(t_target, data.time + 1e-9, side="right") - 1
                    data.ctrl[drives] = target[max(held, 0)]
                    mujoco.mj_step(plant, data)
                q[k] = data.qpos[joints]
            out.append(Replay(r, q))
        return tuple(out)
