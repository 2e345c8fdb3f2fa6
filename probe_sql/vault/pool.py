"""Lend what scans run in, to one call at a time: whoever comes later waits, or gets another."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from probe_sql.vault import refusals
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.runner import TICK, Watch


class Lendable(Protocol):
    """A database of one's own, or a connection to one."""

    @property
    def broken(self) -> bool:
        """Whether it is of no use any more."""
        ...

    def close(self) -> None:
        """End what runs in it, and it."""
        ...


T = TypeVar("T", bound=Lendable)


class Pool(Generic[T]):
    """At most `size` members, made when they are needed and kept for the next call.

    `make` returns None where no further one can be made: then it stays at those that there are.
    What it raises is for the one call that needed it.
    First come, first served.
    """

    def __init__(self, first: T, make: Callable[[], T | None], size: int) -> None:
        self._make = make
        self._size = size
        self._members: list[T] = [first]
        self._idle: list[T] = [first]  # the one that was used last at the end
        self._queue: deque[object] = deque()
        self._making = 0
        self._holders: set[int] = set()  # threads that have one
        self._closed = False
        self._closing = threading.Lock()
        self._changed = threading.Condition()

    @property
    def closed(self) -> bool:
        """Whether nothing can be lent any more."""
        return self._closed

    @contextmanager
    def lend(self, watch: Watch, known: T | None = None) -> Iterator[T]:
        """One member for this thread alone, `known` if it is idle.

        Raises `Interrupted` where the watch ends the wait, `ScanError` where all is closed, and
        `InterfaceError` where this thread has one already: a `progress` would wait for itself.
        """
        thread = threading.get_ident()
        if thread in self._holders:
            raise refusals.WATCHED.error()
        member = self._take(watch, known)
        self._holders.add(thread)
        try:
            yield member
        finally:
            self._holders.discard(thread)
            self._give_back(member)

    def _take(self, watch: Watch, known: T | None) -> T:
        ticket = object()
        began = time.monotonic()
        with self._changed:
            self._queue.append(ticket)
            try:
                while True:
                    if self._closed:
                        raise scan_error(Failure.CLOSED)
                    if self._queue[0] is ticket:
                        if self._idle:
                            idle = self._idle
                            best = next((i for i, one in enumerate(idle) if one is known), -1)
                            return idle.pop(best)
                        if len(self._members) + self._making < self._size:
                            self._making += 1
                            break
                    self._changed.wait(TICK)
                    self._changed.release()  # what is told, and what it does, takes its time
                    try:
                        watch.tick(began)
                    finally:
                        self._changed.acquire()
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
        made = self._made()
        return self._take(watch, known) if made is None else made

    def _made(self) -> T | None:
        """A new member, lent; None where there can be no more than there are."""
        made: T | None = None
        full = False
        try:
            made = self._make()
            full = made is None
        finally:
            with self._changed:
                self._making -= 1
                closed = self._closed
                if made is not None and not closed:
                    self._members.append(made)
                elif full:
                    self._size = max(1, len(self._members))
                lost = full and not self._members
                self._changed.notify_all()
        if closed and made is not None:
            made.close()
        if closed or lost:
            raise scan_error(Failure.CLOSED)
        return made

    def _give_back(self, member: T) -> None:
        with self._changed:
            broken = member.broken
            if broken:
                self._members = [each for each in self._members if each is not member]
            else:
                self._idle.append(member)
            self._changed.notify_all()
        if broken:
            member.close()

    def close_idle(self) -> None:
        """End the members that nobody has now; new ones are made when they are needed."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._members = [each for each in self._members if each not in idle]
        for member in idle:
            member.close()

    def close(self) -> None:
        """End what runs in any member, and all of them; safe to call twice.

        Raises `InterfaceError` where a `progress` asks for it: the work would wait for itself.
        """
        if threading.get_ident() in self._holders:
            raise refusals.WATCHED.error()
        with self._closing:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            for member in self._members:
                member.close()
            with self._changed:
                while self._making:
                    self._changed.wait(TICK)
