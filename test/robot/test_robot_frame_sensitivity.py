# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of a frame's motion against finite differences of the motion itself."""

import numpy as np
import pytest

from sysid_core.robot import RobotModel


@pytest.mark.parametrize(
    "name, frame", [("ur10", "tool0"), ("xarm7", "link7"), ("kinova", "j2s6s200_end_effector")]
)
def test_sensitivity_agrees_with_finite_differences(name, frame, rng):
    model = RobotModel.from_urdf(name)
    q, v, a = rng.uniform(-1, 1, size=(3, 4, model.nv))
    exact = model.frame_motion_sensitivity(frame, q, v, a)

    def motion(*state):
        m = model.frame_motion(frame, *state)
        return np.concatenate([m.a, m.omega, m.alpha], axis=1)

    h = 1e-5
    for j in range(model.nv):
        for kind in range(3):
            ends = []
            for sign in (1.0, -1.0):
                state = [q.copy(), v.copy(), a.copy()]
                state[kind][:, j] += sign * h
                ends.append(motion(*state))
            numeric = (ends[0] - ends[1]) / (2 * h)
            assert np.allclose(exact[:, :, j, kind], numeric, atol=1e-6)
