# SPDX-License-Identifier: Apache-2.0
"""Bundles of short work items for one worker, because each message costs the Dask scheduler some
milliseconds.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

WORK = 0.25  # [s] in one bundle: a hundred times what its message costs
MOST = 32  # items of a bundle


@dataclass(frozen=True)
class Bundled:
    """Function that a worker applies to all items of a bundle.

    Attributes:
        function: On one item.
    """

    function: Callable[[Any], Any]

    def __call__(self, items: Sequence[Any]) -> tuple[list[tuple[Any, Exception | None]], float]:
        """Result or error of each item, and the total duration [s].

        Raises:
            Exception: What the function raises of an item that is alone.
        """
        begun = time.perf_counter()
        if len(items) == 1:
            found: list[tuple[Any, Exception | None]] = [(self.function(items[0]), None)]
        else:
            found = [self._attempt(item) for item in items]
        return found, time.perf_counter() - begun

    def _attempt(self, item: Any) -> tuple[Any, Exception | None]:
        try:
            return self.function(item), None
        except Exception as err:
            try:
                pickle.loads(pickle.dumps(err))
            except Exception:  # whatever an error that can't be sent makes of it
                return None, RuntimeError(f"{type(err).__name__}: {err}")
            return None, err


class Bundles:
    """Division of work items into bundles, which grow until each takes long enough.

    Args:
        items: Are taken as they are wanted.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._again: deque[Any] = deque()
        self._size = 1

    def take(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Take at most `count` bundles."""
        for _ in range(count):
            if self._again:
                yield (self._again.popleft(),)
            elif bundle := tuple(islice(self._items, self._size)):
                yield bundle
            else:
                return

    def learn(self, count: int, seconds: float) -> None:
        """Update the bundle size from the duration of `count` items; it grows at most by a factor of 2."""
        fitting = int(WORK * count / max(seconds, 1e-9))
        self._size = max(1, min(fitting, 2 * self._size, MOST))

    def again(self, items: Sequence[Any]) -> None:
        """Items of a worker that died; each is repeated alone to find the cause."""
        self._again += items
