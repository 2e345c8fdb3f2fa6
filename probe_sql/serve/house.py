"""What every door of the server shares: the data, who may come in, whose turn it is, the log.

A door (`postgres/`) listens, speaks its protocol, and lets people in by `verifier` and
`attempt`, or by `prove`; then `enter` gives it a guest, through whom everything is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from probe_sql.database import Database, ledger_path, open_database
from probe_sql.errors import ProbeError
from probe_sql.policy import Policy, load_policy
from probe_sql.serve.analyst import Analyst, LastAnswers
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.guest import Guest, Keys, Means
from probe_sql.serve.limits import Limits
from probe_sql.serve.log import Log
from probe_sql.serve.opening import Opening, check_opening, tls_context
from probe_sql.serve.patience import CROWDED, Patience, WrongPassword
from probe_sql.serve.turns import Lane, Turns
from probe_sql.serve.users import Users, Verifier, beside, normal, read_users
from probe_sql.session import Connection, Entry

_SHUT = Users({}, b"")
_GLANCE = 0.1  # seconds between two looks at whether guests are through
WRONG = "the user or the password is wrong"  # which of them is not told


class Door(Protocol):
    """A way in, as the house sees it."""

    async def renew(self, policy: Policy) -> None:
        """Show another policy from now on."""

    def shut(self) -> None:
        """Let nobody else in, and end who has not logged in."""

    async def close(self) -> None:
        """Wait until everybody has left, and give back what the door holds."""


class Visit:
    """A connection at a door; `user` is who has logged in over it, `open` whether it still is."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.user: str | None = None
        self.open = True


class House:
    """The database of one server, and everybody who is in."""

    def __init__(self, opening: Opening, limits: Limits) -> None:
        self.limits = limits
        self.login = opening.login
        self.tls_required = not opening.loopback
        self.tls = tls_context(opening)
        self.name = Path(opening.source).stem or "data"
        self._opening = opening
        self._database = open_checked(opening)
        path, _ = ledger_path(opening.source, load_policy(opening.policy), opening.ledger)
        self._users_file = beside(path)
        self._users, self._seen = self._read_users()
        self._answers = LastAnswers()
        self._log = Log(path.with_name(path.name + ".serve.log"))
        self._patience = Patience()
        self._visits: set[Visit] = set()
        self._guests: set[Guest] = set()
        self._closing = False
        self._reloading = asyncio.Lock()
        scans = Turns(self._database.policy.engine.scans, limits.waiting)
        self._means = Means(
            Lane(ThreadPoolExecutor(64, "probe-sql question"), scans),
            # Nobody can take all of what is free.
            Lane(ThreadPoolExecutor(4, "probe-sql plan"), Turns(4, 10 * limits.waiting, 3)),
            limits,
        )

    @property
    def policy(self) -> Policy:
        """The owner's policy as it is now."""
        return self._database.policy

    @property
    def guests(self) -> frozenset[Guest]:
        """Everybody who is in."""
        return frozenset(self._guests)

    def log(self, event: str, **facts: str | int | None) -> None:
        """Write an event into the log."""
        self._log.write(event, **facts)

    def surprised(self, error: BaseException | None) -> None:
        """Log that something unforeseen happened, by its kind alone; at most once a minute each.

        Privacy: the text of an exception may hold a private value.
        """
        self.log("surprise", kind=type(error).__name__)

    # --- coming and going ---

    def visit(self, address: str) -> Visit | None:
        """Count a connection; None where there are too many, or the house is closing."""
        strangers = [one.address for one in self._visits if one.user is None]
        full = (
            len(self._visits) >= self.limits.connections
            or len(strangers) >= self.limits.strangers
            or strangers.count(address) >= self.limits.strangers_each
        )
        if full or self._closing:
            return None
        visit = Visit(address)
        self._visits.add(visit)
        return visit

    def gone(self, visit: Visit) -> None:
        """Count a connection no more."""
        visit.open = False
        self._visits.discard(visit)

    def recognise(self, visit: Visit, user: str) -> None:
        """Count a connection as one of a user who has logged in; raises where they have many."""
        visit.user = None
        self._check_room(sum(one.user == user for one in self._visits))
        visit.user = user

    def _check_room(self, taken: int) -> None:
        """Refuse a user who has so many connections already."""
        if taken >= self.limits.connections_each:
            raise Complaint(
                "53300", "this user has too many connections", fix="close some, or try again later"
            )

    @property
    def users(self) -> Users:
        """Who may log in, as the users' file says now; for the server's own thread."""
        self.look_at_users()
        return self._users

    @property
    def users_file(self) -> Path:
        """Where the users are kept."""
        return self._users_file

    @property
    def opening(self) -> Opening:
        """What is served, and how."""
        return self._opening

    @property
    def owns_ledger(self) -> bool:
        """Whether this process runs as the owner of the ledger's file."""
        return self._database.ledger.owned

    def is_owner(self, user: str) -> bool:
        """Whether a user who has logged in may see the ledger and unlock; without login nobody."""
        return self.login and user in self.users.owners

    def verifier(self, user: str) -> Verifier:
        """The verifier of a name, known or not; raises where nobody may log in."""
        self.look_at_users()
        if not self._users.verifiers:
            raise Complaint("28000", "nobody may log in", fix="ask the owner of the server")
        return self._users.verifier(user)

    @contextlib.asynccontextmanager
    async def attempt(
        self, user: str, address: str, present: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[None]:
        """Judge what proves a user in the block, when its turn has come; `Refused` is a failure.

        A failure makes the next attempts of this user and address wait, a success forgets; who is
        not `present` any more is not judged.
        """
        async with self._patience.turn(user, address, present):
            try:
                yield
            except WrongPassword:
                self._patience.failed(user, address)
                self.log("wrong password", user=user, address=address)
                raise Complaint("28P01", WRONG) from None
            self._patience.succeeded(user, address)

    def confirm(self, user: str, verifier: Verifier) -> None:
        """Refuse a login whose verifier was taken away or changed since it began."""
        if self.verifier(user) != verifier:
            raise Complaint("28P01", WRONG)

    async def prove(
        self, user: str, address: str, password: str, present: Callable[[], bool] = lambda: True
    ) -> Verifier:
        """The verifier of a user whose password this is; raises where it is not.

        For doors that are told passwords: with the same steps and waits for unknown names, and as
        much time as there is before the login.
        """
        user = normal(user)  # one name, however it is written
        try:
            async with (
                asyncio.timeout(self.limits.login_seconds),
                self.attempt(user, address, present),
            ):
                verifier = self.verifier(user)
                if not await asyncio.to_thread(lambda: present() and verifier.fits(password)):
                    raise WrongPassword
                self.confirm(user, verifier)
        except TimeoutError:
            raise Complaint("53300", CROWDED, fix="try again later") from None
        return verifier

    def enter(
        self,
        user: str,
        verifier: Verifier | None,
        *,
        ended: Callable[[], None],
        present: Callable[[], bool] = lambda: True,
    ) -> Guest:
        """A session for a user who has logged in (`Guest` says what the arguments are).

        Without login there is no verifier.
        """
        self._check_room(sum(one.user == user for one in self._guests))
        analyst = Analyst(self._session(user), user, self._answers)
        keys = Keys(lambda: self.is_owner(user), self.record, lambda who: self.unlock(who, user))
        guest = Guest(analyst, verifier, self._means, keys, ended, present)
        self._guests.add(guest)
        return guest

    async def leave(self, guest: Guest) -> None:
        """End a guest's session."""
        self._guests.discard(guest)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._means.plans.threads, guest.analyst.session.close)

    def _session(self, user: str) -> Connection:
        """A session; without passwords a name proves nothing, and failures count for all."""
        return Connection(self._database, user or None, login=self.login)

    # --- what owners may do, in a thread ---

    def record(self) -> tuple[Entry, ...]:
        """Who asked what, when, and what it cost, of everybody; never a result."""
        return tuple(self._database.ledger.entries())

    def unlock(self, who: str, by: str) -> None:
        """Let a user ask again whose scans had failed: a login, or `account:name` as in the ledger.

        Privacy: failures are limited in number and not covered by epsilon, so the owner should
        know from the record why they failed.
        """
        ledger = self._database.ledger
        known = self.login and (":" not in who or who in self._users.verifiers)
        ledger.unlock(ledger.login(normal(who)).user if known else who)
        self.log("unlocked", by=by, user=who)

    # --- users ---

    def _read_users(self) -> tuple[Users, object]:
        """The users and a mark of their file; nobody where it is missing or not in order."""
        try:
            status = self._users_file.stat()
            mark = (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)
        except OSError:
            return _SHUT, None
        try:
            return read_users(self._users_file), mark
        except ProbeError:
            return _SHUT, mark

    def look_at_users(self) -> None:
        """End the sessions of users who were removed or have another password."""
        if not self.login:
            return
        users, seen = self._read_users()
        if seen == self._seen:
            return
        old, self._users, self._seen = self._users, users, seen
        for name, verifier in old.verifiers.items():
            if users.verifiers.get(name) != verifier:
                self._answers.forget(name)
        self.log("users", count=len(self._users.verifiers))
        for guest in self.guests:
            if self._users.verifiers.get(guest.user) != guest.verifier:
                guest.end("57P01", "this user was removed, or has another password")

    def look_at_guests(self) -> None:
        """End the sessions in which nothing has run for too long."""
        for guest in self.guests:
            if guest.idle_seconds > self.limits.idle_seconds:
                guest.end("57P05", "nothing was asked for too long")

    # --- life ---

    async def reload(self, doors: tuple[Door, ...]) -> None:
        """Look at the users, and open the database anew under the policy as it is now.

        What runs ends by the old rules first; what the doors show may change before. A policy that
        is not in order changes nothing: the ledger admits no more until one is.
        """
        self.look_at_users()
        scans = self._means.scans.turns
        async with self._reloading:
            try:
                fresh = await asyncio.to_thread(open_checked, self._opening)
            except ProbeError as error:
                self.log("policy refused", kind=type(error).__name__)
                return
            for door in doors:
                await door.renew(fresh.policy)
            await scans.take_all(fresh.policy.engine.scans)
            old, self._database = self._database, fresh
            for guest in self.guests:
                guest.move(self._session(guest.user))
            scans.give_all()
            await asyncio.to_thread(old.close)
        self.log("policy")

    async def empty(self) -> None:
        """Let nobody else in, end who is idle, and give what runs some time before it is ended."""
        self._closing = True
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.limits.drain_seconds
        while self._guests and clock() < deadline:
            for guest in self.guests:
                if not guest.is_busy:
                    guest.end("57P01", _LEAVING)
            await asyncio.sleep(_GLANCE)
        for guest in self.guests:
            guest.end("57P01", _LEAVING)

    def close(self) -> None:
        """Close the database and the log; everybody has left."""
        for lane in (self._means.scans, self._means.plans):
            lane.threads.shutdown()
        self._database.close()
        self.log("stop")
        self._log.close()


_LEAVING = "the server is shutting down"


def open_checked(opening: Opening) -> Database:
    """Open the database if its files are private, and look again: opening makes some."""
    if opening.personal:
        return open_database(opening.source, opening.policy, opening.ledger)
    check_opening(opening)
    database = open_database(opening.source, opening.policy, opening.ledger)
    try:
        check_opening(opening)
    except BaseException:
        database.close()
        raise
    return database
