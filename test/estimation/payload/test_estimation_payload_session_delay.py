# SPDX-License-Identifier: Apache-2.0
"""A sensor's known delay is used when its calibration is."""

from __future__ import annotations

import numpy as np

from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration

OBJECT = pi_from_mass_com_inertia(0.6, [0.02, -0.01, 0.05], np.diag([4e-3, 3e-3, 2e-3]))
DELAY = 0.02  # [s]


def residual(delay_told: float) -> float:
    """RMS of what the object leaves unexplained when the sensor is 20 ms late."""
    robot = RobotModel.from_urdf("xarm7")
    rates = 2 * np.pi * np.linspace(0.3, 0.9, robot.nv)
    calibration = SensorCalibration(
        "", np.zeros(6), np.zeros(4), np.zeros((10, 10)), delay=(delay_told, 1e-3)
    )
    online = OnlinePayload(Shape.box([0.1, 0.1, 0.1]))
    session = PayloadSession(robot, "link7", online, calibration=calibration)

    def motion(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v = np.sin(rates * t), rates * np.cos(rates * t)
        return 0.5 * q, 0.5 * v, -0.5 * rates**2 * q

    session.add_mark(0, "oscillation:start")
    for t in np.arange(0.0, 1.5, 0.005):
        session.add_joints(round(t * 1e9), *motion(t))
        late = robot.frame_motion("link7", *(x[None] for x in motion(t - DELAY)))
        wrench = wrench_regressor(late.a, late.omega, late.alpha)[0] @ OBJECT
        session.add_wrench(round(t * 1e9), wrench)
    session.finish()
    data = session.data()
    return float(np.sqrt(np.mean((data.wrench - data.regressor @ OBJECT) ** 2)))


def test_known_delay_is_taken_out() -> None:
    assert residual(DELAY) < 0.02 * residual(0.0)
