"""Who has signed in: sessions that live in this process, and cookies that name them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from probe_sql.errors import Interrupted
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.guest import Guest
from probe_sql.serve.house import House
from probe_sql.serve.users import Verifier

T = TypeVar("T")

LONGEST = 12 * 3600.0  # seconds from signing in to signing out, whatever happens in between
MOST_FRESH = 200
MOST_EACH = 20  # sessions of one user: then the one that began first ends


class Ended(Exception):
    """A session ended before what it had sent was done; nothing was."""


@dataclass(slots=True)
class Visitor:
    """A browser in which somebody has signed in.

    `owner`: they may see the ledger and unlock. `csrf` stands in every form of theirs. `fresh` are
    names of answers that were just given and not opened yet.
    """

    guest: Guest
    owner: bool
    since: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    fresh: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Who asks, and pays; empty where the policy knows no names."""
        return self.guest.user

    def proves(self, token: str) -> bool:
        """Whether a form carries this session's token: it was made by one of our pages."""
        return hmac.compare_digest(self.csrf.encode(), token.encode("utf-8", "replace"))

    async def act(self, work: Callable[[], T]) -> T:
        """Do what changes something, in a thread; `Ended` where the session ends before its turn.

        Privacy: what was removed or got another password does nothing more, not even from a queue.
        """
        with self.guest.stoppable() as stop:

            def held() -> T:
                if self.guest.over is not None:
                    raise Ended
                return work()

            try:
                return await self.guest.plan(held, stop)
            except Interrupted:
                raise Ended from None


class Visitors:
    """All sessions. A cookie's value is a secret that is kept here only as its digest.

    `forget` is told who has no session left.
    """

    def __init__(self, house: House, forget: Callable[[str], None]) -> None:
        self._house = house
        self._forget = forget
        self._known: dict[str, Visitor] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def enter(self, user: str, verifier: Verifier | None, *, owner: bool) -> str:
        """Begin a session for somebody who has signed in; returns the value of their cookie."""
        own = [digest for digest, one in self._known.items() if one.name == user]
        for old in own[: max(0, len(own) + 1 - MOST_EACH)]:
            self._known[old].guest.end("57P05", "signed in too often elsewhere")
        secret = secrets.token_urlsafe(32)
        digest = _digest(secret)
        guest = self._house.enter(user, verifier, ended=lambda: self._drop(digest))
        self._known[digest] = Visitor(guest, owner, asyncio.get_running_loop().time())
        return secret

    def find(self, secret: str | None) -> Visitor | None:
        """The session that a cookie names; None where it has ended.

        The users' file is looked at each time, so that who was removed does not get one page more.
        """
        visitor = None if not secret else self._known.get(_digest(secret))
        if visitor is None:
            return None
        self._house.look_at_users()
        clock = asyncio.get_running_loop().time
        if visitor.guest.over is None and clock() - visitor.since > LONGEST:
            visitor.guest.end("57P05", "signed in for too long")
        if visitor.guest.over is not None or _digest(secret or "") not in self._known:
            return None
        return visitor

    def leave(self, secret: str | None) -> None:
        """Sign out: the session ends for everybody who has its cookie."""
        visitor = self.find(secret)
        if visitor is not None:
            visitor.guest.over = Complaint("57P01", "signed out")
            self._drop(_digest(secret or ""))

    def drop_ended(self) -> None:
        """Forget sessions that ended while something ran in them, and is through."""
        for digest, visitor in [*self._known.items()]:
            if visitor.guest.over is not None and not visitor.guest.is_busy:
                self._drop(digest)

    async def close(self) -> None:
        """End all sessions."""
        for digest in [*self._known]:
            self._drop(digest)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _drop(self, digest: str) -> None:
        visitor = self._known.pop(digest, None)
        if visitor is not None:
            if all(one.name != visitor.name for one in self._known.values()):
                self._forget(visitor.name)
            task = asyncio.get_running_loop().create_task(self._house.leave(visitor.guest))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
