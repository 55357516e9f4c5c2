# SPDX-License-Identifier: Apache-2.0
"""Dictionary for keys that come from messages."""

from __future__ import annotations

from typing import TypeVar

K, V = TypeVar("K"), TypeVar("V")


class Newest(dict[K, V]):
    """Dictionary that keeps only the most recently set entries.

    Names in messages may be wrong or unlimited in number; a node that keeps something for each name
    would run out of memory.

    Args:
        most: Largest number of entries.

    Examples:
        >>> frames = Newest(2)
        >>> for name in ("a", "b", "a", "c"):
        ...     frames[name] = True
        >>> list(frames)
        ['a', 'c']
    """

    def __init__(self, most: int = 64) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        """Set an entry, and remove the one that was set longest ago if there are too many."""
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]
