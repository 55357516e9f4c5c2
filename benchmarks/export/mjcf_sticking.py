# SPDX-License-Identifier: Apache-2.0
"""Stiction and sliding of an exported arm in MuJoCo, compared with an integration that MuJoCo does
not share.

    python benchmarks/export/mjcf_sticking.py ARM.xml Q1 Q2 ...

The reference integrates pinocchio's dynamics of the same file with a step of 0.2 ms; Coulomb friction
is the impulse that stops each joint or has the largest permitted size (projected Gauss-Seidel).
The torques are gravity at the posture Q and, for one second: 0.9 F_c on each joint (`hold`); 0.8 F_c,
and 2 F_c at 2 Hz on the second joint (`one`); 2 F_c at 1 Hz and above on all joints (`all`). Columns:
ranges of the positions in the reference, and largest deviations of MuJoCo with steps of 2 ms, of all
joints [mrad].
"""

from __future__ import annotations

import sys

import mujoco
import numpy as np
import pinocchio as pin

FINE, COARSE, SECONDS, SWEEPS = 2e-4, 2e-3, 1.0, 200


def reference(path, q, torque, own):
    tree = pin.buildModelFromMJCF(path)
    tree.armature[:], tree.gravity.linear = 0.0, own.opt.gravity
    data, v, impulse, out = tree.createData(), np.zeros(tree.nv), np.zeros(tree.nv), []
    limit = own.dof_frictionloss * FINE
    for k in range(round(SECONDS / FINE)):
        out.append(q)
        M = np.triu(pin.crba(tree, data, q))
        M = M + np.triu(M, 1).T + np.diag(own.dof_armature + FINE * own.dof_damping)
        h = pin.nonLinearEffects(tree, data, q, v) + own.dof_damping * v
        W = np.linalg.inv(M)
        v = v + W @ (FINE * (torque(k * FINE) - h) + impulse)
        for _ in range(SWEEPS):
            before = impulse.copy()
            for i in range(tree.nv):
                new = np.clip(impulse[i] - v[i] / W[i, i], -limit[i], limit[i])
                v, impulse[i] = v + W[:, i] * (new - impulse[i]), new
            if np.all(np.abs(impulse - before) <= 1e-8 * limit):
                break
        q = q + FINE * v
    return np.array(out)[:: round(COARSE / FINE)]


def in_mujoco(model, q, torque, integrator):
    model.opt.integrator = integrator
    data, out = mujoco.MjData(model), []
    data.qpos[:] = q
    for k in range(round(SECONDS / COARSE)):
        out.append(data.qpos.copy())
        data.qfrc_applied[:] = torque(k * COARSE)
        mujoco.mj_step(model, data)
    return np.array(out)


def main() -> None:
    path, posture = sys.argv[1], np.array(sys.argv[2:], dtype=float)
    own = mujoco.MjModel.from_xml_path(path)
    off = mujoco.mjtDisableBit
    own.opt.disableflags |= int(off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_ACTUATION)
    tree = pin.buildModelFromMJCF(path)
    tree.gravity.linear = own.opt.gravity
    gravity = pin.computeGeneralizedGravity(tree, tree.createData(), posture)
    F_c, n = own.dof_frictionloss.copy(), own.nv
    sides = np.where(np.random.default_rng(1).random(n) < 0.5, -1.0, 1.0)
    wave = lambda t: np.sin(2.0 * np.pi * (1.0 + 0.3 * np.arange(n)) * t)  # noqa: E731
    one = np.arange(n) == 1
    torques = {
        "hold": lambda t: gravity + 0.9 * F_c * sides,
        "one": lambda t: gravity + F_c * np.where(one, 2 * np.sin(4 * np.pi * t), 0.8 * sides),
        "all": lambda t: gravity + 2.0 * F_c * min(t / 0.1, 1.0) * wave(t),
    }
    for name, torque in torques.items():
        ours = reference(path, posture, torque, own)
        print(name, "ranges", (1e3 * np.ptp(ours, axis=0)).round(3).tolist())
        for kind in (mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_IMPLICITFAST):
            theirs = in_mujoco(own, posture, torque, kind)
            print("  ", kind.name, (1e3 * np.abs(theirs - ours).max(axis=0)).round(3).tolist())


if __name__ == "__main__":
    main()
