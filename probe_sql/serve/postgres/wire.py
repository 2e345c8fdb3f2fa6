"""The bytes of one connection: read exactly, write with patience, encrypt when asked to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from probe_sql.serve.postgres.messages import ProtocolError

_FULL = 1 << 16  # bytes that wait unread before the client has to wait, or unsent
_LINGER = 5.0  # seconds for the last words


class Gone(Exception):
    """The client has left."""


class Wire(asyncio.Protocol):
    """A connection as a stream of bytes, with a limit on what waits in either direction."""

    def __init__(self, began: Callable[[Wire], None]) -> None:
        self._began: Callable[[Wire], None] | None = began
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._wanted = 0
        self._unsent = bytearray()
        self._arrived: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = False
        self._ended = False  # the client sends no more
        self.encrypted = False
        self.address = ""

    # --- asyncio calls these ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; the one of TLS comes later, in its place."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        if self._began is not None:
            began, self._began = self._began, None
            began(self)

    def data_received(self, data: bytes) -> None:
        """Keep what arrived; more than is wanted makes the client wait."""
        self._buffer += data
        if len(self._buffer) >= max(self._wanted, _FULL) and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """The client sends no more: end the connection."""
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Wake whoever waits."""
        self._gone = True
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has read on."""
        self._writable.set()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    # --- the session calls these ---

    @property
    def alive(self) -> bool:
        """Whether the client is still there, as far as is known."""
        return not (self._gone or self._ended)

    async def read(self, size: int) -> bytes:
        """Exactly so many bytes; raises `Gone` where the client leaves before them.

        What was written is sent before the client is waited for.
        """
        self._wanted = size
        if len(self._buffer) < size:
            self.flush()
        while len(self._buffer) < size:
            if not self.alive or self._transport is None:
                raise Gone
            self._transport.resume_reading()
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        part = bytes(self._buffer[:size])
        del self._buffer[:size]
        return part

    def write(self, data: bytes) -> None:
        """Write bytes, to be sent together with others that belong to them."""
        self._unsent += data
        if len(self._unsent) >= _FULL:
            self.flush()

    def flush(self) -> None:
        """Send what was written, or drop it where nobody listens."""
        data, self._unsent = self._unsent, bytearray()
        if data and self._transport is not None and not self._gone:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has read enough; raises `Gone` where it left."""
        await self._writable.wait()
        if self._gone:
            raise Gone

    async def encrypt(self, context: ssl.SSLContext, patience: float) -> None:
        """Go on with TLS.

        Privacy: bytes that came before the handshake were not encrypted, and could have been put
        there by somebody in between. They are an error, and nothing can arrive from here
        until the handshake has the connection.
        """
        if self._buffer:
            raise ProtocolError("bytes were sent before the encryption began")
        assert self._transport is not None
        self._transport.write(b"S")
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=patience
            )
        except (OSError, ssl.SSLError):
            raise Gone from None
        if transport is None:
            raise Gone
        self._transport = transport
        self.encrypted = True

    def close(self) -> None:
        """End the connection after what was written, soon where the client does not read it."""
        self.flush()
        if self._transport is not None:
            self._transport.close()
            asyncio.get_running_loop().call_later(_LINGER, self._transport.abort)
