# SPDX-License-Identifier: Apache-2.0
"""Work over many recordings, by a real scheduler and two worker processes on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import work

from sysid_core.errors import BatchError
from sysid_core.files import hash_of
from sysid_fleet.batch import Engine, Rows, engine, run_jobs
from sysid_fleet.batch.rows import RowWriter
from sysid_fleet.batch.run import Job
from sysid_fleet.batch.sources import find_sources, local_copy

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list]]:
    """A scheduler and two workers, processes of their own; the second worker may be killed."""
    folder = tmp_path_factory.mktemp("dask")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])}
    file = folder / "scheduler.json"

    def start(*args: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", *args, "--scheduler-file", str(file)]
        return subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
    processes += [start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in "ab"]
    try:
        import json

        until = time.monotonic() + 60.0
        while not (file.exists() and file.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        with Engine(cluster=address) as engine:
            while len(engine.addresses) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(engine.addresses) == 2
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def local() -> Iterator[Engine]:
    """Two processes of this machine."""
    with Engine(workers=2, memory="400MiB") as engine:
        yield engine


def jobs(count: int) -> Iterator[Job[int]]:
    return (Job(f"{k:05d}", k, {"recording": f"night {k}", "robot": "r"}) for k in range(count))


def numbers(rows: Rows) -> list[tuple]:
    keys = ("job", "recording", "robot", "parameter", "value", "outcome", "reason")
    return sorted(tuple(row[key] for key in keys) for row in rows.latest())


def test_a_cluster_gives_the_same_rows_as_this_process_and_a_corrupt_item_is_a_row(
    scheduler: tuple, tmp_path: Path
) -> None:
    here, there = Rows(tmp_path / "here"), Rows(tmp_path / "there")
    with Engine(workers=1) as engine:
        assert engine.addresses == ()
        state = run_jobs(engine, work.halves, jobs(60), here, total=60)
    assert (state.done, state.failed) == (60, 2)
    heard = []
    with Engine(cluster=scheduler[0]) as engine:
        run_jobs(engine, work.halves, jobs(60), there, total=60, progress=heard.append)
    assert numbers(here) == numbers(there)
    by_job = {row["job"]: row for row in there.latest()}
    assert by_job["00013"]["outcome"] == "refused"
    assert "13 is corrupt. Record it again." in by_job["00013"]["reason"]
    assert by_job["00017"]["outcome"] == "error" and "ZeroDivision" in by_job["00017"]["reason"]
    assert len(heard) == 60 and heard[-1].left == 0.0 and heard[10].left > 0.0


def test_a_killed_worker_loses_nothing(scheduler: tuple) -> None:
    address, processes = scheduler
    with Engine(cluster=address) as engine:
        found = []
        for k, outcome in enumerate(engine.map(work.slowly, range(24))):
            found.append(outcome.unwrap())
            if k == 3:
                processes.pop().kill()
    assert sorted(found) == list(range(24))


def test_each_item_has_its_own_error_even_one_that_no_process_can_make_again(
    scheduler: tuple,
) -> None:
    with Engine(cluster=scheduler[0]) as engine:
        found = list(engine.map(work.itself, range(200)))
    assert sorted(o.item for o in found) == list(range(200))
    wrong = {o.item: o.error for o in found if o.error is not None}
    assert set(wrong) == {13, 17}
    assert "13 is corrupt" in str(wrong[13]) and "17" in str(wrong[17])


def test_a_process_of_this_machine_that_dies_is_replaced_and_has_one_thread(
    local: Engine, tmp_path: Path
) -> None:
    (outcome,) = local.map(work.ends_its_worker_once, [str(tmp_path / "died")])
    assert outcome.unwrap() == (tmp_path / "died").read_text()
    pids, blas = zip(*(o.unwrap() for o in local.map(work.threads, range(20))), strict=True)
    assert os.getpid() not in pids and set(blas) == {"1"}


@pytest.mark.slow
def test_a_process_that_wants_too_much_memory_is_ended_and_said_to_be_lost(
    local: Engine, tmp_path: Path
) -> None:
    rows = Rows(tmp_path)
    run_jobs(local, work.takes_memory, [Job("big", 1.0)], rows)
    (row,) = rows.latest()
    assert row["outcome"] == "lost" and "--memory" in row["reason"]
    assert rows.done() == set()


def test_what_is_done_before_ctrl_c_is_kept_and_resume_equals_uninterrupted(
    tmp_path: Path,
) -> None:
    whole, parts = Rows(tmp_path / "whole"), Rows(tmp_path / "parts")

    def stop(state: object) -> None:
        if state.done == 25:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with Engine(workers=1) as engine:
        run_jobs(engine, work.halves, jobs(60), whole)
        with pytest.raises(KeyboardInterrupt):
            run_jobs(engine, work.halves, jobs(60), parts, progress=stop)
        assert len(parts.latest()) == 25
        state = run_jobs(engine, work.halves, jobs(60), parts, total=60, resume=True)
    assert state.skipped == 24 and state.done == 60  # job 17 had an error: it is tried again
    assert numbers(whole) == numbers(parts)


def test_two_jobs_may_write_at_once(tmp_path: Path) -> None:
    def write(name: str) -> None:
        with RowWriter(Rows(tmp_path), count=7) as writer:
            for k in range(50):
                writer.write([{"job": f"{name}{k}", "parameter": "p", "value": float(k)}])
                Rows(tmp_path).table()  # never half a file

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert len(Rows(tmp_path).latest()) == 100
    duckdb = pytest.importorskip("duckdb")
    query = f"select count(*), sum(value) from '{tmp_path}/*.parquet'"
    assert duckdb.sql(query).fetchall() == [(100, 2 * sum(range(50)))]


def test_unknown_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match="valeu"):
        Rows(tmp_path).append([{"valeu": 1.0}])


def test_memory_doesnt_grow_with_the_number_of_items(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        with Engine(workers=1) as engine:
            run_jobs(engine, work.halves, jobs(count), Rows(tmp_path / str(count)))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(20)
    few, many = peak(100), peak(3000)
    assert many < few + 2_000_000 + 3000 * 500  # at most one flush's rows, never all results


def test_an_address_that_nobody_answers_is_an_error_with_a_remedy() -> None:
    with pytest.raises(BatchError, match="--cluster"), Engine(cluster="nonsense"):
        pass


@pytest.mark.parametrize(("memory", "words"), [("lots", "not a size"), ("2GiB", "No process")])
def test_processes_that_cannot_start_are_an_error_with_a_remedy(
    memory: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask waited for them without end."""
    monkeypatch.setattr("sysid_fleet.batch.engine.STARTS", 0.01)
    with pytest.raises(BatchError, match=words) as refused, Engine(workers=2, memory=memory):
        pass
    assert refused.value.remedy


def test_recordings_are_found_in_folders_patterns_and_storages(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/1.csv", "a/2.mcap", "a/notes.txt", "3.csv"):
        (tmp_path / name).write_text(name)
    names = [s.name for s in find_sources([str(tmp_path), str(tmp_path / "*.csv")])]
    assert names == ["3.csv", "1.csv", "2.mcap"]
    with pytest.raises(BatchError, match="no recordings"):
        list(find_sources([str(tmp_path / "none*")]))
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.pipe("/nights/r1.csv", b"1,2")
    (source,) = find_sources(["memory://nights"])
    with local_copy(source.address) as path:
        assert path.read_bytes() == b"1,2"
        there = path
    assert not there.exists()


def test_hashes_of_folders_notice_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = hash_of(tmp_path)
    (tmp_path / "a").write_text("2")
    assert hash_of(tmp_path) != first


def test_processes_of_this_machine_take_nobody_elses_work(local: Engine) -> None:
    pytest.importorskip("cryptography")
    from distributed import Client

    assert local.scheduler.startswith("tls://127.0.0.1:")
    assert [o.unwrap() for o in local.map(abs, [-3])] == [3]
    stranger = local.scheduler.replace("tls://", "tcp://")
    with pytest.raises(OSError):
        Client(stranger, timeout=3, set_as_default=False)


def test_work_is_given_back_where_no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.setitem(engine.LEAN, "distributed.scheduler.no-workers-timeout", "1s")
    with Engine(workers=2) as both:
        both.client.cluster.scale(0)
        until = time.monotonic() + 60.0
        while both.addresses and time.monotonic() < until:
            time.sleep(0.1)
        (outcome,) = both.map(abs, [-3])
    assert outcome.lost and "no worker is left" in str(outcome.error)


STARTING = """
import signal

from sysid_fleet.batch import Engine

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a script's job
    print("starts", flush=True)
    with Engine(workers=6):
        print("started", flush=True)
"""


def test_ctrl_c_ends_processes_that_have_not_started_yet(tmp_path: Path) -> None:
    file = tmp_path / "starting.py"
    file.write_text(STARTING, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def members() -> list[str]:
        wanted = ["ps", "-ww", "-o", "args=", "-s", str(process.pid)]
        lines = subprocess.run(wanted, capture_output=True, text=True, check=False).stdout
        return [line for line in lines.splitlines() if "defunct" not in line]

    try:
        until = time.monotonic() + 60.0
        while not any("spawn_main" in line for line in members()) and time.monotonic() < until:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, _ = process.communicate(timeout=30.0)
        assert "started" not in said.split() and process.returncode == -signal.SIGINT
        until = time.monotonic() + 10.0
        while members() and time.monotonic() < until:  # killed ones need a moment to be gone
            time.sleep(0.02)
        assert not members()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
