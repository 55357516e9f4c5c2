# SPDX-License-Identifier: Apache-2.0
"""Default payload estimator: maximum a posteriori (MAP), batch and running."""

from sysid_core.estimation.payload_map.estimator import PayloadMAP
from sysid_core.estimation.payload_map.joint_spline import JointSplines
from sysid_core.estimation.payload_map.motion_belief import MotionBelief, SplineMotion, WhiteMotion
from sysid_core.estimation.payload_map.motion_error import filtered_motion_covariance
from sysid_core.estimation.payload_map.running import RunningMAP
from sysid_core.estimation.payload_map.sensor_model import SensorModel

__all__ = [
    "JointSplines",
    "MotionBelief",
    "PayloadMAP",
    "RunningMAP",
    "SensorModel",
    "SplineMotion",
    "WhiteMotion",
    "filtered_motion_covariance",
]
