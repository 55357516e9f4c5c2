# SPDX-License-Identifier: Apache-2.0
"""`sysid init`: entries inferred from a table, and entries that a person has to declare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import ExcitationError, SignalError
from sysid_core.signals import ColumnMap, TableLayout, read_table

ROOT = Path(__file__).resolve().parents[2]
JOINTS = ("a", "b", "c")


def table(
    path: Path, rng: np.random.Generator, *, degrees: bool = False, order: str = "tvqe"
) -> Path:
    t = np.arange(400) * 0.01
    phase = rng.uniform(0, 6, 3)
    q = np.sin(2 * t[:, None] + phase)
    v = 2 * np.cos(2 * t[:, None] + phase)
    parts = {
        "t": t[:, None],
        "q": q * (57.3 if degrees else 1),
        "v": v,
        "e": rng.normal(size=(400, 3)),
    }
    np.savetxt(path, np.hstack([parts[k] for k in order]), delimiter=",")
    return path


def test_the_shipped_recording_gives_the_map_that_ships_with_it(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, "--effort-kind", "motor_current"])
    assert done.exit_code == 0, done.output
    raw = yaml.safe_load((tmp_path / "columns.yaml").read_text())
    shipped = yaml.safe_load((ROOT / "examples/ur5/columns.yaml").read_text())
    for key in (
        "header",
        "delimiter",
        "n_columns",
        "time",
        "joints",
        "position",
        "velocity",
        "effort",
    ):
        assert raw[key] == shipped[key], key
    assert "drives.gain" in done.output
    raw["drives"] = shipped["drives"]
    read_table(ROOT / "examples/ur5/train.csv", ColumnMap.from_dict(raw))


@pytest.mark.parametrize("order", ["tvqe", "tqve", "teqv", "qvet"])
def test_velocities_are_the_block_that_is_the_derivative(tmp_path: Path, rng, order: str) -> None:
    layout = TableLayout.of(table(tmp_path / "log.csv", rng, order=order), JOINTS, 3.0)
    first = {"t": 1, "q": 3, "v": 3, "e": 3}
    starts = {kind: sum(first[k] for k in order[: order.index(kind)]) for kind in order}
    assert layout.time == starts["t"] and layout.rate_hz == pytest.approx(100.0)
    low, high = layout.ranges[starts["q"]]
    assert -1.0 <= low < -0.9 and 0.9 < high <= 1.0
    assert layout.position == tuple(range(starts["q"], starts["q"] + 3))
    assert layout.velocity == tuple(range(starts["v"], starts["v"] + 3))
    assert layout.effort == ()


def test_degrees_are_told_by_the_limits_of_the_joints(tmp_path: Path, rng) -> None:
    assert TableLayout.of(table(tmp_path / "a.csv", rng), JOINTS, 3.0).position_unit == "rad"
    assert (
        TableLayout.of(table(tmp_path / "b.csv", rng, degrees=True), JOINTS, 3.0).position_unit
        == "deg"
    )


def test_the_kind_of_effort_is_never_guessed(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0
    assert "effort.kind" in done.output
    assert 'kind: "?"' in (tmp_path / "columns.yaml").read_text()
    assert CliRunner().invoke(app, call).exception is not None  # never overwrites


def test_a_driver_gets_its_bringup_file(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["init", "--driver", "ur", "--robot", "ur5", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    shipped = (ROOT / "config/bringup_ur.yaml").read_text()
    assert (tmp_path / "bringup.yaml").read_text() == shipped


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(SignalError):
        TableLayout.of(path, JOINTS, 3.0)


def test_an_entry_that_is_still_open_is_named_so(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, [*call, "--effort-kind", "motor_current"]).exit_code == 0
    with pytest.raises(
        SignalError, match=r"`drives.gain\[0\]` is still '\?': replace it with a value"
    ):
        ColumnMap.load(tmp_path / "columns.yaml")


def test_every_open_entry_is_refused_with_the_remedy_to_replace_it(tmp_path: Path) -> None:
    call = ["init", str(ROOT / "examples/ur5/train.csv"), "--robot", "ur5", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, [*call, "--effort-kind", "motor_current"]).exit_code == 0
    text = (tmp_path / "columns.yaml").read_text()
    gains = text.replace('gain: ["?", "?", "?", "?", "?", "?"]', "gain: [1, 1, 1, 1, 1, 1]")
    (tmp_path / "columns.yaml").write_text(gains)
    with pytest.raises(SignalError, match=r"`drives.source` is still '\?'") as err:
        ColumnMap.load(tmp_path / "columns.yaml")
    assert err.value.remedy == "Replace each ? in columns.yaml."


def test_on_a_terminal_it_asks_for_what_is_not_given(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter([str(ROOT / "examples/ur5/train.csv"), "ur5", "motor_current"])
    monkeypatch.setattr("typer.prompt", lambda text: next(answers))
    from sysid_cli.init import init

    init(out=tmp_path)
    assert "kind: motor_current" in (tmp_path / "columns.yaml").read_text(encoding="utf-8")
    assert next(answers, "all asked") == "all asked"


def servo_table(path: Path, names: tuple[str, ...]) -> Path:
    t = np.arange(0, 130, 0.04)
    q = np.stack([20 * np.sin(t + i) for i in range(6)], axis=1)
    head = ",".join(["time_ms", *names])
    table = np.column_stack([1e3 * t, q, 1.1 * q])
    np.savetxt(path, table, delimiter=",", header=head, comments="")
    return path


def test_a_table_of_servos_gets_a_map_by_which_it_is_read(tmp_path: Path) -> None:
    from sysid_core.servos import read_recordings

    joints = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
    names = (*(f"{j}.position" for j in joints), *(f"target_{j}" for j in joints))
    known = servo_table(tmp_path / "known.csv", names)
    strange = servo_table(tmp_path / "strange.csv", tuple(f"c{k}" for k in range(12)))
    call = ["init", "--driver", "servos", "--robot", "so101", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, str(known)])
    assert done.exit_code == 0, done.output
    assert "missing" not in done.output and "sysid servos identify" in done.output
    text = (tmp_path / "columns.yaml").read_text("utf-8")
    assert "25 Hz" in text
    by_number = [list(range(1, 7)), list(range(7, 13))]
    numbered = yaml.safe_load(text) | {
        key: {"columns": columns, "unit": "deg"}
        for key, columns in zip(("position", "target"), by_number, strict=True)
    }
    (tmp_path / "numbers.yaml").write_text(yaml.safe_dump(numbered), "utf-8")
    (read,) = read_recordings([known], columns=tmp_path / "columns.yaml")
    (same,) = read_recordings([strange], columns=tmp_path / "numbers.yaml")
    assert read.joints == same.joints == joints
    np.testing.assert_allclose(read.q, same.q)
    np.testing.assert_allclose(read.target[:, 0], np.radians(22 * np.sin(read.t)), atol=1e-4)
    done = CliRunner().invoke(app, [*call, str(strange), "--force"])
    assert done.exit_code == 0 and "target.columns" in done.output
    with pytest.raises(SignalError, match=r"is still '\?'"):
        read_recordings([strange], columns=tmp_path / "columns.yaml")


def test_servos_without_a_recording_get_the_bringup_file(tmp_path: Path) -> None:
    call = ["init", "--driver", "servos", "--robot", "so101", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0 and "sysid plan servos so101" in done.output
    shipped = (ROOT / "config/bringup_servos.yaml").read_text()
    assert (tmp_path / "bringup.yaml").read_text() == shipped


def bringup(tmp_path: Path, driver: str, robot: str) -> tuple[str, Path]:
    call = ["init", "--driver", driver, "--robot", robot, "--out", str(tmp_path)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    return done.output, tmp_path / "bringup.yaml"


def test_placeholders_and_names_that_the_robot_lacks_are_missing_entries(tmp_path: Path) -> None:
    said, _ = bringup(tmp_path / "ur", "ur", "ur5")
    assert "missing: shape (box 0.1 0.1 0.1): replace it" in said and said.count("missing") == 1
    said, _ = bringup(tmp_path / "franka", "franka", "panda")
    assert "missing: common.joints: '*fr3_joint[1-7]' fits no joint of 'panda'" in said
    assert "missing: trajectory_executor.tcp_frame: The robot 'panda' has no frame" in said


def test_a_simulated_robot_is_the_given_arm_without_its_fingers(tmp_path: Path) -> None:
    from sysid_core.planning import LimitsFile
    from sysid_core.robot import RobotModel

    said, file = bringup(tmp_path, "simulated", "panda")
    assert "missing" not in said
    written = yaml.safe_load(file.read_text())
    panda = RobotModel.from_urdf("panda")
    arm = LimitsFile.driven_robot(panda, file, lock=["panda_finger_joint1=0.01"])
    assert arm.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    assert LimitsFile.read(file, arm).tcp_frame == written["estimator"]["sensor_frame"]
    (tmp_path / "mounted.yaml").write_text(
        "common: {mount: [0, 1.5708, 0]}\ntrajectory_executor: {}\n"
    )
    assert LimitsFile.driven_robot(panda, tmp_path / "mounted.yaml").gravity[0] == pytest.approx(
        9.81, abs=1e-3
    )
    told = LimitsFile.driven_robot(panda, tmp_path / "mounted.yaml", gravity="0,0,-9.81")
    assert told.gravity == pytest.approx([0, 0, -9.81])
    with pytest.raises(
        ExcitationError, match=r"bringup.yaml.*'panda_joint1' fits no joint of 'ur5'"
    ):
        LimitsFile.driven_robot(RobotModel.from_urdf("ur5"), file)
