# SPDX-License-Identifier: Apache-2.0
"""The same motion through every door."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.servos import ServoRecording, read_recordings

JOINTS = ("lift", "elbow")


@pytest.fixture
def motion() -> ServoRecording:
    t = np.arange(100) * 0.02
    target = np.stack([np.sin(t), np.cos(t)], axis=1)
    return ServoRecording("one", JOINTS, t, 0.9 * target, t, target)


def sage(r: ServoRecording, folder: Path) -> Path:
    (folder / "one").mkdir()
    for file, kind, t, x in (
        ("control.csv", "CONTROL", r.t_target, r.target),
        ("state_motor.csv", "STATE_MOTOR", r.t, r.q),
    ):
        more = ',"[0.0, 0.0]"' if kind == "STATE_MOTOR" else ""
        head = "type,timestamp,positions" + (",velocities" if more else "")
        lines = [f'{kind},{a * 1e6},"{b.tolist()}"{more}' for a, b in zip(t, x, strict=True)]
        (folder / "one" / file).write_text("\n".join([head, *lines]))
    (folder / "one" / "joint_list.txt").write_text("\n".join(JOINTS))
    return folder


def npz(r: ServoRecording, folder: Path) -> Path:
    arrays = {"t": r.t, "q": r.q, "t_target": r.t_target, "target": r.target}
    named = {f"one/{key}": value for key, value in arrays.items()}
    np.savez(folder / "all.npz", joints=np.array(JOINTS), **named)
    return folder / "all.npz"


def csv(r: ServoRecording, folder: Path) -> Path:
    head = ",".join(["time", *(f"q_{j}" for j in JOINTS), *(f"target_{j}" for j in JOINTS)])
    table = np.column_stack([r.t, r.q, r.target])
    np.savetxt(folder / "one.csv", table, delimiter=",", header=head, comments="")
    return folder / "one.csv"


def lerobot_2(r: ServoRecording, folder: Path) -> Path:
    return _lerobot(r, folder, "v2.1", {"motors": [f"{j}.pos" for j in JOINTS]})


def lerobot_3(r: ServoRecording, folder: Path) -> Path:
    return _lerobot(r, folder, "v3.0", [f"{j}.pos" for j in JOINTS])


def _lerobot(r: ServoRecording, folder: Path, version: str, names: object) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    old = version == "v2.1"
    chunk = folder / "data" / ("chunk-000")
    chunk.mkdir(parents=True)
    (folder / "meta").mkdir()
    features = {"action": {"dtype": "float32", "shape": [2], "names": names}}
    info = {"codebase_version": version, "fps": 50, "features": features}
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    columns = {
        "action": np.degrees(r.target).tolist(),
        "observation.state": np.degrees(r.q).tolist(),
        "timestamp": r.t.tolist(),
        "episode_index": [0] * len(r.t),
    }
    name = "episode_000000.parquet" if old else "file-000.parquet"
    pq.write_table(pa.table(columns), chunk / name)
    return folder


def lerobot_rows(folder: Path, names: list[str], action: np.ndarray, state: np.ndarray) -> Path:
    """A dataset of version 3 whose state has more columns than its action, in another order."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    (folder / "data" / "chunk-000").mkdir(parents=True)
    (folder / "meta").mkdir()
    seen = [*names[::-1], "x.vel"]
    features = {"action": {"names": [*names, "x.vel"]}, "observation.state": {"names": seen}}
    (folder / "meta" / "info.json").write_text(json.dumps({"features": features}))
    none = np.zeros((len(state), 1))
    columns = {
        "action": np.hstack([action, none]).tolist(),
        "observation.state": np.hstack([state[:, ::-1], none]).tolist(),
        "timestamp": (np.arange(len(state)) / 30.0).tolist(),
        "episode_index": [0] * len(state),
    }
    pq.write_table(pa.table(columns), folder / "data" / "chunk-000" / "file-000.parquet")
    return folder


LEROBOT = ["shoulder_pan.pos", "gripper.pos"]


def test_lerobots_columns_go_by_name_and_its_gripper_by_share(tmp_path: Path) -> None:
    robot = RobotModel.from_urdf("so101").holding(joints=("shoulder_pan", "gripper"))
    rows = np.stack([np.linspace(-90, 90, 30), np.linspace(0, 100, 30)], axis=1)
    (read,) = read_recordings([lerobot_rows(tmp_path / "set", LEROBOT, rows, rows)])
    matched = read.matched(robot)
    low, high = robot.position_limits
    np.testing.assert_allclose(matched.q[[0, -1], 0], [-np.pi / 2, np.pi / 2])
    np.testing.assert_allclose(matched.q[[0, -1], 1], [low[1], high[1]])
    np.testing.assert_allclose(matched.target, matched.q)
    assert any("--percent" in note for note in matched.notes)


def test_lerobots_shares_of_ranges_are_the_limits_or_the_calibrations(tmp_path: Path) -> None:
    robot = RobotModel.from_urdf("so101").holding(joints=("shoulder_pan", "gripper"))
    rows = np.stack([np.linspace(-100, 100, 30), np.linspace(0, 100, 30)], axis=1)
    folder = lerobot_rows(tmp_path / "set", LEROBOT, rows, rows)
    (read,) = read_recordings([folder], percent=True)
    low, high = robot.position_limits
    np.testing.assert_allclose(read.matched(robot).q[[0, -1]], [low, high])
    motor = {"id": 1, "drive_mode": 0, "homing_offset": 0, "range_min": 1024, "range_max": 3072}
    (tmp_path / "arm.json").write_text(json.dumps({"shoulder_pan": motor}))
    (read,) = read_recordings([folder], calibration=tmp_path / "arm.json")
    matched = read.matched(robot)
    np.testing.assert_allclose(matched.q[[0, -1], 0], [-np.pi / 2, np.pi / 2])
    np.testing.assert_allclose(matched.q[[0, -1], 1], [low[1], high[1]])


def test_a_dataset_with_fewer_columns_than_names_is_refused(tmp_path: Path) -> None:
    rows = np.linspace(-1.0, 1.0, 60).reshape(30, 2)
    folder = lerobot_rows(tmp_path / "set", LEROBOT, rows, rows[:, :1])
    with pytest.raises(SignalError, match="columns"):
        read_recordings([folder])


def test_an_empty_table_of_sage_is_refused(motion: ServoRecording, tmp_path: Path) -> None:
    folder = sage(motion, tmp_path)
    (folder / "one" / "control.csv").write_text("")
    with pytest.raises(SignalError, match="timestamp, positions"):
        read_recordings([folder])


def test_samples_that_are_left_out_are_counted() -> None:
    t = np.arange(40) * 0.1
    q = np.where(t == t[7], np.nan, t)
    (said,) = ServoRecording("one", ("a",), t, q, t, t).notes
    assert said.startswith("1 of 40 samples of q")


@pytest.mark.parametrize("info", ["[]", '{"features": 5}', '{"features": {"action": 1.5}}'])
def test_a_dataset_whose_description_has_another_form_is_refused(
    motion: ServoRecording, tmp_path: Path, info: str
) -> None:
    folder = lerobot_3(motion, tmp_path)
    (folder / "meta" / "info.json").write_text(info)
    with pytest.raises(SignalError, match="another form"):
        read_recordings([folder])


def test_a_cut_archive_is_refused(motion: ServoRecording, tmp_path: Path) -> None:
    file = npz(motion, tmp_path)
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(SignalError, match=r"all\.npz"):
        read_recordings([file])


def test_a_share_of_a_range_without_limits_is_refused(motion: ServoRecording) -> None:
    share = replace(motion, full=((-100.0, 100.0), None), joints=("joint1", "joint2"))
    endless = RobotModel.from_urdf("puma560").holding(joints=("joint1", "joint2"))
    endless.pin_model.lowerPositionLimit[:] = -np.inf
    with pytest.raises(SignalError, match="no limits"):
        share.in_radians(endless)


def bag(r: ServoRecording, folder: Path) -> Path:
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    state, numbers = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
    stamp, header = kinds["builtin_interfaces/msg/Time"], kinds["std_msgs/msg/Header"]
    layout = kinds["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    none = np.zeros(0)
    with Writer(folder / "one", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        measured = writer.add_connection("/joint_states", state, typestore=store)
        sent = writer.add_connection("/commands", numbers, typestore=store)
        for t, q, u in zip(r.t, r.q, r.target, strict=True):
            ns = round((t + 1000.0) * 1e9)
            time = stamp(sec=ns // 10**9, nanosec=ns % 10**9)
            message = kinds[state](header(time, ""), list(JOINTS), q, none, none)
            writer.write(measured, ns, store.serialize_cdr(message, state))
            writer.write(sent, ns, store.serialize_cdr(kinds[numbers](layout, u), numbers))
    return folder / "one"


def test_a_trajectory_is_followed_between_its_points_until_another_takes_over(
    tmp_path: Path,
) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    state, sent = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
    header = kinds["std_msgs/msg/Header"](kinds["builtin_interfaces/msg/Time"](0, 0), "")
    none = np.zeros(0)

    def point(seconds: int, x: float) -> object:
        after = kinds["builtin_interfaces/msg/Duration"](seconds, 0)
        return kinds["trajectory_msgs/msg/JointTrajectoryPoint"](
            np.array([x]), none, none, none, after
        )

    with Writer(tmp_path / "one", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        measured = writer.add_connection("/joint_states", state, typestore=store)
        commands = writer.add_connection("/controller/joint_trajectory", sent, typestore=store)
        for k in range(60):
            message = kinds[state](header, ["lift"], np.zeros(1), none, none)
            writer.write(measured, k * 10**8, store.serialize_cdr(message, state))
        for second, points in (
            (0, [point(0, 0.0), point(2, 1.0), point(4, 0.0)]),
            (3, [point(1, 0.5)]),
        ):
            message = kinds[sent](header, ["lift"], points)
            writer.write(commands, second * 10**9, store.serialize_cdr(message, sent))
    (read,) = read_recordings([tmp_path / "one"])
    at = np.interp([0.0, 1.0, 2.0, 2.9, 3.5, 4.0, 5.0], read.t_target, read.target[:, 0])
    np.testing.assert_allclose(at, [0.0, 0.5, 1.0, 0.55, 0.5, 0.5, 0.5], atol=0.01)


@pytest.mark.parametrize("write", [sage, npz, csv, lerobot_2, lerobot_3, bag])
def test_a_motion_comes_through_a_door_as_it_was(
    write: Callable[[ServoRecording, Path], Path], motion: ServoRecording, tmp_path: Path
) -> None:
    (read,) = read_recordings([write(motion, tmp_path)])
    assert [name.removesuffix(".pos") for name in read.joints] == list(JOINTS)
    np.testing.assert_allclose(read.t - read.t[0], motion.t, atol=1e-6)
    np.testing.assert_allclose(read.q, motion.q, atol=1e-6)
    np.testing.assert_allclose(read.target, motion.target, atol=1e-6)


@pytest.mark.parametrize(
    "head, rows",
    [
        ("time_ms;lift_pos;elbow_pos;lift_target;elbow_target", lambda t, q, u: (1e3 * t, q, u)),
        ("timestamp_ns,lift.position,elbow.position,lift.command,elbow.command",
         lambda t, q, u: (1.7e18 + 1e9 * t, q, u)),
        ("time [s],q_lift [deg],q_elbow [deg],goal_position_lift [deg],goal_position_elbow [deg]",
         lambda t, q, u: (t, np.degrees(q), np.degrees(u))),
        ("t,position_lift,position_elbow,q_cmd_lift,q_cmd_elbow,velocity_lift,goal_velocity_lift",
         lambda t, q, u: (t, q, u, q)),
        ("stamp,joint_states.lift,observation.state.lift.pos,observation.state.elbow.pos,"
         "action.lift.pos,action.elbow.pos", lambda t, q, u: (1e3 * t, 0 * t, q, u)),
    ],
)  # fmt: skip
def test_columns_are_known_by_many_names_and_units(
    head: str, rows: Callable[..., tuple[np.ndarray, ...]], motion: ServoRecording, tmp_path: Path
) -> None:
    table = np.column_stack(rows(motion.t, motion.q, motion.target))
    separator = ";" if ";" in head else ","
    np.savetxt(tmp_path / "x.csv", table, delimiter=separator, header=head, comments="")
    (read,) = read_recordings([tmp_path / "x.csv"])
    assert [name.removesuffix(".pos") for name in read.joints] == list(JOINTS)
    np.testing.assert_allclose(read.t, motion.t, atol=1e-6)
    np.testing.assert_allclose(read.q, motion.q, atol=1e-6)
    np.testing.assert_allclose(read.target, motion.target, atol=1e-6)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "before", ["# SO-101, 3 takes\n", "# by hand\n\n# 2026-01-01, 12:00\n", "# by hand\n# "]
)
def test_remarks_before_the_header_are_no_header(
    before: str, encoding: str, motion: ServoRecording, tmp_path: Path
) -> None:
    path = csv(motion, tmp_path)
    path.write_text(before + path.read_text(), encoding=encoding)
    (read,) = read_recordings([path])
    assert read.joints == JOINTS
    np.testing.assert_allclose(read.q, motion.q, atol=1e-6)


def test_a_first_time_that_is_not_a_number_costs_one_sample(
    motion: ServoRecording, tmp_path: Path
) -> None:
    t = np.array(motion.t) + 5.0
    t[0] = np.nan
    arrays = {"q": motion.q, "t_target": motion.t_target + 5.0, "target": motion.target}
    np.savez(tmp_path / "x.npz", t=t, **arrays)
    (read,) = read_recordings([tmp_path / "x.npz"])
    np.testing.assert_allclose(read.t, motion.t[1:])
    np.testing.assert_allclose(read.t_target, motion.t_target)


def test_a_refused_recording_says_what_was_left_out(motion: ServoRecording) -> None:
    with pytest.raises(SignalError, match=r"99 of 100 samples of q .* times do not increase"):
        replace(motion, t=motion.t[::-1], q=motion.q[::-1])


def test_arrays_are_known_by_many_names(motion: ServoRecording, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz", timestamps=1e3 * motion.t, qpos=motion.q, actions=motion.target,
        joint_names=np.array(JOINTS),
    )  # fmt: skip
    (read,) = read_recordings([tmp_path / "x.npz"])
    assert read.joints == JOINTS
    np.testing.assert_allclose(read.t, motion.t, atol=1e-9)
    assert "ms" in read.notes[0]


def test_a_joint_without_a_position_and_cells_without_a_number_are_left_out(
    motion: ServoRecording, tmp_path: Path
) -> None:
    table = np.column_stack([motion.t, motion.q, motion.target, motion.q[:, 0]])
    head = "t,q_lift,q_elbow,target_lift,target_elbow,target_gripper"
    lines = [head, *(",".join(map(repr, row)) for row in table.tolist())]
    lines[7] = lines[7].replace(",", ",,", 1).rsplit(",", 1)[0]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    (read,) = read_recordings([tmp_path / "x.csv"])
    assert read.joints == JOINTS
    assert "target_gripper" in read.notes[0]
    assert len(read.t) == len(motion.t) - 1


def test_a_gripper_alone_in_per_cent_is_a_share_of_its_limits(tmp_path: Path) -> None:
    robot = RobotModel.from_urdf("so101")
    k = robot.joint_names.index("gripper")
    low, high = (limits[k] for limits in robot.position_limits)
    t = np.arange(100) * 0.03
    share = 50.0 + 40.0 * np.sin(t)
    head = "t,q_shoulder_pan,q_gripper,target_shoulder_pan,target_gripper"
    np.savetxt(
        tmp_path / "x.csv", np.column_stack([t, np.sin(t), share, np.sin(t), share]),
        delimiter=",", header=head, comments="",
    )  # fmt: skip
    read = read_recordings([tmp_path / "x.csv"])[0].matched(robot)
    np.testing.assert_allclose(read.q[:, 0], np.sin(t))
    np.testing.assert_allclose(read.q[:, 1], low + share / 100.0 * (high - low))


def test_columns_that_are_no_joint_are_left_out_if_most_are(motion: ServoRecording) -> None:
    robot = RobotModel.from_urdf("so101").holding(
        joints=RobotModel.from_urdf("so101").joint_names[:4]
    )
    names = (*robot.joint_names[2::-1], "left_finger", "right_finger")
    wide = np.column_stack([motion.q, motion.q, motion.q[:, 0]])
    r = replace(motion, joints=names, q=wide, target=wide)
    read = r.matched(robot)
    assert read.joints == robot.joint_names[:3]
    np.testing.assert_array_equal(read.q, wide[:, 2::-1])
    assert "left_finger" in read.notes[-1]


def test_a_bench_run_comes_from_its_json(tmp_path: Path) -> None:
    entries = [
        {"timestamp": 0.01 * k, "position": 0.001 * k, "goal_position": 0.1} for k in range(50)
    ]
    (tmp_path / "run.json").write_text(json.dumps({"mass": 0.5, "entries": entries}))
    (read,) = read_recordings([tmp_path / "run.json"])
    assert read.q.shape == (50, 1)


def test_a_motion_that_is_not_there_is_refused(motion: ServoRecording, tmp_path: Path) -> None:
    with pytest.raises(SignalError, match="no motions"):
        read_recordings([npz(motion, tmp_path)], motions=["two"])


def test_a_table_without_commands_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("t,q_a\n0,1\n1,2\n")
    with pytest.raises(SignalError, match="target_JOINT"):
        read_recordings([tmp_path / "x.csv"])


def test_a_single_misread_position_is_left_out_and_a_fast_step_is_not(
    motion: ServoRecording,
) -> None:
    q, step = np.array(motion.q), np.array(motion.q)
    q[40, 1] = -np.pi  # the bus answered late
    step[40:, 1] -= np.pi
    read = replace(motion, q=q)
    np.testing.assert_array_equal(read.t, np.delete(motion.t, 40))
    assert read.notes and not motion.notes
    np.testing.assert_array_equal(replace(motion, q=step).q, step)


def test_a_real_sage_folder_is_read(shared_data: Path) -> None:
    (read,) = read_recordings([shared_data / "so101_sage" / "raw"])
    assert read.joints[0] == "Rotation"
    assert read.q.shape == (4840, 6)
