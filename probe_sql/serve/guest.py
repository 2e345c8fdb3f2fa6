"""One analyst who is in, through whichever door: what they may run, and how it is ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from probe_sql.serve.analyst import Analyst
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.limits import Limits
from probe_sql.serve.turns import Lane, Stop
from probe_sql.serve.users import Verifier
from probe_sql.session import Connection, Entry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Means:
    """What all guests share: the lane of questions that scan, that of what only plans, limits."""

    scans: Lane
    plans: Lane
    limits: Limits


@dataclass(frozen=True, slots=True)
class Keys:
    """What only owners may do: see what everybody asked, and let who was stopped ask again."""

    held: Callable[[], bool]  # looked at each time: who owns may change
    record: Callable[[], tuple[Entry, ...]]
    unlock: Callable[[str], None]


class Guest:
    """A session of a user who has logged in; made by `House.enter`, ended by `House.leave`.

    The door says what runs: `with guest.busy():` around everything that a client waits for.
    `ended` is called when the house ends this guest while nothing runs; else the door looks at
    `over` when it is through, and begins nothing more. `present` says whether the client is
    still there: nothing is charged for one who has left.
    """

    def __init__(
        self,
        analyst: Analyst,
        verifier: Verifier | None,
        means: Means,
        keys: Keys,
        ended: Callable[[], None],
        present: Callable[[], bool],
    ) -> None:
        self.analyst = analyst
        self.verifier = verifier
        self.over: Complaint | None = None
        self._means = means
        self._keys = keys
        self._ended = ended
        self._present = present
        self._stops: set[Stop] = set()
        self._busy = 0
        self._seen = asyncio.get_running_loop().time()

    @property
    def user(self) -> str:
        """Who asks, and pays."""
        return self.analyst.user

    @property
    def limits(self) -> Limits:
        """How much a guest may take."""
        return self._means.limits

    # --- what owners may do ---

    @property
    def is_owner(self) -> bool:
        """Whether this user may see the whole ledger, and unlock."""
        return self._keys.held()

    def record(self) -> Callable[[], tuple[Entry, ...]]:
        """How to read the ledger's entries that this user may see: of an owner all, else their own.

        What comes back is for a thread.
        """
        return self._keys.record if self.is_owner else self.analyst.session.ledger

    async def unlock(self, who: str) -> None:
        """Let a user ask again whose scans had failed; only an owner may."""
        if not self.is_owner:
            raise Complaint(
                "42501",
                "only an owner may unlock",
                why="who was stopped asks again once the owner has looked why",
                fix="ask the owner, or have them run probe-sql ledger DB --unlock NAME",
            )
        await self.plan(lambda: self._keys.unlock(who))

    # --- what the house and other connections may do ---

    @property
    def is_busy(self) -> bool:
        """Whether something runs that a client waits for."""
        return self._busy > 0

    @property
    def idle_seconds(self) -> float:
        """How long nothing has run."""
        return 0.0 if self._busy else asyncio.get_running_loop().time() - self._seen

    def cancel(self, why: str = "the query was cancelled") -> None:
        """End what runs now, if anything does."""
        for stop in [*self._stops]:
            stop.now(why)

    def end(self, code: str, why: str) -> None:
        """End the session: at once if it is idle, else with what runs, which is stopped."""
        if self.over is None:
            self.over = Complaint(code, why)
        self.cancel(why)
        if not self._busy:
            self._ended()

    def move(self, session: Connection) -> None:
        """Go on with another opening of the database, under its owner's new policy."""
        self.analyst.session = session

    # --- what the door does ---

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Say that a client waits while the block runs."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._seen = asyncio.get_running_loop().time()

    @contextlib.contextmanager
    def stoppable(self, patience: float | None = None) -> Iterator[Stop]:
        """Something that a cancel request, the time limit or the house may end."""
        stop = Stop()
        if self.over is not None:
            stop.now(self.over.what)
        seconds = min(self.limits.statement_seconds, patience or float("inf"))
        timer = asyncio.get_running_loop().call_later(
            seconds, stop.now, f"the statement took longer than {seconds:g} seconds"
        )
        self._stops.add(stop)
        try:
            yield stop
        finally:
            self._stops.discard(stop)
            timer.cancel()

    async def ask(self, work: Callable[[], T], stop: Stop) -> T:
        """Do work that may spend, in a thread, when it is this analyst's turn."""

        def charged() -> T:
            if not self._present():
                stop.now("the client has left")
            stop.check()
            return work()

        return await self._means.scans.run(self.user, stop, charged)

    async def plan(self, work: Callable[[], T], stop: Stop | None = None) -> T:
        """Do work that reads no private row, in a thread, when it is this analyst's turn."""
        return await self._means.plans.run(self.user, stop or Stop(), work)

    @contextlib.asynccontextmanager
    async def in_step(self, came: float) -> AsyncIterator[None]:
        """Leave the block at a multiple of the pace after `came`, however it ends.

        Privacy: answers, denials, errors, time-outs and what was cancelled leave alike, so that a
        client learns of a scan's time how many multiples it took, and no more.
        """
        pace, loop = self.limits.pace, asyncio.get_running_loop()
        try:
            yield
        finally:
            if pace:
                await asyncio.sleep(pace - (loop.time() - came) % pace)
