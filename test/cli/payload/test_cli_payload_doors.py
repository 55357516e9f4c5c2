# SPDX-License-Identifier: Apache-2.0
"""`sysid payload` gives the same result for a motion in every file format, and for its parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import SysIdError
from sysid_core.estimation.payload_live import weigh_motion
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals import (
    JointStream,
    Recording,
    WrenchColumns,
    WrenchStream,
    export_recording,
)
from sysid_core.signals.wrench import SensorCalibration, WrenchAxes, WrenchSign
from sysid_core.workflows import WeighedRecording, WeighSettings

MASS = 1.3  # [kg]
RATE = 100.0  # [Hz]
TOOL = "tool0"
BIAS = np.array([2.0, -1.0, 3.0, 0.05, 0.0, -0.1])


def swing() -> tuple[RobotModel, Recording]:
    """Twelve seconds of a UR5 that swings a load on a sensor with a bias."""
    robot, rng = RobotModel.from_urdf("ur5"), np.random.default_rng(5)
    time = np.arange(0.0, 12.0, 1.0 / RATE)
    rate = 2.0 * np.pi * np.array([0.1, 0.13, 0.17, 0.23, 0.31, 0.37])
    phase = np.outer(time, rate)
    q = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.2]) + 0.4 * np.sin(phase)
    motion = robot.frame_motion(TOOL, q, 0.4 * rate * np.cos(phase), -0.4 * rate**2 * np.sin(phase))
    load = pi_from_mass_com_inertia(MASS, [0.01, 0.0, 0.06], 2e-3 * np.eye(3))
    w = wrench_regressor(motion.a, motion.omega, motion.alpha) @ load
    w += BIAS
    w += np.repeat([0.1, 0.005], 3) * rng.normal(size=w.shape)
    stamps = np.round(time * 1e9).astype(np.int64)
    q = q + 1e-5 * rng.normal(size=q.shape)
    return robot, Recording(
        joints=JointStream(robot.joint_names, stamps, q), wrench=WrenchStream(TOOL, stamps, w)
    )


ROBOT, RUN = swing()


def columns(q: str, wrench: str, time: str) -> dict[str, np.ndarray]:
    """Columns of a table by name; `{}` in a name stands for the number of the joint or axis."""
    assert RUN.wrench is not None
    table = {time: RUN.joints.stamps_ns * 1e-9}
    table |= {q.format(k): RUN.joints.q[:, k] for k in range(6)}
    return table | {wrench.format(k): RUN.wrench.wrench[:, k] for k in range(6)}


def rtde_csv(path: Path) -> Path:
    """As `ur_rtde` and UR's own record.py write it: blanks between, names as in RTDE."""
    table = columns("actual_q_{}", "actual_TCP_force_{}", "timestamp")
    table |= {f"target_q_{k}": RUN.joints.q[:, k] for k in range(6)}
    path = path / "robot_data.csv"
    np.savetxt(
        path, np.column_stack([*table.values()]), header=" ".join(table), comments="", fmt="%.9g"
    )
    return path


def plain_csv(path: Path) -> Path:
    table = columns("q{}", "w{}", "t")
    names = ["fx", "fy", "fz", "tx", "ty", "tz"]
    header = ",".join(names[int(n[1])] if n[0] == "w" else n for n in table)
    path = path / "run.csv"
    np.savetxt(path, np.column_stack([*table.values()]), header=header, delimiter=",", comments="")
    return path


def parquet(path: Path) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns("q_{}", "wrench_{}", "time")), path / "run.parquet")
    return path / "run.parquet"


def mat(path: Path) -> Path:
    assert RUN.wrench is not None
    time = (RUN.joints.stamps_ns * 1e-9)[:, None]
    content = {"time": time, "q": RUN.joints.q, "wrench": RUN.wrench.wrench}
    scipy.io.savemat(path / "run.mat", content)
    return path / "run.mat"


def npz(path: Path) -> Path:
    assert RUN.wrench is not None
    time = RUN.joints.stamps_ns * 1e-9
    np.savez(path / "run.npz", time=time, q=RUN.joints.q, wrench=RUN.wrench.wrench)
    return path / "run.npz"


def exported(ending: str) -> Callable[[Path], Path]:
    """As `sysid bag export` writes it."""
    return lambda path: export_recording(RUN, path / f"run.{ending}")[0]


EXPORTS = [exported("npz"), exported("csv"), exported("parquet")]


@pytest.mark.parametrize("door", [rtde_csv, plain_csv, parquet, mat, npz, *EXPORTS])
def test_every_door_leads_to_the_same_mass(door: Callable[[Path], Path], tmp_path: Path) -> None:
    urdf = tmp_path / "ur5.urdf"
    urdf.write_text(ROBOT.urdf_xml)
    words = ["payload", door(tmp_path), "--robot", urdf, "--sensor-frame", TOOL, "--no-compare"]
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--out", tmp_path / "out")])
    assert done.exit_code == 0, done.output + repr(done.exception)
    methods = json.loads((tmp_path / "out" / "result.json").read_text())["methods"]
    assert methods["map"][0] == pytest.approx(MASS, rel=0.05)


def test_units_in_the_names_of_columns_are_heeded(tmp_path: Path) -> None:
    units = {"q": ("[deg]", 180.0 / np.pi), "t": ("(Nmm)", 1e3), "f": ("[N]", 1.0)}
    names = ["fx", "fy", "fz", "tx", "ty", "tz"]
    table = {"time [ms]": RUN.joints.stamps_ns * 1e-6}
    for name, column in columns("q{}", "w{}", "time").items():
        if name != "time":
            name = names[int(name[1])] if name[0] == "w" else name
            unit, per_si = units[name[0]]
            table[f"{name} {unit}"] = per_si * column
    np.savez(tmp_path / "run.npz", **table)
    found, _ = WrenchColumns().read(tmp_path / "run.npz", joint_names=ROBOT.joint_names)
    assert found.wrench is not None and RUN.wrench is not None
    np.testing.assert_allclose(found.joints.q, RUN.joints.q)
    np.testing.assert_allclose(found.wrench.wrench, RUN.wrench.wrench)
    np.testing.assert_array_equal(found.joints.stamps_ns, RUN.joints.stamps_ns)


@pytest.mark.parametrize(
    ("words", "scale", "codes"),
    [
        ([], 1.0, {"force-unit-assumed"}),
        (["--wrench-units", "N, N m"], 1.0, set()),
        (["--wrench-units", "N, N m"], 1e3, {"load-far"}),
        (["--wrench-units", "N, N mm"], 1e3, set()),
    ],
)
def test_the_verdict_says_which_unit_of_force_was_assumed(
    words: list[str], scale: float, codes: set[str], tmp_path: Path
) -> None:
    """Torques in N mm that are declared as N m are noticed, too."""
    table = columns("q_{}", "wrench_{}", "time")
    torques = {f"wrench_{k}": scale * table[f"wrench_{k}"] for k in (3, 4, 5)}
    np.savez(tmp_path / "run.npz", **(table | torques))
    out = ["--robot", "ur5", "--sensor-frame", TOOL, "--out", str(tmp_path / "out"), *words]
    done = CliRunner().invoke(app, ["payload", str(tmp_path / "run.npz"), *out])
    assert done.exit_code == 0, done.output + repr(done.exception)
    reasons = json.loads((tmp_path / "out" / "result.json").read_text())["verdict"]["reasons"]
    found = {reason["code"] for reason in reasons}
    assert found & {"force-unit-assumed", "load-far"} == codes
    warnings = {reason["code"] for reason in reasons if reason["severity"] == "warning"}
    assert warnings & found <= {"load-far"}  # every table without units rests on this assumption


def test_degrees_and_millimetres_that_no_name_tells_are_refused(tmp_path: Path) -> None:
    table = columns("q{}", "wrench_{}", "time")
    degrees = table | {f"q{k}": table[f"q{k}"] * 180.0 / np.pi for k in range(6)}
    np.savez(tmp_path / "run.npz", **degrees)
    words = ["payload", str(tmp_path / "run.npz"), "--robot", "ur5", "--sensor-frame", TOOL]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, SysIdError) and "far outside" in str(done.exception)
    millimetres = {f"pose_{k}": 300.0 + table[f"q{k}"] for k in range(6)}
    np.savez(tmp_path / "run.npz", **(table | millimetres))
    with pytest.raises(SysIdError, match=r"x \[mm\]"):
        WrenchColumns().read(tmp_path / "run.npz")


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(
    start=st.floats(0.0, 7.0),
    length=st.floats(4.0, 12.0),
    wrench_from=st.floats(-1.0, 1.0),
    wrench_to=st.floats(-1.0, 1.0),
)
def test_a_run_cut_anywhere_is_weighed_within_its_deviation(
    start: float, length: float, wrench_from: float, wrench_to: float
) -> None:
    """Joints and wrench cut apart by up to a second."""
    assert RUN.wrench is not None

    def part(stamps: np.ndarray, begin: float, end: float) -> np.ndarray:
        return np.flatnonzero((stamps >= begin * 1e9) & (stamps <= end * 1e9))

    end = start + length
    of_joints = part(RUN.joints.stamps_ns, start, end)
    of_wrench = part(RUN.wrench.stamps_ns, start + wrench_from, end + wrench_to)
    joints = JointStream(RUN.joints.names, RUN.joints.stamps_ns[of_joints], RUN.joints.q[of_joints])
    cut = replace(RUN, joints=joints, wrench=RUN.wrench.select(of_wrench))
    estimate = weigh_motion(cut, ROBOT, TOOL).estimate
    assert abs(estimate.values[0] - MASS) < 4.0 * estimate.standard_deviations[0]


@pytest.mark.parametrize("tared", [True, False])
def test_a_load_that_is_picked_and_put_down_is_weighed_while_it_was_held(tared: bool) -> None:
    assert RUN.wrench is not None
    at, rng = RUN.wrench.stamps_ns * 1e-9, np.random.default_rng(2)
    held = ((at > 4.0) & (at < 8.5))[:, None]
    empty = BIAS + np.repeat([0.1, 0.005], 3) * rng.normal(size=(len(at), 6))
    wrench = np.where(held, RUN.wrench.wrench, empty)
    known = np.diag(np.repeat([0.0, 0.02, 0.001], [4, 3, 3]) ** 2)
    found = weigh_motion(
        replace(RUN, wrench=replace(RUN.wrench, wrench=wrench)),
        ROBOT,
        TOOL,
        calibration=SensorCalibration(TOOL, BIAS, np.zeros(4), known) if tared else None,
        axes=WrenchAxes.SENSOR,
    )
    assert abs(found.estimate.values[0] - MASS) < 3.0 * found.estimate.standard_deviations[0]
    assert found.estimate.standard_deviations[0] < (0.02 if tared else 0.05) * MASS
    assert [change.kind.value for change in found.changes] == ["attached", "detached"]
    assert found.changes[-1].mass == pytest.approx(-MASS, rel=0.05)
    assert any("Nothing is held at the end" in note for note in found.notes)
    if not tared:
        assert any("lightest part" in note for note in found.notes)
        assert found.bias == pytest.approx(BIAS, abs=0.1)


def test_a_contact_that_lifts_the_load_is_no_tare() -> None:
    """Its part weighed less than nothing, so that the load weighed twice as much as it does."""
    assert RUN.wrench is not None
    first = slice(0, 600)
    joints = JointStream(ROBOT.joint_names, RUN.joints.stamps_ns[first], RUN.joints.q[first])
    wrench, q = RUN.wrench.select(first), joints.q
    R = ROBOT.frame_motion(TOOL, q, np.zeros_like(q), np.zeros_like(q)).R_WF
    readings, touching = wrench.wrench.copy(), slice(200, 420)
    readings[touching, :3] += np.einsum("kij,i->kj", R[touching], [0.0, 0.0, -25.0])
    found = weigh_motion(
        replace(RUN, joints=joints, wrench=replace(wrench, wrench=readings)),
        ROBOT,
        TOOL,
        sign=WrenchSign.SENSOR_ON_LOAD,
        axes=WrenchAxes.SENSOR,
    )
    assert not any("lightest part" in note for note in found.notes)
    assert any(reason.code == "wrench-ambiguous" for reason in found.reasons)


def test_a_tared_sensor_on_a_robot_with_poor_stamps_is_weighed_by_gravity_alone() -> None:
    """Accelerations of positions whose stamps swing by 20 ms, three times a second, are wrong: 1.21 kg."""
    time = RUN.joints.stamps_ns * 1e-9
    poor = RUN.joints.stamps_ns + np.int64(2e7 * np.sin(6.0 * np.pi * time))
    joints = replace(RUN.joints, stamps_ns=poor)
    known = np.diag(np.repeat([0.0, 0.02, 0.001], [4, 3, 3]) ** 2)
    tared = SensorCalibration(TOOL, BIAS, np.zeros(4), known)
    found = weigh_motion(replace(RUN, joints=joints), ROBOT, TOOL, calibration=tared)
    assert found.estimate.values[0] == pytest.approx(MASS, rel=0.02)
    assert any("only gravity was used" in note for note in found.notes)


def test_columns_of_different_lengths_are_refused(tmp_path: Path) -> None:
    table = columns("q_{}", "wrench_{}", "time")
    np.savez(tmp_path / "run.npz", **{**table, "q_3": np.ones(5)})
    with pytest.raises(SysIdError, match="different numbers of rows"):
        WrenchColumns().read(tmp_path / "run.npz", joint_names=ROBOT.joint_names)


@pytest.mark.parametrize(
    ("order", "turned", "codes"),
    [
        ("xyzw", False, set()),
        ("wxyz", False, {"wrench-misdescribed", "quaternion-order"}),
        ("xyzw", True, {"wrench-misdescribed"}),
    ],
)
def test_quaternions_in_another_order_are_told_from_a_turned_sensor(
    order: str, turned: bool, codes: set[str], shared_data: Path, tmp_path: Path
) -> None:
    """Axia80, whose quaternions are x, y, z, w."""
    folder = shared_data / "ft_ati_axia80"
    pose, wrench = (
        np.loadtxt(folder / f"recorded_messages_{name}_100.txt", delimiter=",")[:40]
        for name in ("pose", "wrench")
    )
    wrench = wrench[:, [1, 0, 2, 4, 3, 5]] * [1, -1, 1, 1, -1, 1] if turned else wrench
    np.savez(tmp_path / "still.npz", pose=pose, wrench=wrench)
    names = ",".join(f"pose.{k}" for k in range(7))
    settings = WeighSettings(compare=False)
    table = replace(settings.table, pose_columns=names, rotation=order, still=True)
    found = WeighedRecording.from_file(tmp_path / "still.npz", replace(settings, table=table))
    asked = {"wrench-misdescribed", "quaternion-order"}
    assert asked & {reason.code for reason in found.verdict.reasons} == codes
    assert found.verdict.ok is ("quaternion-order" not in codes)
