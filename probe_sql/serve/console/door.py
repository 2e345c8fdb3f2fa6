"""The door for browsers: it listens, and speaks HTTP through uvicorn behind the guard."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.policy import Policy
from probe_sql.serve.console.guard import Address, Guard, refusal
from probe_sql.serve.console.site import Site
from probe_sql.serve.house import House, Visit

PORT = 8432
_PORTS = 50  # that are tried before one must be named
_KEPT = 30  # seconds that a connection stays open for a next request
_ENDING = 3  # seconds for what is being sent


class _Counted(H11Protocol):
    """HTTP over a connection that the house counts, whose requests must come in time.

    A TLS handshake has `seconds`, a head as many from when nothing else is under way, and so has
    who does not read: so nobody keeps a connection for nothing, and none that is not counted.
    """

    house: House
    seconds: float
    handshakes: set[asyncio.Task[None]]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, before its handshake where there is one; turn it away where there are many."""
        self._head: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._greeted = False
        self._early = b""  # what came with the end of the handshake
        address = get_remote_addr(transport)
        self._visit = self.house.visit(address[0] if address is not None else "?")
        if self.house.tls is None:
            self._greet(transport)
        elif self._visit is None:
            transport.abort()
        else:
            transport.pause_reading()
            task = self.loop.create_task(self._encrypt(transport, self.house.tls, self._visit))
            self.handshakes.add(task)
            task.add_done_callback(self.handshakes.discard)

    async def _encrypt(
        self, plain: asyncio.Transport, context: ssl.SSLContext, visit: Visit
    ) -> None:
        made = None
        try:
            made = await self.loop.start_tls(
                plain, self, context, server_side=True, ssl_handshake_timeout=self.seconds
            )
        except OSError:  # of TLS, or the time
            pass
        finally:
            if made is None:
                self.house.gone(visit)
        if made is not None:
            self._greet(made)
            if self._early:
                self.data_received(self._early)

    def _greet(self, transport: asyncio.Transport) -> None:
        """Wait for the first request; or say that there are too many connections."""
        super().connection_made(transport)
        self._greeted = True
        if self._visit is None:
            transport.write(refusal(self.house.tls is not None))
            transport.close()
        else:
            self.app_state = {**self.app_state, "visit": self._visit}
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        if self._visit is not None:
            self.house.gone(self._visit)
        if self._greeted:
            super().connection_lost(exc)
        for timer in (self._head, self._stuck):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read on; a request whose head is whole has limits of its own."""
        if not self._greeted:
            self._early += data
            return
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._expect()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _expect(self) -> None:
        """Wait for a head unless a request is under way; dripping it does not lengthen the wait."""
        cycle = getattr(self, "cycle", None)
        if cycle is None or cycle.response_complete:
            if self._head is None:
                self._head = self.loop.call_later(self.seconds, self.transport.abort)
        elif self._head is not None:
            self._head.cancel()
            self._head = None


class _Uvicorn(uvicorn.Server):
    """uvicorn without hands on the process's signals, which are the house's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class ConsoleDoor:
    """The console's address, and its pages. Use: `await start()`; then the house's life.

    `token`: there is no sign-in; who has this token, once, is the person at this machine.
    """

    def __init__(
        self,
        house: House,
        host: str,
        port: int | None,
        names: tuple[str, ...] = (),
        token: str | None = None,
        analyst: str = "",
    ) -> None:
        self.house = house
        self._host = host
        self._port = port
        self._names = tuple(name.lower() for name in names)
        self.site = Site(house, token, analyst)
        self._address: Address | None = None
        self._serving: asyncio.Task[None] | None = None
        self._server: _Uvicorn | None = None
        self._handshakes: set[asyncio.Task[None]] = set()

    async def start(self) -> tuple[str, int]:
        """Listen; returns the address."""
        if self._host in ("0.0.0.0", "::") and not self._names:
            raise InterfaceError(
                f"{self._host} is no name by which a browser reaches the console",
                why="a browser that comes by a name that is not known sees nothing",
                fix="add --console-name clinic.example.org",
            )
        listening = self._bind()
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        local = not self.house.tls_required
        self._address = Address(shown, port, self.house.tls is not None, local, self._names)
        self.site.entrance.address = self._address
        seconds = self.house.limits.message_seconds
        app = Guard(self._app(), lambda: self.address, self.house.surprised, seconds)
        counted = {
            "house": self.house,
            "seconds": self.house.limits.head_seconds,
            "handshakes": self._handshakes,
        }
        config = uvicorn.Config(
            app,
            http=type("Counted", (_Counted,), counted),
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            log_level="critical",
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEPT,
            timeout_graceful_shutdown=_ENDING,
        )
        config.load()
        self._server = _Uvicorn(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(0.01)
        self.house.log("console", address=host, port=port)
        return host, port

    @property
    def address(self) -> Address:
        """Where this door is, once it listens."""
        assert self._address is not None
        return self._address

    @property
    def url(self) -> str:
        """What one types into a browser."""
        scheme = "https" if self.address.encrypted else "http"
        host = self._names[0] if self._names else self.address.host
        port = "" if re.search(r":\d+$", host) else f":{self.address.port}"
        return f"{scheme}://{host}{port}/"

    async def renew(self, policy: Policy) -> None:
        """Nothing is kept of a policy here: pages are made from the house's."""

    def shut(self) -> None:
        """Let nobody else in."""
        self.site.entrance.closing = True

    async def close(self) -> None:
        """End sessions, and listen no more."""
        await self.site.close()
        for task in self._handshakes:
            task.cancel()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._serving, 2 * _ENDING)

    def _app(self) -> Starlette:
        refused = {HTTPException: self.site.entrance.refused}
        return Starlette(routes=self.site.routes(), exception_handlers=refused)

    def _bind(self) -> socket.socket:
        ports = range(PORT, PORT + _PORTS) if self._port is None else [self._port]
        reason = ""
        for port in ports:
            try:
                found = socket.getaddrinfo(self._host, port, type=socket.SOCK_STREAM)[0]
                made = socket.create_server(found[4][:2], family=found[0], backlog=128)
                made.setblocking(False)
                return made
            except OSError as error:
                reason = error.strerror or str(error)
        raise OperationalError(
            f"no port can be opened on {self._host} for the console: {reason}",
            fix="name a free one with --console-port",
        )
