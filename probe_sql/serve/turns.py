"""Whose turn it is: what runs at once, who waits, and how either is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from probe_sql.errors import Interrupted
from probe_sql.serve.complaints import Complaint

T = TypeVar("T")
_GLANCE = 0.02  # seconds between two looks at what still runs


class Stop:
    """How a running statement is told to end: by its client, by its time, or by the server."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._hook: Callable[[], object] | None = None
        self._why = ""

    def now(self, why: str) -> None:
        """End the statement; the first reason counts."""
        with self._lock:
            if self._set.is_set():
                return
            self._why = why
            self._set.set()
            if self._hook is not None:
                self._hook()

    @contextlib.contextmanager
    def calls(self, hook: Callable[[], object]) -> Iterator[None]:
        """Call `hook` when the statement is told to end within the block, and not after it."""
        with self._lock:
            if self._set.is_set():
                hook()
            self._hook = hook
        try:
            yield
        finally:
            with self._lock:
                self._hook = None

    def check(self, seconds: float = 0.0) -> None:  # noqa: ARG002 - called as a scan's progress
        """Raise if the statement is to end; what it costs then is added by who charges."""
        if self._set.is_set():
            raise Interrupted(self._why, fix="ask again; a scan that had begun has its price")


class Turns:
    """At most `at_once` run, of one analyst at most `each`. Analysts who wait take turns."""

    def __init__(self, at_once: int, waiting: int, each: int | None = None) -> None:
        self._at_once = at_once
        self._each = each or at_once
        self._most = waiting
        self._closed = False
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, analyst: str, stop: Stop) -> AsyncIterator[None]:
        """Have a turn for the block; raises what `stop` says, or where too many wait."""
        await self._take(analyst, stop)
        try:
            yield
        finally:
            self._running[analyst] -= 1
            self._running += Counter()  # forgets who runs nothing
            self._next()

    async def _take(self, analyst: str, stop: Stop) -> None:
        stop.check()
        if sum(map(len, self._waiting.values())) >= self._most:
            raise Complaint(
                "53300",
                "too many questions wait already",
                why="nothing was charged",
                fix="ask again later",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(analyst, deque()).append(turn)
        self._next()
        if turn.done():
            return
        with stop.calls(turn.cancel):
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # the turn had come just then
                    self._running[analyst] -= 1
                    self._next()
                self._leave(analyst, turn)
                stop.check()
                raise

    def _next(self) -> None:
        """Give turns to who may have one, the analyst who has waited longest first."""
        while not self._closed and sum(self._running.values()) < self._at_once:
            found = next((a for a in self._waiting if self._running[a] < self._each), None)
            if found is None:
                return
            queue = self._waiting.pop(found)
            turn = queue.popleft()
            if queue:
                self._waiting[found] = queue  # behind the others
            if not turn.done():
                self._running[found] += 1
                turn.set_result(None)

    async def take_all(self, at_once: int) -> None:
        """Wait until nothing runs, ahead of who waits, and let nothing begin until `give_all`;
        then so many may run."""
        self._closed = True
        while sum(self._running.values()):
            await asyncio.sleep(_GLANCE)
        if self._each == self._at_once:
            self._each = at_once
        self._at_once = at_once

    def give_all(self) -> None:
        """Let turns be given again after `take_all`."""
        self._closed = False
        self._next()

    def _leave(self, analyst: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(analyst)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[analyst]


@dataclass(frozen=True, slots=True)
class Lane:
    """Where work is done: threads, and who has a turn to use one."""

    threads: Executor
    turns: Turns

    async def run(self, who: str, stop: Stop, work: Callable[[], T]) -> T:
        """Do work in a thread, when it is this one's turn."""
        async with self.turns.turn(who, stop):
            return await asyncio.get_running_loop().run_in_executor(self.threads, work)
