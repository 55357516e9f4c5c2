# SPDX-License-Identifier: Apache-2.0
"""Any damage to any input file ends in the right answer or in a sentence with a remedy.

Each format starts from a right file; hypothesis flips bytes, cuts, repeats and replaces values. The
reader may accept what is left (then it is finite and of the right size), or raise an error of ours
that says what to do. Everything else (another exception, a hang, NaN in a result) is a bug.
"""

from __future__ import annotations

import copy
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType, Writer

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.planning import LimitsFile, MotionLimits, Trajectory
from sysid_core.robot import RobotModel, Rotor
from sysid_core.robot.loops import load_closed_chain
from sysid_core.robot.shapes import load_shape
from sysid_core.robot.urdf import reference_robots
from sysid_core.signals import ColumnMap, read_table
from sysid_core.signals.bags import StoredBag
from sysid_core.signals.wrench import SensorCalibration

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = yaml.safe_load((ROOT / "config/columns/ur10e_csv.yaml").read_text())
MODEL = RobotModel.from_urdf("ur5")
ODD: list[Any] = [
    None, True, -1, 0, 1e30, float("nan"), float("inf"), "", "x", "4,0", [], [1], {}, {"x": 1},
    10**40, "1e-3", [[[1]]],
]  # fmt: skip
OPTIONS = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def finite(*arrays: Any) -> None:
    assert all(np.all(np.isfinite(np.asarray(x, dtype=float))) for x in arrays)


def estimate_yaml() -> dict[str, Any]:
    found = Estimate(
        "ols", ("a.m", "a.mx"), np.ones(2), ("kg", "kg m"), np.eye(2),
        (ParameterVerdict.IDENTIFIABLE,) * 2,
    )  # fmt: skip
    return yaml.safe_load(yaml.safe_dump(found.to_dict()))


def calibration_yaml(folder: Path) -> dict[str, Any]:
    SensorCalibration("ft", np.zeros(6), np.ones(4), np.eye(10)).save(folder / "c.yaml")
    return yaml.safe_load((folder / "c.yaml").read_text())


def shape_of(path: Path) -> None:
    shape = load_shape(path, cells=8)
    finite(shape.volumes, shape.points)
    assert shape.volume > 0.0


SHAPE = {
    "boxes": [{"size": [0.1, 0.1, 0.2], "centre": [0, 0, 0.1], "cells": [1, 1, 2]}],
    "pose_in_sensor": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]},
}
LOOPS = {
    **yaml.safe_load(reference_robots()["own-leg"].with_suffix(".yaml").read_text()),
    "urdf": str(reference_robots()["own-leg"]),
}
ROTORS = {"rotors": [{"joint": "elbow_joint", "ratio": 100, "axis": [0, 0, 1]}]}
LIMITS = yaml.safe_load(LimitsFile.text(MotionLimits.from_model(MODEL, tcp_frame="tool0")))


def column_map_of(path: Path) -> None:
    found = ColumnMap.load(path)
    assert len(found.position) in (0, len(found.joints))
    finite(found.drives.gains, found.position_scale, found.rate_hz)


def estimate_of(path: Path) -> None:
    found = Estimate.load(path)
    finite(found.values)
    assert found.covariance.shape == (len(found.names),) * 2


def limits_of(path: Path) -> None:
    found = LimitsFile.read(path, MODEL)
    assert np.all(found.velocity > 0.0) and np.isfinite(found.tcp_speed)


def chain_of(path: Path) -> None:
    chain = load_closed_chain(path)
    finite(chain.home, chain.model.gravity)


def rotors_of(path: Path) -> None:
    finite([rotor.ratio for rotor in Rotor.load(path)])


def calibration_of(path: Path) -> None:
    found = SensorCalibration.load(path)
    finite(found.bias, found.covariance, found.tool_pi)


with tempfile.TemporaryDirectory() as _folder:
    CALIBRATION = calibration_yaml(Path(_folder))
MAPPINGS: dict[str, tuple[dict[str, Any], Callable[[Path], None]]] = {
    "column map": (COLUMNS, column_map_of),
    "estimate": (estimate_yaml(), estimate_of),
    "calibration": (CALIBRATION, calibration_of),
    "shape": (SHAPE, shape_of),
    "loops": (LOOPS, chain_of),
    "rotors": (ROTORS, rotors_of),
    "limits": (LIMITS, limits_of),
}


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values in plain data."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    found = []
    for key, value in items:
        found.append((*path, key))
        if isinstance(value, dict | list):
            found += places(value, (*path, key))
    return found


def right_or_a_sentence(read: Callable[[Path], None], path: Path) -> None:
    try:
        read(path)
    except SysIdError as err:
        assert err.message
        assert err.remedy, err.message


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "file.yaml"


@pytest.mark.parametrize("kind", MAPPINGS)
def test_the_right_files_are_read(file: Path, kind: str) -> None:
    content, read = MAPPINGS[kind]
    file.write_text(yaml.safe_dump(content))
    read(file)


@pytest.mark.parametrize("kind", MAPPINGS)
@given(data=st.data())
@OPTIONS
def test_a_value_that_is_something_else_is_named_or_right(
    file: Path, kind: str, data: st.DataObject
) -> None:
    right, read = MAPPINGS[kind]
    content = copy.deepcopy(right)
    *above, key = data.draw(st.sampled_from(places(content)), label="place")
    place: Any = content
    for step in above:
        place = place[step]
    change = data.draw(st.sampled_from(["replace", "drop", "rename"]), label="change")
    if change == "replace":
        place[key] = data.draw(st.sampled_from(ODD), label="value")
    else:
        value = place.pop(key)
        if change == "rename" and isinstance(place, dict):
            place[f"{key}s"] = value
    file.write_text(yaml.safe_dump(content))
    right_or_a_sentence(read, file)


def mutated(data: st.DataObject, content: bytes) -> bytes:
    """Bytes with some flipped, cut out, repeated or put in."""
    out = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(out) - 1, 0)))
        change = data.draw(st.sampled_from(["flip", "cut", "end", "insert", "repeat"]))
        if change == "flip" and out:
            out[at] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "cut":
            del out[at : at + data.draw(st.integers(1, 40))]
        elif change == "end":
            del out[at:]
        elif change == "insert":
            out[at:at] = data.draw(st.binary(max_size=8))
        else:
            out[at:at] = out[max(at - 60, 0) : at]
    return bytes(out)


def trajectory_bytes() -> bytes:
    t = np.linspace(0.0, 1.0, 20)
    q = np.outer(t, np.ones(6))
    motion = Trajectory("ur5", "", MODEL.joint_names, t, q, np.ones((20, 6)), np.zeros((20, 6)))
    with tempfile.TemporaryDirectory() as folder:
        motion.save(Path(folder) / "t.npz")
        return (Path(folder) / "t.npz").read_bytes()


def bag_bytes() -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.LZ4, chunk_size=500)
    writer.start()
    schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
    channel = writer.register_channel("/words", "cdr", schema)
    for k in range(60):
        writer.add_message(channel, k, b"\0\1\0\0\2\0\0\0a\0", k)
    writer.finish()
    return stream.getvalue()


def table_bytes() -> bytes:
    rows = np.arange(31 * 20).reshape(20, 31) * 0.01
    rows[:, 0] = np.arange(20) * 0.01
    text = io.StringIO()
    np.savetxt(text, rows, delimiter=",", fmt="%.4f")
    return text.getvalue().encode()


def trajectory_of(path: Path) -> None:
    found = Trajectory.load(path)
    finite(found.q, found.v, found.a, found.time)


def bag_of(path: Path) -> None:
    bag = StoredBag.open(path)
    assert sum(1 for _ in bag.messages()) == bag.count <= 60


def recording_of(path: Path) -> None:
    joints = read_table(path, ColumnMap.from_dict(COLUMNS)).joints
    finite(joints.q, joints.v, joints.effort)
    assert np.all(np.diff(joints.stamps_ns) > 0)


LEG = reference_robots()["own-leg"].read_bytes()
BYTES: dict[str, tuple[bytes, str, Callable[[Path], None]]] = {
    "trajectory": (trajectory_bytes(), "t.npz", trajectory_of),
    "bag": (bag_bytes(), "b.mcap", bag_of),
    "table": (table_bytes(), "r.csv", recording_of),
    "urdf": (LEG, "r.urdf", lambda path: finite(RobotModel.from_urdf(path).pi)),
    **{
        kind: (yaml.safe_dump(content).encode(), "f.yaml", read)
        for kind, (content, read) in MAPPINGS.items()
        if kind in ("column map", "estimate", "loops", "shape")
    },
}


@pytest.mark.parametrize("kind", BYTES)
@given(data=st.data())
@OPTIONS
def test_damaged_bytes_are_read_right_or_named(file: Path, kind: str, data: st.DataObject) -> None:
    content, name, read = BYTES[kind]
    path = file.parent / name
    path.write_bytes(mutated(data, content))
    right_or_a_sentence(read, path)


@given(text=st.text(max_size=40))
@OPTIONS
def test_any_words_for_a_shape_or_robot_are_understood_or_refused(text: str) -> None:
    for read in (load_shape, RobotModel.from_urdf):
        try:
            read(text)
        except SysIdError as err:
            assert err.remedy
