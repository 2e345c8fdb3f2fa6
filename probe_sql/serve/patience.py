"""How long whoever fails has to wait: longer after each failure of the same name and address."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable


class Patience:
    """How long an attempt must wait: longer after each failure of the same user and address.

    Utility: nobody can lock out a colleague from another address, and a success forgets.
    """

    def __init__(
        self,
        first: float = 0.25,
        most: float = 30.0,
        remembered: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = first
        self._most = most
        self._remembered = remembered
        self._clock = clock
        self._failures: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def wait(self, user: str, address: str) -> float:
        """Seconds until this attempt may go on; attempts at once wait one after the other."""
        now, key = self._clock(), _digest(user, address)
        count, free = self._failures.get(key, (0, now))
        if count == 0:
            return 0.0
        start = max(now, free)
        self._keep(key, count, min(start + self._delay(count), now + self._most))
        return min(max(0.0, start - now), self._most)

    def failed(self, user: str, address: str) -> None:
        """Remember a failure."""
        now, key = self._clock(), _digest(user, address)
        count, free = self._failures.get(key, (0, 0.0))
        self._keep(key, count + 1, max(free, now + self._delay(count + 1)))

    def succeeded(self, user: str, address: str) -> None:
        """Forget the failures."""
        self._failures.pop(_digest(user, address), None)

    def _delay(self, count: int) -> float:
        return float(min(self._first * 2 ** min(count - 1, 30), self._most))

    def _keep(self, key: bytes, count: int, free: float) -> None:
        self._failures[key] = count, free
        self._failures.move_to_end(key)
        while len(self._failures) > self._remembered:
            self._failures.popitem(last=False)


def _digest(user: str, address: str) -> bytes:
    """What is remembered of an attempt: of a long name as much as of a short one."""
    return hashlib.sha256(f"{address}\0{user}".encode("utf-8", "surrogatepass")).digest()
