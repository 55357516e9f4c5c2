# SPDX-License-Identifier: Apache-2.0
"""Tables of wrenches and poses as loggers write them: all are read as the same recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy

from sysid_core.errors import SignalError
from sysid_core.signals import Recording, WrenchColumns
from sysid_core.signals.wrench_table import RotationFormat

RNG = np.random.default_rng(5)
TIME = 1000.0 + 0.01 * np.arange(40)
PLACE = 0.3 + 0.1 * RNG.normal(size=(40, 3))
TURN = scipy.spatial.transform.Rotation.from_rotvec(0.7 * RNG.normal(size=(40, 3)))
WRENCH = 10.0 * RNG.normal(size=(40, 6))
QUATERNION = np.hstack([PLACE, TURN.as_quat()])


def write(path: Path, header: str, *columns: np.ndarray, separator: str = ",") -> Path:
    rows = (separator.join(map(repr, row)) for row in np.column_stack(columns).tolist())
    path.write_text("\n".join([header.replace(" ", separator), *rows]))
    return path


def indexed(*names: tuple[str, int]) -> str:
    return " ".join(f"{name}_{k}" for name, count in names for k in range(count))


def plain(folder: Path) -> Path:
    return write(
        folder / "a.csv", "t fx fy fz tx ty tz x y z qx qy qz qw", TIME, WRENCH, QUATERNION
    )


def decimal_commas(folder: Path) -> Path:
    path = plain(folder)
    path.write_text(path.read_text().replace(",", ";").replace(".", ","))
    return path


def ros_stamp_in_two_parts(folder: Path) -> Path:
    header = "header.stamp.sec header.stamp.nanosec wrench.force.x wrench.force.y wrench.force.z"
    header += " wrench.torque.x wrench.torque.y wrench.torque.z x y z qx qy qz qw"
    seconds = np.floor(TIME)
    nanoseconds = np.round(1e9 * (TIME - seconds))
    return write(folder / "a.csv", header, seconds, nanoseconds, WRENCH, QUATERNION)


def rostopic_echo(folder: Path) -> Path:
    header = "%time field.wrench.force.x field.wrench.force.y field.wrench.force.z"
    header += " field.wrench.torque.x field.wrench.torque.y field.wrench.torque.z"
    stamps = np.round(1e9 * TIME)
    return write(folder / "a.csv", f"{header} x y z qx qy qz qw", stamps, WRENCH, QUATERNION)


def roll_pitch_yaw(folder: Path) -> Path:
    header = "time fx fy fz tx ty tz x y z roll_deg pitch_deg yaw_deg"
    angles = TURN.as_euler("xyz", degrees=True)
    return write(folder / "a.csv", header, TIME, WRENCH, PLACE, angles)


def columns_of_franka(folder: Path) -> Path:
    T = np.tile(np.eye(4), (40, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = TURN.as_matrix(), PLACE
    header = "time " + indexed(("ft", 6), ("O_T_EE", 16))
    return write(folder / "a.csv", header, TIME, WRENCH, T.transpose(0, 2, 1).reshape(40, 16))


def array_of_matrices(folder: Path) -> Path:
    T = np.tile(np.eye(4), (40, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = TURN.as_matrix(), PLACE
    np.savez(folder / "a.npz", time=TIME, wrench=WRENCH, ee_pose=T)
    return folder / "a.npz"


def samples_along_the_last_axis(folder: Path) -> Path:
    arrays = {"time": TIME, "wrench": WRENCH.T, "pos": PLACE.T}
    turned = np.moveaxis(TURN.as_matrix(), 0, -1)
    other = scipy.sparse.eye(3).tocsc()  # neither an array nor a column
    scipy.io.savemat(folder / "a.mat", {"log": arrays | {"rotation": turned}, "other": other})
    return folder / "a.mat"


def lists_in_parquet(folder: Path) -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"timestamp": TIME, "ft": WRENCH.tolist(), "tcp_pos": PLACE.tolist()}
    table |= {"tcp_rotvec": TURN.as_rotvec().tolist()}
    parquet.write_table(arrow.table(table), folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize(
    "written",
    [
        decimal_commas,
        ros_stamp_in_two_parts,
        rostopic_echo,
        roll_pitch_yaw,
        columns_of_franka,
        array_of_matrices,
        samples_along_the_last_axis,
        lists_in_parquet,
    ],
)
def test_every_layout_is_read_as_the_same_recording(
    written: Callable[[Path], Path], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    expected, found = (
        WrenchColumns().read(path)[0] for path in (plain(tmp_path), written(tmp_path / "other"))
    )
    assert isinstance(found, Recording)
    assert found.joints.q == pytest.approx(expected.joints.q, abs=1e-6)
    assert found.joints.stamps_ns == pytest.approx(expected.joints.stamps_ns, abs=1000)
    assert found.wrench is not None and expected.wrench is not None
    assert found.wrench.wrench == pytest.approx(expected.wrench.wrench)


def test_rows_without_a_stamp_are_left_out(tmp_path: Path) -> None:
    """Also the first row, and where only the nanoseconds lack."""
    path = ros_stamp_in_two_parts(tmp_path)
    header, *rows = path.read_text().splitlines()
    for k, part in ((0, 0), (5, 1), (9, 0)):
        cells = rows[k].split(",")
        rows[k] = ",".join([*cells[:part], "nan", *cells[part + 1 :]])
    path.write_text("\n".join([header, *rows]))
    found = WrenchColumns().read(path)[0]
    assert len(found.joints.stamps_ns) == 37
    assert np.diff(found.joints.stamps_ns).max() < 25_000_000


@pytest.mark.parametrize(
    ("header", "scale"),
    [
        ("t_ms", 1.0),  # seconds, called milliseconds
        ("t_ns", 1e3),  # milliseconds
        ("t", 1e13),  # in no unit is a robot logged like this
    ],
)
def test_stamps_that_are_no_time_of_a_robot_are_refused(
    header: str, scale: float, tmp_path: Path
) -> None:
    names = f"{header} fx fy fz tx ty tz x y z qx qy qz qw"
    path = write(tmp_path / "a.csv", names, scale * TIME, WRENCH, QUATERNION)
    with pytest.raises(SignalError, match="apart by the column"):
        WrenchColumns().read(path)


def test_two_tables_have_one_clock(tmp_path: Path) -> None:
    """The wrench, in a table of its own, begins half a second after the joints."""
    names = "stamp_ns x y z qx qy qz qw"
    write(tmp_path / "run.csv", names, 1e9 * TIME, QUATERNION)
    path = write(
        tmp_path / "run.wrench.csv", "stamp_ns fx fy fz tx ty tz", 1e9 * (TIME + 0.5), WRENCH
    )
    found = WrenchColumns().read(tmp_path / "run.csv")[0]
    assert path.exists() and found.wrench is not None
    assert found.wrench.stamps_ns[0] - found.joints.stamps_ns[0] == pytest.approx(5e8, abs=1e3)


@pytest.mark.parametrize(
    ("force", "torque", "factors"),
    [
        ("kgf", "kgf-cm", (9.80665, 0.0980665)),
        ("lbf", "in·lbf", (4.4482216, 0.112984829)),
        ("daN", "N cm", (10.0, 0.01)),
        ("mN", "Nmm", (1e-3, 1e-3)),
    ],
)
def test_units_of_the_wrench_are_converted_from_names_or_settings(
    force: str, torque: str, factors: tuple[float, float], tmp_path: Path
) -> None:
    """A force and a length in any order; without a unit, N is an assumption that is noted."""
    names = [*(f"f{x}" for x in "xyz"), *(f"t{x}" for x in "xyz")]
    rest = {f"{name}": column for name, column in zip(["x", "y", "z"], PLACE.T, strict=True)}
    rest |= dict(zip(["qx", "qy", "qz", "qw"], TURN.as_quat().T, strict=True))
    given = WRENCH / np.repeat(factors, 3)
    units = [force] * 3 + [torque] * 3
    plain = dict(zip(names, given.T, strict=True))
    told = {f"{n} [{u}]": x for n, u, x in zip(names, units, given.T, strict=True)}
    np.savez(tmp_path / "plain.npz", t=TIME, **rest, **plain)
    np.savez(tmp_path / "told.npz", t=TIME, **rest, **told)
    by_name = WrenchColumns().read(tmp_path / "told.npz")[0]
    by_setting = WrenchColumns(units=(force, torque)).read(tmp_path / "plain.npz")[0]
    for found in (by_name, by_setting):
        assert found.wrench is not None and not found.units_assumed
        assert found.wrench.wrench == pytest.approx(WRENCH)
    assert WrenchColumns().read(tmp_path / "plain.npz")[0].units_assumed
    with pytest.raises(SignalError, match="stone"):
        WrenchColumns(units=("stone", torque)).read(tmp_path / "plain.npz")
    with pytest.raises(SignalError, match="Two units"):
        WrenchColumns(units=(force,)).read(tmp_path / "plain.npz")


@pytest.mark.parametrize("kind", [RotationFormat.RPY, RotationFormat.ROTVEC])
def test_angles_of_many_turns_are_degrees(kind: RotationFormat, tmp_path: Path) -> None:
    columns = WrenchColumns(pose=tuple(f"pose.{k}" for k in range(6)), rotation=kind)
    turn = TURN.as_euler("xyz") if kind is RotationFormat.RPY else TURN.as_rotvec()
    found = []
    for scale in (1.0, 180.0 / np.pi):
        pose = np.hstack([PLACE, scale * turn])
        np.savez(tmp_path / "a.npz", time=TIME, wrench=WRENCH, pose=pose)
        found.append(columns.read(tmp_path / "a.npz")[0])
    assert found[1].joints.q == pytest.approx(found[0].joints.q, abs=1e-9)
    assert [any("degrees" in note for note in one.notes) for one in found] == [False, True]


@pytest.mark.parametrize(("digits", "is_refused"), [(1, True), (2, False), (15, False)])
def test_orientations_of_few_digits_are_refused(
    digits: int, is_refused: bool, tmp_path: Path
) -> None:
    """A slow swing; a step of 0.1 in a quaternion corresponds to 11 degrees, one of 0.01 to one
    degree.
    """
    time = np.arange(0.0, 20.0, 0.01)
    angles = 0.5 * np.sin(np.outer(time, [0.4, 0.7, 0.9]))
    turn = scipy.spatial.transform.Rotation.from_rotvec(angles)
    wrench = np.hstack([turn.inv().apply([0.0, 0.0, 20.0]), np.zeros((len(time), 3))])
    wrench += 0.1 * RNG.normal(size=wrench.shape)
    quaternion = turn.as_quat().round(digits)
    quaternion /= np.linalg.norm(quaternion, axis=1)[:, None]
    pose = np.hstack([np.zeros((len(time), 3)), quaternion])
    np.savez(tmp_path / "a.npz", time=time, wrench=wrench, pose=pose)
    columns = WrenchColumns(pose=tuple(f"pose.{k}" for k in range(7)), rotation=RotationFormat.XYZW)
    if not is_refused:
        assert columns.read(tmp_path / "a.npz")[0].joints.q.any()
        return
    with pytest.raises(SignalError, match="forces change steadily"):
        columns.read(tmp_path / "a.npz")


def test_rests_in_exact_postures_are_no_few_digits(tmp_path: Path) -> None:
    """Orientations that are constant to the last digit at rest aren't taken for rounded ones."""
    which = np.arange(3000) // 100
    turn = scipy.spatial.transform.Rotation.from_rotvec(RNG.normal(size=(30, 3)))[which]
    wrench = np.hstack([turn.inv().apply([0.0, 0.0, 20.0]), np.zeros((len(which), 3))])
    wrench += 0.1 * RNG.normal(size=wrench.shape)
    pose = np.hstack([np.zeros((len(which), 3)), turn.as_quat()])
    np.savez(tmp_path / "a.npz", time=0.01 * np.arange(3000), wrench=wrench, pose=pose)
    columns = WrenchColumns(pose=tuple(f"pose.{k}" for k in range(7)), rotation=RotationFormat.XYZW)
    assert len(columns.read(tmp_path / "a.npz")[0].joints.q) == 3000
