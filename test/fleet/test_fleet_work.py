# SPDX-License-Identifier: Apache-2.0
"""A small fleet from recordings to alarms."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from two_joint_arm import URDF, call, columns, swing

from sysid_core.errors import BatchError
from sysid_core.robot import RobotModel
from sysid_fleet.analysis import analyse
from sysid_fleet.batch import Rows
from sysid_fleet.registry import Registry

NIGHTS, WORSE = 14, 9  # robot r2 rubs more from this night on


def record(path: Path, seed: int, friction: float, seconds: float = 8.0) -> None:
    """Motion of the two-joint arm; the first night moves more."""
    model, rng = RobotModel.from_urdf(URDF), np.random.default_rng(seed)
    t, q, v, a = swing(rng, seconds)
    tau = model.inverse_dynamics(q, v, a)
    tau += friction * (np.tanh(v / 0.01) * [1.0, 0.5] + 0.7 * v)
    tau += 0.02 * rng.normal(size=tau.shape)
    np.savetxt(path, np.column_stack([t, q, v, tau]), delimiter=",", fmt="%.9g")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two robots, fourteen nights, one corrupt recording; calibrated on a night before."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "robot.urdf").write_text(URDF)
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns("link_torque")))
    record(folder / "calibration.csv", 99, 1.0, 20.0)
    code, said = call(
        *("identify", folder / "calibration.csv", "--robot", folder / "robot.urdf", "--friction"),
        *("usual", "--columns", folder / "columns.yaml", "--out", folder / "calibrated"),
        *("--motion-cutoff-hz", 12),
    )
    assert code == 0, said
    rng = np.random.default_rng(5)
    for k, robot in enumerate(("r1", "r2")):
        (folder / "nights" / robot).mkdir(parents=True)
        for night in range(NIGHTS):
            friction = 1.15 if robot == "r2" and night >= WORSE else 1.0
            path = folder / "nights" / robot / f"2026-03-{night + 1:02d}_0210.csv"
            record(path, 100 * k + night, friction * (1.0 + 0.015 * rng.normal()))
    (folder / "nights" / "r1" / "2026-03-05_0210.csv").write_text("1,2,corrupt\n")
    registry = {
        "schema": "robot_sysid/fleet/1",
        "robots": {
            name: {
                "description": "robot.urdf",
                "calibration": "calibrated",
                "match": f"*/{name}/*",
                "columns": "columns.yaml",
            }
            for name in ("r1", "r2")
        },
    }
    (folder / "fleet.yaml").write_text(yaml.safe_dump(registry))
    return folder


def test_the_robot_that_rubs_more_is_named_and_a_corrupt_recording_is_a_row(
    fleet: Path, tmp_path: Path, clicks
) -> None:
    arguments = ["--registry", fleet / "fleet.yaml", "--out", tmp_path, "--workers", 1]
    code, said = call("fleet", "identify", fleet / "nights", *arguments)
    assert code == 1 and "28 recordings (0 done before, 1 gave no estimate)" in said
    rows = Rows(tmp_path / "rows").latest()
    (bad,) = (row for row in rows if row["outcome"] == "refused")
    assert bad["robot"] == "r1" and "2026-03-05" in bad["recording"] and bad["reason"]
    pq = pytest.importorskip("pyarrow.parquet")
    alarms = pq.read_table(tmp_path / "alarms.parquet").to_pylist()
    rubbing = [a for a in alarms if a["parameter"].endswith(".friction")]
    assert {(a["robot"], a["parameter"]) for a in rubbing} == {
        ("r2", "j1.friction"),
        ("r2", "j2.friction"),
    }
    for alarm in rubbing:
        assert WORSE <= alarm["noticed"].day - 1 < WORSE + 3
        assert alarm["after"] / alarm["before"] == pytest.approx(1.15, abs=0.05)
    clicks(tmp_path / "fleet.html")
    page = (tmp_path / "fleet.html").read_text()
    assert "Inspect j2 of r2; after a repair, calibrate again." in page
    assert "j1.friction" in page and "without an estimate" in page and "2026-03-05_0210" in page
    code, said = call("fleet", "identify", fleet / "nights", *arguments, "--resume")
    assert "28 recordings (28 done before" in said and code == 1
    value = {r["parameter"]: r for r in rows if r["recording"].endswith("r1/2026-03-01_0210.csv")}
    found = value["j1.friction"]
    assert found["value"] == pytest.approx(1.0 + 0.7 * 0.5, abs=0.06)
    assert found["time"].hour == 2 and len(found["data_hash"]) == 64
    assert value["load.m"]["value"] == pytest.approx(1.0, abs=4 * value["load.m"]["deviation"])


def test_copies_of_a_recording_count_once(fleet: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nights" / "r1"
    folder.mkdir(parents=True)
    for night in (1, 2, 3):  # copies under other dates
        data = (fleet / "nights" / "r1" / "2026-03-01_0210.csv").read_bytes()
        (folder / f"2026-03-{night:02d}_0210.csv").write_bytes(data)
    arguments = ["--registry", fleet / "fleet.yaml", "--out", tmp_path, "--workers", 1]
    code, said = call("fleet", "identify", folder.parent, *arguments)
    assert code == 3 and "2 recordings are copies" in said
    page = (tmp_path / "fleet.html").read_text()
    assert "2026-03-03_0210.csv" in page and "Copies of other recordings" in page


def test_a_night_counts_once_and_as_the_registry_reads_it_now(fleet: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nights" / "r1"
    folder.mkdir(parents=True)
    for night in (1, 2):
        name = f"2026-03-{night:02d}_0210.csv"
        (folder / name).write_bytes((fleet / "nights" / "r1" / name).read_bytes())
    arguments = ["--registry", fleet / "fleet.yaml", "--out", tmp_path, "--workers", 1]
    call("fleet", "identify", folder.parent, *arguments)
    os.utime(folder / name, (1e9, 1e9))  # a restored backup
    _, said = call("fleet", "identify", folder.parent, *arguments, "--resume")
    assert "2 recordings (2 done before" in said
    rows, registry = Rows(tmp_path / "rows"), Registry.load(fleet / "fleet.yaml")
    state = analyse(rows.latest(), registry)
    assert len(state.trends[("r1", "", "j1.friction")].series.value) == 2 and not state.outdated
    robot = registry.robots["r1"].model_copy(update={"speed": 0.9})
    other = registry.model_copy(update={"robots": {"r1": robot}})
    state = analyse(rows.latest(), other)
    assert not state.trends and len(state.outdated) == 2
    (tmp_path / "rows" / "part-9.parquet").write_bytes(b"PAR1")
    with pytest.raises(BatchError, match="can't be read"):
        rows.latest()
    (tmp_path / "rows" / "part-9.parquet").unlink()
    os.mkfifo(tmp_path / "rows" / "part-9.parquet")
    with pytest.raises(BatchError, match="not a regular file"):
        rows.latest()


def test_watching_takes_what_is_new_and_no_longer_grows(fleet: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nights" / "r1"
    folder.mkdir(parents=True)
    for night in (1, 2, 3):
        name = f"2026-03-{night:02d}_0210.csv"
        (folder / name).write_bytes((fleet / "nights" / "r1" / name).read_bytes())
    out = ["--registry", fleet / "fleet.yaml", "--out", tmp_path / "out", "--every", 0.1]
    _, said = call("fleet", "watch", tmp_path / "nights", *out, "--looks", 1)
    assert "new recordings" not in said  # seen once: they may still grow
    assert "every 0.1 s; 0 recordings known" in said
    _, said = call("fleet", "watch", tmp_path / "nights", *out, "--looks", 3)
    assert said.count("3 new recordings, 0 gave no estimate") == 1
    assert (tmp_path / "out" / "fleet.html").exists()


def test_a_recording_of_nobody_is_refused(fleet: Path, tmp_path: Path) -> None:
    registry = Registry.load(fleet / "fleet.yaml")
    assert registry.owner("/x/r2/a.mcap") == ("r2", "")
    with pytest.raises(BatchError, match="no robot"):
        registry.owner("/x/r3/a.mcap")


def test_a_calibration_that_isnt_there_is_named(fleet: Path, tmp_path: Path) -> None:
    raw = yaml.safe_load((fleet / "fleet.yaml").read_text())
    raw["robots"]["r1"]["calibration"] = "nowhere"
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(BatchError, match="nowhere"):
        Registry.load(tmp_path / "fleet.yaml")


def test_a_fleet_in_which_nothing_can_show_is_not_judged(fleet: Path, tmp_path: Path) -> None:
    corrupt = fleet / "nights" / "r1" / "2026-03-05_0210.csv"
    arguments = ["--registry", fleet / "fleet.yaml", "--out", tmp_path, "--workers", 1]
    code, said = call("fleet", "identify", corrupt, *arguments)
    assert code == 3 and "Not judged" in said, said
    assert "Nothing changed" not in (tmp_path / "fleet.html").read_text()
