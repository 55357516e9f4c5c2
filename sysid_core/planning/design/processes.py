# SPDX-License-Identifier: Apache-2.0
"""Parallel searches with progress reports, which return their best result on Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sysid_core.errors import SolverError

Result = TypeVar("Result")
# Tells its share of the work that is done, and is told whether to go on.
Search = Callable[[Callable[[float], bool]], Result]

POLL = 0.1  # [s], between two looks at the processes
TALK = 0.3  # [s], between two messages of a search
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_parent: tuple[Any, Any]  # in a process of the pool: where shares are told, and the event to end


def run_searches(
    searches: Sequence[Search[Result]], workers: int, report: Callable[[float, bool], None]
) -> list[Result]:
    """Results of all searches in their order; on Ctrl-C each search returns its best result.

    Args:
        searches: Sent to the processes.
        workers: Processes.
        report: Called with the share that is done, and whether all were asked to end.

    Raises:
        SolverError: A process died.
    """
    context = multiprocessing.get_context("spawn")
    shares, end = context.Queue(), context.Event()
    done = [0.0] * len(searches)
    with ProcessPoolExecutor(workers, context, _begin, (shares, end)) as pool:
        with _for_children():
            futures = [pool.submit(_run, i, search) for i, search in enumerate(searches)]
        while not all(future.done() for future in futures):
            try:
                with suppress(queue.Empty):
                    i, done[i] = shares.get(timeout=POLL)
                report(sum(done) / len(done), end.is_set())
            except KeyboardInterrupt:
                if end.is_set():
                    raise
                end.set()
        try:
            return [future.result() for future in futures]
        except BrokenProcessPool as err:
            raise SolverError(
                "A process of the search ended prematurely.",
                remedy="Provide more memory, or use fewer processes: --workers 1.",
            ) from err


def _begin(shares: Any, end: Any) -> None:
    global _parent
    _parent = shares, end


def _run(number: int, search: Search[Result]) -> Result:
    shares, end = _parent
    last = 0.0

    def said(share: float) -> bool:
        nonlocal last
        if time.monotonic() - last >= TALK:
            shares.put((number, share))
            last = time.monotonic()
        return not end.is_set()

    return search(said)


@contextmanager
def _for_children() -> Iterator[None]:
    """Context manager in which new processes use one thread and ignore Ctrl-C, so that only this
    process handles it.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update((name, "1") for name in _THREADS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if main:
            signal.signal(signal.SIGINT, handler)
