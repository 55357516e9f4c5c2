# SPDX-License-Identifier: Apache-2.0
"""Long items that say how far they are and can be asked to end: searches that keep their best."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sysid_core.batch.engine import Engine, Item, Result

POLL = 0.1  # [s], between two looks at the work
TALK = 0.3  # [s], between two messages of a process

Said = Callable[[float], bool]  # takes the share that is done, answers whether to go on
Watched = Callable[[Item, Said], Result]


def run_watched(
    engine: Engine,
    function: Watched[Item, Result],
    items: Sequence[Item],
    report: Callable[[int, float, bool], None],
) -> list[Result]:
    """Results in the order of the items; Ctrl-C asks all to end and keeps what they return.

    In worker processes only: in this one, a function that is interrupted has to answer itself.

    Args:
        engine: With workers.
        function: From an item, and what it says its progress to, to its result.
        items: Sent to the workers.
        report: Called with the number of an item (-1: none), the share of it that is done, and
            whether all were asked to end.
    """
    topic = f"watched-{uuid.uuid4().hex}"
    found: dict[int, Any] = {}
    failed: list[Exception] = []
    calls = [_Call(function, item, k, topic) for k, item in enumerate(items)]
    client = engine.client

    def collect() -> None:
        try:
            for outcome in engine.map(_Call.run, calls):
                found[outcome.item.number] = outcome
        except Exception as err:  # the scheduler went away: raised where it is waited for
            failed.append(err)

    def said(event: Any) -> None:
        number, share = event[1]
        report(int(number), float(share), ended)

    ended = False
    client.subscribe_topic(topic, said)
    work = threading.Thread(target=collect, daemon=True)
    work.start()
    try:
        while work.is_alive():
            try:
                work.join(POLL)
                report(-1, 0.0, ended)
            except KeyboardInterrupt:
                if ended:
                    raise
                ended = True
                client.sync(_set_event, client, topic)
    finally:
        client.unsubscribe_topic(topic)
    if failed:
        raise failed[0]
    return [found[k].unwrap() for k in range(len(items))]


async def _set_event(client: Any, topic: str) -> None:
    from distributed import Event

    await Event(topic, client=client).set()


@dataclass(frozen=True)
class _Call:
    """One item in a worker process."""

    function: Callable[[Any, Said], Any]
    item: Any
    number: int
    topic: str

    def run(self) -> Any:
        from distributed import Event, get_client, get_worker

        worker, event = get_worker(), Event(self.topic, client=get_client())
        last, going = 0.0, True

        def said(share: float) -> bool:
            nonlocal last, going
            if going and time.monotonic() - last >= TALK:
                worker.log_event(self.topic, (self.number, share))
                going, last = not event.is_set(), time.monotonic()
            return going

        return self.function(self.item, said)
