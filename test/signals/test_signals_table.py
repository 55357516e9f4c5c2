# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import yaml

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap, EffortKind, TableLayout, read_any_table, read_table

CONFIG = Path(__file__).resolve().parents[2] / "config" / "columns"
MAP = {
    "schema": "robot_sysid/columns/1",
    "joints": ["a", "b"],
    "n_columns": 7,
    "time": {"column": 0, "unit": "ms"},
    "position": {"columns": [1, 2], "unit": "deg"},
    "velocity": {"columns": [3, 4], "unit": "rad/s"},
    "effort": {"columns": [6, 5], "kind": "motor_current"},
    "drives": {"gain": [10.0, 5.0], "source": "data sheet"},
}
ROWS = np.array([[1000 + 10 * k, 90, 180, 1, 2, 3, 4] for k in range(5)], dtype=float)


def write(path: Path, rows: np.ndarray, header: str = "") -> Path:
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    return path


def test_columns_and_units_follow_the_map(tmp_path):
    run = read_table(write(tmp_path / "r.csv", ROWS), ColumnMap.from_dict(MAP))
    assert run.joints.names == ("a", "b")
    assert run.joints.time == pytest.approx(np.arange(5) * 0.01)
    assert run.joints.q[0] == pytest.approx([np.pi / 2, np.pi])
    assert run.joints.effort[0] == pytest.approx([4.0, 3.0])
    assert run.joints.effort_kind is EffortKind.MOTOR_CURRENT


def test_columns_may_be_named_by_the_header(tmp_path):
    named = {**MAP, "header": True, "position": {"columns": ["qa", "qb"], "unit": "rad"}}
    path = write(tmp_path / "r.csv", ROWS, "t,qa,qb,va,vb,ib,ia")
    assert read_table(path, ColumnMap.from_dict(named)).joints.q[0] == pytest.approx([90, 180])
    wrong = {**named, "position": {"columns": ["qa", "qc"]}}
    with pytest.raises(SignalError, match="no column 'qc'"):
        read_table(path, ColumnMap.from_dict(wrong))


def test_what_other_programs_write_can_be_read(tmp_path):
    spreadsheet = tmp_path / "s.csv"
    lines = ['\ufeff"t";mode;qa;qb;va;vb;ib;ia']
    lines += [f"{10 * k};auto;90;180;1;2;3;4" for k in range(3)]  # words in a column nobody needs
    spreadsheet.write_text("\n".join(lines), encoding="utf-8")
    named = {
        **MAP,
        "n_columns": 8,
        "header": True,
        "delimiter": ";",
        "time": {"column": "t", "unit": "ms"},
        "velocity": {"columns": ["va", "vb"]},
        "position": {"columns": ["qa", "qb"], "unit": "deg"},
        "effort": {"columns": ["ia", "ib"], "kind": "motor_current"},
    }
    run = read_table(spreadsheet, ColumnMap.from_dict(named))
    assert run.joints.q[0] == pytest.approx([np.pi / 2, np.pi])
    assert run.joints.effort[0] == pytest.approx([4.0, 3.0])
    spaces = tmp_path / "s.txt"
    spaces.write_text("# t qa qb va vb ib ia\n" + "\n".join("  ".join(map(str, r)) for r in ROWS))
    again = read_table(spaces, ColumnMap.from_dict({**MAP, "delimiter": "whitespace"}))
    assert again.joints.effort == pytest.approx(run.joints.effort[[0] * 5])
    with pytest.raises(SignalError, match="1 columns"):  # the delimiter is forgotten
        read_table(spaces, ColumnMap.from_dict({**MAP, "n_columns": 0}))


@pytest.mark.parametrize("delimiter", [";", "\t", " ", ","])
def test_one_reader_recognises_decimal_commas_for_every_task(tmp_path, delimiter):
    rows = _motion() + 0.25
    comma = delimiter != ","
    lines = [delimiter.join(f"{x:.9g}" for x in row) for row in rows]
    names = [f"{kind}_{j}" for kind in ("pos", "vel", "i") for j in (1, 2)]
    text = "\n".join([delimiter.join(["t", *names]), *lines])
    (tmp_path / "r.csv").write_text(text.replace(".", ",") if comma else text)
    layout = TableLayout.of(tmp_path / "r.csv", ["a", "b"], 3.0)
    assert layout.delimiter == ("whitespace" if delimiter == " " else delimiter)
    assert layout.by_name and (layout.time, layout.time_unit) == (0, "ms")
    assert (layout.position, layout.velocity, layout.effort) == ((1, 2), (3, 4), (5, 6))
    columns = ColumnMap.from_dict({**MAP, "header": True, "delimiter": layout.delimiter})
    run = read_table(tmp_path / "r.csv", columns)
    assert run.joints.q == pytest.approx(np.deg2rad(rows[:, 1:3]))
    table = read_any_table(tmp_path / "r.csv")
    assert np.column_stack([*table.values()]) == pytest.approx(rows)


def test_a_row_that_lost_a_cell_is_named_although_all_used_columns_are_there(tmp_path):
    rows = [",".join(f"{x:g}" for x in (*row, 9.0)) for row in ROWS]
    rows[3] = rows[3].replace(",90", "", 1)
    (tmp_path / "r.csv").write_text("\n".join(rows))
    with pytest.raises(SignalError, match="line 4 has 7 cells, most have 8"):
        read_table(tmp_path / "r.csv", ColumnMap.from_dict({**MAP, "n_columns": 8}))


def test_a_wrong_unit_of_time_is_told(tmp_path):
    path = write(tmp_path / "r.csv", ROWS)
    for unit, apart in (("s", "10 s apart"), ("us", "1e-05 s apart")):
        with pytest.raises(SignalError, match=apart):
            read_table(path, ColumnMap.from_dict({**MAP, "time": {"column": 0, "unit": unit}}))


def test_joints_may_have_units_of_their_own(tmp_path):
    mixed = {**MAP, "position": {"columns": [1, 2], "unit": ["deg", "mm"]}}
    run = read_table(write(tmp_path / "r.csv", ROWS), ColumnMap.from_dict(mixed))
    assert run.joints.q[0] == pytest.approx([np.pi / 2, 0.18])
    short = {**MAP, "position": {"columns": [1, 2], "unit": ["deg"]}}
    with pytest.raises(SignalError, match="1 units for 2 joints"):
        ColumnMap.from_dict(short)


def test_waves_of_an_axis_are_one_number_or_a_list():
    drives = {**MAP["drives"], "ripple": {"a": 202, "b": [101, 202]}}
    waves = ColumnMap.from_dict({**MAP, "drives": drives}).drives.waves
    assert waves["ripple"] == {"a": (202.0,), "b": (101.0, 202.0)}
    with pytest.raises(SignalError, match=r"`drives.ripple`"):
        ColumnMap.from_dict({**MAP, "drives": {**MAP["drives"], "ripple": [202, 202]}})


def test_unknown_gains_are_said(tmp_path):
    columns = ColumnMap.from_dict({**MAP, "drives": {"gain": "unknown"}})
    assert not columns.gains_known and ColumnMap.from_dict(MAP).gains_known
    geared = {**MAP, "transmission": {"reduction": [[10, 0], [4, 4]]}}
    with pytest.raises(SignalError, match="cannot be combined with `transmission`"):
        ColumnMap.from_dict({**geared, "drives": {"gain": "unknown"}})


def test_motor_side_readings_become_joint_angles_and_torques(tmp_path):
    coupled = {**MAP, "transmission": {"reduction": [[10, 0], [4, 4]], "zero": [0.5, 0.0]}}
    run = read_table(write(tmp_path / "r.csv", ROWS), ColumnMap.from_dict(coupled))
    q, v, tau = run.joints.q[0], run.joints.v[0], run.joints.effort[0]
    reduction = np.array([[10.0, 0.0], [4.0, 4.0]])
    assert reduction @ (q - [0.5, 0.0]) == pytest.approx([np.pi / 2, np.pi])
    motor_torque = np.array([10.0 * 4.0, 5.0 * 3.0])
    assert tau @ v == pytest.approx(motor_torque @ (reduction @ v))  # the same power
    assert run.joints.effort_kind is EffortKind.ACTUATOR_TORQUE


def test_repeated_stamps_are_dropped_and_said(tmp_path):
    rows = ROWS.copy()
    rows[2, 0] = rows[1, 0]
    run = read_table(write(tmp_path / "r.csv", rows), ColumnMap.from_dict(MAP))
    assert len(run.joints) == 4
    assert "repeated" in run.notes[0]


def test_backward_time_wrong_width_and_nan_name_the_row(tmp_path):
    columns = ColumnMap.from_dict(MAP)
    rows = ROWS.copy()
    rows[3, 0] = 0
    with pytest.raises(SignalError, match="backward in row 4"):
        read_table(write(tmp_path / "r.csv", rows), columns)
    with pytest.raises(SignalError, match="6 columns, the column map expects 7"):
        read_table(write(tmp_path / "r.csv", ROWS[:, :6]), columns)
    rows = ROWS.copy()
    rows[1, 5] = np.nan
    with pytest.raises(SignalError, match="row 2"):
        read_table(write(tmp_path / "r.csv", rows), columns)
    (tmp_path / "ragged.csv").write_text("1,2,3,4,5,6,7\n2,3\n")
    with pytest.raises(SignalError, match="isn't a table"):
        read_table(tmp_path / "ragged.csv", columns)
    with pytest.raises(SignalError, match="No such file"):
        read_table(tmp_path / "missing.csv", columns)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"effort": {"columns": [5, 6]}}, "is not the kind of efforts"),
        ({"effort": {"columns": [5, 6], "kind": "unknown"}}, "is not the kind of efforts"),
        ({"effort": {"columns": [5], "kind": "link_torque"}}, "1 columns for 2 joints"),
        ({"drives": {}}, "no drive gains"),
        ({"drives": {"gain": [1.0]}}, "gains"),
        ({"drives": {"gain": [10.0, 5.0]}}, "where they come from"),
        ({"drives": {"gain": [1.0, 1.0], "gain_sd": 5.0}}, "relative"),
        ({"mount": [0.0, 0.0, 0.0], "gravity": [0.0, 0.0, -9.81]}, "not both"),
        ({"gravity": [0.0, 0.0, -1.62]}, "of the earth"),
        ({"effort": {"columns": [5, 6], "kind": "link_torque", "unused": ["j9"]}}, "j9"),
        ({"joints": []}, "`joints` has 0 entries"),
        ({"joints": "j1 j2"}, "`joints` is 'j1 j2', expected a list"),
        ({"joints": ["j1", "j1"]}, "names a joint twice"),
        ({"time": 0}, "`time` is 0, expected a mapping"),
        ({"time": {"unit": "s"}}, "`time.column` is missing"),
        ({"time": {"column": 0, "unit": ["s"]}}, "`time.unit`"),
        ({"rate_hz": "fast"}, "`rate_hz` is 'fast'"),
        ({"n_columns": "x"}, "`n_columns` is 'x'"),
        ({"n_columns": float("inf")}, "`n_columns` is inf"),
        ({"drives": {"gain": [1.0, 1.0], "couplings": {"motor": {"j1": "x"}}}}, "motor.j1` is 'x'"),
        ({"drives": {"gain": [1.0, float("nan")]}}, r"`drives.gain\[1\]` is nan"),
        ({"position": {"columns": [1, 2], "unit": "gon"}}, "unit 'gon'"),
        ({"position": {"columns": [1, 2], "units": "rad"}}, "write `unit`"),
        ({"position": {"columns": [1.5, None]}}, r"`position.columns\[0\]` is 1.5"),
        ({"position": {"columns": [-1, 2]}}, "greater than or equal to 0"),
        ({"files": [1]}, r"`files\[0\]` is 1"),
        ({"wobble": 1}, "has an unknown key 'wobble'"),
        ({"schema": "x"}, "not of schema"),
        (
            {"transmission": {"reduction": [[1, float("nan")], [0, 1]]}},
            r"`transmission.reduction\[0\]\[1\]`",
        ),
        ({"transmission": {"reduction": [[1, 1], [1, 1]]}}, "invertible"),
    ],
)
def test_a_wrong_map_is_refused(change, message):
    with pytest.raises(SignalError, match=message):
        ColumnMap.from_dict({**MAP, **change})


@pytest.mark.parametrize("name", ["kr300_csv.yaml", "ur10e_csv.yaml", "tx40_csv.yaml"])
def test_shipped_maps_are_valid(name):
    columns = ColumnMap.load(CONFIG / name)
    assert len(columns.joints) == len(columns.effort) == 6
    assert yaml.safe_load((CONFIG / name).read_text())["description"]


def test_the_shipped_ur10e_map_fits_robot_and_recording(shared_data):
    columns = ColumnMap.load(CONFIG / "ur10e_csv.yaml")
    robot = RobotModel.from_urdf(shared_data / "ur10e" / "ur10e.urdf")
    assert columns.joints == robot.joint_names
    run = read_table(
        shared_data / "ur10e" / "identification" / "ur-20_02_12-40sec_12harm.csv", columns
    )
    # Measured velocities are the derivative of measured positions.
    q, v, t = run.joints.q, run.joints.v, run.joints.time
    assert np.gradient(q[:, 1], t)[1000:3000] == pytest.approx(v[1000:3000, 1], abs=0.05)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark\n"])
def test_a_table_without_samples_is_said_to_be_so(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(SignalError, match="no samples"):
        read_table(tmp_path / "r.csv", ColumnMap.from_dict(MAP))


def test_a_line_without_end_is_refused_before_it_is_split(tmp_path):
    (tmp_path / "r.csv").write_text("1," * 1_000_000)
    with pytest.raises(SignalError, match="more than 1000000 characters") as err:
        read_table(tmp_path / "r.csv", ColumnMap.from_dict(MAP))
    assert err.value.remedy


def test_unused_and_missing_efforts_read_as_none_measured(tmp_path):
    for effort in ({"columns": [6, 5]}, {"columns": [6, None]}):
        columns = ColumnMap.from_dict(
            {**MAP, "effort": {**effort, "kind": "motor_current", "unused": ["b"]}}
        )
        run = read_table(write(tmp_path / "r.csv", ROWS), columns)
        assert run.joints.effort[0].tolist() == [4.0, 0.0]
    with pytest.raises(SignalError, match=r"has none for \['b'\]"):
        ColumnMap.from_dict({**MAP, "effort": {"columns": [6, None], "kind": "motor_current"}})
    with pytest.raises(SignalError, match="not joints"):
        ColumnMap.from_dict({**MAP, "effort": {**MAP["effort"], "unused": ["c"]}})


def test_known_torques_act_as_if_the_drive_gave_them(tmp_path):
    columns = ColumnMap.from_dict({**MAP, "effort": {**MAP["effort"], "known_torques": {"b": 4}}})
    run = read_table(write(tmp_path / "r.csv", ROWS), columns)
    assert run.joints.effort[0].tolist() == [4.0, 3.0 + 2.0 / 5.0]


def test_springs_of_a_map_are_read_and_checked():
    def with_springs(*springs):
        return ColumnMap.from_dict({**MAP, "drives": {**MAP["drives"], "springs": list(springs)}})

    springs = with_springs({"joint": "b", "stiffness": 40.0, "zero": 0.2}).drives.springs
    assert (springs[0].axis, springs[0].stiffness, springs[0].zero) == ("b", 40.0, 0.2)
    with pytest.raises(SignalError, match="write `stiffness`"):
        with_springs({"joint": "b", "stifness": 40.0})
    with pytest.raises(SignalError, match="unknown axes"):
        with_springs({"joint": "c", "stiffness": 40.0})


def _motion(n: int = 200) -> np.ndarray:
    """Rows of `MAP`: 10 ms apart, two joints that swing."""
    k = np.arange(n)
    q = np.column_stack([90 + 20 * np.sin(0.05 * k), 180 + 30 * np.cos(0.03 * k)])
    return np.column_stack([1000 + 10 * k, q, np.gradient(np.deg2rad(q), 0.01, axis=0), q])


def test_bad_rows_are_left_out_and_counted(tmp_path):
    rows = _motion()
    lines = [",".join(f"{x:.9g}" for x in row) for row in rows]
    lines[50] = lines[50].replace(lines[50].split(",")[5], "--", 1)  # a word for a number
    lines[80] = lines[80].rpartition(",")[0]  # a lost cell
    lines[120] = ",".join(["nan", *lines[120].split(",")[1:]])
    lines[-1] = lines[-1][:20]  # cut in the midst of a row
    (tmp_path / "r.csv").write_text("\n".join(lines))
    run = read_table(tmp_path / "r.csv", ColumnMap.from_dict(MAP))
    keep = np.setdiff1d(np.arange(200), [50, 80, 120, 199])
    assert run.joints.q == pytest.approx(np.deg2rad(rows[keep, 1:3]))
    assert run.notes == ("4 of 200 rows hold no number: omitted.",)


def test_rows_of_another_recording_at_the_head_are_left_out(tmp_path):
    rows = _motion()
    old = rows[:6].copy()
    old[:, 0] += 50_000 - 90 * np.arange(6)  # a buffer that runs backward, later than the rest
    run = read_table(write(tmp_path / "r.csv", np.vstack([old, rows])), ColumnMap.from_dict(MAP))
    assert run.joints.q == pytest.approx(np.deg2rad(rows[:, 1:3]))
    assert run.notes == ("6 of 206 rows go back in time: omitted.",)


def test_a_first_sample_from_which_a_position_jumps_is_left_out(tmp_path):
    rows = _motion()
    rows[0, 1] -= 100.0
    run = read_table(write(tmp_path / "r.csv", rows), ColumnMap.from_dict(MAP))
    assert len(run.joints) == 199 and "jump" in run.notes[0]
    still = read_table(write(tmp_path / "s.csv", _motion()), ColumnMap.from_dict(MAP))
    assert len(still.joints) == 200 and still.notes == ()


def test_a_clock_that_was_reset_in_the_midst_is_refused(tmp_path):
    rows = _motion()
    rows[120:, 0] -= 900.0
    with pytest.raises(SignalError, match=r"backward in row 121.* 5 % of the rows"):
        read_table(write(tmp_path / "r.csv", rows), ColumnMap.from_dict(MAP))


def test_headerless_tables_side_by_side_are_named_by_file_and_column(tmp_path):
    rows = _motion()
    np.savetxt(tmp_path / "ang.txt", rows[:, 1:3])
    np.savetxt(tmp_path / "tau.txt", rows[:-1, 5:7])  # one row less: cut
    columns = {
        **MAP,
        "files": ["ang.txt", "tau.txt"],
        "delimiter": "whitespace",
        "n_columns": 4,
        "rate_hz": 100,
        "position": {"columns": ["ang:0", "ang:1"], "unit": "deg"},
        "effort": {"columns": ["tau:1", "tau:0"], "kind": "motor_current"},
    }
    del columns["time"], columns["velocity"]
    run = read_table(tmp_path, ColumnMap.from_dict(columns))
    assert run.joints.effort == pytest.approx(rows[:-1, [6, 5]])


def test_arrays_of_other_programs_give_the_same_recording(tmp_path):
    rows = _motion()

    def columns_in(struct: str) -> ColumnMap:
        return ColumnMap.from_dict(
            {
                **MAP,
                "n_columns": 0,
                "time": {"column": f"{struct}t", "unit": "ms"},
                "position": {"columns": [f"{struct}q.0", f"{struct}q.1"], "unit": "deg"},
                "velocity": {"columns": [f"{struct}v.0", f"{struct}v.1"]},
                "effort": {"columns": [f"{struct}i.1", f"{struct}i.0"], "kind": "motor_current"},
            }
        )

    columns = columns_in("")
    table = {"t": rows[:, 0], "q": rows[:, 1:3], "v": rows[:, 3:5], "i": rows[:, 5:7]}
    expected = read_table(write(tmp_path / "r.csv", rows), ColumnMap.from_dict(MAP)).joints
    np.savez(tmp_path / "r.npz", **table)
    scipy.io.savemat(tmp_path / "r.mat", table)
    found = [read_table(table, columns)]
    found += [read_table(tmp_path / f"r.{ending}", columns) for ending in ("npz", "mat")]
    for run in found:
        assert run.joints.q == pytest.approx(expected.q)
        assert run.joints.effort == pytest.approx(expected.effort)
        assert np.all(run.joints.stamps_ns == expected.stamps_ns)
    scipy.io.savemat(tmp_path / "struct.mat", {"run": {"log": table}})
    nested = read_table(tmp_path / "struct.mat", columns_in("run.log."))
    assert nested.joints.q == pytest.approx(expected.q)
    (tmp_path / "bad.mat").write_text("no MATLAB")
    with pytest.raises(SignalError, match=r"bad.mat"):
        read_table(tmp_path / "bad.mat", columns)
