"""The wall around all pages: who is addressed, where a request comes from, and what may not leave.

Whatever a page does, a request with a foreign Host or Origin does not reach it, no answer leaves
without the headers below, and no error's text leaves at all.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 400_000  # of a body
_SAFE = ("GET", "HEAD")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_STATIC = "/static/"


@dataclass(frozen=True, slots=True)
class Address:
    """Under which names this server is reached, and whether over TLS of its own.

    `names` are those that the owner has given; a server that only this machine can reach answers to
    the names of this machine besides.
    """

    host: str
    port: int
    encrypted: bool
    loopback: bool
    names: tuple[str, ...] = ()

    def answers_to(self, host: str) -> bool:
        """Whether a Host header means this server.

        Privacy: a page of a stranger can point its own name at this machine (DNS rebinding), and
        would then count as the same origin.
        """
        host = host.lower()
        if host in self.names or re.sub(r":\d+$", "", host) in self.names:
            return True
        known = [*(_LOOPBACK if self.loopback else ()), self.host.lower()]
        return any(host == f"{name}:{self.port}" for name in known)

    def is_local(self, host: str) -> bool:
        """Whether a Host header names this machine itself."""
        return re.sub(r":\d+$", "", host.lower()) in _LOOPBACK


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(
        self,
        app: ASGIApp,
        address: Callable[[], Address],
        surprised: Callable[[Exception], None],
        seconds: float,
    ) -> None:
        self._app = app
        self._seconds = seconds  # for the body of a request
        self._address = address
        self._surprised = surprised

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._set_headers(MutableHeaders(scope=message), scope["path"], nonce)
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await PlainTextResponse(refusal, 403)(scope, receive, guarded)
            else:
                await self._app(scope, _limited(receive, self._seconds), guarded)
        except Exception as error:
            # The text of an exception may hold a private value: its kind is logged, and no more.
            self._surprised(error)
            if not started:
                text = "something unforeseen happened; it was logged"
                await PlainTextResponse(text, 500)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> str | None:
        headers, address = Headers(scope=scope), self._address()
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not address.answers_to(hosts[0]):
            return "this server does not go by that name"
        if scope["method"] in _SAFE:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        # Pages that send no referrer send "null" as the origin of a form, and browsers then say
        # in a header of their own whether it was ours.
        if origin is not None and origin != "null":
            parts = urlsplit(origin)
            ours = parts.scheme in ("http", "https") and parts.netloc.lower() == hosts[0].lower()
        else:
            ours = site == "same-origin"
        if not ours or site not in (None, "same-origin"):
            return "this request comes from another page"
        return None

    def _set_headers(self, headers: MutableHeaders, path: str, nonce: str) -> None:
        for name, value in _wall(nonce, encrypted=self._address().encrypted).items():
            headers[name] = value
        if path.startswith(_STATIC):
            headers["Cache-Control"] = "no-cache"


def _wall(nonce: str, *, encrypted: bool) -> dict[str, str]:
    """The headers of every answer."""
    fixed = {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }
    if encrypted:
        fixed["Strict-Transport-Security"] = "max-age=31536000"
    return fixed


def refusal(encrypted: bool) -> bytes:
    """The whole answer to a connection that is one too many: nothing of it is read."""
    text = b"the server takes no more connections now; try again later\n"
    named = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(text)),
        "Connection": "close",
        **_wall(secrets.token_urlsafe(16), encrypted=encrypted),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 503 Service Unavailable\r\n{head}\r\n".encode() + text


def _limited(receive: Receive, seconds: float) -> Receive:
    """A request with a limit on the bytes of its body, and one on the time of all of it."""
    size, whole, deadline = 0, False, 0.0

    async def measured() -> dict[str, Any]:
        nonlocal size, whole, deadline
        deadline = deadline or asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(None if whole else deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "it took too long to come") from None
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if size > MOST_BYTES:
            raise HTTPException(413, "too much was sent")
        return dict(message)

    return measured
