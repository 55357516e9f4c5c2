# SPDX-License-Identifier: Apache-2.0
"""Simulation of a mechanism with closed loops in MuJoCo, built from the URDF and the file of the
loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.lazy import lazy_import
from sysid_core.robot import Array
from sysid_core.robot.loops import ClosedChain, Coupling, Loop, LoopEnd, LoopKind
from sysid_core.simulation.plant import MujocoPlant, largest_within
from sysid_core.simulation.stepping import MujocoStepper, PlantSample

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")

_BANDWIDTH = 30.0  # of the error dynamics [rad/s]


@dataclass(frozen=True)
class SolverSettings:
    """MuJoCo solver stiffness of loops and stiction.

    With the default values, the accelerations have a relative error of about `1 - d` (d: first
    entry of solimp), which is the largest error of the simulation.

    Attributes:
        timestep: Time step [s].
        solref: Time constant [s] and damping ratio of the constraints.
        solimp: Constraint impedance: start, end, width, midpoint, power (as in MuJoCo).
    """

    timestep: float = 5e-4
    solref: tuple[float, float] = (0.001, 1.0)
    solimp: tuple[float, float, float, float, float] = (0.9999, 0.9999, 0.001, 0.5, 2.0)


_MASSLESS = np.array([1e-8, 0, 0, 0, 1e-10, 0, 1e-10, 0, 0, 1e-10])  # MuJoCo refuses zero


def build_closed_chain_spec(
    chain: ClosedChain, settings: SolverSettings | None = None
) -> mujoco.MjSpec:
    """Return the MuJoCo model of the chain with its parameters and drives; loops are equality
    constraints.

    Points become `connect` and welds `weld` between sites; rods become tendons of fixed length.
    """
    settings = settings or SolverSettings()
    pi = chain.model.pi.copy()
    pi[~np.any(pi != 0.0, axis=1)] = _MASSLESS
    drives = np.array([chain.drive(name).values for name in chain.model.joint_names])
    spec = MujocoPlant.spec_of(
        chain.model.with_pi(pi),
        friction=drives[:, 0],
        damping=drives[:, 1],
        armature=drives[:, 2],
        timestep=settings.timestep,
    )
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    for joint in spec.joints:
        joint.solref_friction = settings.solref
        joint.solimp_friction = settings.solimp
    for loop in chain.loops:
        _add_loop(spec, chain, loop, settings)
    for coupling in chain.couplings:
        _add_coupling(spec, coupling, settings)
    return spec


class ClosedChainPlant(MujocoStepper):
    """Simulation of a mechanism with efforts on its actuated joints, each held for one control
    period.

    Args:
        chain: Closed chain with the true parameters and drives.
        settings: Settings of the solver.
        substeps: Number of time steps per control period.
    """

    def __init__(
        self, chain: ClosedChain, settings: SolverSettings | None = None, *, substeps: int = 2
    ) -> None:
        self.chain = chain
        spec = build_closed_chain_spec(chain, settings)
        super().__init__(spec, chain.model.joint_names, substeps=substeps)
        self.actuated = chain.actuated
        self._columns = chain.actuated_columns
        self._inertia = chain.actuated_inertia()
        self._held: tuple[bytes, Array] = (b"", np.zeros(0))  # a reference and its feedforward
        # Friction isn't compensated while braking: it helps.
        self._slippery = chain.with_drives(
            {name: replace(chain.drive(name), F_c=0.0) for name in self.joint_names}
        )
        self._offset = np.array([chain.drive(name).beta for name in chain.actuated])

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set a state in which the loops are closed; time starts at 0.

        Args:
            q: Positions, of the actuated joints (n_a,) or of all (n,).
            v: Velocities of all joints, shape (n,) [rad/s or m/s]; None: at rest.
        """
        q = np.asarray(q, dtype=float)
        if q.shape == (self.chain.n_actuated,) and self.chain.passive:
            q = self.chain.assemble(q)[0]
        super().reset(q, v)

    def step(self, effort: ArrayLike) -> PlantSample:
        """Apply efforts for one control period and return the sample at its beginning.

        Args:
            effort: Efforts of the actuated joints (n_a,), or of all joints (n,); [N m].
        """
        applied, control = np.zeros((2, self.chain.n))
        applied[self._columns] = self._actuated_part(effort)[0]
        control[self._columns] = applied[self._columns] - self._offset
        return self.advance(control, applied)

    def servo_effort(
        self,
        q_d: ArrayLike,
        v_d: ArrayLike,
        a_d: ArrayLike,
    ) -> Array:
        """Return the effort of the robot's position controller: inverse dynamics along the
        reference plus PD feedback.

        Args:
            q_d: Desired positions, of the actuated joints (n_a,) or of all (n,).
            v_d: Desired velocities, of the actuated joints (n_a,) or of all (n,).
            a_d: Desired accelerations, of the actuated joints (n_a,) or of all (n,).

        Returns:
            Efforts, shape (n,) [N m], zero for passive joints.
        """
        reference = [self._actuated_part(x) for x in (q_d, v_d, a_d)]
        key = np.concatenate(reference, axis=None).tobytes()
        if key != self._held[0]:  # closing the loops is slow, and holding asks for the same again
            motion = self.chain.motion(
                *reference,
                q=self.chain.assemble(reference[0], self.q[None]),
                ordered=False,
            )
            self._held = (key, self.chain.torques(motion)[0])
        inertia = self._inertia
        e, e_dot = (
            x - y[self._columns] for x, y in zip(reference[:2], (self.q, self.v), strict=True)
        )
        out = np.zeros(self.chain.n)
        out[self._columns] = (
            self._held[1] + inertia * (_BANDWIDTH**2 * e + 2.0 * _BANDWIDTH * e_dot)[0]
        )
        return out

    def braking_effort(self, rate: float) -> Array:
        """Return the effort that brakes every joint at the same relative rate.

        Returns:
            Torques of the actuated joints, within their limits, shape (n_a,).
        """
        q_a, v_a = (np.tile(x[self._columns], (2, 1)) for x in (self.q, self.v))
        a_a = np.array([[0.0], [-rate]]) * v_a
        posture = np.tile(self.q, (2, 1))
        motion = self._slippery.motion(q_a, v_a, a_a, q=posture, ordered=False)
        going_on, braking = self._slippery.torques(motion)
        return largest_within(going_on, braking - going_on, self.chain.torque_limits)

    def limited(self, effort: ArrayLike) -> Array:
        """Return the effort, limited to the torque limits of the drives, shape (n_a,)."""
        limits = self.chain.torque_limits
        return np.clip(self._actuated_part(effort)[0], -limits, limits)

    def _actuated_part(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        return (x[self._columns] if x.shape == (self.chain.n,) else x)[None]

    def loop_error(self) -> float:
        """Return the largest closure error of the loops in the present state [m]."""
        return float(np.max(np.abs(self.mj_data.efc_pos[: self.mj_data.ne]), initial=0.0))


def _add_loop(
    spec: mujoco.MjSpec, chain: ClosedChain, loop: Loop, settings: SolverSettings
) -> None:
    names = [
        _add_site(spec, chain, loop, end, side) for end, side in ((loop.a, "a"), (loop.b, "b"))
    ]
    if loop.kind is LoopKind.ROD:
        tendon = spec.add_tendon(name=loop.name)
        for name in names:
            tendon.wrap_site(name)
        equality = spec.add_equality(name=f"{loop.name}_length", name1=loop.name)
        equality.type = mujoco.mjtEq.mjEQ_TENDON
        zero = _distance_at_zero(chain, loop)
        equality.data[:5] = [loop.length - zero, 0.0, 0.0, 0.0, 0.0]
    else:
        equality = spec.add_equality(name=loop.name, name1=names[0], name2=names[1])
        weld = loop.kind is LoopKind.WELD
        equality.type = mujoco.mjtEq.mjEQ_WELD if weld else mujoco.mjtEq.mjEQ_CONNECT
        equality.objtype = mujoco.mjtObj.mjOBJ_SITE
        if weld:
            equality.data[10] = 1.0  # torque scale
    equality.solref, equality.solimp = settings.solref, settings.solimp


def _add_coupling(spec: mujoco.MjSpec, coupling: Coupling, settings: SolverSettings) -> None:
    tendon = spec.add_tendon(name=coupling.name)
    for joint, factor in coupling.joints.items():
        tendon.wrap_joint(joint, factor)
    equality = spec.add_equality(name=f"{coupling.name}_law", name1=coupling.name)
    equality.type = mujoco.mjtEq.mjEQ_TENDON
    equality.data[:5] = [coupling.offset, 0.0, 0.0, 0.0, 0.0]  # lengths count from zero positions
    equality.solref, equality.solimp = settings.solref, settings.solimp


def _add_site(spec: mujoco.MjSpec, chain: ClosedChain, loop: Loop, end: LoopEnd, side: str) -> str:
    at = chain.attachments[chain.loops.index(loop)][0 if side == "a" else 1]
    body = (
        spec.worldbody if at.joint < 0 else spec.body(f"body_{chain.model.joint_names[at.joint]}")
    )
    name = f"{loop.name}_{side}"
    site = body.add_site(name=name, pos=at.p_BF)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(at.R_BF).ravel())
    site.quat = quat
    return name


def _distance_at_zero(chain: ClosedChain, loop: Loop) -> float:
    """Distance between the ends of a rod at zero joint positions, which is MuJoCo's reference
    posture [m].
    """
    i = chain.loops.index(loop)
    p = chain.ends.poses(np.zeros((1, chain.n))).p
    return float(np.linalg.norm(p[2 * i] - p[2 * i + 1]))
