"""How long whoever fails has to wait: longer after each failure of the same name and address."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from probe_sql.serve.complaints import Complaint

CROWDED = "other attempts of this user are waited for"


class WrongPassword(Exception):
    """The password is not the user's, or the user is not known: which of them is not told."""


@dataclass(slots=True)
class _Line:
    """Attempts of one user and address that wait for one another."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class Patience:
    """How long an attempt must wait: longer after each failure of the same user and address.

    Utility: nobody can lock out a colleague from another address, and a success forgets.
    """

    def __init__(
        self,
        first: float = 0.25,
        most: float = 30.0,
        remembered: int = 10_000,
        waiting: int = 100,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = first
        self._most = most
        self._remembered = remembered
        self._waiting = waiting
        self._clock = clock
        self._failures: OrderedDict[bytes, tuple[int, float]] = OrderedDict()
        self._lines: dict[bytes, _Line] = {}

    @contextlib.asynccontextmanager
    async def turn(
        self, user: str, address: str, present: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[None]:
        """Judge an attempt in the block: one at a time of a user and address, in the order in which
        they came, each after the waits that the ones before it have earned.

        Raises where too many wait, and where nobody is `present` to be told.

        Privacy: an attempt is not looked at before, so that starting many at once gets no more
        guesses than making one after the other.
        """
        key = _digest(user, address)
        line = self._lines.setdefault(key, _Line())
        if line.length >= self._waiting:
            raise Complaint("53300", CROWDED, fix="try again later")
        line.length += 1
        try:
            async with line.lock:
                while present() and (left := self.wait(user, address)) > 0:
                    await asyncio.sleep(left)
                if not present():
                    raise Complaint("08006", "the client has left")
                yield
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[key]

    def wait(self, user: str, address: str) -> float:
        """Seconds from now until an attempt may be judged."""
        _, free = self._failures.get(_digest(user, address), (0, 0.0))
        return max(0.0, free - self._clock())

    def failed(self, user: str, address: str) -> None:
        """Remember a failure."""
        key = _digest(user, address)
        count = self._failures.get(key, (0, 0.0))[0] + 1
        delay = min(self._first * 2 ** min(count - 1, 30), self._most)
        self._failures[key] = count, self._clock() + delay
        self._failures.move_to_end(key)
        while len(self._failures) > self._remembered:
            self._failures.popitem(last=False)

    def succeeded(self, user: str, address: str) -> None:
        """Forget the failures."""
        self._failures.pop(_digest(user, address), None)


def _digest(user: str, address: str) -> bytes:
    """What is remembered of an attempt: of a long name as much as of a short one."""
    return hashlib.sha256(f"{address}\0{user}".encode("utf-8", "surrogatepass")).digest()
