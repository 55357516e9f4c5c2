# SPDX-License-Identifier: Apache-2.0
"""`sysid up demo` as a user types it, and as a user interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from busy_machine import patience

from sysid_core.signals.bags import read_bag

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def children_of(session_marker: str) -> list[int]:
    """Processes whose environment carries a marker."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if session_marker.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def wait_for(condition: object, timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("seconds_into_recording", "inherited"), [(0.0, signal.SIG_IGN), (6.0, signal.SIG_DFL)]
)
def test_ctrl_c_leaves_no_process_and_a_readable_bag(
    tmp_path: Path, seconds_into_recording: float, inherited: signal.Handlers
) -> None:
    """Also where SIGINT is ignored at the start, as `nohup` and a script's background have it."""
    marker = f"SYSID_TEST_MARKER_{tmp_path.name}"
    with (tmp_path / "demo.log").open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "sysid_cli",
                "up",
                "demo",
                "--fast",
                "--out",
                str(tmp_path),
            ],
            env={**os.environ, marker: "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, inherited),
        )
    bag = tmp_path / "bag"
    try:
        started = wait_for(
            lambda: any(bag.glob("*.mcap")) or process.poll() is not None, 120.0 * patience()
        )
        assert started and process.poll() is None, (tmp_path / "demo.log").read_text()[-2000:]
        time.sleep(seconds_into_recording)  # the instant of the interruption is the test's input
        process.send_signal(signal.SIGINT)
        assert process.wait(30.0 * patience()) == 130
    finally:
        process.kill()
    assert wait_for(lambda: not children_of(marker), 5.0 * patience()), children_of(marker)
    if seconds_into_recording:
        recording = read_bag(bag)
        assert len(recording.joints) > 100 and not any("cut off" in n for n in recording.notes)
    assert (bag / "metadata.yaml").exists()
