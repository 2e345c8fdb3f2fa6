"""What was made last, by all that it was made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The last `size` values that were made; safe to share between threads.

    Privacy: what is given again is what would be made now, as long as a key tells all that it is
    made of. So whoever makes keys owns that, and a test of it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Hashable, T] = {}  # what was used longest ago first
        self._lock = threading.Lock()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give what was made for an equal key, or make it now; no thread waits while another
        makes something."""
        with self._lock:
            if key in self._kept:
                self._kept[key] = self._kept.pop(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            if len(self._kept) > self._size:
                del self._kept[next(iter(self._kept))]
        return made
