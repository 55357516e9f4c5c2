# SPDX-License-Identifier: Apache-2.0
"""Parameters of the estimator node."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.lifecycle import CommonConfig, parameter


@dataclass(frozen=True)
class EstimatorConfig(CommonConfig):
    """Parameters of `estimator`."""

    sensor_frame: str = parameter(
        "", "Frame of the force-torque sensor; empty: no payload is estimated."
    )
    wrench_frames: tuple[str, ...] = parameter(
        (),
        "Further frame ids of the wrench that denote sensor_frame; empty: any frame id that is not a link of the robot.",
    )
    sensor_parent: str = parameter(
        "",
        "Link to which the sensor is fixed, if neither the description nor tf_static contains sensor_frame."
        "",
    )
    sensor_pose: tuple[float, ...] = parameter(
        (0.0,) * 6, "Mounting of sensor_frame in sensor_parent: x y z roll pitch yaw [m, rad]."
    )
    shape: str = parameter(
        "",
        "Shape of the payload: text, mesh or YAML, see `sysid payload --help`; empty: not known.",
    )
    sensor_quality: str = parameter(
        "ordinary",
        "Quality of the force-torque sensor: ordinary, or calibrated (gains, delay and axes).",
        choices=("ordinary", "calibrated"),
    )
    parts: str = parameter(
        "",
        "File of known loads, see `sysid payload --parts`: ~/part and ~/which_part report which of these loads is held, with probabilities.",
    )
    expected_part: str = parameter(
        "",
        "Name of the load that the robot should carry, one of those in the file of the parameter parts: the service"
        " ~/which_part succeeds only if this load is recognised.",
    )
    part_s: float = parameter(
        0.3,
        "Duration of the newest samples from which the held load is recognised [s].",
        minimum=0.05,
        maximum=10.0,
    )
    calibration: str = parameter(
        "",
        "File with the sensor calibration of an earlier tare; empty: the sensor is tared in the marked static postures.",
    )
    keep_tare_s: float = parameter(
        600.0,
        "Maximum age of the stored tare that a restarted estimator uses again [s]; 0: a new tare is always needed.",
        minimum=0.0,
        maximum=86400.0,
    )
    rate_hz: float = parameter(
        10.0,
        "Rate at which the running payload estimate is published [Hz].",
        minimum=0.1,
        maximum=100.0,
    )
    lag_s: float = parameter(
        0.3,
        "Time that a sample waits for late messages before it is used [s].",
        minimum=0.0,
        maximum=5.0,
    )
    columns: str = parameter(
        "",
        "Column map (YAML) with the gains of the drives, for ~/identify of a robot whose efforts are motor"
        " currents; empty: none.",
    )
    recordings: str = parameter(
        "recordings",
        "Folder in which the action ~/identify looks for recordings, plans and files of loops, with its subfolders.",
    )
    directory: str = parameter("results", "Folder below which results are written.")
