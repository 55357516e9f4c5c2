# SPDX-License-Identifier: Apache-2.0
"""`sysid bag`: what users see of whole and damaged bags."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysid_cli import base
from sysid_cli.app import app
from sysid_core.errors import SignalError
from sysid_core.progress import Step, report_progress, watch_progress
from sysid_core.signals.bags import BagWriter, build_typestore, read_bag

STORE = build_typestore()
JOINT_STATE = "sensor_msgs/msg/JointState"
T0 = 1_700_000_000_000_000_000


def joint_state(t_ns: int, q: float) -> bytes:
    types = STORE.types
    stamp = types["builtin_interfaces/msg/Time"](sec=t_ns // 10**9, nanosec=t_ns % 10**9)
    values = np.array([q, -q])
    message = types[JOINT_STATE](
        header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
        name=["a", "b"],
        position=values,
        velocity=values,
        effort=values,
    )
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def write(path: Path, rng: np.random.Generator, custom_data: dict[str, str]) -> Path:
    with BagWriter(path, custom_data=custom_data) as writer:
        writer.add_topic("/joint_states", JOINT_STATE)
        for k in range(400):
            t = T0 + 10_000_000 * (k + 50 * (k >= 200))  # half a second is missing
            q = np.sin(0.03 * k) + 1e-4 * rng.normal()
            writer.write("/joint_states", joint_state(t, q), t)
    return path


@pytest.fixture
def bag(tmp_path: Path, rng: np.random.Generator) -> Path:
    return write(tmp_path / "run", rng, {"effort_kind": "link_torque"})


@pytest.fixture
def damaged(bag: Path, tmp_path: Path) -> Path:
    path = tmp_path / "cut"
    path.mkdir()
    data = (bag / "run_0.mcap").read_bytes()
    (path / "cut_0.mcap").write_bytes(data[: len(data) // 2])
    return path


def sysid(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["bag", *map(str, arguments)])
    if isinstance(result.exception, SignalError):
        raise result.exception
    return result.exit_code, result.output


def test_info_lists_topics_with_counts_and_rates(bag: Path) -> None:
    status, text = sysid("info", bag)
    assert status == 0
    assert "/joint_states" in text and "400" in text and "effort_kind: link_torque" in text
    status, text = sysid("info", bag, "--json", "-")
    facts = json.loads(text)
    assert facts["messages"] == 400 and facts["damage"] == []
    assert facts["topics"][0]["type"] == JOINT_STATE
    assert facts["seconds"] == pytest.approx(4.49)


def test_info_says_what_is_broken_and_what_to_do(damaged: Path) -> None:
    status, text = sysid("info", damaged)
    assert status == 0
    assert "cut off" in text and "metadata.yaml" in text and "sysid bag recover" in text


def test_recover_makes_a_whole_bag_and_says_what_was_wrong(damaged: Path, tmp_path: Path) -> None:
    status, text = sysid("recover", damaged, tmp_path / "whole")
    assert status == 0 and "cut off" in text
    count = len(read_bag(damaged).joints)
    assert f"{count} messages" in text
    recovered = read_bag(tmp_path / "whole")
    assert len(recovered.joints) == count
    assert not any("cut off" in note for note in recovered.notes)
    with pytest.raises(SignalError, match="exists already"):
        sysid("recover", damaged, tmp_path / "whole")


def test_check_tells_rate_gaps_and_noise(bag: Path, tmp_path: Path) -> None:
    status, text = sysid("check", bag)
    assert status == 0 and "Suitable for: arm" in text and "link_torque" in text
    sysid("check", bag, "--json", tmp_path / "facts.json")
    facts = json.loads((tmp_path / "facts.json").read_text())
    joints = facts["streams"]["joint states"]
    assert joints["rate_hz"] == pytest.approx(100.0)
    assert joints["gaps"] == 1 and joints["longest_gap_ms"] == pytest.approx(510.0)
    assert joints["noise"] == pytest.approx([1e-4, 1e-4], rel=0.2)


def test_check_counts_what_was_wrong_with_the_stamps(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    with BagWriter(tmp_path / "odd", custom_data={"effort_kind": "link_torque"}) as writer:
        writer.add_topic("/joint_states", JOINT_STATE)
        steps = [*range(100), 99, 97, *range(1000, 1400)]
        steps += [*range(400), 7]  # the clock goes back by ten seconds, and one is late
        for k, step in enumerate(steps):
            q = np.nan if k == 600 else np.sin(0.03 * k) + 1e-4 * rng.normal()
            writer.write("/joint_states", joint_state(T0 + 10_000_000 * step, q), T0 + k)
    _, text = sysid("check", tmp_path / "odd", "--json", tmp_path / "facts.json")
    facts = json.loads((tmp_path / "facts.json").read_text())["streams"]["joint states"]
    assert facts["clock_jumps"] == 2 and facts["invalid"] == 1
    for row in ("repeated, backward", "clock jumps", "NaN, infinite", "gaps, longest"):
        assert row in text


def test_check_refuses_efforts_that_nobody_explains(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = write(tmp_path / "mute", rng, {})
    status, text = sysid("check", path)
    assert status == 1 and "--effort-kind" in text
    status, text = sysid("check", path, "--effort-kind", "motor_current")
    assert status == 0 and "motor_current" in text


def test_a_missing_bag_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SignalError, match="no bag"):
        sysid("info", tmp_path / "nowhere")


def test_check_says_what_it_will_do_for_and_what_to_do_else(bag: Path) -> None:
    status, text = sysid("check", bag, "--for", "payload")
    words = " ".join(text.split())
    assert status == 1 and "No wrench" in words and "give --robot" in words
    facts = json.loads(sysid("check", bag, "--json", "-")[1])
    outcomes = {use["use"]: use["outcome"] for use in facts["uses"]}
    assert outcomes == {
        "arm": "warn",
        "payload": "fail",
        "sequential": "fail",
        "closed-chain": "not judged",  # without its loops
    }
    with pytest.raises(SignalError, match="No use"):
        sysid("check", bag, "--for", "fun")


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_exported_tables_are_what_the_bag_holds(bag: Path, tmp_path: Path, ending: str) -> None:
    joints, file = read_bag(bag).joints, tmp_path / f"run.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="export to Parquet is optional")
    assert sysid("export", bag, file)[0] == 0
    if ending == "npz":
        with np.load(file) as content:
            columns = {name.removeprefix("joints."): content[name] for name in content}
    elif ending == "csv":
        rows = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
        columns = {name: rows[name] for name in rows.dtype.names}
    else:
        from pyarrow.parquet import read_table

        columns = {k: np.array(v) for k, v in read_table(file).to_pydict().items()}
    for j, name in enumerate(joints.names):
        np.testing.assert_array_equal(columns[f"q.{name}"], joints.q[:, j])
        np.testing.assert_array_equal(columns[f"effort.{name}"], joints.effort[:, j])
    if ending != "csv":  # genfromtxt reads floats
        np.testing.assert_array_equal(columns["stamp_ns"], joints.stamps_ns)
    with pytest.raises(SignalError, match="exists already"):
        sysid("export", bag, file)


def test_reading_reports_its_progress_and_the_time_left(
    bag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []
    with watch_progress(lambda name, share: shares.append(share)):
        read_bag(bag)
    assert max(shares) == pytest.approx(1.0, abs=0.01) and len(shares) > 10
    assert shares[0] < 0.1
    monkeypatch.setattr(base, "_FIRST_S", -1.0)  # also of a file that is read at once
    monkeypatch.setattr(base, "_PERIOD_S", -1.0)
    errors = base.Errors(file=io.StringIO(), force_terminal=True, markup=False)
    with errors.progress("reading") as shown:
        report_progress("run.mcap", 0.25)
        (task,) = shown.bar.tasks
        assert (task.description, task.percentage) == ("run.mcap", 25.0)
        assert type(shown.bar.columns[-1]).__name__ == "TimeRemainingColumn"
        report_progress("run.mcap", 1.0)
        assert (task.description, len(shown.bar.columns)) == ("reading", 2)


def test_steps_are_lines_instead_of_a_bar_and_a_file_gets_no_bar() -> None:
    errors = base.Errors(file=io.StringIO(), markup=False)
    with errors.progress("reading") as shown:
        shown.update("searching", 0.5)
    assert errors.file.getvalue() == ""
    errors.steps = True
    with errors.progress("reading") as shown:
        for share in (0.0, 0.5):
            shown.update("searching", share)
        shown.step(Step.FITTING)
    lines = errors.file.getvalue().splitlines()
    assert lines == ["[step] reading", "[step] searching", "[step] fitting the parameters"]


def test_a_window_of_a_bag_is_read_alone(bag: Path) -> None:
    whole = read_bag(bag).joints.stamps_ns
    first, last = int(whole[100]), int(whole[150])
    part = read_bag(bag, window_ns=(first, last)).joints.stamps_ns
    np.testing.assert_array_equal(part, whole[100:151])
