# SPDX-License-Identifier: Apache-2.0
"""Parallel execution with Dask: one function over many items, in this process, in worker processes,
or on a cluster.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from multiprocessing import active_children, resource_tracker
from typing import Any, Generic, TypeVar

from sysid_core.errors import BatchError, SysIdError

ADDRESS = "DASK_SCHEDULER_ADDRESS"
STARTS = 120.0  # [s] for the first process: it takes seconds, on a busy machine more
LEAN = {  # what Dask's workers do beside the work cost a quarter of their processor time
    "distributed.worker.profile.enabled": False,  # looks at the stack every 10 ms
    "distributed.admin.tick.interval": "1s",  # wakes the event loop, default every 20 ms
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.disk": False,
    # Its MALLOC_TRIM_THRESHOLD_ gives pages of every larger array back, to be faulted in again.
    "distributed.nanny.pre-spawn-environ": {},
    # Where no process can be started again, work fails instead of waiting for ever.
    "distributed.scheduler.no-workers-timeout": f"{STARTS}s",
}
FETCH = 30.0  # [s] for a result that is there
CLOSE, INTERRUPTED = 15.0, 3.0  # [s] for the processes to end, and after Ctrl-C
AHEAD = 4  # items handed out for each worker: it is busy, and little is lost


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Attempt(Generic[Item, Result]):
    """Result or error of one item.

    Attributes:
        item: Item that was processed.
        result: Return value of the function; None if it failed.
        error: Exception of the function, or an error if its worker ended; None if the function
            returned.
        lost: True if the worker ended, so that another attempt may succeed.
    """

    item: Item
    result: Result | None
    error: BaseException | None = None
    lost: bool = False

    def unwrap(self) -> Result:
        """Return the result of the item, or raise its error.

        Raises:
            BaseException: Exception that the function raised.
        """
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class Engine:
    """Context manager that applies a function to many items.

    With one worker and no cluster, everything runs in this process without Dask. Otherwise the
    scheduler of Dask distributes the items, and repeats those of a worker that ended.

    Args:
        workers: Number of processes on this machine; 0: one for each core, or only this process if
            Dask is not installed.
        cluster: Address of the user's own scheduler (`tcp://host:8786`, on Kubernetes, Slurm, SSH);
            "": value of `DASK_SCHEDULER_ADDRESS`, or else processes on this machine. On a cluster,
            robot_sysid must be installed where the workers run.
        memory: Memory limit of each process on this machine, such as `2GiB`. A process above this
            limit is ended, and another one repeats its item.

    Raises:
        BatchError: Dask is not installed, the memory limit is not a size, or no process starts.

    Examples:
        >>> with Engine(workers=1) as engine:
        ...     sorted(outcome.unwrap() for outcome in engine.map(abs, [-2, 1]))
        [1, 2]
    """

    def __init__(self, workers: int = 0, cluster: str = "", memory: str = "2GiB") -> None:
        self.cluster = cluster or ("" if workers else os.environ.get(ADDRESS, ""))
        cores = os.cpu_count() or 1 if find_spec("distributed") else 1
        self.workers = 0 if self.cluster else workers or cores
        self.memory = memory
        self._client: Any = None
        self._local: Any = None
        self._others: list[Any] = []  # processes that are not this engine's

    def __enter__(self) -> Engine:
        if self.workers != 1:
            self._others = active_children()
            try:
                self._connect()
            except BaseException as err:
                self.__exit__(type(err))
                raise
        return self

    def __exit__(self, kind: type | None = None, *error: object) -> None:
        timeout_s = CLOSE
        if kind is KeyboardInterrupt:  # Dask would wait for each process to start, then end it
            timeout_s = INTERRUPTED
            for process in set(active_children()).difference(self._others):
                process.kill()
        for one in (self._client, self._local):
            if one is not None:
                with suppress(TimeoutError, UnboundLocalError):  # Dask's, of what never started
                    one.close(timeout=timeout_s)
        self._client = self._local = None

    def _connect(self) -> None:
        try:
            import cryptography  # noqa: F401  # for TLS
            import dask
            from dask.utils import parse_bytes
            from distributed import Client, LocalCluster
            from distributed import TimeoutError as Late
        except ModuleNotFoundError as err:
            raise BatchError(
                "Several processes need Dask and cryptography, which aren't installed.",
                remedy='Install it: pip install "robot_sysid[cluster]"; or work with one process:'
                " --workers 1.",
            ) from err
        if self.cluster:
            try:
                self._client = Client(self.cluster, timeout=10, set_as_default=False)
            except (OSError, ValueError, TypeError) as err:
                raise BatchError(
                    f"The scheduler '{self.cluster}' doesn't answer: {err}.",
                    remedy=f"Check --cluster (or {ADDRESS}); `dask scheduler` prints its address.",
                ) from err
            return
        try:  # Dask would start processes for ever, each of which ends with the error
            enough = parse_bytes(self.memory) > 0
        except ValueError:
            enough = False
        if not enough:
            raise BatchError(
                f"'{self.memory}' is not a size of memory.", remedy="Give --memory as in 2GiB."
            )
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # the processes inherit them
        with dask.config.set(LEAN):
            self._local = LocalCluster(
                n_workers=0,
                threads_per_worker=1,
                processes=True,
                memory_limit=self.memory,
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
                # Who reaches the scheduler runs code as this user: TLS with keys of this run alone.
                security=True,
            )
            self._client = Client(self._local, set_as_default=False)
            # The thread that starts the processes passes on what it blocks: Ctrl-C is for this one.
            resource_tracker.ensure_running()  # else it unblocks it there
            self._local.loop.add_callback(signal.pthread_sigmask, signal.SIG_BLOCK, [signal.SIGINT])
            self._local.scale(self.workers)
            try:
                self._client.wait_for_workers(1, timeout=STARTS)
            except Late as err:
                raise BatchError(
                    f"No process has started within {STARTS:.0f} s.",
                    remedy="Use --workers 1, which works in this process alone.",
                ) from err

    @property
    def client(self) -> Any:
        """Dask client; None if everything runs in this process."""
        return self._client

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the available workers; empty if everything runs in this process."""
        if self._client is None:
            return ()
        return tuple(self._client.scheduler_info(n_workers=-1)["workers"])

    @property
    def scheduler(self) -> str:
        """Address of the Dask scheduler; "" if everything runs in this process."""
        return "" if self._client is None else str(self._client.scheduler.address)

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Attempt[Item, Result]]:
        """Yield the outcomes of all items, in the order of completion.

        At most a few items per worker are sent at a time, so that memory does not depend on their
        number. The Dask scheduler needs some milliseconds for each item.

        Args:
            function: Function that the workers can import.
            items: Arguments of the function; they are sent to the workers and should be small.
        """
        if self._client is None:
            for item in items:
                yield _attempt(function, item)
            return
        from distributed import as_completed, wait

        rest, out = iter(items), {}

        def sent(some: Iterable[Item]) -> Iterator[Any]:
            for item in some:
                future = self._client.submit(function, item, pure=False)
                out[future.key] = item
                yield future

        def next_items() -> Iterator[Item]:
            most = AHEAD * max(2, self.workers or len(self.addresses))
            return islice(rest, max(most - len(out), 0))  # a cluster may have shrunk

        finished = as_completed(sent(next_items()), loop=self._client.loop)
        try:
            for future in finished:
                item = out.pop(future.key)
                while future.status in ("lost", "pending"):  # its worker died with the result:
                    with self._client.as_current():
                        wait([future])  # the scheduler has it computed again
                outcome = _outcome(future, item)
                future.release()
                if outcome is not None:
                    yield outcome
                for more in sent([item] if outcome is None else next_items()):
                    finished.add(more)
        finally:
            if out:  # stopped early
                self._client.cancel(list(finished.futures), force=True)


def _attempt(function: Callable[[Item], Result], item: Item) -> Attempt[Item, Result]:
    try:
        return Attempt(item, function(item))
    except Exception as err:
        return Attempt(item, None, err)


def _outcome(future: Any, item: Item) -> Attempt[Item, Any] | None:
    """Outcome of an item whose work has ended; None if the result was lost on its way."""
    from distributed import KilledWorker
    from distributed import TimeoutError as Late
    from distributed.scheduler import NoWorkerError

    if future.status == "finished":
        try:
            return Attempt(item, future.result(timeout=FETCH))
        except Late:  # its worker died with the result, which Dask may wait for without end
            return None
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        how = "every worker that processed it ended"
    elif isinstance(error, NoWorkerError):
        how = "no worker is left"
    elif error is not None:
        return Attempt(item, None, error)
    else:
        how = f"it was {future.status}"
    return Attempt(item, None, _lost(how), lost=True)


def _lost(how: str) -> SysIdError:
    return BatchError(
        f"The work was not finished: {how}.",
        remedy="Give workers more memory (--memory), or continue with --resume.",
    )
