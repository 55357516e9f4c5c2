# SPDX-License-Identifier: Apache-2.0
"""Functions of the main interface: `import sysid_core as sysid`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError, ModelError, SignalError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Estimator
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.estimation.fit import OwnMethod, Regression
from sysid_core.estimation.payload import PayloadData
from sysid_core.estimation.payload_live import Weighing, weigh_motion
from sysid_core.estimation.payload_map import PayloadMAP
from sysid_core.files import FileKind
from sysid_core.identifiability.rpna import Identifiability, structural_identifiability
from sysid_core.planning import ArmPlan, MotionLimits, Trajectory
from sysid_core.reasons import Verdict
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.robot.shapes import Shape, load_shape
from sysid_core.servos import load_servos
from sysid_core.signals import ColumnMap, Recording, read_table
from sysid_core.signals.bags import read_bag
from sysid_core.signals.wrench import SensorCalibration
from sysid_core.workflows import ArmData, IdentifiedArm, ValidatedArm, Weighed

Source = Recording | str | Path | Mapping[str, ArrayLike]

_ARRAYS = ("time", "wrench", "a", "omega", "alpha", "gravity")


P = ParamSpec("P")
R = TypeVar("R")


def _for_python(function: Callable[P, R]) -> Callable[P, R]:
    """Convert error messages such that they refer to arguments instead of command-line options."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except SysIdError as err:
            raise err.in_python() from err

    return called


@_for_python
def identifiable(
    robot: RobotModel | str, *, gravity: ArrayLike | None = None, static: bool = False
) -> Identifiability:
    """Return the combinations of a robot's inertial parameters that ideal joint torques would
    determine, computed exactly.

    Args:
        robot: The robot, a URDF file, or a name in example-robot-data.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; default: that of the robot.
        static: True if only static postures are measured.

    Returns:
        The result, for p parameters and b base parameters: `n_base`, `n_parameters`,
        `verdict(name)` of a parameter, `combinations` of shape (b, p), `nullspace` of shape (p, p - b).

    Raises:
        SysIdError: The robot does not exist, or has a joint of an unsupported type.

    References:
        Wensing, Niemeyer, Slotine 2024, eqs. (48) to (55).

    Examples:
        >>> import sysid_core as sysid
        >>> answer = sysid.identifiable("ur5")
        >>> answer.n_base, answer.n_parameters
        (36, 60)
    """
    return structural_identifiability(_robot(robot), gravity=gravity, static=static)


@_for_python
def plan_motion(
    robot: RobotModel | str, limits: MotionLimits | None = None, **options: Any
) -> ArmPlan:
    """Plan the motion that determines the parameters of an arm best, and check that it respects the
    limits of the arm.

    Args:
        robot: The robot, a URDF file, or a name in example-robot-data.
        limits: Limits of the motion; default: the limits of the description.
        options: Options of `ArmPlan.of`, such as `period` [s], `seed`, `n_starts`.

    Returns:
        The plan: `trajectory` with q of shape (K, n) [rad or m], `check`, `conditioning`,
        `expectation`.

    Raises:
        ExcitationError: No motion passes the check; the message lists the limits that prevent it.

    References:
        Swevers et al. 1997: Fourier series; the D-criterion of the expected covariance.

    Examples:
        >>> import sysid_core as sysid
        >>> plan = sysid.plan_motion("double_pendulum_continuous", period=5.0, n_harmonics=3,
        ...     n_candidates=2, n_starts=1, n_iterations=2)
        >>> plan.trajectory.q.shape[1], plan.check.is_safe
        (2, True)
    """
    return ArmPlan.of(_robot(robot), limits, **options)


@_for_python
def identify(
    robot: RobotModel | str,
    recordings: Source | Sequence[Source],
    *,
    validation: Source | Sequence[Source] = (),
    columns: ColumnMap | str | Path | None = None,
    drives: DriveTrain | None = None,
    method: str | Estimator | Callable[[Regression], ArrayLike] = "auto",
    **settings: Any,
) -> IdentifiedArm:
    r"""Identify inertial, friction and drive parameters from recorded motion; the result contains a
    verdict.

    `Y(q, v, a) [pi; friction] = tau`, solved such that every body is physically consistent.

    Args:
        robot: The robot on a fixed base, a URDF file, or a name in example-robot-data.
        recordings: Recordings, which are fitted together. Each is a `Recording`, a bag, a table file
            (CSV, NPZ, Parquet, MAT), a pandas DataFrame, or a mapping of names to arrays; all but the
            first two need `columns`.
        validation: Recordings that are predicted but not fitted.
        columns: Column map of the tables, or its file.
        drives: Drive gains and couplings; default: those of the column map, or, without a map,
            efforts that are torques.
        method: Name of an estimator (a field of `FitSettings`), an estimator such as
            `ConsistentLeastSquares`, or a function that takes a `Regression` and returns all p
            parameters, shape (p,); see `OwnMethod`.
        settings: Other fields of `FitSettings`, such as `friction="usual"`, `delay="auto"`.

    Returns:
        The result: `estimate` with values of shape (p,), covariance (p, p) and verdicts; `verdict`;
        predictions. `write(folder)` writes the same files as `sysid identify`.

    Raises:
        SysIdError: A recording cannot be read or does not belong to the robot, or settings contradict
            each other.

    References:
        Wensing, Kim, Slotine 2018 (physical consistency by linear matrix inequalities).

    Examples:
        >>> import numpy as np, sysid_core as sysid
        >>> robot = sysid.Robot.from_urdf("double_pendulum_continuous")
        >>> t = np.arange(0.0, 20.0, 0.01)[:, None]
        >>> w = np.array([2.0, 3.1])
        >>> q, v, a = np.sin(w * t) + np.sin(0.7 * t), w * np.cos(w * t) + 0.7 * np.cos(0.7 * t), (
        ...     -(w**2) * np.sin(w * t) - 0.49 * np.sin(0.7 * t))
        >>> tau = robot.inverse_dynamics(q, v, a) + 0.1 * v
        >>> run = sysid.Recording.from_arrays(robot.joint_names, t[:, 0], q, v, effort=tau)
        >>> found = sysid.identify(robot, run, friction="viscous", method="ols")
        >>> found.training[0].relative_error() < 0.02
        True
    """
    model = ArmData.fixed_base(robot) if isinstance(robot, str) else _robot(robot)
    known = ColumnMap.load(columns) if isinstance(columns, str | Path) else columns
    own = None
    if not isinstance(method, str):
        own = method if isinstance(method, Estimator) else OwnMethod(method)
        if settings.get("fix"):
            raise EstimationError(
                "`fix` cannot be combined with an own method.",
                remedy="Keep these parameters at `regression.prior` in the function, or name them in"
                " `fixed` of the estimator.",
            )
    # Of the settings of the fit, an own estimator needs only those of the equations.
    fit = FitSettings(method="ols" if own else str(method), **settings)
    data = ArmData.of(
        model,
        _recordings(recordings, known),
        drives or ArmData.drives(model, known),
        fit,
        others=_recordings(validation, known),
    )
    return IdentifiedArm.of(data, fit, own=own)


@_for_python
def weigh(
    recording: Source | Mapping[str, ArrayLike],
    *,
    shape: Shape | str | Path | None = None,
    robot: RobotModel | str = "",
    sensor_frame: str = "",
    calibration: SensorCalibration | None = None,
) -> Weighed:
    """Estimate mass, centre of mass and inertia of the payload of a robot with a force-torque
    sensor.

    Args:
        recording: A recording with joint states and wrench, a bag, or a mapping with the following
            arrays of K samples in the sensor frame: `time` (K,) [s]; `wrench` that the sensor exerts on
            the object, force then torque, (K, 6) [N, N m]; `a`, proper acceleration of the sensor
            origin, (K, 3) [m/s^2]; `omega` (K, 3) [rad/s]; `alpha` (K, 3) [rad/s^2]; `gravity` (K, 3)
            [m/s^2].
        shape: Shape of the object in the sensor frame, such as `"box 0.2 0.1 0.05 at 0 0 0.06"`, or a
            mesh or YAML file; without it, the inertia is less accurate.
        robot: The robot, for recordings without a description.
        sensor_frame: Frame of the sensor, for recordings.
        calibration: Calibration of the sensor; default: the bias is estimated from the recording.

    Returns:
        The result: `summary` with `mass` [kg], `com` of shape (3,) [m], inertia and standard
        deviations; `estimate` with ten values; `verdict`.

    Raises:
        SysIdError: There is no wrench or no motion, or the estimated mass is negative.

    References:
        Nadeau, Giamou, Kelly 2022 (the model of point masses); Lee, Wensing, Park 2020 (the metric).

    Examples:
        >>> import numpy as np, sysid_core as sysid
        >>> from sysid_core.robot import wrench_regressor
        >>> t, box = np.arange(0.0, 2.0, 0.01), sysid.Shape.box((0.2, 0.1, 0.05))
        >>> alpha = np.stack([3 * np.sin(3 * t), 2 * np.cos(4 * t), np.sin(5 * t)], axis=1)
        >>> omega = np.cumsum(alpha, axis=0) * 0.01
        >>> g = 9.81 * np.stack([np.sin(t), 0 * t, -np.cos(t)], axis=1)
        >>> wrench = wrench_regressor(-g, omega, alpha) @ box.homogeneous(1.2)
        >>> wrench += np.random.default_rng(0).normal(0, 0.01, wrench.shape)
        >>> found = sysid.weigh({"time": t, "wrench": wrench, "a": -g, "omega": omega,
        ...     "alpha": alpha, "gravity": g}, shape=box)
        >>> round(found.summary.mass, 1)
        1.2
    """
    if isinstance(shape, str | Path):
        shape = load_shape(shape)
    if isinstance(recording, Mapping):
        missing = [name for name in _ARRAYS if name not in recording]
        if missing:
            raise SignalError(
                f"The arrays {missing} are missing.", remedy=f"Give {', '.join(_ARRAYS)}."
            )
        arrays = {name: np.asarray(recording[name], dtype=float) for name in _ARRAYS}
        data = PayloadData(**arrays)  # type: ignore[arg-type]
        estimate = PayloadMAP(shape).fit(data)
        return Weighed(estimate, Weighing.judge(estimate, calibration))
    (run,) = _recordings(recording, None)
    if not sensor_frame or not (robot or run.urdf_xml):
        raise SignalError(
            "The robot and the frame of the sensor are required.",
            remedy="Give sensor_frame, and also robot if the recording has no description.",
        )
    model = _robot(robot or run.urdf_xml)
    found = weigh_motion(run, model, sensor_frame, shape, calibration=calibration)
    verdict = Weighing.judge(found.estimate, found.calibration, found.changes)
    return Weighed(found.estimate, verdict + Verdict(found.doubts))


@_for_python
def validate(
    found: IdentifiedArm,
    recordings: Source | Sequence[Source],
    *,
    columns: ColumnMap | str | Path | None = None,
) -> ValidatedArm:
    """Validate an identified robot by predicting the efforts of held-out recordings.

    Args:
        found: Result of `identify`.
        recordings: Recordings, bags, or tables with `columns`.
        columns: Column map of the tables, or its file; default: that of the identification.

    Returns:
        The result: `predictions` with measured and predicted efforts of shape (K, n) each, and
        `verdict`.

    Raises:
        SysIdError: A recording cannot be read, does not belong to the robot, or was fitted.

    References:
        Sousa and Cortesão 2014 (parameters are judged by held-out data).

    Examples:
        >>> import sysid_core as sysid
        >>> table = {"columns": "examples/ur5/columns.yaml"}
        >>> found = sysid.identify("ur5", "examples/ur5/train.csv", method="ols",
        ...     friction="usual", **table)
        >>> sysid.validate(found, "examples/ur5/validate.csv", **table).verdict.ok
        True
    """
    known = ColumnMap.load(columns) if isinstance(columns, str | Path) else columns
    runs = _recordings(recordings, known or found.data.columns)
    return ValidatedArm.of(found, runs)


@_for_python
def load(path: str | Path) -> Any:
    """Read a file of this package: estimate, servos, trajectory, column map, calibration or bag.

    Args:
        path: File, or output folder of `sysid identify`, `payload` or `servos`.

    Returns:
        Object of the type that belongs to the schema of the file, such as `Estimate` or
        `Trajectory`; a dictionary for files without such a type, such as result.json.

    Raises:
        SysIdError: The file does not exist, or is not a file of this package.

    References:
        `docs/recordings.md`: limits of input files.

    Examples:
        >>> import sysid_core as sysid
        >>> sysid.load("examples/ur5/columns.yaml").joints[0]
        'shoulder_pan_joint'
    """
    path = Path(path)
    if path.is_dir():
        names = ("estimate.yaml", "servos.yaml", "trajectory.npz")
        here = next((name for name in names if (path / name).exists()), None)
        if here is None:
            raise _FILE.refusal(path, f"the folder holds none of {', '.join(names)}")
        path = path / here
    if path.suffix == ".npz":
        return Trajectory.load(path)
    if ArmData.is_bag(path):
        return read_bag(path)
    raw = _FILE.read_json(path) if path.suffix == ".json" else _FILE.read_yaml(path)
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if not isinstance(schema, str) or not schema.startswith("robot_sysid/"):
        raise _FILE.refusal(path, "contains no schema of this package")
    loader = _LOADERS.get(schema.split("/")[1])
    return raw if loader is None else loader(path)


_FILE = FileKind("file of this package", "Give a file that `sysid` wrote.", SysIdError)
# What gives a type to files, by the name in their schema; other files are given as plain data.
_LOADERS: Mapping[str, Callable[[Path], Any]] = {
    "columns": ColumnMap.load,
    "estimate": Estimate.load,
    "sensor_calibration": SensorCalibration.load,
    "servos": load_servos,
}


def _robot(robot: RobotModel | str) -> RobotModel:
    if isinstance(robot, RobotModel):
        return robot
    if isinstance(robot, str | Path):
        return RobotModel.from_urdf(robot)
    raise ModelError(
        f"{type(robot).__name__} is not a robot.", remedy="Give a Robot, a URDF file, or a name."
    )


def _recordings(
    sources: Source | Sequence[Source], columns: ColumnMap | None
) -> tuple[Recording, ...]:
    one = isinstance(sources, Recording | str | Path) or _is_table(sources)
    some: Any = (sources,) if one else sources
    if not isinstance(some, Sequence) or not all(
        isinstance(x, Recording | str | Path) or _is_table(x) for x in some
    ):
        raise SignalError(
            f"{type(sources).__name__} is not a recording.",
            remedy="Give Recording.from_arrays(...), a bag, or a table with columns=.",
        )
    if columns is None and any(map(_is_table, some)):
        raise SignalError(
            "The meaning of the columns of a table in memory is required.",
            remedy="Give columns=, a ColumnMap or its file, or use Recording.from_arrays(...).",
        )

    def read(source: Any) -> Recording:
        if isinstance(source, Recording):
            return source
        if columns is not None and _is_table(source):
            return read_table(source, columns)
        return ArmData.recording(Path(source), columns)

    return tuple(map(read, some))


def _is_table(source: object) -> bool:
    """True if an object has columns by name: a mapping, a DataFrame."""
    return hasattr(source, "keys") and hasattr(source, "__getitem__")
