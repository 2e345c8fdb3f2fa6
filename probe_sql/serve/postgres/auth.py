"""Logging in by SCRAM-SHA-256: the same steps for known and unknown names."""

from __future__ import annotations

import secrets

import scramp

from probe_sql.serve.patience import Refused
from probe_sql.serve.postgres.messages import ProtocolError
from probe_sql.serve.users import Verifier

MECHANISM = "SCRAM-SHA-256"


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


def new_key() -> int:
    """What a client must show to cancel, from the operating system's randomness."""
    return secrets.randbits(32)
