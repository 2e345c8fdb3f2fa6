"""The door for PostgreSQL's clients: it listens, greets, and takes requests to cancel."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from concurrent.futures import ThreadPoolExecutor

from probe_sql.errors import OperationalError
from probe_sql.policy import Policy
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.house import House, Visit
from probe_sql.serve.patience import Patience
from probe_sql.serve.postgres import commands
from probe_sql.serve.postgres import messages as m
from probe_sql.serve.postgres.catalogue import AT_ONCE, Facts
from probe_sql.serve.postgres.connection import Conversation
from probe_sql.serve.postgres.desk import Means
from probe_sql.serve.postgres.messages import error_report
from probe_sql.serve.postgres.wire import Wire
from probe_sql.serve.turns import Lane, Turns

PORT = 5432
_PORTS = 50  # that are tried before one must be named


class PostgresDoor:
    """One listening address and its conversations. Use: `await start()`; then the house's life."""

    def __init__(self, house: House, host: str, port: int | None) -> None:
        self.house = house
        self._host = host
        self._port = port
        self._facts = Facts(house.policy, house.name)
        self._look_ups = Lane(
            ThreadPoolExecutor(AT_ONCE, "probe-sql catalogue"),
            Turns(AT_ONCE, 10 * house.limits.waiting, 1),
        )
        self.means = Means(lambda: self._facts, self._look_ups, commands.RUN)
        self._cancels = Patience(first=0.05)
        self._conversations: dict[int, Conversation] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Server | None = None

    async def start(self) -> tuple[str, int]:
        """Listen; returns the address."""
        loop = asyncio.get_running_loop()
        ports = range(PORT, PORT + _PORTS) if self._port is None else [self._port]
        for port in ports:
            try:
                self._listening = await loop.create_server(
                    lambda: Wire(self._greet), self._host, port
                )
                break
            except OSError as error:
                reason = error.strerror
        else:
            raise OperationalError(
                f"no port can be opened on {self._host}: {reason}",
                fix="name a free one with --port",
            )
        host, port = self._listening.sockets[0].getsockname()[:2]
        self.house.log("start", address=host, port=port)
        return host, port

    async def renew(self, policy: Policy) -> None:
        """Show another policy in the catalogue from now on."""
        old, self._facts = self._facts, await asyncio.to_thread(Facts, policy, self.house.name)
        old.close()

    def shut(self) -> None:
        """Let nobody else in, and end who has not logged in."""
        assert self._listening is not None
        self._listening.close()
        for one in [*self._conversations.values()]:
            if one.guest is None:
                one.leave(Complaint("57P01", "the server is shutting down"))

    async def close(self) -> None:
        """Wait until everybody has left, for a while; and end the catalogue."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.house.limits.drain_seconds)
        self._look_ups.threads.shutdown()
        self._facts.close()

    # --- conversations ---

    def _greet(self, wire: Wire) -> None:
        visit = self.house.visit(wire.address)
        if visit is None:
            full = Complaint("53300", "too many connections", fix="try again later")
            wire.write(error_report(full, fatal=True))
            wire.close()
            return
        process = secrets.randbelow(2**31 - 1) + 1
        while process in self._conversations:
            process = secrets.randbelow(2**31 - 1) + 1
        conversation = Conversation(wire, self, visit, process)
        self._conversations[process] = conversation
        task = asyncio.get_running_loop().create_task(conversation.run())
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._left(process, visit, done))

    def _left(self, process: int, visit: Visit, task: asyncio.Task[None]) -> None:
        del self._conversations[process]
        self.house.gone(visit)
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.house.surprised(task.exception())

    async def encrypt(self, wire: Wire) -> None:
        """Answer a request for TLS, and go on with it where there is a certificate."""
        if self.house.tls is None:
            wire.write(b"N")
        else:
            await wire.encrypt(self.house.tls, self.house.limits.login_seconds)

    async def cancel(self, address: str, wanted: m.Cancel) -> None:
        """Cancel what a conversation runs; whoever guesses keys waits longer each time."""
        async with self._cancels.turn("", address):
            found = self._conversations.get(wanted.process)
            given = wanted.key.to_bytes(4, "big")
            if found is not None and hmac.compare_digest(found.key.to_bytes(4, "big"), given):
                if found.guest is not None:
                    found.guest.cancel()
            else:
                self._cancels.failed("", address)
                self.house.log("wrong cancel key", address=address)
