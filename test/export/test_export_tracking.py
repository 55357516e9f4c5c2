# SPDX-License-Identifier: Apache-2.0
"""A simulated arm under computed torque: exported code against the nominal description."""

from __future__ import annotations

import shutil

import mujoco
import numpy as np
import pytest
from exported_arm import TRUTH, USUAL, identified
from two_joint_arm import swing

from sysid_core.export import JointFields, mjcf_of
from sysid_core.export.c_code import write_c
from sysid_core.export.projection import inside
from sysid_core.export.readers import CReader

STIFFNESS, DAMPING = np.array([40.0, 15.0]), np.array([6.0, 2.0])  # [N m/rad], [N m s/rad]


def tracking_error(plant, feedforward, q, v) -> float:
    """RMS of the position error [rad] over a motion at 1 kHz, from its first state on."""
    data = mujoco.MjData(plant)
    data.qpos[:], data.qvel[:] = q[0], v[0]
    left = np.empty_like(q)
    for k in range(len(q)):
        left[k] = q[k] - data.qpos
        data.ctrl[:] = feedforward[k] + STIFFNESS * left[k] + DAMPING * (v[k] - data.qvel)
        mujoco.mj_step(plant, data)
    return float(np.sqrt(np.mean(left**2)))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_an_arm_tracks_better_with_the_exported_code_than_with_the_description(rng, tmp_path):
    result, _, _ = identified(USUAL, rng)
    model = result.model
    truth = {
        joint: JointFields(TRUTH["I_a"][j], TRUTH["F_v"][j], TRUTH["F_c"][j])
        for j, joint in enumerate(model.joint_names)
    }
    plant = mujoco.MjModel.from_xml_string(mjcf_of(model, truth))
    plant.opt.timestep = 0.001
    t, q, v, a = swing(rng, 8.0)
    fine = np.arange(0.0, t[-1], 0.001)
    q, v, a = (np.stack([np.interp(fine, t, column) for column in x.T], axis=1) for x in (q, v, a))
    _, source = write_c(tmp_path, inside(result), "arm")
    code = CReader(source, model.nv, model.nv)
    identified_error = tracking_error(plant, code.torques(q, v, a), q, v)
    nominal_error = tracking_error(plant, model.inverse_dynamics(q, v, a), q, v)
    assert identified_error < 0.2 * nominal_error
