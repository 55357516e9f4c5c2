# SPDX-License-Identifier: Apache-2.0
"""`sysid doctor`: right about what is there, and about what isn't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sysid_cli import doctor
from sysid_cli.app import app


def test_versions_are_those_installed_and_fit_the_metadata() -> None:
    checks = {check.name: check for check in doctor.check_packages()}
    for name in ("numpy", "pin", "filterpy", "rosbags"):
        assert checks[name].ok and checks[name].found.startswith(metadata.version(name))
    assert "pytest" not in checks  # developers' tools aren't the users' business


def test_a_version_out_of_range_and_a_missing_package_are_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = ["numpy>=99", "no-such-package>=1", 'no-such-extra; extra == "examples"']
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    numpy, package, extra = doctor.check_packages()
    assert not numpy.ok and "pip install 'numpy>=99'" in numpy.remedy
    assert package.found.startswith("not installed") and package.required and not package.ok
    assert not extra.required


def test_offline_work_needs_no_ros() -> None:
    result = CliRunner().invoke(app, ["doctor", "--offline", "--json", "-"])
    facts = json.loads(result.output)
    assert result.exit_code == 0 and facts["healthy"]
    assert not any("ROS" in check["name"] for check in facts["checks"])


def test_missing_ros_is_status_one_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    monkeypatch.setattr(doctor, "_importable", lambda module: False)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "make setup" in result.output and "Not ready" in result.output


def test_an_old_distribution_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "humble")
    monkeypatch.setattr(doctor, "_importable", lambda module: True)
    found = doctor.check_ros()[0]
    assert not found.ok and "Jazzy" in found.remedy


def test_a_failing_loopback_is_reported_and_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor.sys, "executable", "/bin/false")
    check = doctor.check_loopback(timeout_s=1.0)
    assert not check.ok and check.found.startswith("fails") and "multicast" in check.remedy


@pytest.mark.ros
def test_a_port_that_a_killed_process_left_half_made_is_named_with_its_domain(
    tmp_path: Path,
) -> None:
    whole, fresh, half = (tmp_path / f"fastdds_port{n}" for n in (7410, 7411, 7663))
    whole.write_bytes(bytes(52))
    for path in (fresh, half, tmp_path / "fastdds_port7663_el"):
        path.touch()
    os.utime(half, (0.0, 0.0))
    os.utime(fresh, (2e9, 2e9))  # this test may take its time
    check = doctor.check_shared_memory(tmp_path)
    assert not check.ok and check.found.endswith(" fastdds_port7663")
    assert "ROS_DOMAIN_ID 1 can hang" in check.remedy
    half.unlink()
    assert doctor.check_shared_memory(tmp_path).ok


@pytest.mark.ros
def test_messages_pass_between_two_processes_over_dds() -> None:
    pytest.importorskip("rclpy", reason="ROS 2 isn't there")
    check = doctor.check_loopback()
    assert check.ok and "ms" in check.found


def test_the_command_runs_as_users_run_it() -> None:
    command = [sys.executable, "-m", "sysid_cli", "doctor", "--offline"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "All requirements are met." in done.stdout
