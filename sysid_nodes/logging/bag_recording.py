# SPDX-License-Identifier: Apache-2.0
"""A bag that a thread of its own writes, so that no disk delays a filter."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping

from sysid_core.errors import SysIdError
from sysid_core.signals.bags import BagWriter, OfferedQos
from sysid_nodes.lifecycle import interface_definitions

_PERIOD_S = 0.02  # between writes; a kill loses what has come since


class BagRecording:
    """Takes messages at once and writes them in their order.

    Args:
        path: Folder to create.
        topics: Message types by topic name.
        latched: Topics whose last message a late joiner gets.
        custom_data: As in `BagWriter`.
        chunk_bytes: As in `BagWriter`.

    Attributes:
        path: As given.
        failure: Why nothing is written any more; None while all is well.

    Raises:
        SysIdError: The folder exists or can't be created, a type isn't known.
    """

    def __init__(
        self,
        path: str,
        topics: Mapping[str, str],
        *,
        latched: tuple[str, ...] = (),
        custom_data: Mapping[str, str],
        chunk_bytes: int,
    ) -> None:
        self.path = path
        self.failure: SysIdError | None = None
        self._writer = BagWriter(
            path,
            custom_data=custom_data,
            definitions=interface_definitions(),
            chunk_bytes=chunk_bytes,
        )
        late = OfferedQos(durability="transient_local", depth=1)
        for topic, type_name in topics.items():
            self._writer.add_topic(topic, type_name, late if topic in latched else None)
        self._queue: deque[tuple[str, bytes, int]] = deque()
        self._open = True
        self._thread = threading.Thread(target=self._work, name="bag", daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """Messages taken."""
        return self._writer.count + len(self._queue)

    def put(self, topic: str, data: bytes, now_ns: int) -> None:
        """Take a message; it is on its way to the disk some 20 ms later."""
        if self.failure is None:
            self._queue.append((topic, data, now_ns))

    def close(self) -> None:
        """Write what has been taken, index and metadata.

        Raises:
            SysIdError: Not everything could be written.
        """
        self._open = False
        self._thread.join()
        self._empty()
        self._writer.close()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        while self._open and self.failure is None:
            time.sleep(_PERIOD_S)
            self._empty()

    def _empty(self) -> None:
        try:
            while self._queue and self.failure is None:
                self._writer.write(*self._queue.popleft())
        except SysIdError as err:
            self.failure = err
            self._queue.clear()
