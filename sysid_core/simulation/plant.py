# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot in MuJoCo, independent of pinocchio, which is used for identification.

The plant with position servos receives targets; its encoders measure on the output side of the
gears' backlash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, RobotModel, mass_com_inertia_from_pi
from sysid_core.simulation.stepping import MujocoStepper, PlantSample

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")

_BANDWIDTH = 60.0  # of the critically damped error dynamics [rad/s]


def largest_within(fixed: Array, more: Array, limits: Array) -> Array:
    """Return the vector `fixed + s * more` with the largest s in [0, 1] that respects the limits,
    shape (n,).

    If the fixed part alone exceeds a limit, s is zero and that joint gets its limit.
    """
    room = limits - np.sign(more) * fixed
    asked = np.abs(more)
    share = np.divide(room, asked, out=np.full(len(more), np.inf), where=asked > 0.0)
    return np.clip(fixed + np.clip(share.min(), 0.0, 1.0) * more, -limits, limits)


def _pose(body: mujoco.MjsBody, placement: pin.SE3) -> None:
    body.pos = placement.translation
    x, y, z, w = pin.Quaternion(placement.rotation).coeffs()
    body.quat = [w, x, y, z]


def _set_inertia(body: mujoco.MjsBody, pi: Array) -> None:
    mass, com, I_C = mass_com_inertia_from_pi(pi)
    body.mass, body.ipos = float(mass), com
    body.fullinertia = [I_C[0, 0], I_C[1, 1], I_C[2, 2], I_C[0, 1], I_C[0, 2], I_C[1, 2]]
    body.explicitinertial = True


def _add_joint(body: mujoco.MjsBody, joint: pin.JointModel, name: str, q: Array) -> mujoco.MjsJoint:
    """The joint that moves a body: revolute or prismatic about its own axis."""
    kind = joint.shortname()
    if joint.nv != 1 or not kind.startswith(("JointModelR", "JointModelP")):
        raise ModelError(
            f"Joint '{name}' is a {kind}: the simulated robot has revolute and prismatic joints.",
            remedy="Lock this joint with RobotModel.with_locked.",
        )
    joint_data = joint.createData()
    joint.calc(joint_data, q)
    S = np.asarray(joint_data.S).reshape(6)
    prismatic = kind.startswith("JointModelP")
    return body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if prismatic else mujoco.mjtJoint.mjJNT_HINGE,
        axis=S[:3] if prismatic else S[3:],
    )


def _add_sensor(
    spec: mujoco.MjSpec, carrier: mujoco.MjsBody, placement: pin.SE3, payload: ArrayLike | None
) -> None:
    """Add a force-torque sensor whose load side is a separate body."""
    load = carrier.add_body(name="sensor_load")
    _pose(load, placement)
    # The sensor must carry something for MuJoCo to measure: a gram's thousandth when empty.
    tiny = np.array([1e-6, 0, 0, 0, 1e-9, 0, 1e-9, 0, 0, 1e-9])
    _set_inertia(load, tiny if payload is None else np.asarray(payload, float))
    load.add_site(name="sensor")
    for kind, label in (
        (mujoco.mjtSensor.mjSENS_FORCE, "force"),
        (mujoco.mjtSensor.mjSENS_TORQUE, "torque"),
    ):
        spec.add_sensor(name=label, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="sensor")


class MujocoPlant(MujocoStepper):
    """MuJoCo simulation of a robot, driven by joint efforts or by a position controller.

    Args:
        model: Robot with the true parameters.
        sensor_frame: Frame of a force-torque sensor.
        payload: Inertial parameters of the load on the sensor, in the sensor frame, shape (10,).
        friction: Coulomb friction per joint, shape (n,) [N m].
        damping: Viscous friction per joint, shape (n,) [N m s/rad].
        armature: Drive inertia per joint, shape (n,) [kg m^2].
        timestep: Time step [s].
    """

    def __init__(
        self,
        model: RobotModel,
        *,
        sensor_frame: str | None = None,
        payload: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        timestep: float = 1e-3,
    ) -> None:
        spec = MujocoPlant.spec_of(
            model,
            sensor_frame=sensor_frame,
            payload=payload,
            friction=friction,
            damping=damping,
            armature=armature,
            timestep=timestep,
        )
        super().__init__(spec, model.joint_names)
        # A URDF without an effort limit says zero.
        self._limits = np.where(model.effort_limits > 0.0, model.effort_limits, np.inf)

    def step(self, effort: ArrayLike) -> PlantSample:
        """Apply efforts (n,) for one time step and return the sample at its beginning."""
        effort = np.array(effort, dtype=float)
        return self.advance(effort, effort)

    def servo_effort(
        self,
        q_d: ArrayLike,
        v_d: ArrayLike,
        a_d: ArrayLike,
    ) -> Array:
        """Return the effort of the position controller of an industrial arm: computed torque with
        PD feedback.

        Args:
            q_d: Desired positions, shape (n,) [rad or m].
            v_d: Desired velocities, shape (n,) [rad/s or m/s].
            a_d: Desired accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Efforts of the joints, shape (n,) [N m or N].
        """
        data = self.mj_data
        a = (
            np.asarray(a_d)
            + 2 * _BANDWIDTH * (np.asarray(v_d) - data.qvel)
            + _BANDWIDTH**2 * (np.asarray(q_d) - data.qpos)
        )
        bias, M_a = self._inverse_dynamics(a)
        return bias + M_a

    def braking_effort(self, rate: float) -> Array:
        """Return the effort, shape (n,), that brakes every joint at the same relative rate, within
        the torque limits.

        `v' = -s rate v` with the largest s of [0, 1] that the limits allow: the motion only loses
        energy, and no joint is accelerated in order to stop another. The joint friction also brakes
        the robot; it is not contained in this effort.

        Args:
            rate: Relative deceleration of every joint [1/s].
        """
        return largest_within(*self._inverse_dynamics(-rate * self.mj_data.qvel), self._limits)

    def limited(self, effort: ArrayLike) -> Array:
        """Return the effort, limited to the torque limits of the drives, shape (n,)."""
        return np.clip(effort, -self._limits, self._limits)

    def _inverse_dynamics(self, a: Array) -> tuple[Array, Array]:
        """Efforts against gravity, Coriolis forces and damping, and those for accelerations."""
        data = self.mj_data
        mujoco.mj_fwdPosition(self.mj_model, data)
        mujoco.mj_fwdVelocity(self.mj_model, data)
        M_a = np.zeros(self.mj_model.nv)
        mujoco.mj_mulM(self.mj_model, data, M_a, a)
        return data.qfrc_bias - data.qfrc_passive, M_a

    @staticmethod
    def spec_of(
        model: RobotModel,
        *,
        sensor_frame: str | None = None,
        payload: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        timestep: float = 1e-3,
    ) -> mujoco.MjSpec:
        """Return the MuJoCo model with the tree, inertias and frames of a `RobotModel`, without
        contacts.

        Args:
            model: Robot with revolute, continuous and prismatic joints.
            sensor_frame: Frame of a force-torque sensor, whose load side becomes a body; None: no
                sensor.
            payload: Inertial parameters of the load on the sensor, in the sensor frame, shape (10,).
            friction: Coulomb friction per joint, shape (n,) [N m].
            damping: Viscous friction per joint, shape (n,) [N m s/rad].
            armature: Drive inertia per joint, shape (n,) [kg m^2].
            timestep: Time step [s].

        Raises:
            ModelError: MuJoCo does not support a joint type or a body.
        """
        n = model.nv
        zeros = np.zeros(n)
        per_joint = [
            zeros if x is None else np.asarray(x, float) for x in (friction, damping, armature)
        ]
        spec = mujoco.MjSpec()
        spec.modelname = model.name
        spec.option.timestep = timestep
        spec.option.gravity = model.gravity
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
        spec.compiler.degree = False
        bodies = [spec.worldbody]
        pm = model.pin_model
        for j in range(1, pm.njoints):
            joint, name = pm.joints[j], pm.names[j]
            body = bodies[pm.parents[j]].add_body(name=f"body_{name}")
            _pose(body, pm.jointPlacements[j])
            _set_inertia(body, model.pi[j - 1])
            joint_spec = _add_joint(body, joint, name, pin.neutral(pm))
            i = joint.idx_v
            joint_spec.frictionloss = per_joint[0][i]
            joint_spec.damping = [per_joint[1][i], 0.0, 0.0]  # linear, quadratic, cubic
            joint_spec.armature = per_joint[2][i]
            # Stiff friction: the default lets a joint at rest creep.
            joint_spec.solref_friction = [2 * timestep, 1.0]
            bodies.append(body)
            actuator = spec.add_actuator(name=name, target=name)
            actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        if sensor_frame is not None:
            frame = pm.frames[model.frame_id(sensor_frame)]
            _add_sensor(spec, bodies[frame.parentJoint], frame.placement, payload)
        return spec


class PositionPlant(MujocoStepper):
    """MuJoCo simulation of a robot that is driven by position targets.

    Args:
        mjcf: MJCF with a position actuator for each joint, under the name of the joint.
        joint_names: Names of the robot's joints.
        zero: Target at which each joint rests at zero without a load, shape (n,) [rad or m].
        backlash: Half of each gap between motor and encoder, shape (n,) [rad or m].
    """

    def __init__(
        self, mjcf: str, joint_names: tuple[str, ...], zero: ArrayLike, backlash: ArrayLike
    ) -> None:
        super().__init__(mujoco.MjSpec.from_string(mjcf), joint_names)
        self._zero, self._gap = np.asarray(zero, dtype=float), np.asarray(backlash, dtype=float)
        self._at = np.array([int(self.mj_model.joint(name).qposadr[0]) for name in joint_names])
        self._drive = np.array([self.mj_model.actuator(name).id for name in joint_names])
        self._encoder = np.zeros(len(joint_names))

    @property
    def q(self) -> Array:
        """Positions measured by the encoders, shape (n,) [rad or m]."""
        return self._encoder.copy()

    @property
    def v(self) -> Array:
        """Velocities of the motors, converted to the joint side of the gears, shape (n,) [rad/s or
        m/s].
        """
        return np.asarray(self.mj_data.qvel[self._at])

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set the positions q, shape (n,), and use them as targets; time starts at 0."""
        there = np.zeros(self.mj_model.nq)
        there[self._at] = np.asarray(q, dtype=float)
        super().reset(there, v)
        for drive, first in zip(self._drive, there[self._at] - self._zero, strict=True):
            if kept := int(self.mj_model.actuator_history[drive, 0]):  # its dead time's buffer
                mujoco.mj_initCtrlHistory(
                    self.mj_model, self.mj_data, drive, None, np.full(kept, first)
                )
        self._encoder = there[self._at]

    def step(self, target: ArrayLike) -> PlantSample:
        """Apply targets, shape (n,), for one time step and return the sample at its beginning."""
        control = np.empty(len(self._drive))
        control[self._drive] = np.asarray(target, dtype=float) - self._zero
        sample = self.advance(control, self.mj_data.actuator_force[self._drive].copy())
        motor = self.mj_data.qpos[self._at]
        self._encoder = np.clip(self._encoder, motor - self._gap, motor + self._gap)
        return sample
