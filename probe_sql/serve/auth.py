"""Logging in: SCRAM-SHA-256, the same for known and unknown names, slower after each failure."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

import scramp

from probe_sql.serve.messages import ProtocolError
from probe_sql.serve.users import Verifier

MECHANISM = "SCRAM-SHA-256"


class Refused(Exception):
    """The password is not the user's, or the user is not known: which of them is not told."""


class Login:
    """The server's side of one exchange of SCRAM.

    Privacy: the steps and their lengths are the same for a name that is not known, whose
    verifier no password fits.
    """

    def __init__(self, verifier: Verifier) -> None:
        keys = (verifier.salt, verifier.stored_key, verifier.server_key, verifier.iterations)
        self._server = scramp.ScramMechanism(MECHANISM).make_server(lambda _: keys)

    def first(self, body: bytes) -> bytes:
        """Answer the first message: the mechanism's name, and the client's nonce."""
        name, _, rest = body.partition(b"\0")
        if name != MECHANISM.encode() or len(rest) < 4:
            raise ProtocolError("the only way to log in is SCRAM-SHA-256")
        text = _ascii(rest[4:])
        # Clients of PostgreSQL leave the name empty, since the startup message had it. The library
        # wants one, so it gets one; the proof is about what the client sent.
        header, comma, bare = text.partition(",,")
        named = "n=*" + bare[2:] if bare.startswith("n=,") else bare
        try:
            self._server.set_client_first(header + comma + named)
            self._server.client_first_bare = bare
            return str(self._server.get_server_first()).encode()
        except scramp.ScramException:
            raise ProtocolError("the first message of SCRAM cannot be read") from None

    def last(self, body: bytes) -> bytes:
        """Check the client's proof and give the server's; raises `Refused` if it is wrong."""
        try:
            self._server.set_client_final(_ascii(body))
            return str(self._server.get_server_final()).encode()
        except (scramp.ScramException, ValueError):
            raise Refused from None


def _ascii(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError("a message of SCRAM is not text") from None


class Patience:
    """How long an attempt must wait: longer after each failure of the same user and address.

    Utility: nobody can lock out a colleague from another address, and a success forgets.
    """

    def __init__(
        self,
        first: float = 0.25,
        most: float = 30.0,
        remembered: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = first
        self._most = most
        self._remembered = remembered
        self._clock = clock
        self._failures: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def wait(self, user: str, address: str) -> float:
        """Seconds until this attempt may go on; attempts at once wait one after the other."""
        now, key = self._clock(), _digest(user, address)
        count, free = self._failures.get(key, (0, now))
        if count == 0:
            return 0.0
        start = max(now, free)
        self._keep(key, count, min(start + self._delay(count), now + self._most))
        return min(max(0.0, start - now), self._most)

    def failed(self, user: str, address: str) -> None:
        """Remember a failure."""
        now, key = self._clock(), _digest(user, address)
        count, free = self._failures.get(key, (0, 0.0))
        self._keep(key, count + 1, max(free, now + self._delay(count + 1)))

    def succeeded(self, user: str, address: str) -> None:
        """Forget the failures."""
        self._failures.pop(_digest(user, address), None)

    def _delay(self, count: int) -> float:
        return float(min(self._first * 2 ** min(count - 1, 30), self._most))

    def _keep(self, key: bytes, count: int, free: float) -> None:
        self._failures[key] = count, free
        self._failures.move_to_end(key)
        while len(self._failures) > self._remembered:
            self._failures.popitem(last=False)


def _digest(user: str, address: str) -> bytes:
    """What is remembered of an attempt: of a long name as much as of a short one."""
    return hashlib.sha256(f"{address}\0{user}".encode("utf-8", "surrogatepass")).digest()


def new_key() -> int:
    """What a client must show to cancel, from the operating system's randomness."""
    return secrets.randbits(32)
