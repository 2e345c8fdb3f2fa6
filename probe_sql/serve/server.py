"""The process that holds the data: listens, lets users in, and ends in good order."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from probe_sql.database import Database, ledger_path, open_database
from probe_sql.errors import OperationalError, ProbeError
from probe_sql.policy import load_policy
from probe_sql.serve import commands
from probe_sql.serve import messages as m
from probe_sql.serve.analyst import Analyst, Answers
from probe_sql.serve.auth import Patience
from probe_sql.serve.catalogue import AT_ONCE, Facts
from probe_sql.serve.connection import Conversation, Limits
from probe_sql.serve.desk import Desk, Lane, Means
from probe_sql.serve.door import Opening, check_opening, tls_context
from probe_sql.serve.reports import Complaint, error_report
from probe_sql.serve.settings import Settings
from probe_sql.serve.turns import Turns
from probe_sql.serve.users import Users, Verifier, beside, read_users
from probe_sql.serve.wire import Wire
from probe_sql.session import Connection
from probe_sql.text import visible

_resource: Any
try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None

PORT = 5432
_PORTS = 50  # that are tried before one must be named
_GLANCE = 0.5  # seconds between two looks at the users' file
_OTHER_FILES = 300  # that are kept free for scans, the ledger, the catalogue and the log
_LONGEST = 100  # characters of a fact in the log: a stranger's name is no way to fill the disk
_SHUT = Users({}, b"")


class Server:
    """Everything that connections share. Use: `await start()`, then `await run()`."""

    def __init__(self, opening: Opening, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.login = opening.login
        self.tls_required = not opening.loopback
        self._opening = opening
        self._tls = tls_context(opening)
        self._database = open_checked(opening)
        path, _ = ledger_path(opening.source, load_policy(opening.policy), opening.ledger)
        self._users_file = beside(path)
        self._users, self._seen = self._read_users()
        self._answers = Answers(path)
        self._log = Log(path.with_name(path.name + ".serve.log"))
        self.name = Path(opening.source).stem or "data"
        self._facts = Facts(self._database.policy, self.name)
        self._patience = Patience()
        self._cancels = Patience(first=0.05)
        self._conversations: dict[int, Conversation] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        waiting = self.limits.waiting
        self._scans = Lane(
            ThreadPoolExecutor(64, "probe-sql question"),
            Turns(self._database.policy.engine.scans, waiting),
        )
        # Nobody can take all of what is free.
        self._plans = Lane(ThreadPoolExecutor(4, "probe-sql plan"), Turns(4, 10 * waiting, 3))
        self._look_ups = Lane(
            ThreadPoolExecutor(AT_ONCE, "probe-sql catalogue"), Turns(AT_ONCE, 10 * waiting, 1)
        )
        self._listening: asyncio.Server | None = None
        self._stopped = asyncio.Event()
        self._reloading = asyncio.Lock()

    # --- life ---

    async def start(self) -> tuple[str, int]:
        """Listen; returns the address."""
        loop = asyncio.get_running_loop()
        wanted = self._opening.port
        ports = range(PORT, PORT + _PORTS) if wanted is None else [wanted]
        for port in ports:
            try:
                self._listening = await loop.create_server(
                    lambda: Wire(self._greet), self._opening.host, port
                )
                break
            except OSError as error:
                reason = error.strerror
        else:
            raise OperationalError(
                f"no port can be opened on {self._opening.host}: {reason}",
                fix="name a free one with --port",
            )
        host, port = self._listening.sockets[0].getsockname()[:2]
        self.log("start", address=host, port=port)
        return host, port

    async def run(self) -> None:
        """Serve until `stop`, looking at the users from time to time; then end in good order."""
        try:
            while not self._stopped.is_set():
                self._look_at_users()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), _GLANCE)
        finally:
            await self._drain()

    def reload_soon(self) -> None:
        """Reload beside what runs."""
        task = asyncio.get_running_loop().create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Begin to end: nobody else comes in, and what runs may finish."""
        self._stopped.set()

    async def reload(self) -> None:
        """Look at the users, and open the database anew under the policy as it is now.

        What runs ends by the old rules first. A policy that is not in order changes nothing: the
        ledger admits no more until one is.
        """
        self._look_at_users()
        opening = self._opening
        async with self._reloading:
            try:
                fresh = await asyncio.to_thread(open_checked, opening)
            except ProbeError as error:
                self.log("policy refused", kind=type(error).__name__)
                return
            facts = await asyncio.to_thread(Facts, fresh.policy, self.name)
            await self._scans.turns.take_all(fresh.policy.engine.scans)
            old, self._database = self._database, fresh
            told, self._facts = self._facts, facts
            for one in self._conversations.values():
                if one.desk is not None and one.user is not None:
                    one.desk.move(self._session(one.user), facts)
            self._scans.turns.give_all()
            await asyncio.to_thread(old.close)
            told.close()
        self.log("policy")

    async def _drain(self) -> None:
        assert self._listening is not None
        self._listening.close()
        leaving = "the server is shutting down"
        for one in [*self._conversations.values()]:
            if not one.busy:
                one.end("57P01", leaving)
        deadline = asyncio.get_running_loop().time() + self.limits.drain_seconds
        while self._tasks and asyncio.get_running_loop().time() < deadline:
            await asyncio.wait(self._tasks, timeout=0.1)
            for one in [*self._conversations.values()]:
                if not one.busy:
                    one.end("57P01", leaving)
        for one in [*self._conversations.values()]:
            one.end("57P01", leaving)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.limits.drain_seconds)
        for lane in (self._scans, self._plans, self._look_ups):
            lane.threads.shutdown()
        self._facts.close()
        self._database.close()
        self.log("stop")
        self._log.close()

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

    def _look_at_users(self) -> None:
        """End the sessions of users who were removed or have another password."""
        if not self.login:
            return
        users, seen = self._read_users()
        if seen == self._seen:
            return
        self._users, self._seen = users, seen
        self.log("users", count=len(self._users.verifiers))
        for one in [*self._conversations.values()]:
            if one.user is not None and self._users.verifiers.get(one.user) != one.verifier:
                one.end("57P01", "this user was removed, or has another password")

    # --- what conversations ask for ---

    def _greet(self, wire: Wire) -> None:
        strangers = [one.address for one in self._conversations.values() if one.user is None]
        full = (
            len(self._conversations) >= self.limits.connections
            or len(strangers) >= self.limits.strangers
            or strangers.count(wire.address) >= self.limits.strangers_each
        )
        if full or self._stopped.is_set():
            wire.write(
                error_report(
                    Complaint("53300", "too many connections", fix="try again later"), fatal=True
                )
            )
            wire.close()
            return
        process = secrets.randbelow(2**31 - 1) + 1
        while process in self._conversations:
            process = secrets.randbelow(2**31 - 1) + 1
        conversation = Conversation(wire, self, process)
        self._conversations[process] = conversation
        task = asyncio.get_running_loop().create_task(conversation.run())
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._left(process, done))

    def _left(self, process: int, task: asyncio.Task[None]) -> None:
        del self._conversations[process]
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.surprised(task.exception())

    def surprised(self, error: BaseException | None) -> None:
        """Log that something unforeseen happened, by its kind alone."""
        self.log("surprise", kind=type(error).__name__)

    async def encrypt(self, wire: Wire) -> None:
        """Answer a request for TLS."""
        if self._tls is None:
            wire.write(b"N")
        else:
            await wire.encrypt(self._tls, self.limits.login_seconds)

    async def cancel(self, address: str, wanted: m.Cancel) -> None:
        """Cancel what a conversation runs; whoever guesses keys waits longer each time."""
        await asyncio.sleep(self._cancels.wait("", address))
        found = self._conversations.get(wanted.process)
        given = wanted.key.to_bytes(4, "big")
        if found is not None and hmac.compare_digest(found.key.to_bytes(4, "big"), given):
            if found.desk is not None:
                found.desk.cancel("the query was cancelled")
        else:
            self._cancels.failed("", address)
            self.log("wrong cancel key", address=address)

    def verifier(self, user: str) -> Verifier:
        """The verifier of a name; raises where nobody may log in."""
        self._look_at_users()
        if not self._users.verifiers:
            raise Complaint("28000", "nobody may log in", fix="ask the owner of the server")
        return self._users.verifier(user)

    async def patience(self, user: str, address: str) -> None:
        """Wait as long as earlier failures ask for."""
        await asyncio.sleep(self._patience.wait(user, address))

    def tried(self, user: str, address: str, *, right: bool) -> None:
        """Remember how a login ended."""
        if right:
            self._patience.succeeded(user, address)
        else:
            self._patience.failed(user, address)
            self.log("wrong password", user=user, address=address)

    def desk(self, user: str, database: str, settings: Settings, wire: Wire) -> Desk:
        """A desk for a user who has logged in."""
        if database != self.name:
            raise Complaint(
                "3D000", f'database "{database}" does not exist', fix=f"dbname={self.name}"
            )
        if sum(one.user == user for one in self._conversations.values()) >= (
            self.limits.connections_each
        ):
            raise Complaint(
                "53300", "this user has too many connections", fix="close some, or try again later"
            )
        analyst = Analyst(self._session(user), user, self._answers, self.limits.result_rows)
        means = Means(
            self._scans,
            self._plans,
            self._look_ups,
            self._facts,
            commands.RUN,
            self.limits.statement_seconds,
            lambda: wire.alive,
        )
        return Desk(analyst, settings, means)

    def _session(self, user: str) -> Connection:
        """A session; without passwords a name proves nothing, and failures count for all."""
        return Connection(self._database, user, login=self.login)

    def log(self, event: str, **facts: str | int | None) -> None:
        """Write an event into the log; a full disk stops nobody."""
        with contextlib.suppress(OSError):
            self._log.write(event, **facts)


def open_checked(opening: Opening) -> Database:
    """Open the database if its files are private, and look again: opening makes some."""
    check_opening(opening)
    database = open_database(opening.source, opening.policy, opening.ledger)
    try:
        check_opening(opening)
    except BaseException:
        database.close()
        raise
    return database


def files_for(connections: int) -> int:
    """How many of these connections there can be files for, once as many are allowed as may be.

    Privacy: a scan that finds no file left would fail, at a price, because of what others do.
    """
    if _resource is None:
        return connections
    soft, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    unlimited = _resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            _resource.setrlimit(_resource.RLIMIT_NOFILE, (soft, hard))
        soft = _resource.getrlimit(_resource.RLIMIT_NOFILE)[0]
    return connections if soft == unlimited else max(1, min(connections, soft - _OTHER_FILES))


async def serve(opening: Opening, limits: Limits, tell: Callable[[str, int, str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `tell` gets the address and the database's name."""
    server = Server(opening, replace(limits, connections=files_for(limits.connections)))
    host, port = await server.start()
    loop = asyncio.get_running_loop()
    # The text of an exception may hold a private value: its kind is logged, and nothing printed.
    loop.set_exception_handler(lambda _, seen: server.surprised(seen.get("exception")))
    if os.name != "nt":
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, server.stop)
        loop.add_signal_handler(signal.SIGHUP, server.reload_soon)
    tell(host, port, server.name)
    await server.run()


class Log:
    """The server's log: an append-only file of mode 0600, one JSON object for each event.

    Privacy: it holds who came, from where, and how statements ended; no text of a query, no value,
    and nothing of how long a scan took or how much it read.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise OperationalError(
                f"the log {path} cannot be written: {error.strerror}",
                fix="name another file, or remove what is there if it is a link",
            ) from None
        if hasattr(os, "geteuid") and os.fstat(self._file).st_uid != os.geteuid():
            os.close(self._file)
            raise OperationalError(
                f"the log {path} belongs to another account",
                why="whoever owns it can read who logs in, and from where",
                fix="remove it, or name another file",
            )
        os.fchmod(self._file, 0o600)

    def write(self, event: str, **facts: str | int | None) -> None:
        """Add one event."""
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        shown = {
            name: visible(fact[:_LONGEST]) if isinstance(fact, str) else fact
            for name, fact in facts.items()
        }
        line = json.dumps({"time": moment, "event": event, **shown}, ensure_ascii=False)
        os.write(self._file, (line + "\n").encode("utf-8", "replace"))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
